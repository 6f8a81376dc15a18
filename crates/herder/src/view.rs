//! What the driver publishes for readers: a copy of the state, with live task statuses.

use crate::distributed::keys::SessionKeys;
use crate::state::Target;
use config::Props;
use runtime::{ActiveTopics, Direction, State, StatusCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A task as readers see it.
#[derive(Clone)]
pub struct TaskView {
    pub config: Props,
    /// It was told to stop, and starts again when it has.
    pub restarting: bool,
    /// The worker that runs it, where that is another one.
    pub elsewhere: Option<Arc<str>>,
    /// Live: read it for the task's state of this moment. Of a task elsewhere, as it was told.
    pub status: StatusCell,
}

/// A connector as readers see it.
#[derive(Clone)]
pub struct ConnectorView {
    /// As the user wrote it, references to secrets included.
    pub config: Props,
    /// Which way its records go; `None` if there is no such class.
    pub direction: Option<Direction>,
    /// The worker that has the connector, where that is another one.
    pub elsewhere: Option<Arc<str>>,
    /// The version of the plugin.
    pub version: Option<&'static str>,
    pub target: Target,
    pub failure: Option<String>,
    pub tasks: Vec<TaskView>,
    /// Live: the topics that its tasks have read or written.
    pub topics: Arc<ActiveTopics>,
}

impl ConnectorView {
    /// Connect's word for its state.
    pub fn state(&self) -> &'static str {
        match (&self.failure, self.target) {
            (Some(_), _) => "FAILED",
            (None, Target::Started) => "RUNNING",
            (None, Target::Paused) => "PAUSED",
            (None, Target::Stopped) => "STOPPED",
        }
    }

    /// Connect's word for the state of one of its tasks.
    pub fn task_state(&self, task: &TaskView) -> &'static str {
        let state = task.status.metrics().state();
        let at_rest = matches!(state, State::Unassigned | State::Destroyed);
        match self.target {
            _ if task.restarting => "RESTARTING",
            Target::Paused if at_rest => "PAUSED",
            _ => state.name(),
        }
    }

    /// Whether it is FAILED itself, whatever its tasks are.
    pub fn is_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The tasks that are FAILED.
    pub fn failed_tasks(&self) -> Vec<u32> {
        let failed = |task: &TaskView| task.status.get().state == State::Failed;
        (0..).zip(&self.tasks).filter(|(_, task)| failed(task)).map(|(id, _)| id).collect()
    }
}

/// Who decides about connectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Leader {
    /// This worker.
    #[default]
    Here,
    /// The one at this URL.
    At(Arc<str>),
    /// Nobody that this worker knows of.
    Nobody,
}

/// Everything a reader may ask for.
#[derive(Clone, Default)]
pub struct View {
    pub leader: Leader,
    /// How far the worker has read what leaders wrote; 0 where there is only one.
    pub version: u64,
    pub connectors: BTreeMap<String, Arc<ConnectorView>>,
    /// By which workers believe each other; none where there is only one.
    pub keys: SessionKeys,
    /// The connectors given at the start have been created.
    pub ready: bool,
    /// What the worker waits for, and what to do about it.
    pub waits: Option<String>,
}
