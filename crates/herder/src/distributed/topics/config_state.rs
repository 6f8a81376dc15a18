//! What follows from the config topic, read in order: Kafka Connect's `ClusterConfigState`.
//!
//! Compaction leaves anything behind: tasks without a connector, commits without tasks. A set of tasks
//! is taken over by its commit, whole or not at all; what was gathered is dropped at every commit, so
//! that a set is never completed by records of a later one.

use super::config_key::ConfigKey;
use super::config_record::{ConfigRecord, RestartRequest};
use super::{OWN_PREFIX, Oddity, Properties, ReadRecord, SessionKey, Unusable, json, text_key};
use crate::state::Target;
use std::collections::BTreeMap;

/// What a record that is read while the worker runs means to it. Records of the past are no news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigEvent {
    /// There is a new configuration, maybe the same; or a new connector.
    ConnectorUpdated(String),
    ConnectorRemoved(String),
    /// Of a connector that is there.
    TargetChanged(String),
    /// A set of tasks was committed; these have new configurations. None if it was incomplete.
    TasksUpdated {
        connector: String,
        tasks: Vec<u32>,
    },
    RestartRequested(RestartRequest),
    SessionKeyUpdated,
    /// Whether there is such a level is for the logger to say.
    LogLevelChanged {
        logger: String,
        level: String,
    },
}

/// What is known under one connector's name. Much of it outlives the connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectorState {
    /// As the user wrote it; `None`: there is no such connector.
    config: Option<Properties>,
    target: Option<Target>,
    task_count: u32,
    /// May have more than counts.
    tasks: BTreeMap<u32, Properties>,
    gathered: Option<BTreeMap<u32, Properties>>,
    applied: Option<Properties>,
    fencing: Option<u32>,
    generation: Option<u32>,
    pending_fencing: bool,
    inconsistent: bool,
}

impl ConnectorState {
    /// Whether there is such a connector.
    pub fn exists(&self) -> bool {
        self.config.is_some()
    }

    pub fn config(&self) -> Option<&Properties> {
        self.config.as_ref()
    }

    /// What it should do; of a connector that is there always something. It may be known before the
    /// connector is, and after.
    pub fn target(&self) -> Option<Target> {
        self.target
    }

    /// The number in the last commit, complete or not.
    pub fn task_count(&self) -> u32 {
        self.task_count
    }

    /// The tasks that are to run, in order; none while their set is incomplete.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &Properties)> {
        let count = if self.inconsistent { 0 } else { self.task_count };
        self.tasks.range(..count).map(|(task, config)| (*task, config))
    }

    /// The connector's configuration that was in force when its tasks were committed.
    pub fn applied(&self) -> Option<&Properties> {
        self.applied.as_ref()
    }

    /// How many transactional producers may exist; `None`: nobody knows.
    pub fn fencing(&self) -> Option<u32> {
        self.fencing
    }

    /// Counts sets of tasks from 0 on; a task of an older one must not start.
    pub fn generation(&self) -> Option<u32> {
        self.generation
    }

    /// The producers of an older set of tasks were not fenced yet.
    pub fn is_pending_fencing(&self) -> bool {
        self.pending_fencing
    }

    /// The last commit had no complete set of tasks: they have to be written again.
    pub fn is_inconsistent(&self) -> bool {
        self.inconsistent
    }

    fn remove(&mut self) {
        self.config = None;
        self.applied = None;
        self.task_count = 0;
        self.tasks.clear();
        self.gathered = None;
    }

    /// Returns the tasks that have a new configuration.
    fn commit(&mut self, count: u32) -> Vec<u32> {
        let had_any = self.gathered.is_some();
        let gathered = self.gathered.as_mut().map(std::mem::take).unwrap_or_default();
        // Ids are distinct, so that many below the count are all of them. More are left by compaction.
        self.inconsistent = gathered.range(..count).count() as u64 != u64::from(count);
        self.task_count = count;
        self.pending_fencing = true;
        if self.inconsistent {
            return Vec::new();
        }
        let updated = gathered.keys().copied().collect();
        self.tasks.extend(gathered);
        self.applied.clone_from(&self.config);
        if had_any {
            self.generation = Some(self.generation.map_or(0, |generation| generation + 1));
        }
        updated
    }
}

