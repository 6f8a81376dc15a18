//! What a task says of itself: Connect's states, and in our own member why and when next.

use crate::metrics::TaskMetrics;
use api::{Error, ErrorKind};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Connect's task states as far as tasks set them themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Unassigned,
    Running,
    Failed,
    Destroyed,
}

impl State {
    pub(crate) const ALL: [State; 4] =
        [State::Unassigned, State::Running, State::Failed, State::Destroyed];

    pub fn name(self) -> &'static str {
        match self {
            State::Unassigned => "UNASSIGNED",
            State::Running => "RUNNING",
            State::Failed => "FAILED",
            State::Destroyed => "DESTROYED",
        }
    }
}

/// What is being retried, and when next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrying {
    pub reason: String,
    pub sqlstate: Option<String>,
    /// Failures in a row.
    pub attempts: u32,
    pub since: SystemTime,
    pub next_attempt: SystemTime,
}

/// Counters of a task since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub records_read: u64,
    pub records_stored: u64,
    pub records_reported: u64,
    pub values_ignored: u64,
}

/// A task's status at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStatus {
    pub state: State,
    /// It has been running, so that what was wrong was not wrong from the start.
    pub has_run: bool,
    /// Why the task is FAILED, with the way on.
    pub trace: Option<String>,
    pub retrying: Option<Retrying>,
    /// What a source waits for, or that it has come to its end.
    pub notice: Option<String>,
    pub counters: Counters,
}

impl Default for TaskStatus {
    fn default() -> Self {
        TaskStatus {
            state: State::Unassigned,
            has_run: false,
            trace: None,
            retrying: None,
            notice: None,
            counters: Counters::default(),
        }
    }
}

/// The topics that the tasks of a connector have read or written. Connect's topic tracking.
#[derive(Debug, Default)]
pub struct ActiveTopics(Mutex<BTreeSet<String>>);

impl ActiveTopics {
    /// Their names, sorted.
    pub fn list(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Forgets them; tasks add those again that they touch.
    pub fn reset(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Adds one that a task elsewhere has used.
    pub fn add(&self, topic: &str) {
        self.touch(topic);
    }

    /// Forgets one; a task adds it again when it touches it.
    pub fn remove(&self, topic: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
    }

    fn touch(&self, topic: &str) {
        let mut topics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !topics.contains(topic) {
            topics.insert(topic.to_owned());
        }
    }
}

/// The status cell a task writes and everyone reads.
#[derive(Clone, Default)]
pub struct StatusCell {
    status: Arc<Mutex<TaskStatus>>,
    topics: Arc<ActiveTopics>,
    changed: Option<Arc<dyn Fn() + Send + Sync>>,
    metrics: Arc<TaskMetrics>,
}

impl StatusCell {
    /// `changed` is called after each change of state, trace or retrying, without a lock held.
    pub fn new(changed: Arc<dyn Fn() + Send + Sync>) -> Self {
        StatusCell { changed: Some(changed), ..StatusCell::default() }
    }

    /// The status of a task that runs elsewhere, as it was told.
    pub fn told(state: State, trace: Option<String>) -> Self {
        let has_run = state == State::Running;
        let status = TaskStatus { state, has_run, trace, ..TaskStatus::default() };
        let cell = StatusCell { status: Arc::new(Mutex::new(status)), ..StatusCell::default() };
        cell.metrics.status(state, false);
        cell
    }

    /// The status of a task of the connector that has these topics.
    pub(crate) fn of(topics: Arc<ActiveTopics>, metrics: TaskMetrics) -> Self {
        StatusCell { topics, metrics: Arc::new(metrics), ..StatusCell::default() }
    }

    pub fn get(&self) -> TaskStatus {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        TaskStatus { counters: self.metrics.counters(), ..status }
    }

    /// What the task counts.
    pub fn metrics(&self) -> &Arc<TaskMetrics> {
        &self.metrics
    }

    /// The task has come to its end for this reason: FAILED, and said in the log.
    pub(crate) fn fail(&self, error: &Error) {
        let report = error.report();
        if error.kind == ErrorKind::Data {
            self.metrics.record_failed(1);
        }
        tracing::error!("task failed: {report}");
        self.update(|status| {
            status.state = State::Failed;
            status.trace = Some(report);
            status.retrying = None;
        });
    }

    /// Changes the status; watchers hear of it.
    pub(crate) fn update(&self, change: impl FnOnce(&mut TaskStatus)) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let before = status.clone();
        change(&mut status);
        status.has_run |= status.state == State::Running;
        let changed = before != *status;
        if status.has_run && !before.has_run {
            tracing::debug!("the task runs");
        }
        self.metrics.status(status.state, status.retrying.is_some());
        drop(status);
        if changed && let Some(tell) = &self.changed {
            tell();
        }
    }

    /// Notes a topic that was read or written; once a batch.
    pub(crate) fn touch(&self, topic: &str) {
        self.topics.touch(topic);
    }
}
