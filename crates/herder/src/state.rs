//! What the herder knows, and the words it speaks: events, requests, actions.

use config::{Given, Props};
use runtime::OffsetsChange;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a connector should do. Connect's target states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Started,
    /// Its tasks are known and do nothing.
    Paused,
    /// It has no tasks.
    Stopped,
}

/// Something that is asked of the herder and answered once, under its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A new connector; refused if the name exists.
    Create {
        name: String,
        config: Given,
        target: Target,
    },
    /// A new configuration; makes the connector if there is none.
    Put {
        name: String,
        config: Given,
    },
    /// Changes of single keys; null takes a key out.
    Patch {
        name: String,
        patch: Given,
    },
    /// Takes a connector out, with its offsets if they are to go as well; where these cannot be reset,
    /// it stays, stopped.
    Delete {
        name: String,
        offsets: bool,
    },
    /// A connector that was there before this process, as it was: nothing is checked, since what is
    /// wrong with it now must not keep the others from coming back.
    Restore {
        name: String,
        config: Props,
        target: Target,
    },
    Retarget {
        name: String,
        target: Target,
    },
    /// Works the tasks out again (`connector`), starts these tasks again; answered at once if
    /// `at_once`, else once it has happened.
    Restart {
        name: String,
        connector: bool,
        tasks: BTreeSet<u32>,
        at_once: bool,
    },
    RestartTask {
        name: String,
        task: u32,
    },
    /// A task set that another worker of a cluster has worked out.
    Tasks {
        name: String,
        tasks: Vec<Props>,
    },
    /// No producer of a former task set is to write any more; only for sources of a cluster.
    Fence {
        name: String,
    },
    /// Only for a stopped connector.
    Offsets {
        name: String,
        change: OffsetsChange,
    },
}

impl Request {
    /// The connector it is about.
    pub fn name(&self) -> &str {
        match self {
            Request::Create { name, .. }
            | Request::Put { name, .. }
            | Request::Patch { name, .. }
            | Request::Delete { name, .. }
            | Request::Restore { name, .. }
            | Request::Retarget { name, .. }
            | Request::Restart { name, .. }
            | Request::RestartTask { name, .. }
            | Request::Tasks { name, .. }
            | Request::Fence { name }
            | Request::Offsets { name, .. } => name,
        }
    }
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Asked {
        id: u64,
        request: Request,
    },
    /// The configuration of a [`Action::Validate`] was checked.
    Validated {
        id: u64,
        name: String,
        outcome: Result<(), String>,
    },
    /// The tasks of a connector were worked out, or could not be.
    TasksMade {
        name: String,
        attempt: u64,
        outcome: Result<Vec<Props>, String>,
    },
    /// A task that has failed would do better if it were started once more.
    Again {
        name: String,
        epoch: u64,
        task: u32,
    },
    /// A task is gone, for whatever reason, after it was told to stop.
    TaskEnded {
        name: String,
        epoch: u64,
        task: u32,
    },
    /// An [`Action::AlterOffsets`] has come to its end.
    OffsetsAltered {
        name: String,
        outcome: Result<String, OffsetsRefused>,
    },
    /// The worker is to end: tasks are expected back.
    Shutdown,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Validate {
        id: u64,
        name: String,
        config: Given,
    },
    MakeTasks {
        name: String,
        attempt: u64,
        config: Props,
    },
    StartTask {
        name: String,
        epoch: u64,
        task: u32,
        config: Props,
    },
    /// `leave`: the task's seat in the group is given up at once.
    StopTask {
        name: String,
        epoch: u64,
        task: u32,
        leave: bool,
    },
    /// The connector has no tasks and gets none until this is done.
    AlterOffsets {
        name: String,
        config: Props,
        change: OffsetsChange,
    },
    Answer {
        id: u64,
        outcome: Result<Done, Refusal>,
    },
    /// Everything has stopped.
    Exit,
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    Done,
    /// There was no such connector before.
    Created,
    /// What there is to say about changed offsets.
    Told(String),
}

/// Why offsets were not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetsRefused {
    /// They cannot be.
    Invalid(String),
    /// Something outside does not answer.
    Failed(String),
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such connector; `what` was asked.
    Unknown {
        message: String,
    },
    Exists {
        name: String,
    },
    Invalid {
        message: String,
    },
    Failed {
        message: String,
    },
    ShuttingDown,
}

/// A change of a configuration that is being checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checking {
    pub(crate) id: u64,
    pub(crate) config: Given,
    /// For a connector that is new.
    pub(crate) target: Target,
}

/// A change of offsets that waits for the last task, or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Altering {
    pub(crate) id: u64,
    /// `None` once it runs.
    pub(crate) change: Option<OffsetsChange>,
}

/// One connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connector {
    pub config: Props,
    pub target: Target,
    /// Counts the generations of tasks that were started.
    pub epoch: u64,
    /// Why the connector is FAILED.
    pub failure: Option<String>,
    pub tasks: Vec<Props>,
    /// Tasks of this epoch that were started and have not ended.
    pub running: BTreeSet<u32>,
    /// Counts the times tasks were worked out; late news of an older time is ignored.
    pub(crate) attempt: u64,
    /// Tasks are being worked out.
    pub(crate) making: bool,
    /// Tasks are to be worked out (again).
    pub(crate) remake: bool,
    /// All tasks were told to stop.
    pub(crate) stopping: bool,
    /// Tasks that were told to stop and start again when they have ended.
    pub(crate) restarting: BTreeSet<u32>,
    /// Tasks that start when those before them have ended.
    pub(crate) next: Option<Vec<Props>>,
    pub(crate) altering: Option<Altering>,
    pub(crate) deleting: bool,
    /// Requests that are answered once what they asked for has happened.
    pub(crate) waiting: Vec<(u64, Done)>,
}

impl Connector {
    pub(crate) fn new(config: Props, target: Target) -> Connector {
        Connector {
            config,
            target,
            epoch: 0,
            failure: None,
            tasks: Vec::new(),
            running: BTreeSet::new(),
            attempt: 0,
            making: false,
            remake: true,
            stopping: false,
            restarting: BTreeSet::new(),
            next: None,
            altering: None,
            deleting: false,
            waiting: Vec::new(),
        }
    }

    /// Its end was asked for.
    pub fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// Everything that was asked for has happened.
    pub(crate) fn is_settled(&self) -> bool {
        let at_target = match self.target {
            Target::Started => !self.remake && self.next.is_none(),
            Target::Paused | Target::Stopped => self.running.is_empty(),
        };
        at_target && !self.making && !self.stopping && self.restarting.is_empty()
    }
}

/// Everything the herder knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) connectors: BTreeMap<String, Connector>,
    /// Changes of configurations that are being checked, by connector.
    pub(crate) checking: BTreeMap<String, Checking>,
    /// Requests that wait until nothing else changes their connector, by connector.
    pub(crate) queues: BTreeMap<String, VecDeque<(u64, Request)>>,
    pub(crate) changed: BTreeSet<String>,
    pub(crate) shutting_down: bool,
}

impl State {
    pub fn connectors(&self) -> &BTreeMap<String, Connector> {
        &self.connectors
    }

    /// The connectors that may have changed since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.changed)
    }
}