/// The state of the cluster's configurations. Cheap to clone as far as configurations go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigState {
    connectors: BTreeMap<String, ConnectorState>,
    session_key: Option<SessionKey>,
    next_offset: Option<i64>,
}

impl ConfigState {
    /// The connectors that are there.
    pub fn connectors(&self) -> impl Iterator<Item = (&str, &ConnectorState)> {
        self.known().filter(|(_, state)| state.exists())
    }

    /// Every name of which anything is known.
    pub fn known(&self) -> impl Iterator<Item = (&str, &ConnectorState)> {
        self.connectors.iter().map(|(name, state)| (name.as_str(), state))
    }

    /// What is known under a name, whether there is such a connector or not.
    pub fn get(&self, name: &str) -> Option<&ConnectorState> {
        self.connectors.get(name)
    }

    pub fn session_key(&self) -> Option<&SessionKey> {
        self.session_key.as_ref()
    }

    /// Behind the last record that counts as read; `None` before the first.
    pub fn next_offset(&self) -> Option<i64> {
        self.next_offset
    }

    /// Takes in the next record. `live`: it was written while this worker runs, so that it is news;
    /// restarts and log levels count only then.
    ///
    /// # Errors
    /// The record was skipped, to be told once.
    pub fn apply(
        &mut self,
        record: &ReadRecord<'_>,
        live: bool,
    ) -> Result<Option<ConfigEvent>, Oddity> {
        self.take(record).map(|event| event.filter(|_| live)).map_err(|fault| fault.of(record))
    }

    fn take(&mut self, record: &ReadRecord<'_>) -> Result<Option<ConfigEvent>, Unusable> {
        let key = text_key(record);
        let value = match &key {
            Ok(key) if key.starts_with(OWN_PREFIX) => {
                self.next_offset = Some(record.offset + 1);
                return Ok(None);
            }
            _ => json::read(record.value)?,
        };
        self.next_offset = Some(record.offset + 1);
        let Some(key) = ConfigKey::parse(&key?) else {
            return Err(Unusable::new("nobody knows such a key"));
        };
        if let ConfigKey::Commit(name) = &key
            && !self.get(name).is_some_and(ConnectorState::exists)
        {
            // The connector was deleted, and compaction has left this.
            if let Some(state) = self.connectors.get_mut(name) {
                state.remove();
            }
            return Ok(None);
        }
        Ok(self.take_record(ConfigRecord::read(key, value)?))
    }

    fn take_record(&mut self, record: ConfigRecord) -> Option<ConfigEvent> {
        match record {
            ConfigRecord::Connector { name, config: None } => {
                self.state(&name).remove();
                self.forget_if_empty(&name);
                return Some(ConfigEvent::ConnectorRemoved(name));
            }
            ConfigRecord::Connector { name, config } => {
                let state = self.state(&name);
                state.config = config;
                state.target.get_or_insert(Target::Started);
                return Some(ConfigEvent::ConnectorUpdated(name));
            }
            ConfigRecord::TargetState { name, target } => {
                let state = self.state(&name);
                // The removal of the connector itself is what tells of its end.
                let is_news = target.is_some() && target != state.target && state.exists();
                state.target = target.or(state.exists().then_some(Target::Started));
                self.forget_if_empty(&name);
                return is_news.then_some(ConfigEvent::TargetChanged(name));
            }
            ConfigRecord::Task { name, task, config } => {
                self.state(&name).gathered.get_or_insert_default().insert(task, config);
            }
            ConfigRecord::Commit { name, tasks } => {
                let tasks = self.state(&name).commit(tasks);
                return Some(ConfigEvent::TasksUpdated { connector: name, tasks });
            }
            ConfigRecord::Fencing { name, tasks } => {
                let state = self.state(&name);
                state.fencing = Some(tasks);
                state.pending_fencing = false;
            }
            ConfigRecord::SessionKey(key) => {
                self.session_key = Some(key);
                return Some(ConfigEvent::SessionKeyUpdated);
            }
            ConfigRecord::Restart(request) => return Some(ConfigEvent::RestartRequested(request)),
            ConfigRecord::LogLevel { logger, level } => {
                return Some(ConfigEvent::LogLevelChanged { logger, level });
            }
        }
        None
    }

