//! Questions to the registry that end when the task is called to something else, and the look at it that
//! a validation takes.
//!
//! Place in the data path: between the converters of a task and the client that all tasks share. A
//! question that may take long is asked on a thread of its own, once for each schema: who waits for
//! it can leave, and finds the answer in the client's cache when it comes back.

use super::options::{Choice, Options};
use api::{Cancel, Check, Checking, Error, ErrorKind, Result};
use registry::subject::Strategy;
use registry::{Draft, Kind, Missing, Refused, Registered, Registry, SchemaId, Stored};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often it is looked whether the task is called.
const LOOK: Duration = Duration::from_millis(10);
const NAME: &str = "schema registry";
const URL: &str = "schema.registry.url";
/// A subject that nobody has: asked for where no subject is known.
const NO_SUBJECT: &str = "copycat-validate-connect";

/// A registry as one task asks it.
pub(super) struct Asking {
    registry: Registry,
    cancelled: Option<Cancel>,
}

impl Asking {
    pub(super) fn new(registry: Registry) -> Asking {
        Asking { registry, cancelled: None }
    }

    pub(super) fn set_cancel(&mut self, cancelled: Cancel) {
        self.cancelled = Some(cancelled);
    }

    /// As the registry's own, and `Cancelled` where the task is called.
    pub(super) fn fetch(
        &self,
        id: &SchemaId,
        subject: Option<&str>,
    ) -> Result<Result<Arc<Registered>, Missing>> {
        if let Some(known) = self.registry.cached(id, subject) {
            return Ok(known);
        }
        let (id, subject) = (*id, subject.map(str::to_owned));
        self.ask(move |registry| registry.fetch(&id, subject.as_deref()))
    }

    /// As [`Asking::fetch`].
    pub(super) fn register(
        &self,
        subject: &str,
        draft: &Draft,
        normalize: bool,
    ) -> Result<Result<Stored, Refused>> {
        let (subject, draft) = (subject.to_owned(), draft.clone());
        self.ask(move |registry| registry.register(&subject, &draft, normalize))
    }

    /// As [`Asking::fetch`].
    pub(super) fn lookup(
        &self,
        subject: &str,
        draft: &Draft,
        normalize: bool,
    ) -> Result<Result<Stored, Refused>> {
        let (subject, draft) = (subject.to_owned(), draft.clone());
        self.ask(move |registry| registry.lookup(&subject, &draft, normalize))
    }

    /// As [`Asking::fetch`].
    pub(super) fn latest(&self, subject: &str) -> Result<Result<Arc<Registered>, Refused>> {
        let subject = subject.to_owned();
        self.ask(move |registry| registry.latest(&subject))
    }

    /// As [`Asking::fetch`].
    pub(super) fn guid(&self, id: i32) -> Result<Option<[u8; 16]>> {
        self.ask(move |registry| registry.guid(id))
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Registry) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(cancelled) = &self.cancelled else { return question(&self.registry) };
        let (tell, told) = sync_channel(1);
        // Left alone, it ends its repetitions too.
        let registry = self.registry.bounded(Some(cancelled.clone()), None);
        std::thread::Builder::new()
            .name("registry".to_owned())
            .spawn(move || {
                // Nobody listens any more where the task was called.
                let _left = tell.send(question(&registry));
            })
            .map_err(|error| Error::bug("a thread could not be started").source(error))?;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if cancelled() => return Err(Error::cancelled()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::bug("a question to the registry ended without an answer"));
                }
            }
        }
    }

    /// Whether the registry answers us, and what it has for the topics; `kind` is the converter's.
    pub(super) fn check(
        &self,
        (options, kind): (&Options, Kind),
        key: bool,
        asked: &Checking,
    ) -> Vec<Check> {
        let registry = self.registry.bounded(self.cancelled.clone(), Some(asked.deadline));
        let strategy = options.side(key).strategy;
        let topics = asked.topics.iter().filter(|_| strategy == Strategy::Topic && !asked.renamed);
        let subjects: Vec<String> =
            topics.filter_map(|topic| strategy.subject(topic, key, None).ok()).collect();
        if subjects.is_empty() {
            let answer = registry.latest(NO_SUBJECT).map(|_| "it answers".to_owned());
            return vec![line(answer)];
        }
        let mut checks = Vec::new();
        for subject in subjects {
            if asked.left().is_zero() {
                break;
            }
            checks.push(match registry.latest(&subject) {
                Ok(Err(refused)) if options.choice != Choice::Register => {
                    let text = format!("subject {subject} has no schema: {refused}");
                    Check::failed(NAME, text)
                        .hint("register one, or set auto.register.schemas=true")
                        .key("auto.register.schemas")
                }
                Ok(Ok(schema)) if schema.kind != kind => {
                    let text = format!("subject {subject}: its newest schema, {}", schema.id);
                    Check::failed(NAME, format!("{text}, is {}, not {kind}", schema.kind))
                        .hint("use the converter of that format, or another registry")
                        .key(URL)
                }
                found => line(found.map(|found| match found {
                    Ok(schema) => {
                        let version = schema.version.map(|version| format!(" version {version},"));
                        let version = version.unwrap_or_default();
                        format!("subject {subject}:{version} {} schema {}", schema.kind, schema.id)
                    }
                    Err(refused) => format!("subject {subject}: none yet ({refused})"),
                })),
            });
            if checks.last().is_some_and(Check::is_failed) {
                break;
            }
        }
        checks
    }
}

