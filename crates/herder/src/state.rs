//! What the herder knows, and the words it speaks: events, requests, actions.

use config::Props;
use std::collections::{BTreeMap, BTreeSet};

/// What a connector should do. Connect's target states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Started,
    Stopped,
}

/// Something that is asked of the herder and answered once, under its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A new connector; refused if the name exists.
    Create {
        name: String,
        config: Props,
        target: Target,
    },
    Stop {
        name: String,
    },
    Resume {
        name: String,
    },
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Asked {
        id: u64,
        request: Request,
    },
    /// The configuration of a [`Request::Create`] was checked.
    Validated {
        id: u64,
        outcome: Result<(), String>,
    },
    /// The tasks of a connector were worked out, or could not be.
    TasksMade {
        name: String,
        epoch: u64,
        outcome: Result<Vec<Props>, String>,
    },
    /// A task is gone, for whatever reason, after it was told to stop.
    TaskEnded {
        name: String,
        epoch: u64,
        task: u32,
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
        config: Props,
    },
    MakeTasks {
        name: String,
        epoch: u64,
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
    Answer {
        id: u64,
        outcome: Result<(), Refusal>,
    },
    /// Everything has stopped.
    Exit,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Unknown { name: String },
    Exists { name: String },
    Invalid { message: String },
    ShuttingDown,
}

/// One connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connector {
    pub config: Props,
    pub target: Target,
    /// Counts the times tasks were worked out; late news of an older epoch is ignored.
    pub epoch: u64,
    /// Why the connector is FAILED.
    pub failure: Option<String>,
    pub tasks: Vec<Props>,
    /// Tasks of this epoch that were started and have not ended.
    pub running: BTreeSet<u32>,
    /// Tasks are being worked out.
    pub making: bool,
    /// Tasks were told to stop.
    pub stopping: bool,
}

/// Everything the herder knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) connectors: BTreeMap<String, Connector>,
    /// Connectors that are being checked, by request.
    pub(crate) creating: BTreeMap<u64, (String, Props, Target)>,
    pub(crate) shutting_down: bool,
}

impl State {
    pub fn connectors(&self) -> &BTreeMap<String, Connector> {
        &self.connectors
    }
}
