//! What follows from the status topic: the last word about each connector and task, and the topics that
//! connectors use.
//!
//! The last record counts, but for an UNASSIGNED that comes after its task runs elsewhere. Kafka Connect
//! does not look who says so: it takes no UNASSIGNED of the generation in which the task was RUNNING. What
//! it knows is kept as it knows it; that the worker itself has said that its task has ended is kept beside
//! it, for tasks move within a generation here. Partitions
//! of the topic are read in any order among each other: records of one key are in one partition, and
//! what one record says of other keys counts only where both are.

use super::status_record::{Reported, Status, StatusKey, StatusRecord, TopicUse};
use super::{OWN_PREFIX, Oddity, ReadRecord, Unusable, text_key};
use std::collections::BTreeMap;

/// What a record has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    Nothing,
    /// Something else is known of this than before.
    Changed(StatusKey),
    /// The record does not count, though it is the topic's last word of this: once the topic is compacted,
    /// whoever reads it will take it for what is.
    Overruled(StatusKey),
}

/// What is known of one connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectorStatuses {
    pub own: Option<Status>,
    /// As Kafka Connect knows them; how they are tells [`ConnectorStatuses::task`].
    pub tasks: BTreeMap<u32, Status>,
    /// What workers have said since of tasks that they ran, that Kafka Connect does not take.
    ended: BTreeMap<u32, Status>,
    /// The partition in which each of them was read.
    partitions: BTreeMap<u32, i32>,
    /// By the topic's name in the key. They outlive the connector's status.
    pub topics: BTreeMap<String, TopicUse>,
}

impl ConnectorStatuses {
    /// The last word about a task.
    pub fn task(&self, task: u32) -> Option<&Status> {
        self.ended.get(&task).or_else(|| self.tasks.get(&task))
    }
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

    /// Takes in the next record.
    ///
    /// # Errors
    /// The record was skipped, to be told once.
    pub fn apply(&mut self, record: &ReadRecord<'_>) -> Result<News, Oddity> {
        self.take(record).map_err(|fault| fault.of(record))
    }

    fn take(&mut self, record: &ReadRecord<'_>) -> Result<News, Unusable> {
        let key = text_key(record)?;
        if key.starts_with(OWN_PREFIX) {
            return Ok(News::Nothing);
        }
        let key = StatusKey::parse(&key);
        let key = key.ok_or_else(|| Unusable::new("nobody knows such a key"))?;
        let is_changed = match StatusRecord::read(key.clone(), record.value)? {
            StatusRecord::Gone(key) => self.remove(&key, record.partition),
            StatusRecord::Connector(name, status) => {
                self.of(&name).own.replace(status.clone()).is_none_or(|known| known != status)
            }
            StatusRecord::Task(name, task, status) => match self.is_late(&name, task, &status) {
                Some(true) => self.of(&name).ended.insert(task, status.clone()) != Some(status),
                Some(false) => return Ok(News::Overruled(key)),
                None => self.put_task(&name, task, status, record.partition),
            },
            StatusRecord::Topic(used) => {
                let StatusKey::Topic { topic, connector } = &key else {
                    return Ok(News::Nothing);
                };
                let known = self.of(connector).topics.insert(topic.clone(), used.clone());
                known.is_none_or(|known| known != used)
            }
        };
        Ok(if is_changed { News::Changed(key) } else { News::Nothing })
    }

    fn of(&mut self, connector: &str) -> &mut ConnectorStatuses {
        self.connectors.entry(connector.to_owned()).or_default()
    }

    /// Whether Kafka Connect would not take it, since the task runs; and if so, whether it is the worker
    /// that ran it who says that it does not any more.
    fn is_late(&self, connector: &str, task: u32, status: &Status) -> Option<bool> {
        let known = self.get(connector)?.tasks.get(&task)?;
        let late = status.state == Reported::Unassigned
            && known.state == Reported::Running
            && known.generation >= status.generation;
        late.then_some(known.worker_id == status.worker_id)
    }

    fn put_task(&mut self, connector: &str, task: u32, status: Status, partition: i32) -> bool {
        let known = self.of(connector);
        known.partitions.insert(task, partition);
        let ended = known.ended.remove(&task).is_some();
        known.tasks.insert(task, status.clone()) != Some(status) || ended
    }

