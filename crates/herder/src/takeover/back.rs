//! What makes the config and status topics Java's again. Pure.
//!
//! Most of it is Java's already. Written are: target states of connectors that were left out, tasks
//! whose class is none of Java's, whatever a Java worker would see otherwise because it reads aborted
//! transactions too; and nulls in place of our own records and of log levels that were set here.
//!
//! Invariant: after it is written, the same contents come to nothing more to write.

use super::contents::Contents;
use crate::distributed::topics::{ConfigKey, ConfigRecord, ConnectorState, Properties, Written};
use crate::state::Target;
use std::collections::BTreeSet;

const TASK_CLASS: &str = "task.class";
const CLASS: &str = "connector.class";
/// Java's own connectors: the names of their tasks' classes follow from theirs.
const OF_KAFKA: &str = "org.apache.kafka.connect.";

/// What is to be written, and what to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Back {
    /// In one transaction.
    pub configs: Vec<Written>,
    pub statuses: Vec<Written>,
    /// Connectors whose target is again what it was.
    pub restored: Vec<(String, Target)>,
    /// Connectors whose tasks Java works out itself, for only it knows their class.
    pub without_tasks: Vec<String>,
    /// Connectors of which a Java worker would have seen what was never committed.
    pub repeated: Vec<String>,
}

/// `config_topic`: its name, under which the note has its end.
pub fn hand_back(contents: &Contents, config_topic: &str) -> Back {
    let mut back = Back::default();
    let known = contents.configs.known().chain(contents.unfiltered.known());
    let names: BTreeSet<&str> = known.map(|(name, _)| name).collect();
    for name in names {
        back.connector(contents, name);
    }
    let end = contents.taken_over.as_ref().and_then(|note| note.config_end(config_topic));
    // Levels are of loggers that Java does not have. It takes none from the past.
    let set_here = contents.levels.iter().filter(|(_, at)| end.is_some_and(|end| **at >= end));
    let levels = set_here.map(|(logger, _)| ConfigKey::LogLevel(logger.clone()).text());
    let own = contents.own_configs.iter().cloned().chain(levels);
    back.configs.extend(own.map(|key| (key.into_bytes(), None)));
    let own = contents.own_statuses.iter();
    back.statuses.extend(own.map(|key| (key.clone().into_bytes(), None)));
    back
}

/// What a connector comes to in the end, as far as a Java worker looks at it.
#[derive(PartialEq)]
struct Seen<'a> {
    config: Option<&'a Properties>,
    target: Option<Target>,
    tasks: Vec<&'a Properties>,
    fencing: Option<u32>,
}

fn seen(state: Option<&ConnectorState>) -> Seen<'_> {
    let tasks = state.into_iter().flat_map(|state| state.tasks().map(|(_, config)| config));
    Seen {
        config: state.and_then(ConnectorState::config),
        target: state.and_then(ConnectorState::target),
        tasks: tasks.collect(),
        fencing: state.and_then(ConnectorState::fencing),
    }
}

