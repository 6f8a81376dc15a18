//! What the driver publishes for readers: a copy of the state, with live task statuses.

use crate::distributed::keys::SessionKeys;
use crate::state::Target;
use config::Props;
use runtime::{ActiveTopics, Direction, State, StatusCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

/// One start of another worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// Under which others reach it.
    pub url: Arc<str>,
    /// Another one at every start: the later, the higher.
    pub run: u64,
    /// Its session is over; what it has waits for it, or goes to another one in a moment.
    pub dead: bool,
}

/// A task as readers see it.
#[derive(Clone)]
pub struct TaskView {
    pub config: Props,
    /// It was told to stop, and starts again when it has.
    pub restarting: bool,
    /// The worker that runs it, where that is another one.
    pub elsewhere: Option<Arc<str>>,
    /// Where that one is asked, if it has said.
    pub at: Option<At>,
    /// No worker has it: it waits for one.
    pub unplaced: bool,
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
    /// Where that one is asked, if it has said.
    pub at: Option<At>,
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

/// How a worker of a cluster stands among the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Of the group; none before the worker was a member.
    pub generation: Option<i32>,
    /// How often it has come to another generation, and when it last did.
    pub joins: u64,
    pub joined: Option<Instant>,
    /// It is a member and knows what was written before.
    pub seated: bool,
    /// How many are known to be there, this one included; none while not everybody has said so under the
    /// present generation.
    pub workers: Option<usize>,
}

/// Everything a reader may ask for.
#[derive(Clone, Default)]
pub struct View {
    pub leader: Leader,
    /// How far the worker has read what leaders wrote; 0 where there is only one.
    pub version: u64,
    pub connectors: BTreeMap<String, Arc<ConnectorView>>,
    /// None where there is only one worker.
    pub standing: Option<Standing>,
    /// By which workers believe each other; none where there is only one.
    pub keys: SessionKeys,
    /// The connectors given at the start have been created.
    pub ready: bool,
    /// The worker is of a cluster, and has not read yet what that is made of: what stands here means
    /// nothing.
    pub joining: bool,
    /// What the worker waits for, and what to do about it.
    pub waits: Option<String>,
    /// It has ended its part in its cluster: what stands here is not brought up to date any more.
    pub ended: bool,
}

/// How a worker of a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    Active,
    /// Gives its tasks away and takes no new ones.
    Draining,
    /// Stops its tasks, for its process ends.
    Ending,
    /// Has ended; its tasks wait for it to come back.
    Restarting,
    /// Has ended for good.
    Left,
    /// Is no member any more, and has not said why; its tasks go to others.
    Lost,
    /// Is there and has no place: the cluster has as many workers as it may.
    Waiting,
}

impl WorkerState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            WorkerState::Active => "ACTIVE",
            WorkerState::Draining => "DRAINING",
            WorkerState::Ending => "ENDING",
            WorkerState::Restarting => "RESTARTING",
            WorkerState::Left => "LEFT",
            WorkerState::Lost => "LOST",
            WorkerState::Waiting => "WAITING",
        }
    }
}

/// A task that a worker runs or may run still.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldTask {
    pub connector: Arc<str>,
    pub task: u32,
    /// Its worker has been told to stop it.
    pub leaving: bool,
}

/// A worker as readers see it.
#[derive(Clone, Debug)]
pub struct WorkerView {
    /// `host:port` as it is advertised.
    pub id: Arc<str>,
    /// Another one at every start; none outside of clusters.
    pub run: Option<u64>,
    /// Under which others reach it; empty where it has not said.
    pub url: Arc<str>,
    /// Of its program.
    pub version: Arc<str>,
    pub state: WorkerState,
    pub leader: bool,
    /// It is the one that is asked.
    pub here: bool,
    /// What it owns in the membership group.
    pub partitions: BTreeSet<i32>,
    /// What keeps it from working with the others, in its own words.
    pub troubles: Vec<String>,
    /// When it last said something of itself, which it does when something changes; milliseconds
    /// since 1970.
    pub heard_ms: Option<u64>,
    /// By connector and number.
    pub tasks: Vec<HeldTask>,
}