    /// Names that are gone for good leave nothing behind.
    fn forget_if_empty(&mut self, name: &str) {
        if self.get(name).is_some_and(|state| *state == ConnectorState::default()) {
            self.connectors.remove(name);
        }
    }

    fn state(&mut self, name: &str) -> &mut ConnectorState {
        self.connectors.entry(name.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads records as texts, all live; tells the events, and the oddities as `None`.
    fn read(state: &mut ConfigState, records: &[(&str, Option<&str>)]) -> Vec<Option<ConfigEvent>> {
        let mut told = Vec::new();
        for (offset, (key, value)) in (0..).zip(records) {
            let (key, value) = (Some(key.as_bytes()), value.map(str::as_bytes));
            match state.apply(&ReadRecord { partition: 0, offset, key, value }, true) {
                Ok(event) => told.extend(event.map(Some)),
                Err(oddity) => {
                    assert_eq!(oddity.offset, offset);
                    told.push(None);
                }
            }
        }
        told
    }

    const C: (&str, Option<&str>) = ("connector-c", Some(r#"{"properties":{"a":"b"}}"#));
    const T0: (&str, Option<&str>) = ("task-c-0", Some(r#"{"properties":{"n":"0"}}"#));
    const T1: (&str, Option<&str>) = ("task-c-1", Some(r#"{"properties":{"n":"1"}}"#));
    const ONE: (&str, Option<&str>) = ("commit-c", Some(r#"{"tasks":1}"#));
    const TWO: (&str, Option<&str>) = ("commit-c", Some(r#"{"tasks":2}"#));
    const GONE: (&str, Option<&str>) = ("connector-c", None);

    fn numbers(state: &ConfigState) -> Vec<u32> {
        state.get("c").unwrap().tasks().map(|(task, _)| task).collect()
    }

    #[test]
    fn a_set_of_tasks_counts_whole_or_not_at_all() {
        let mut state = ConfigState::default();
        read(&mut state, &[C, T0, TWO]);
        assert_eq!(numbers(&state), [0; 0]);
        let c = state.get("c").unwrap();
        assert!(c.is_inconsistent() && c.is_pending_fencing());
        assert_eq!((c.task_count(), c.generation(), c.applied()), (2, None, None));
        read(&mut state, &[T1, TWO]);
        assert_eq!(numbers(&state), [0; 0], "what was gathered before the last commit is gone");
        read(&mut state, &[T1, T0, ONE]);
        assert_eq!(numbers(&state), [0], "more than were committed do not hurt");
        let c = state.get("c").unwrap();
        assert!(!c.is_inconsistent() && c.applied() == c.config());
        assert_eq!(c.generation(), Some(0));
    }

    #[test]
    fn a_connector_made_again_revives_nothing_but_fences_its_predecessor() {
        let fencing = ("tasks-fencing-c", Some(r#"{"task-count":2}"#));
        let mut state = ConfigState::default();
        read(&mut state, &[C, T0, T1, TWO, fencing, GONE, C]);
        assert_eq!(numbers(&state), [0; 0]);
        let c = state.get("c").unwrap();
        assert_eq!((c.fencing(), c.generation(), c.task_count()), (Some(2), Some(0), 0));
        // Compaction has left tasks of the former one and the new one's commit.
        let mut state = ConfigState::default();
        read(&mut state, &[T1, C, T0, ONE]);
        assert_eq!(numbers(&state), [0]);
        // … or the former one's commit before the new one.
        let mut state = ConfigState::default();
        read(&mut state, &[T0, T1, TWO, C]);
        assert_eq!(numbers(&state), [0; 0]);
        assert!(!state.get("c").unwrap().is_pending_fencing());
    }

    #[test]
    fn names_that_are_gone_for_good_leave_nothing_behind() {
        let mut state = ConfigState::default();
        read(&mut state, &[C, GONE, ("target-state-c", None)]);
        assert_eq!(state.known().count(), 0);
        let told = read(&mut state, &[GONE]);
        assert_eq!(told, [Some(ConfigEvent::ConnectorRemoved("c".to_owned()))]);
    }

    #[test]
    fn only_a_change_of_a_known_connectors_target_is_news() {
        let paused = ("target-state-c", Some(r#"{"state":"PAUSED","state.v2":"STOPPED"}"#));
        let mut state = ConfigState::default();
        assert_eq!(read(&mut state, &[paused]), []);
        let told = read(&mut state, &[C, paused, ("target-state-c", None)]);
        assert_eq!(told, [Some(ConfigEvent::ConnectorUpdated("c".to_owned()))]);
        assert_eq!(state.get("c").unwrap().target(), Some(Target::Started));
        let told = read(&mut state, &[paused, paused]);
        assert_eq!(told, [Some(ConfigEvent::TargetChanged("c".to_owned()))]);
    }

    #[test]
    fn records_of_the_past_are_no_news() {
        let restart = ("restart-connector-c", Some(r#"{"include-tasks":true}"#));
        let level = ("logger-cluster-x", Some(r#"{"level":"DEBUG"}"#));
        let mut state = ConfigState::default();
        for (offset, (key, value)) in (0..).zip([C, restart, level]) {
            let (key, value) = (Some(key.as_bytes()), value.map(str::as_bytes));
            assert_eq!(
                state.apply(&ReadRecord { partition: 0, offset, key, value }, false),
                Ok(None)
            );
        }
        let told = read(&mut state, &[restart, level]);
        assert!(matches!(
            told.as_slice(),
            [Some(ConfigEvent::RestartRequested(_)), Some(ConfigEvent::LogLevelChanged { .. })]
        ));
    }

    #[test]
    fn whatever_cannot_be_used_is_told_once_and_changes_nothing() {
        let mut state = ConfigState::default();
        read(&mut state, &[C, T0, ONE]);
        let before = state.clone();
        for (key, value) in [
            ("connector-c", "["),
            ("connector-c", "[1]"),
            ("connector-c", r#"{"properties":"x"}"#),
            ("connector-c", r#"{"schema":null,"payload":{"properties":{}}}"#),
            ("target-state-c", r#"{"state":"paused"}"#),
            ("target-state-c", r#"{"state":"PAUSED","state.v2":"DANCING"}"#),
            ("task-c-0", "null"),
            ("task-c-x", "{}"),
            ("commit-c", r#"{"tasks":1.0}"#),
            ("commit-c", r#"{"tasks":-1}"#),
            ("commit-c", "{}"),
            ("tasks-fencing-c", r#"{"task-count":"3"}"#),
            ("session-key", r#"{"key":5}"#),
            ("restart-connector-c", "null"),
            ("logger-cluster-x", "{}"),
            ("hello", "{}"),
        ] {
            assert_eq!(read(&mut state, &[(key, Some(value))]), [None], "{key} {value}");
            let next_offset = before.next_offset;
            let state = ConfigState { next_offset, ..state.clone() };
            assert_eq!(state, before, "{key} {value}");
        }
        let no_key = ReadRecord { partition: 0, offset: 9, key: None, value: Some(b"{}") };
        assert!(state.apply(&no_key, true).is_err());
        assert_eq!(state.next_offset(), Some(10));
        let cut =
            ReadRecord { partition: 0, offset: 10, key: Some(b"connector-c"), value: Some(b"{") };
        assert!(state.apply(&cut, true).is_err_and(|oddity| oddity.undecodable));
        assert_eq!(state.next_offset(), Some(10), "what no Java worker can decode is not read");
        let own =
            ReadRecord { partition: 0, offset: 11, key: Some(b"copycat-x"), value: Some(b"\xff") };
        assert_eq!(state.apply(&own, true), Ok(None));
        assert_eq!(state.next_offset(), Some(12));
    }
}