impl Back {
    fn connector(&mut self, contents: &Contents, name: &str) {
        let state = contents.configs.get(name);
        let now = seen(state);
        let mut theirs = seen(contents.unfiltered.get(name));
        // No record takes a count of producers away; one too many does no harm.
        theirs.fencing = theirs.fencing.and(now.fencing);
        let is_other = theirs != now;
        if is_other {
            self.repeated.push(name.to_owned());
        }
        let Some(config) = now.config else {
            if is_other {
                self.configs.extend(ConfigRecord::delete(name).iter().map(ConfigRecord::written));
            }
            return;
        };
        let was = contents.was.get(name);
        let left_out =
            contents.taken_over.as_ref().is_some_and(|note| note.left_out.contains(name));
        // One that was resumed, stopped or made anew meanwhile stays as people want it.
        let before = was.filter(|_| left_out && now.target == Some(Target::Paused));
        let target = before.map(|was| was.target).or(now.target).unwrap_or(Target::Started);
        let restored = now.target != Some(target);
        let mut records = Vec::new();
        let owned = || name.to_owned();
        if restored || is_other {
            records.push(ConfigRecord::TargetState { name: owned(), target: Some(target) });
        }
        if restored {
            self.restored.push((owned(), target));
        }
        if is_other {
            let config = Some(config.clone());
            records.push(ConfigRecord::Connector { name: owned(), config });
            let fencing = now.fencing.map(|tasks| ConfigRecord::Fencing { name: owned(), tasks });
            records.extend(fencing);
        }
        let class = config.get(CLASS).unwrap_or_default();
        let before = was.filter(|was| was.class == class).and_then(|was| was.task_class.as_deref());
        match java_tasks(&now.tasks, class, before) {
            None => {
                self.without_tasks.push(owned());
                records.extend(ConfigRecord::tasks(name, &[]));
            }
            Some(tasks) if is_other || tasks.iter().ne(now.tasks.iter().copied()) => {
                records.extend(ConfigRecord::tasks(name, &tasks));
            }
            Some(_) => {}
        }
        self.configs.extend(records.iter().map(ConfigRecord::written));
    }
}

/// The tasks with the class that Java knows (`before`: what it wrote itself); `None` where nobody here
/// knows it.
fn java_tasks(tasks: &[&Properties], class: &str, before: Option<&str>) -> Option<Vec<Properties>> {
    let follows = class.strip_prefix(OF_KAFKA).is_some();
    let follows = follows.then(|| class.strip_suffix("Connector")).flatten();
    let known = before.map(str::to_owned).or_else(|| follows.map(|base| format!("{base}Task")));
    let with_class = |task: &&Properties| {
        let known = known.as_ref()?;
        let pairs = task.iter().map(|(key, value)| {
            let value = if key == TASK_CLASS { Some(known.as_str()) } else { value };
            (key.to_owned(), value.map(str::to_owned))
        });
        Some(Properties::new(pairs))
    };
    tasks.iter().map(with_class).collect()
}

#[cfg(test)]
mod tests {
    use super::super::note::{TakeOver, Was};
    use super::*;
    use crate::distributed::topics::{ConfigState, ReadRecord};

    const FILE: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";
    const JDBC: &str = "io.confluent.connect.jdbc.JdbcSinkConnector";

