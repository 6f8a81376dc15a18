//! What follows from the status topic: the last word about each connector and task, and the topics that
//! connectors use.
//!
//! The last record counts, but for an UNASSIGNED that comes after its task runs elsewhere. Partitions
//! of the topic are read in any order among each other: records of one key are in one partition.

use super::status_record::{Reported, Status, StatusKey, StatusRecord, TopicUse};
use super::{OWN_PREFIX, Oddity, ReadRecord, Unusable, text_key};
use std::collections::BTreeMap;

/// What is known of one connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectorStatuses {
    pub own: Option<Status>,
    pub tasks: BTreeMap<u32, Status>,
    /// By the topic's name in the key. They outlive the connector's status.
    pub topics: BTreeMap<String, TopicUse>,
}

/// The statuses of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses {
    connectors: BTreeMap<String, ConnectorStatuses>,
}

impl Statuses {
    pub fn get(&self, connector: &str) -> Option<&ConnectorStatuses> {
        self.connectors.get(connector)
    }

    /// Everything of which anything is known.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ConnectorStatuses)> {
        self.connectors.iter().map(|(name, statuses)| (name.as_str(), statuses))
    }

    /// Takes in the next record. Returns what it was about if it changed anything.
    ///
    /// # Errors
    /// The record was skipped, to be told once.
    pub fn apply(&mut self, record: &ReadRecord<'_>) -> Result<Option<StatusKey>, Oddity> {
        self.take(record).map_err(|fault| fault.of(record))
    }

    fn take(&mut self, record: &ReadRecord<'_>) -> Result<Option<StatusKey>, Unusable> {
        let key = text_key(record)?;
        if key.starts_with(OWN_PREFIX) {
            return Ok(None);
        }
        let key = StatusKey::parse(&key);
        let key = key.ok_or_else(|| Unusable::new("nobody knows such a key"))?;
        let is_changed = match StatusRecord::read(key.clone(), record.value)? {
            StatusRecord::Gone(key) => self.remove(&key),
            StatusRecord::Connector(name, status) => {
                self.of(&name).own.replace(status.clone()).is_none_or(|known| known != status)
            }
            StatusRecord::Task(name, task, status) => self.put_task(&name, task, status),
            StatusRecord::Topic(used) => {
                let StatusKey::Topic { topic, connector } = &key else { return Ok(None) };
                let known = self.of(connector).topics.insert(topic.clone(), used.clone());
                known.is_none_or(|known| known != used)
            }
        };
        Ok(is_changed.then_some(key))
    }

    fn of(&mut self, connector: &str) -> &mut ConnectorStatuses {
        self.connectors.entry(connector.to_owned()).or_default()
    }

    fn put_task(&mut self, connector: &str, task: u32, status: Status) -> bool {
        let tasks = &mut self.of(connector).tasks;
        // A worker that lost the task says so late.
        let is_late = |known: &Status| {
            status.state == Reported::Unassigned
                && known.state == Reported::Running
                && known.generation >= status.generation
        };
        match tasks.get(&task) {
            Some(known) if is_late(known) || *known == status => false,
            _ => {
                tasks.insert(task, status);
                true
            }
        }
    }

    fn remove(&mut self, key: &StatusKey) -> bool {
        let name = key.connector();
        let Some(statuses) = self.connectors.get_mut(name) else { return false };
        let was_there = match key {
            // Not its tasks: theirs are in other partitions, and may be those of the next connector of the
            // name. Whoever deletes one takes each of them away.
            StatusKey::Connector(_) => statuses.own.take().is_some(),
            StatusKey::Task(_, task) => statuses.tasks.remove(task).is_some(),
            StatusKey::Topic { topic, .. } => statuses.topics.remove(topic).is_some(),
        };
        if *statuses == ConnectorStatuses::default() {
            self.connectors.remove(name);
        }
        was_there
    }

    /// Whether a worker may say this although somebody else may own the connector or task by now: for
    /// FAILED, and UNASSIGNED at the end. What else it says it may always say.
    pub fn may_say(&self, key: &StatusKey, status: &Status) -> bool {
        let known = match key {
            StatusKey::Connector(name) => self.get(name).and_then(|of| of.own.as_ref()),
            StatusKey::Task(name, task) => self.get(name).and_then(|of| of.tasks.get(task)),
            StatusKey::Topic { .. } => None,
        };
        known.is_none_or(|known| {
            known.worker_id == status.worker_id || known.generation <= status.generation
        })
    }

    /// What should not be there any more: everything of connectors that are gone, for which `tasks` has
    /// nothing, and tasks beyond the number it gives. A leader writes the tombstones.
    pub fn strays(&self, tasks: impl Fn(&str) -> Option<u32>) -> Vec<StatusKey> {
        let mut strays = Vec::new();
        for (name, statuses) in self.iter() {
            let count = tasks(name);
            let key = |task| StatusKey::Task(name.to_owned(), task);
            strays.extend(statuses.tasks.range(count.unwrap_or(0)..).map(|(task, _)| key(*task)));
            if count.is_none() {
                let topics = statuses.topics.keys().map(|topic| StatusKey::Topic {
                    topic: topic.clone(),
                    connector: name.to_owned(),
                });
                strays.extend(topics);
                strays.extend(statuses.own.iter().map(|_| StatusKey::Connector(name.to_owned())));
            }
        }
        strays
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigRecord, ConfigState, Properties, Written};
    use super::*;
    use crate::state::Target;

    fn of(configs: &ConfigState) -> impl Fn(&str) -> Option<u32> {
        |name| configs.get(name).filter(|state| state.exists()).map(|state| state.task_count())
    }

    fn status(state: Reported, worker: &str, generation: i32) -> Status {
        let worker_id = Some(worker.to_owned());
        Status { state, trace: None, worker_id, generation, version: None }
    }

    fn apply(statuses: &mut Statuses, (key, value): &Written) -> Result<Option<StatusKey>, Oddity> {
        statuses.apply(&ReadRecord { offset: 7, key: Some(key), value: value.as_deref() })
    }

    fn task(task: u32, status: &Status) -> Written {
        StatusRecord::Task("c".to_owned(), task, status.clone()).written()
    }

    #[test]
    fn a_late_unassigned_does_not_overwrite_the_new_owner() {
        let mut statuses = Statuses::default();
        let running = status(Reported::Running, "w:2", 3);
        assert!(apply(&mut statuses, &task(0, &running)).unwrap().is_some());
        assert_eq!(apply(&mut statuses, &task(0, &running)), Ok(None), "no news");
        for generation in [2, 3] {
            let late = status(Reported::Unassigned, "w:1", generation);
            assert_eq!(apply(&mut statuses, &task(0, &late)), Ok(None));
            assert_eq!(statuses.get("c").unwrap().tasks[&0], running);
        }
        let newer = status(Reported::Unassigned, "w:2", 4);
        assert!(apply(&mut statuses, &task(0, &newer)).unwrap().is_some());
    }

    #[test]
    fn what_is_told_of_a_former_connector_says_nothing_of_the_tasks_of_the_next() {
        let running = status(Reported::Running, "w:1", 3);
        let own = StatusKey::Connector("c".to_owned());
        let next = StatusRecord::Connector("c".to_owned(), running.clone());
        let of_connector = [own.tombstone(), next.written()];
        let of_task = [StatusKey::Task("c".to_owned(), 0).tombstone(), task(0, &running)];
        let partitions = [of_connector, of_task];
        for order in [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 1]] {
            let mut statuses = Statuses::default();
            let mut next = [0, 0];
            for partition in order {
                apply(&mut statuses, &partitions[partition][next[partition]]).unwrap();
                next[partition] += 1;
            }
            let known = statuses.get("c").unwrap();
            assert_eq!((known.own.as_ref(), known.tasks.get(&0)), (Some(&running), Some(&running)));
        }
    }

    #[test]
    fn the_last_words_of_a_worker_need_its_own_or_no_newer_status() {
        let mut statuses = Statuses::default();
        let key = StatusKey::Task("c".to_owned(), 0);
        let failed = |worker, generation| status(Reported::Failed, worker, generation);
        assert!(statuses.may_say(&key, &failed("w:1", 0)), "nothing is known");
        apply(&mut statuses, &task(0, &status(Reported::Running, "w:2", 3))).unwrap();
        assert!(!statuses.may_say(&key, &failed("w:1", 2)));
        assert!(statuses.may_say(&key, &failed("w:1", 3)));
        assert!(statuses.may_say(&key, &failed("w:2", 1)));
    }

    #[test]
    fn a_new_leader_finds_what_should_be_gone() {
        let mut configs = ConfigState::default();
        let config = Properties::default();
        let mut records = ConfigRecord::create("c", config.clone(), Target::Started);
        records.extend(ConfigRecord::tasks("c", &[config]));
        for (offset, record) in (0..).zip(&records) {
            let (key, value) = record.written();
            let record = ReadRecord { offset, key: Some(&key), value: value.as_deref() };
            configs.apply(&record, false).unwrap();
        }
        let mut statuses = Statuses::default();
        let running = status(Reported::Running, "w:1", 1);
        for number in 0..3 {
            apply(&mut statuses, &task(number, &running)).unwrap();
        }
        let gone = StatusRecord::Connector("gone".to_owned(), running);
        apply(&mut statuses, &gone.written()).unwrap();
        let strays = statuses.strays(of(&configs));
        let keys: Vec<String> = strays.iter().map(StatusKey::text).collect();
        assert_eq!(keys, ["status-task-c-1", "status-task-c-2", "status-connector-gone"]);
        for key in strays {
            apply(&mut statuses, &key.tombstone()).unwrap();
        }
        assert_eq!(statuses.strays(of(&configs)), []);
        assert_eq!(statuses.iter().count(), 1);
    }

    #[test]
    fn whatever_cannot_be_used_is_told_once_and_changes_nothing() {
        let mut statuses = Statuses::default();
        apply(&mut statuses, &task(0, &status(Reported::Running, "w:1", 1))).unwrap();
        let before = statuses.clone();
        for (key, value) in [
            ("status-task-c-0", "{"),
            ("status-task-c-0", "null"),
            ("status-task-c-0", ""),
            ("status-task-c-0", "[1]"),
            ("status-task-c-0", r#"{"state":"DANCING","generation":1}"#),
            ("status-task-c-0", r#"{"state":"FAILED"}"#),
            ("status-task-c-0", r#"{"state":"FAILED","generation":"1"}"#),
            ("status-task-c-0", r#"{"state":"FAILED","generation":4294967297}"#),
            ("status-task-c-0", r#"{"state":"FAILED","generation":1,"trace":5}"#),
            ("status-topic-t:connector-c", r#"{"topic":{"name":"t","connector":"c","task":0}}"#),
            ("hello", "{}"),
        ] {
            let written = (key.into(), Some(value.into()));
            let oddity = apply(&mut statuses, &written).unwrap_err();
            assert!(oddity.to_string().contains(key), "{oddity}");
            assert_eq!(statuses, before, "{key} {value}");
        }
        let own = (format!("{OWN_PREFIX}x").into_bytes(), Some(b"\xff".to_vec()));
        assert_eq!(apply(&mut statuses, &own), Ok(None));
        let no_key = ReadRecord { offset: 1, key: None, value: Some(b"{}") };
        assert!(statuses.apply(&no_key).is_err());
    }
}
