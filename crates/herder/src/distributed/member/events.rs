//! The words between a member and its driver: what has happened, and what is to be done.

use crate::distributed::cluster::{Change, Claim, TaskKey, WorkerId};
use crate::distributed::membership::Seat;
use crate::distributed::topics::SessionKey;
use crate::state::{Done, OffsetsRefused, Refusal, Request};
use config::{Given, Props};
use runtime::OffsetsChange;
use std::sync::Arc;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Records of the config topic; `live`: they were written after the worker had read to its end.
    Config {
        changes: Vec<Change>,
        live: bool,
    },
    /// A worker's word on itself, from the status topic; none: forgotten.
    Claim {
        worker: WorkerId,
        claim: Option<Claim>,
    },
    /// The membership group has given this worker these partitions.
    Joined(Seat),
    /// The group has given its partitions to others, or cannot be reached any more.
    Lost,
    /// A [`Action::ReadToEnd`] is done: what was written before it was asked for has been read.
    CaughtUp {
        attempt: u64,
    },
    /// The end was not reached in time.
    NotCaughtUp {
        attempt: u64,
    },
    /// A [`Action::InitWriter`] is done: nobody who had the writer before can write any more.
    WriterReady {
        attempt: u64,
        outcome: Result<(), ()>,
    },
    Committed {
        version: u64,
        outcome: Commit,
    },
    /// The claim written last is on the topic.
    Claimed,
    /// It could not be written.
    NotClaimed,
    Validated {
        id: u64,
        name: Arc<str>,
        outcome: Result<(), String>,
    },
    TasksMade {
        name: Arc<str>,
        attempt: u64,
        outcome: Result<Vec<Props>, String>,
    },
    OffsetsAltered {
        name: Arc<str>,
        outcome: Result<String, OffsetsRefused>,
    },
    /// A [`Action::Fence`] has come to its end.
    Fenced {
        name: Arc<str>,
        attempt: u64,
        outcome: Result<(), String>,
    },
    /// A task is gone, for whatever reason, after it was told to stop.
    TaskEnded {
        task: TaskKey,
        token: u64,
    },
    Asked {
        id: u64,
        request: Request,
    },
    /// A key that the leader is to write with its next transaction.
    KeyMade(SessionKey),
    /// Gives its tasks away and takes no new ones, until it is told otherwise.
    Drain(bool),
    /// The process is to end. `returns`: it is expected back.
    Shutdown {
        returns: bool,
    },
    /// Time has passed.
    Tick,
}

impl Event {
    /// Its name, for the log: what is in it may be secret.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Config { .. } => "Config",
            Event::Claim { .. } => "Claim",
            Event::Joined(_) => "Joined",
            Event::Lost => "Lost",
            Event::CaughtUp { .. } => "CaughtUp",
            Event::NotCaughtUp { .. } => "NotCaughtUp",
            Event::WriterReady { .. } => "WriterReady",
            Event::Committed { .. } => "Committed",
            Event::Claimed => "Claimed",
            Event::NotClaimed => "NotClaimed",
            Event::Validated { .. } => "Validated",
            Event::TasksMade { .. } => "TasksMade",
            Event::OffsetsAltered { .. } => "OffsetsAltered",
            Event::Fenced { .. } => "Fenced",
            Event::TaskEnded { .. } => "TaskEnded",
            Event::Asked { .. } => "Asked",
            Event::KeyMade(_) => "KeyMade",
            Event::Drain(_) => "Drain",
            Event::Shutdown { .. } => "Shutdown",
            Event::Tick => "Tick",
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    Done,
    /// The membership has moved on: nothing was written.
    Stale,
    /// Another one has the writer now: nothing was written.
    Fenced,
    /// Nobody knows whether it was written.
    Unknown,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the config topic to its end of now.
    ReadToEnd {
        attempt: u64,
    },
    /// Take the cluster's transactional writer from whoever has it.
    InitWriter {
        attempt: u64,
    },
    /// Write these in one transaction that is good only in the present membership.
    Commit {
        version: u64,
        changes: Vec<Change>,
    },
    WriteClaim(Claim),
    /// What a worker said of itself is to be forgotten: it is gone, and nothing depends on it.
    Forget(WorkerId),
    Validate {
        id: u64,
        name: Arc<str>,
        config: Given,
    },
    MakeTasks {
        name: Arc<str>,
        attempt: u64,
        config: Props,
    },
    AlterOffsets {
        name: Arc<str>,
        config: Props,
        change: OffsetsChange,
        /// So many transactional producers may exist: none of them may write after that.
        producers: u32,
    },
    /// Take the transactional ids of so many tasks of a connector over, which ends what their producers
    /// have open, and the producers.
    Fence {
        name: Arc<str>,
        attempt: u64,
        config: Props,
        producers: u32,
    },
    StartTask {
        task: TaskKey,
        token: u64,
        config: Props,
    },
    /// `lost`: another one may have it already.
    StopTask {
        task: TaskKey,
        token: u64,
        lost: bool,
    },
    Answer {
        id: u64,
        outcome: Result<Done, Answered>,
    },
    /// Everything has stopped, and was said to have.
    Exit,
}

impl Action {
    /// Its name, for the log: what is in it may be secret.
    pub fn kind(&self) -> &'static str {
        match self {
            Action::ReadToEnd { .. } => "ReadToEnd",
            Action::InitWriter { .. } => "InitWriter",
            Action::Commit { .. } => "Commit",
            Action::WriteClaim(_) => "WriteClaim",
            Action::Forget(_) => "Forget",
            Action::Validate { .. } => "Validate",
            Action::MakeTasks { .. } => "MakeTasks",
            Action::AlterOffsets { .. } => "AlterOffsets",
            Action::Fence { .. } => "Fence",
            Action::StartTask { .. } => "StartTask",
            Action::StopTask { .. } => "StopTask",
            Action::Answer { .. } => "Answer",
            Action::Exit => "Exit",
        }
    }
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    Refused(Refusal),
    /// Nothing was done: ask the one that leads.
    NotLeader,
    /// The leader lost its place while it wrote: it may have been done.
    Unknown,
}
