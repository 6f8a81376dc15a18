//! What the two topics say, as it is read: the config topic as changes, the status topic as words of
//! workers and statuses.

use super::alike::Strangers;
use super::waits::Waits;
use super::{Input, LogLevels};
use crate::distributed::cluster::{Change, WorkerId};
use crate::distributed::log::LogReader;
use crate::distributed::member::Event;
use crate::distributed::records::{self, Said};
use crate::distributed::topics::{
    ConfigEvent, ConfigKey, ConfigState, News, Oddity, ReadRecord, StatusKey, Statuses,
};
use api::Error;
use config::Props;
use crossbeam_channel::Sender;
use data::RawBatch;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A record of our own that cannot be read: told as those of Kafka Connect are.
fn broken(record: &ReadRecord<'_>) -> Oddity {
    Oddity {
        offset: record.offset,
        key: text(record.key).chars().take(200).collect(),
        why: "it is not what Copycat writes there, or a later version has written it".to_owned(),
        undecodable: false,
    }
}

fn text(key: Option<&[u8]>) -> &str {
    key.and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default()
}

pub(super) struct ConfigReader {
    pub(super) topic: String,
    pub(super) waits: Waits,
    pub(super) strangers: Strangers,
    pub(super) state: ConfigState,
    pub(super) tell: Sender<Input>,
    pub(super) log_levels: LogLevels,
}

impl ConfigReader {
    /// A record has meant this, while the worker runs.
    fn news(&self, event: Option<ConfigEvent>) {
        if let Some(ConfigEvent::LogLevelChanged { logger, level }) = event {
            (self.log_levels.0)(&logger, &level);
        }
    }

    /// Tells of a connector whose tasks are not all there.
    fn tell_of_gaps(&self, name: &str) {
        let state = self.state.get(name).filter(|state| state.exists() && state.is_inconsistent());
        if let Some(state) = state {
            tracing::warn!(
                "connector {name}: topic {} has a commit of {} tasks, whose configurations are not all \
                 there. Its tasks stop, and are worked out and written again by the leader; look who \
                 else writes to the topic",
                self.topic,
                state.task_count()
            );
        }
    }

    /// What is known of a connector after its record was read.
    fn changes(&self, key: &ConfigKey) -> Option<Change> {
        let found = |name: &str| self.state.get(name);
        Some(match key {
            ConfigKey::Connector(name) => {
                let config = found(name).and_then(|state| state.config());
                Change::Connector {
                    name: name.as_str().into(),
                    config: config.map(|config| config.to_props()),
                }
            }
            ConfigKey::TargetState(name) => Change::Target {
                name: name.as_str().into(),
                target: found(name).and_then(|state| state.target()),
            },
            ConfigKey::Commit(name) => {
                let tasks = found(name).into_iter().flat_map(|state| state.tasks());
                let tasks: Vec<Props> = tasks.map(|(_, config)| config.to_props()).collect();
                Change::Tasks { name: name.as_str().into(), tasks }
            }
            ConfigKey::Fencing(name) => {
                let tasks = found(name).and_then(|state| state.fencing())?;
                Change::TaskCount { name: name.as_str().into(), tasks }
            }
            _ => return None,
        })
    }
}

impl LogReader for ConfigReader {
    fn read(&mut self, batch: &RawBatch, live: bool) {
        let mut changes = Vec::new();
        let mut keys = false;
        ReadRecord::each(batch, |record| {
            let key = text(record.key);
            match records::read_change(key, record.value) {
                Some(own) => changes.push(own),
                None if records::is_change_key(key) => broken(record).warn(batch.tp()),
                None => {}
            }
            if let Some((group, worker)) = records::leader_group(key, record.value) {
                self.strangers.saw(&group, &self.topic, &worker);
            }
            match self.state.apply(record, live) {
                Ok(event) => {
                    self.news(event);
                    let key = ConfigKey::parse(key);
                    keys |= key == Some(ConfigKey::SessionKey);
                    if let Some(ConfigKey::Commit(name)) = key.as_ref().filter(|_| live) {
                        self.tell_of_gaps(name);
                    }
                    changes.extend(key.and_then(|key| self.changes(&key)));
                }
                Err(oddity) => oddity.warn(batch.tp()),
            }
        });
        if let Some(key) = self.state.session_key().filter(|_| keys) {
            let _gone = self.tell.send(Input::KeyRead(key.clone()));
        }
        if !changes.is_empty() {
            // The driver has ended otherwise.
            let _gone = self.tell.send(Input::Event(Event::Config { changes, live }));
        }
    }

