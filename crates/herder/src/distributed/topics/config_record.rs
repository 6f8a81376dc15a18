//! The records of the config topic.
//!
//! Who writes what: the leader alone writes connectors, tasks, commits, fencing and restarts and the
//! session key; target states and log levels come from any worker.

use super::config_key::ConfigKey;
use super::json::{self, Writer};
use super::{Oddity, Properties, ReadRecord, SessionKey, Unusable, Written, text_key};
use crate::state::Target;
use serde_json::Value;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigRecord {
    /// `None`: the connector is deleted.
    Connector {
        name: String,
        config: Option<Properties>,
    },
    /// `None`: nothing is said any more, which means started.
    TargetState {
        name: String,
        target: Option<Target>,
    },
    /// Counts once a commit follows.
    Task {
        name: String,
        task: u32,
        config: Properties,
    },
    Commit {
        name: String,
        tasks: u32,
    },
    Fencing {
        name: String,
        tasks: u32,
    },
    SessionKey(SessionKey),
    Restart(RestartRequest),
    LogLevel {
        logger: String,
        level: String,
    },
}

/// That a connector is to be restarted, each worker its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartRequest {
    pub connector: String,
    pub only_failed: bool,
    pub include_tasks: bool,
}

impl ConfigRecord {
    /// A connector that is new: its state stands before it, so that it never starts for a moment.
    pub fn create(name: &str, config: Properties, target: Target) -> Vec<ConfigRecord> {
        let name = || name.to_owned();
        let state = ConfigRecord::TargetState { name: name(), target: Some(target) };
        // Connect writes no state for one that starts at once.
        let state = (target != Target::Started).then_some(state);
        let connector = ConfigRecord::Connector { name: name(), config: Some(config) };
        state.into_iter().chain([connector]).collect()
    }

    /// What deletes a connector. Its tasks, commits and fencing stay: one of the same name must fence
    /// the producers of this one.
    pub fn delete(name: &str) -> [ConfigRecord; 2] {
        [
            ConfigRecord::Connector { name: name.to_owned(), config: None },
            ConfigRecord::TargetState { name: name.to_owned(), target: None },
        ]
    }

    /// A complete set of tasks with its commit.
    pub fn tasks(name: &str, configs: &[Properties]) -> Vec<ConfigRecord> {
        let task = |(task, config): (u32, &Properties)| ConfigRecord::Task {
            name: name.to_owned(),
            task,
            config: config.in_map_order(),
        };
        let tasks = configs.len().try_into().unwrap_or(u32::MAX);
        let commit = ConfigRecord::Commit { name: name.to_owned(), tasks };
        (0..).zip(configs).map(task).chain([commit]).collect()
    }

    pub fn key(&self) -> ConfigKey {
        match self {
            ConfigRecord::Connector { name, .. } => ConfigKey::Connector(name.clone()),
            ConfigRecord::TargetState { name, .. } => ConfigKey::TargetState(name.clone()),
            ConfigRecord::Task { name, task, .. } => ConfigKey::Task(name.clone(), *task),
            ConfigRecord::Commit { name, .. } => ConfigKey::Commit(name.clone()),
            ConfigRecord::Fencing { name, .. } => ConfigKey::Fencing(name.clone()),
            ConfigRecord::SessionKey(_) => ConfigKey::SessionKey,
            ConfigRecord::Restart(request) => ConfigKey::Restart(request.connector.clone()),
            ConfigRecord::LogLevel { logger, .. } => ConfigKey::LogLevel(logger.clone()),
        }
    }

    /// Key and value as a Java worker writes them.
    pub fn written(&self) -> Written {
        (self.key().text().into_bytes(), self.value())
    }

    fn value(&self) -> Option<Vec<u8>> {
        Some(match self {
            ConfigRecord::Connector { config, .. } => config.as_ref()?.to_record(),
            ConfigRecord::TargetState { target, .. } => {
                let (old, new) = target_words((*target)?);
                Writer::new().text("state", Some(old)).text("state.v2", Some(new)).finish()
            }
            ConfigRecord::Task { config, .. } => config.to_record(),
            ConfigRecord::Commit { tasks, .. } => Writer::new().raw("tasks", tasks).finish(),
            ConfigRecord::Fencing { tasks, .. } => Writer::new().raw("task-count", tasks).finish(),
            ConfigRecord::SessionKey(key) => key.to_record(),
            ConfigRecord::Restart(request) => Writer::new()
                .raw("include-tasks", request.include_tasks)
                .raw("only-failed", request.only_failed)
                .finish(),
            ConfigRecord::LogLevel { level, .. } => {
                Writer::new().text("level", Some(level)).finish()
            }
        })
    }