fn line(found: Result<String>) -> Check {
    match found {
        Ok(what) => Check::ok(NAME, what),
        Err(error) if matches!(error.kind, ErrorKind::Retriable | ErrorKind::Cancelled) => {
            // That it is asked again until it answers is true of tasks alone.
            Check::failed(NAME, error.message).key(URL).hint(
                "is the address right, and can it be reached from here? A task would wait for it",
            )
        }
        Err(error) => Check::of_error(NAME, &error).key(URL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Props;
    use std::time::Instant;
    use testkit::registry::{Proxy, Reply};

    fn props(proxy: &Proxy) -> Props {
        let url = proxy.url();
        [("schema.registry.url", url.as_str()), ("max.retries", "0")].into_iter().collect()
    }

    fn asking(proxy: &Proxy) -> Asking {
        let settings = registry::Settings::from_props(&props(proxy)).unwrap();
        Asking::new(Registry::shared(&settings).unwrap())
    }

    #[test]
    fn a_question_ends_when_the_task_is_called_and_is_not_asked_twice() {
        let proxy = Proxy::answering(|_| Reply::Hold);
        let mut asking = asking(&proxy);
        asking.set_cancel(Arc::new(|| true));
        let id = SchemaId::Id(1);
        assert_eq!(asking.fetch(&id, None).unwrap_err().kind, ErrorKind::Cancelled);
        asking.set_cancel(Arc::new(|| false));
        let answer = serde_json::json!({"schema": "\"int\""});
        proxy.set(move |_| Reply::json(200, &answer));
        assert_eq!(&*asking.fetch(&id, None).unwrap().unwrap().text, "\"int\"");
        assert!(proxy.count("GET /schemas/ids/1") <= 1, "{:?}", proxy.asked());
    }

    #[test]
    fn a_validation_says_whether_the_registry_answers_us() {
        let proxy = Proxy::answering(|_| Reply::json(500, &serde_json::Value::Null));
        let asking = asking(&proxy);
        let options = Options::from_props(&props(&proxy)).unwrap();
        let look = |topics: &[&str]| {
            let checking = Checking {
                connector: "c".to_owned(),
                topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
                renamed: false,
                tolerant: false,
                deadline: Instant::now() + Duration::from_secs(60),
            };
            asking.check((&options, Kind::Avro), false, &checking)
        };
        for (status, what) in [(500, "does not answer"), (401, "401")] {
            proxy.fail(status);
            let [line] = &look(&["a", "b"])[..] else { panic!("one line") };
            assert!(line.is_failed() && line.what.contains(what), "{line:?}");
            assert_eq!(line.key.as_deref(), Some("schema.registry.url"));
            assert!(line.hint.is_some(), "{line:?}");
        }
        let missing = serde_json::json!({"error_code": 40401, "message": "Subject not found"});
        proxy.set(move |_| Reply::json(404, &missing));
        assert!(look(&[]).iter().all(|line| !line.is_failed() && line.what == "it answers"));
        let lines = look(&["a", "b"]);
        let said: Vec<&str> = lines.iter().map(|line| line.what.as_str()).collect();
        assert_eq!(said.len(), 2);
        assert!(said[1].starts_with("subject b-value: none yet (Subject not found"), "{said:?}");
        let json = serde_json::json!({"schema": "{}", "schemaType": "JSON", "id": 7, "version": 2});
        proxy.set(move |_| Reply::json(200, &json));
        let [line] = &look(&["c"])[..] else { panic!("one line") };
        assert!(line.is_failed() && line.what.ends_with("7, is JSON Schema, not Avro"), "{line:?}");
    }
}