    fn caught_up(&mut self) {
        self.state.connectors().for_each(|(name, _)| self.tell_of_gaps(name));
    }

    fn trouble(&mut self, trouble: Option<&Error>) {
        self.waits.note("the topic of configurations", trouble.map(Error::report));
    }
}

pub(super) struct StatusReader {
    pub(super) topic: String,
    pub(super) waits: Waits,
    pub(super) strangers: Strangers,
    /// The words that were there at the start, until they have all been read: the last one of each,
    /// and when it was written.
    pub(super) early: Option<BTreeMap<WorkerId, (Option<Said>, i64)>>,
    pub(super) statuses: Arc<Mutex<Statuses>>,
    pub(super) tell: Sender<Input>,
}

impl LogReader for StatusReader {
    fn read(&mut self, batch: &RawBatch, live: bool) {
        let (mut changed, mut overruled) = (Vec::new(), Vec::new());
        let mut times = batch.records().iter().map(|record| record.timestamp);
        ReadRecord::each(batch, |record| {
            let at_ms = times.next().unwrap_or(-1);
            let key = text(record.key);
            if let Some((worker, said)) = Said::read(key, record.value) {
                return self.said(worker, said, at_ms);
            }
            if Said::is_key(key) {
                return broken(record).warn(batch.tp());
            }
            let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
            match statuses.apply(record) {
                Ok(News::Changed(key)) => changed.push(key),
                Ok(News::Overruled(key)) => overruled.push(key),
                // What is taken away may be known to the driver alone.
                Ok(News::Nothing) if record.value.is_none() => {
                    changed.extend(StatusKey::parse(text(record.key)));
                }
                Ok(News::Nothing) => {}
                Err(oddity) => oddity.warn(batch.tp()),
            }
        });
        if !changed.is_empty() {
            let _gone = self.tell.send(Input::StatusesRead(changed));
        }
        // Whoever has the task says so again. What was written before this worker came it had no part in.
        for key in overruled.into_iter().filter(|_| live) {
            let _gone = self.tell.send(Input::Unsaid(key));
        }
    }

    fn caught_up(&mut self) {
        for (worker, (said, at_ms)) in self.early.take().into_iter().flatten() {
            let _gone = self.tell.send(Input::Said { worker, said, live: false, at_ms });
        }
    }

    fn trouble(&mut self, trouble: Option<&Error>) {
        self.waits.note("the topic of statuses", trouble.map(Error::report));
    }
}

impl StatusReader {
    fn said(&mut self, worker: WorkerId, said: Option<Said>, at_ms: i64) {
        if let Some(said) = said.as_ref().filter(|said| !said.group.is_empty()) {
            self.strangers.saw(&said.group, &self.topic, &worker.name);
        }
        match &mut self.early {
            Some(early) => {
                early.insert(worker, (said, at_ms));
            }
            None => {
                let _gone = self.tell.send(Input::Said { worker, said, live: true, at_ms });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::topics::{Reported, Status, StatusRecord};
    use data::{RawBatchBuilder, TimestampType, TopicPartition};

    #[test]
    fn a_late_word_is_said_again_but_not_one_of_the_past() {
        let (tell, told) = crossbeam_channel::bounded(10);
        let mut reader = StatusReader {
            topic: "s".to_owned(),
            waits: Waits::default(),
            strangers: Strangers::default(),
            early: Some(BTreeMap::new()),
            statuses: Arc::default(),
            tell,
        };
        let read = |reader: &mut StatusReader, live: bool| {
            let mut batch = RawBatchBuilder::new(TopicPartition::new("s", 0));
            for (offset, state, generation) in
                [(0, Reported::Running, 3), (1, Reported::Unassigned, 2)]
            {
                let (worker_id, trace, version) = (Some(format!("w:{generation}")), None, None);
                let status = Status { state, trace, worker_id, generation, version };
                let (key, value) = StatusRecord::Task("c".to_owned(), 0, status).written();
                let (key, value) = (Some(key.as_slice()), value.as_deref());
                batch.push(offset, -1, TimestampType::CreateTime, key, value);
            }
            reader.read(&batch.finish(2), live);
            told.try_iter().filter(|input| matches!(input, Input::Unsaid(_))).count()
        };
        assert_eq!(read(&mut reader, false), 0, "thousands may be in the topic");
        reader.caught_up();
        assert_eq!(read(&mut reader, true), 1);
    }
}