    /// Reads one record by itself.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn decode(record: &ReadRecord<'_>) -> Result<ConfigRecord, Oddity> {
        let read = || {
            let key = ConfigKey::parse(&text_key(record)?);
            let key = key.ok_or_else(|| Unusable::new("nobody knows such a key"))?;
            ConfigRecord::read(key, json::read(record.value)?)
        };
        read().map_err(|fault: Unusable| fault.of(record))
    }

    /// The record with this key; only connectors and their target states may be without a value.
    pub(super) fn read(key: ConfigKey, value: Value) -> Result<ConfigRecord, Unusable> {
        let is_gone = value.is_null();
        Ok(match key {
            ConfigKey::Connector(name) if is_gone => ConfigRecord::Connector { name, config: None },
            ConfigKey::TargetState(name) if is_gone => {
                ConfigRecord::TargetState { name, target: None }
            }
            ConfigKey::SessionKey => ConfigRecord::SessionKey(SessionKey::read(value)?),
            ConfigKey::Connector(name) => {
                let config = Properties::of_record(json::members(value)?)?;
                ConfigRecord::Connector { name, config: Some(config) }
            }
            ConfigKey::TargetState(name) => {
                ConfigRecord::TargetState { name, target: Some(read_target(value)?) }
            }
            ConfigKey::Task(name, task) => {
                let config = Properties::of_record(json::members(value)?)?;
                ConfigRecord::Task { name, task, config }
            }
            ConfigKey::Commit(name) => {
                let tasks = json::count(&json::members(value)?, "tasks")?;
                ConfigRecord::Commit { name, tasks }
            }
            ConfigKey::Fencing(name) => {
                let tasks = json::count(&json::members(value)?, "task-count")?;
                ConfigRecord::Fencing { name, tasks }
            }
            ConfigKey::Restart(connector) => {
                let members = json::members(value)?;
                // What is no boolean counts as false.
                let flag = |name: &str| members.get(name).and_then(Value::as_bool) == Some(true);
                let (only_failed, include_tasks) = (flag("only-failed"), flag("include-tasks"));
                ConfigRecord::Restart(RestartRequest { connector, only_failed, include_tasks })
            }
            ConfigKey::LogLevel(logger) => {
                let members = json::members(value)?;
                let level = members.get("level").and_then(Value::as_str);
                let level = level.ok_or_else(|| Unusable::new("its member 'level' is no text"))?;
                ConfigRecord::LogLevel { logger, level: level.to_owned() }
            }
        })
    }
}

/// The words for workers before 3.5, which know nothing of STOPPED, and for those after.
fn target_words(target: Target) -> (&'static str, &'static str) {
    match target {
        Target::Started => ("STARTED", "STARTED"),
        Target::Paused => ("PAUSED", "PAUSED"),
        Target::Stopped => ("PAUSED", "STOPPED"),
    }
}

fn read_target(value: Value) -> Result<Target, Unusable> {
    let members = json::members(value)?;
    let word = |name: &str| members.get(name).and_then(Value::as_str);
    match word("state.v2").or_else(|| word("state")) {
        Some("STARTED") => Ok(Target::Started),
        Some("PAUSED") => Ok(Target::Paused),
        Some("STOPPED") => Ok(Target::Stopped),
        _ => Err(Unusable::new("it names no state")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned())));
        Properties::new(pairs)
    }

    #[test]
    fn a_connector_made_stopped_is_never_seen_started() {
        let config = properties(&[("name", "c")]);
        let records = ConfigRecord::create("c", config.clone(), Target::Stopped);
        let keys: Vec<String> = records.iter().map(|record| record.key().text()).collect();
        assert_eq!(keys, ["target-state-c", "connector-c"]);
        assert_eq!(ConfigRecord::create("c", config, Target::Started).len(), 1);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let request =
            RestartRequest { connector: "c".to_owned(), only_failed: true, include_tasks: false };
        let key = SessionKey { key: vec![1, 2], algorithm: "HmacSHA256".to_owned(), created_ms: 5 };
        let mut records =
            ConfigRecord::create("c", properties(&[("b", "1"), ("a", "\n")]), Target::Paused);
        records.extend(ConfigRecord::tasks("c-d", &[properties(&[("x", "1")]), properties(&[])]));
        records.extend(ConfigRecord::delete("c"));
        records.extend([
            ConfigRecord::TargetState { name: "c".to_owned(), target: Some(Target::Started) },
            ConfigRecord::TargetState { name: "c".to_owned(), target: Some(Target::Stopped) },
            ConfigRecord::Fencing { name: "c".to_owned(), tasks: 3 },
            ConfigRecord::Restart(request),
            ConfigRecord::SessionKey(key),
            ConfigRecord::LogLevel { logger: "org.x".to_owned(), level: "DEBUG".to_owned() },
        ]);
        for record in records {
            let (key, value) = record.written();
            let read =
                ReadRecord { partition: 0, offset: 0, key: Some(&key), value: value.as_deref() };
            assert_eq!(ConfigRecord::decode(&read), Ok(record));
        }
    }
}
