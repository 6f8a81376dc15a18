//! What the two topics say, as it is read: the config topic as changes, the status topic as words of
//! workers and statuses.

use super::{Input, LogLevels};
use crate::distributed::cluster::Change;
use crate::distributed::log::LogReader;
use crate::distributed::member::Event;
use crate::distributed::records::{self, Said};
use crate::distributed::topics::{
    ConfigEvent, ConfigKey, ConfigState, ReadRecord, StatusKey, Statuses,
};
use api::Error;
use config::Props;
use crossbeam_channel::Sender;
use data::RawBatch;
use std::sync::{Arc, Mutex, PoisonError};

/// Tells of trouble once, and of its end.
fn tell_of(topic: &str, trouble: Option<&Error>) {
    match trouble {
        Some(error) => tracing::warn!("topic {topic} cannot be read: {}", error.report()),
        None => tracing::info!("topic {topic} is read again"),
    }
}

fn text(key: Option<&[u8]>) -> &str {
    key.and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default()
}

pub(super) struct ConfigReader {
    pub(super) topic: String,
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
            if let Some(own) = records::read_change(key, record.value) {
                changes.push(own);
            }
            match self.state.apply(record, live) {
                Ok(event) => {
                    self.news(event);
                    let key = ConfigKey::parse(key);
                    keys |= key == Some(ConfigKey::SessionKey);
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

    fn caught_up(&mut self) {}

    fn trouble(&mut self, trouble: Option<&Error>) {
        tell_of(&self.topic, trouble);
    }
}

pub(super) struct StatusReader {
    pub(super) topic: String,
    pub(super) statuses: Arc<Mutex<Statuses>>,
    pub(super) tell: Sender<Input>,
}

impl LogReader for StatusReader {
    fn read(&mut self, batch: &RawBatch, _live: bool) {
        let mut changed = false;
        ReadRecord::each(batch, |record| {
            if let Some((worker, said)) = Said::read(text(record.key), record.value) {
                let _gone = self.tell.send(Input::Said { worker, said });
                return;
            }
            if record.value.is_none()
                && let Some(key @ StatusKey::Topic { .. }) = StatusKey::parse(text(record.key))
            {
                let _gone = self.tell.send(Input::TopicGone(key));
            }
            let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
            match statuses.apply(record) {
                Ok(key) => changed |= key.is_some(),
                Err(oddity) => oddity.warn(batch.tp()),
            }
        });
        if changed {
            let _gone = self.tell.send(Input::StatusesRead);
        }
    }

    fn caught_up(&mut self) {}

    fn trouble(&mut self, trouble: Option<&Error>) {
        tell_of(&self.topic, trouble);
    }
}