    fn props(pairs: &[(&str, &str)]) -> Properties {
        Properties::new(pairs.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))))
    }

    fn read(state: &mut ConfigState, written: &[Written]) {
        for (offset, (key, value)) in (0..).zip(written) {
            let record =
                ReadRecord { partition: 0, offset, key: Some(key), value: value.as_deref() };
            state.apply(&record, false).unwrap();
        }
    }

    fn made(name: &str, class: &str, target: Target, task_class: &str) -> Vec<Written> {
        let config = props(&[("name", name), (CLASS, class)]);
        let task = props(&[("name", name), (TASK_CLASS, task_class)]);
        let mut records = ConfigRecord::create(name, config, target);
        records.extend(ConfigRecord::tasks(name, &[task]));
        records.iter().map(ConfigRecord::written).collect()
    }

    fn contents(written: &[Written]) -> Contents {
        let mut contents = Contents::default();
        read(&mut contents.configs, written);
        read(&mut contents.unfiltered, written);
        contents
    }

    fn keys(written: &[Written]) -> Vec<String> {
        written.iter().map(|(key, _)| String::from_utf8(key.clone()).unwrap()).collect()
    }

    /// Writes what is to be written and looks again.
    #[track_caller]
    fn comes_to_rest(contents: &mut Contents, back: &Back) {
        let of_java: Vec<Written> =
            back.configs.iter().filter(|(key, _)| !key.starts_with(b"copycat-")).cloned().collect();
        read(&mut contents.configs, &of_java);
        read(&mut contents.unfiltered, &of_java);
        contents.own_configs.clear();
        contents.taken_over = None;
        contents.was.clear();
        let again = hand_back(contents, "c");
        assert_eq!(again.configs, [], "{:?}", keys(&again.configs));
    }

    #[test]
    fn what_is_javas_already_is_left_as_it_is() {
        let task = "org.apache.kafka.connect.file.FileStreamSinkTask";
        let contents = contents(&made("c", FILE, Target::Paused, task));
        assert_eq!(hand_back(&contents, "c"), Back::default());
    }

    #[test]
    fn own_records_are_taken_away_and_levels_that_were_set_here() {
        let ends = [("c".to_owned(), [(0, 5)].into())].into();
        let contents = Contents {
            own_configs: ["copycat-leader", "copycat-new"].map(str::to_owned).into(),
            own_statuses: ["copycat-worker-h:1/1".to_owned()].into(),
            levels: [("org.x".to_owned(), 4), ("runtime".to_owned(), 9)].into(),
            taken_over: Some(TakeOver { ends, ..TakeOver::default() }),
            ..Contents::default()
        };
        let back = hand_back(&contents, "c");
        let wanted = ["copycat-leader", "copycat-new", "logger-cluster-runtime"];
        assert_eq!(keys(&back.configs), wanted);
        assert_eq!(keys(&back.statuses), ["copycat-worker-h:1/1"]);
        assert!(back.configs.iter().chain(&back.statuses).all(|(_, value)| value.is_none()));
    }

    #[test]
    fn tasks_get_the_class_that_java_gave_them_or_are_left_to_java() {
        let mut all = made("mine", JDBC, Target::Started, "copycat.PostgresSinkTask");
        all.extend(made("new", JDBC, Target::Started, "copycat.PostgresSinkTask"));
        let mut contents = contents(&all);
        let theirs = "io.confluent.connect.jdbc.sink.JdbcSinkTask";
        let was = Was::new(Target::Started, JDBC, Some(theirs), Vec::new());
        contents.was.insert("mine".to_owned(), was);
        let back = hand_back(&contents, "c");
        assert_eq!(back.without_tasks, ["new"]);
        read(&mut contents.configs, &back.configs);
        let task = |name: &str| {
            let state = contents.configs.get(name).unwrap();
            let tasks: Vec<_> =
                state.tasks().map(|(_, task)| task.get(TASK_CLASS).unwrap().to_owned()).collect();
            tasks
        };
        assert_eq!(task("mine"), [theirs]);
        assert_eq!(task("new"), Vec::<String>::new());
    }

    #[test]
    fn who_was_left_out_is_as_it_was_unless_people_wanted_something_else() {
        let mut all = made("left", "a.B", Target::Paused, "a.BTask");
        all.extend(made("stopped", "a.B", Target::Stopped, "a.BTask"));
        let mut contents = contents(&all);
        for name in ["left", "stopped"] {
            let was = Was::new(Target::Started, "a.B", Some("a.BTask"), Vec::new());
            contents.was.insert(name.to_owned(), was);
        }
        let left_out = ["left", "stopped"].map(str::to_owned).into();
        contents.taken_over = Some(TakeOver { left_out, ..TakeOver::default() });
        let back = hand_back(&contents, "c");
        assert_eq!(back.restored, [("left".to_owned(), Target::Started)]);
        assert_eq!(keys(&back.configs), ["target-state-left"]);
    }

    /// A Java worker reads what a leader of ours has written and never committed.
    #[test]
    fn what_was_never_committed_is_overwritten_with_what_was() {
        let task = "org.apache.kafka.connect.file.FileStreamSinkTask";
        let mut contents = contents(&made("c", FILE, Target::Started, task));
        let mut aborted = made("c", FILE, Target::Paused, task);
        aborted.extend(made("never", FILE, Target::Started, task));
        read(&mut contents.unfiltered, &aborted);
        let back = hand_back(&contents, "c");
        assert_eq!(back.repeated, ["c", "never"]);
        assert_eq!(
            keys(&back.configs),
            [
                "target-state-c",
                "connector-c",
                "task-c-0",
                "commit-c",
                "connector-never",
                "target-state-never"
            ]
        );
        comes_to_rest(&mut contents, &back);
    }
}