    fn remove(&mut self, key: &StatusKey, partition: i32) -> bool {
        let name = key.connector();
        let Some(statuses) = self.connectors.get_mut(name) else { return false };
        let was_there = match key {
            StatusKey::Connector(_) => {
                // Those in other partitions may be tasks of the next connector of the name: whoever deletes
                // one takes each of them away.
                let before = statuses.tasks.len();
                let partitions = &statuses.partitions;
                statuses.tasks.retain(|task, _| partitions.get(task) != Some(&partition));
                statuses.own.take().is_some() || statuses.tasks.len() != before
            }
            StatusKey::Task(_, task) => statuses.tasks.remove(task).is_some(),
            StatusKey::Topic { topic, .. } => statuses.topics.remove(topic).is_some(),
        };
        let ConnectorStatuses { tasks, partitions, ended, .. } = statuses;
        partitions.retain(|task, _| tasks.contains_key(task));
        ended.retain(|task, _| tasks.contains_key(task));
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
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn of(configs: &ConfigState) -> impl Fn(&str) -> Option<u32> {
        |name| configs.get(name).filter(|state| state.exists()).map(|state| state.task_count())
    }

    fn status(state: Reported, worker: &str, generation: i32) -> Status {
        let worker_id = Some(worker.to_owned());
        Status { state, trace: None, worker_id, generation, version: None }
    }

    fn apply(statuses: &mut Statuses, written: &Written) -> Result<News, Oddity> {
        apply_in(0, statuses, written)
    }

    fn apply_in(
        partition: i32,
        statuses: &mut Statuses,
        (key, value): &Written,
    ) -> Result<News, Oddity> {
        statuses.apply(&ReadRecord {
            partition,
            offset: 7,
            key: Some(key),
            value: value.as_deref(),
        })
    }

    fn task(task: u32, status: &Status) -> Written {
        StatusRecord::Task("c".to_owned(), task, status.clone()).written()
    }

    #[test]
    fn a_late_unassigned_does_not_overwrite_the_new_owner() {
        let mut statuses = Statuses::default();
        let running = status(Reported::Running, "w:2", 3);
        let key = StatusKey::Task("c".to_owned(), 0);
        let changed = Ok(News::Changed(key.clone()));
        assert_eq!(apply(&mut statuses, &task(0, &running)), changed);
        assert_eq!(apply(&mut statuses, &task(0, &running)), Ok(News::Nothing));
        for generation in [2, 3] {
            let late = status(Reported::Unassigned, "w:1", generation);
            assert_eq!(apply(&mut statuses, &task(0, &late)), Ok(News::Overruled(key.clone())));
            assert_eq!(statuses.get("c").unwrap().tasks[&0], running);
        }
        let newer = status(Reported::Unassigned, "w:2", 4);
        assert_eq!(apply(&mut statuses, &task(0, &newer)), changed);
    }

    #[test]
    fn who_ran_a_task_may_say_in_the_same_generation_that_it_has_ended() {
        let mut statuses = Statuses::default();
        let [running, ended] =
            [Reported::Running, Reported::Unassigned].map(|state| status(state, "w:1", 3));
        let key = || StatusKey::Task("c".to_owned(), 0);
        for _ in 0..2 {
            let changed = Ok(News::Changed(key()));
            assert_eq!(apply(&mut statuses, &task(0, &running)), changed);
            assert_eq!(statuses.get("c").unwrap().task(0), Some(&running));
            assert_eq!(apply(&mut statuses, &task(0, &ended)), changed);
            assert_eq!(apply(&mut statuses, &task(0, &ended)), Ok(News::Nothing));
            let known = statuses.get("c").unwrap();
            assert_eq!((known.task(0), &known.tasks[&0]), (Some(&ended), &running));
        }
        apply(&mut statuses, &key().tombstone()).unwrap();
        assert_eq!(statuses, Statuses::default());
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
                let record = &partitions[partition][next[partition]];
                apply_in(partition as i32, &mut statuses, record).unwrap();
                next[partition] += 1;
            }
            let known = statuses.get("c").unwrap();
            assert_eq!((known.own.as_ref(), known.tasks.get(&0)), (Some(&running), Some(&running)));
        }
        let mut statuses = Statuses::default();
        apply(&mut statuses, &task(0, &running)).unwrap();
        apply(&mut statuses, &own.tombstone()).unwrap();
        assert_eq!(statuses, Statuses::default(), "what stands before it goes with it");
    }

    /// Anything that somebody may write.
    fn anything() -> impl Strategy<Value = Written> {
        const STATES: [Reported; 4] =
            [Reported::Running, Reported::Unassigned, Reported::Failed, Reported::Paused];
        let status = (select(&STATES[..]), select(&["w:1", "w:2"][..]), 0..3)
            .prop_map(|(state, worker, generation)| status(state, worker, generation));
        let record = (0..6, select(&["c", "d"][..]), 0..3_u32, status);
        let record = record.prop_map(|(kind, name, number, status)| {
            let (connector, topic) = (name.to_owned(), "t".to_owned());
            match kind {
                0 => StatusRecord::Topic(TopicUse { topic, connector, task: 0, discovered_ms: 7 }),
                1 | 2 => StatusRecord::Connector(connector, status),
                _ => StatusRecord::Task(connector, number, status),
            }
        });
        (record, 0..4).prop_map(|(record, one)| {
            let (key, value) = record.written();
            (key, value.filter(|_| one > 0))
        })
    }

    proptest! {
        #[test]
        fn it_does_not_matter_in_which_order_partitions_are_read(
            records in vec(anything(), 0..30),
            order in Just((0..30).map(|n| n % 3).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            let of = |(key, _): &Written| key.iter().map(|b| usize::from(*b)).sum::<usize>() % 3;
            let mut as_written = Statuses::default();
            let mut partitions = [const { Vec::new() }; 3];
            for record in &records {
                apply_in(of(record) as i32, &mut as_written, record).unwrap();
                partitions[of(record)].push(record);
            }
            let mut later = Statuses::default();
            let mut read = |partition: usize, some: usize| {
                let some = some.min(partitions[partition].len());
                for record in partitions[partition].drain(..some) {
                    apply_in(partition as i32, &mut later, record).unwrap();
                }
            };
            order.iter().for_each(|partition| read(*partition, 1));
            (0..3).for_each(|partition| read(partition, usize::MAX));
            prop_assert_eq!(later, as_written);
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
            let record =
                ReadRecord { partition: 0, offset, key: Some(&key), value: value.as_deref() };
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
        assert_eq!(apply(&mut statuses, &own), Ok(News::Nothing));
        let no_key = ReadRecord { partition: 0, offset: 1, key: None, value: Some(b"{}") };
        assert!(statuses.apply(&no_key).is_err());
    }
}
