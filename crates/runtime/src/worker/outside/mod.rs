//! A look outside as part of a validation: Kafka, the topics, and what the connector itself knows.
//!
//! Place: the control plane, only where a user asks (`copycat.validate.connect`). Nothing is changed
//! outside, and everything ends at a deadline, so that an answer comes whatever does not.

mod kafka_side;

use super::Worker;
use super::describe::ConfigInfos;
use api::{Check, Checking, Connector, Error, Side};
use config::{Given, Props};
use std::time::{Duration, Instant};

/// The key that asks for it, in a configuration or in the query of a validation.
pub const VALIDATE_CONNECT: &str = "copycat.validate.connect";

/// Each side's time; both are looked at at once.
const TIME_MAX: Duration = Duration::from_secs(10);
/// A side that heeds no deadline is left behind after this.
const GRACE: Duration = Duration::from_secs(2);
const OTHER_SIDE: &str = "connector";
const CONVERTERS: &str = "converters";

impl Worker {
    /// What a configuration says, and what there is to say of the outside if that is asked for: here
    /// or by the configuration.
    ///
    /// # Errors
    /// As in [`Worker::describe_config`].
    pub fn describe_connected(&self, given: &Given, asked: bool) -> Result<ConfigInfos, String> {
        let mut infos = self.describe_config(given)?;
        let by_key = given.props.get(VALIDATE_CONNECT).map(str::trim);
        if !asked && !by_key.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(infos);
        }
        if infos.refusal().is_some() {
            let why = "the configuration has errors, which come first";
            infos.checks = vec![Check::skipped("connections", why)];
            return Ok(infos);
        }
        infos.checks = match self.look_outside(&given.props) {
            Ok(checks) => checks,
            Err(error) => vec![Check::of_error("connections", &error)],
        };
        infos.take_failures(&given.props);
        if let Ok(resolved) = self.resolve(&given.props) {
            infos.hide_secrets(&given.props, &resolved);
        }
        Ok(infos)
    }

    fn look_outside(&self, raw: &Props) -> Result<Vec<Check>, Error> {
        let props = self.resolve(raw)?.props;
        let plugin = self.plugin(&props)?;
        let connector = (plugin.make)();
        let deadline = Instant::now() + TIME_MAX;
        let renamed = may_rename(&props);
        let tolerant = props.get("errors.tolerance").map(str::trim) == Some("all");
        let name = props.get("name").unwrap_or("connector").to_owned();
        let by_pattern = matches!(&connector, Connector::Sink(_)) && props.get("topics").is_none();
        let asked =
            Checking { connector: name, topics: topics(&props), renamed, tolerant, deadline };
        let other = |asked: Checking| {
            let props = props.clone();
            elsewhere(OTHER_SIDE, deadline, move || (plugin.make)().check(&asked, &props))
        };
        let both = |asked: Checking| {
            let converters = self.look_at_converters(&props, asked.clone());
            (other(asked), converters)
        };
        // Where only Kafka knows the topics it is asked first, else all at once.
        let early = (!by_pattern).then(|| both(asked.clone()));
        let mut checks = Vec::new();
        let found = self.look_at_kafka(&connector, &props, &asked, &mut checks);
        let (other, converters) =
            early.unwrap_or_else(|| both(Checking { topics: found, ..asked }));
        checks.extend(converters());
        checks.extend(other());
        Ok(checks)
    }

    /// What the converters of keys and values need from outside, such as a registry of schemas.
    fn look_at_converters(
        &self,
        props: &Props,
        asked: Checking,
    ) -> impl FnOnce() -> Vec<Check> + use<> {
        let sides = [("key.converter", Side::Key), ("value.converter", Side::Value)];
        // Keys of the worker's converters are not the connector's.
        let own = sides.map(|(key, _)| props.contains(key));
        let made = sides.map(|(key, side)| (key, side, self.converter(key, side, props)));
        elsewhere(CONVERTERS, asked.deadline, move || {
            let mut checks = Vec::new();
            for ((key, side, made), own) in made.into_iter().zip(own) {
                match made {
                    Ok(mut converter) => {
                        checks.extend(converter.check(side, &asked).into_iter().map(
                            |mut check| {
                                let below = check.key.take().filter(|_| own);
                                check.key = Some(below.map_or_else(
                                    || key.to_owned(),
                                    |below| format!("{key}.{below}"),
                                ));
                                check
                            },
                        ));
                    }
                    Err(error) => checks.push(Check::of_error(CONVERTERS, &error).key(key)),
                }
            }
            checks
        })
    }
}

fn topics(props: &Props) -> Vec<String> {
    let topics = props.get("topics").unwrap_or_default().split(',').map(str::trim);
    topics.filter(|topic| !topic.is_empty()).map(str::to_owned).collect()
}

/// Whether a transform may give records of a topic another one's name. Those of Connect change only
/// what they are named after.
fn may_rename(props: &Props) -> bool {
    let aliases = props.get("transforms").unwrap_or_default().split(',').map(str::trim);
    let mut classes = aliases.filter_map(|alias| props.get(&format!("transforms.{alias}.type")));
    classes.any(|class| {
        let harmless = class.trim().starts_with("org.apache.kafka.connect.transforms.");
        !harmless || class.contains("Router")
    })
}

/// Starts looks on a thread of their own; the answer waits for them no longer than the deadline.
fn elsewhere(
    side: &'static str,
    deadline: Instant,
    look: impl FnOnce() -> Vec<Check> + Send + 'static,
) -> impl FnOnce() -> Vec<Check> {
    let (tell, told) = crossbeam_channel::bounded(1);
    let started = std::thread::Builder::new().name("check".to_owned()).spawn(move || {
        // Nobody listens any more after the deadline.
        let _late = tell.send(look());
    });
    move || {
        if let Err(error) = started {
            return vec![Check::failed(side, format!("no thread could be started: {error}"))];
        }
        told.recv_deadline(deadline + GRACE).unwrap_or_else(|_| {
            let text = format!("no answer within {} s", TIME_MAX.as_secs());
            vec![Check::failed(side, text)]
        })
    }
}

impl ConfigInfos {
    /// Failures are errors of the keys they belong to.
    fn take_failures(&mut self, raw: &Props) {
        let failed: Vec<Check> = self.checks.iter().filter(|c| c.is_failed()).cloned().collect();
        for check in failed {
            let key = check.key.as_deref().unwrap_or("name");
            let text = format!("{}: {}", check.name, check.what);
            self.add_error(raw, key, text, check.hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_answers_is_left_behind_and_named() {
        let (hold, held) = crossbeam_channel::bounded::<()>(0);
        let long_ago = Instant::now() - GRACE;
        let answer = elsewhere(OTHER_SIDE, long_ago, move || {
            let _end = held.recv();
            Vec::new()
        });
        let [check] = &answer()[..] else { panic!("one line") };
        assert!(check.is_failed() && check.what.contains("no answer"), "{check:?}");
        drop(hold);
    }

    #[test]
    fn only_transforms_that_route_make_names_uncertain() {
        let with = |class: &str| {
            let props = [("transforms", "a, b"), ("transforms.b.type", class)];
            may_rename(&props.into_iter().collect())
        };
        assert!(!may_rename(&Props::new()));
        assert!(!with("org.apache.kafka.connect.transforms.Cast$Value"));
        assert!(with("org.apache.kafka.connect.transforms.RegexRouter"));
        assert!(with("io.debezium.transforms.outbox.EventRouter"));
    }
}
