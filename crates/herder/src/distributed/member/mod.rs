//! What one worker of a cluster decides: a pure state machine, events in, actions out.
//!
//! Every worker runs the tasks that placements give it ([`follow`]); the one that leads also decides
//! where tasks run and takes requests in ([`lead`]). A driver carries the actions out: it reads and
//! writes the topics, keeps the membership, and starts and stops tasks on threads of their own.
//!
//! Invariants, checked by simulation:
//! - a task starts elsewhere only after its worker has said that it ended, or is certainly gone;
//! - what holds a task has a higher token than whatever held it before;
//! - task sets of two generations of a connector never run at the same time;
//! - the leader decides on what it has read to the end, after it alone can write;
//! - a request is answered once, and as done only after its change was read back.

mod follow;
mod lead;
mod requests;
mod slots;

use super::cluster::{Change, Claim, Cluster, Stance, TaskKey, WorkerId};
use super::membership::Seat;
use super::topics::SessionKey;
use crate::state::{Done, OffsetsRefused, Refusal, Request};
use config::{Given, Props};
use lead::Lead;
use runtime::OffsetsChange;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the operator has set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Partitions of the membership topic: as many workers as there can be.
    pub partitions: i32,
    /// How long tasks of a worker that is gone wait for it: `scheduled.rebalance.max.delay.ms` where
    /// it is set, else 0.
    pub lost_wait_ms: u64,
    /// How long tasks wait for a worker that was stopped to be started again.
    pub restart_wait_ms: u64,
}

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

/// A task that runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    token: u64,
    /// It was told to stop.
    stopping: bool,
}

/// A worker's part in the cluster.
#[derive(Clone, Debug)]
pub struct Member {
    me: WorkerId,
    settings: Settings,
    cluster: Cluster,
    seat: Option<Seat>,
    /// What was written when it sat down has been read.
    caught_up: bool,
    running: BTreeMap<TaskKey, Running>,
    /// Connectors whose tasks here may have to change.
    stale: BTreeSet<Arc<str>>,
    /// The last version that told it to stop a task.
    told: u64,
    stance: Stance,
    exited: bool,
    /// The claim that was written last, and whether it is still on its way.
    claimed: Option<Claim>,
    claiming: bool,
    /// Something else was read than it had said.
    contradicted: bool,
    lead: Option<Lead>,
    /// The transaction that is on its way.
    pending: Option<Pending>,
    attempts: u64,
    /// Which attempt the next [`Event::CaughtUp`] is awaited from.
    reading: Option<u64>,
}

/// A transaction, and who is answered once it is read back.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pending {
    version: u64,
    asked: Vec<(u64, Done)>,
    /// Committed; waits until it is read.
    committed: bool,
    /// Its outcome is not known, and will be when everything has been read.
    unknown: bool,
}

impl Member {
    pub fn new(me: WorkerId, settings: Settings) -> Member {
        Member {
            me,
            settings,
            cluster: Cluster::default(),
            seat: None,
            caught_up: false,
            running: BTreeMap::new(),
            stale: BTreeSet::new(),
            told: 0,
            stance: Stance::Active,
            exited: false,
            claimed: None,
            claiming: false,
            contradicted: false,
            lead: None,
            pending: None,
            attempts: 0,
            reading: None,
        }
    }

    /// What it knows.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Whether it has a place in the cluster and knows what was written before.
    pub fn is_seated(&self) -> bool {
        self.caught_up && self.seat.as_ref().is_some_and(|seat| !seat.partitions.is_empty())
    }

    /// Whether it decides for the cluster at the moment.
    pub fn leads(&self) -> bool {
        self.lead.as_ref().is_some_and(Lead::is_ready)
    }

    /// Why the tasks of a connector could not be made; only the leader knows.
    pub fn failure(&self, connector: &str) -> Option<&str> {
        self.lead.as_ref()?.failures.get(connector).map(|failure| failure.message.as_str())
    }

    /// Takes one event in and gives what is to be done about it, in order. `now_ms` may be any clock;
    /// only waits for workers that are gone depend on it.
    pub fn step(&mut self, now_ms: u64, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.exited {
            return actions;
        }
        match event {
            Event::Config { changes, live } => self.config_read(changes, live, &mut actions),
            Event::Claim { worker, claim } => {
                if worker == self.me {
                    // Others may have forgotten it, for they took it for dead before it came back.
                    self.contradicted = claim != self.claimed;
                }
                self.cluster.claim(worker, claim);
                self.due();
            }
            Event::Joined(seat) => self.joined(seat, &mut actions),
            Event::Lost => self.lost(&mut actions),
            Event::CaughtUp { attempt } => self.read_to_end(attempt, &mut actions),
            Event::WriterReady { attempt, outcome } => {
                self.writer_ready(attempt, outcome, &mut actions);
            }
            Event::Committed { version, outcome } => {
                self.committed(version, outcome, &mut actions);
            }
            Event::NotCaughtUp { attempt } => {
                if self.reading == Some(attempt) {
                    self.read_again(&mut actions);
                }
            }
            Event::Claimed => self.claiming = false,
            // Said again at the next tick, not at once: whatever failed may fail for a while.
            Event::NotClaimed => self.claimed = None,
            Event::Validated { id, name, outcome } => {
                self.validated(id, &name, outcome, &mut actions);
            }
            Event::TasksMade { name, attempt, outcome } => {
                self.tasks_made(now_ms, &name, attempt, outcome);
            }
            Event::OffsetsAltered { name, outcome } => {
                self.offsets_altered(&name, outcome, &mut actions);
            }
            Event::TaskEnded { task, token } => self.task_ended(&task, token),
            Event::Asked { id, request } => self.asked(id, request, &mut actions),
            Event::KeyMade(key) => self.key_made(key),
            Event::Drain(drain) => self.drain(drain),
            Event::Shutdown { returns } => self.shutdown(returns, &mut actions),
            Event::Tick => self.tick(&mut actions),
        }
        self.follow(&mut actions);
        self.decide(now_ms, &mut actions);
        self.speak(&mut actions);
        actions
    }

    fn next_attempt(&mut self) -> u64 {
        self.attempts += 1;
        self.attempts
    }

    fn read_again(&mut self, actions: &mut Vec<Action>) {
        let attempt = self.next_attempt();
        self.reading = Some(attempt);
        actions.push(Action::ReadToEnd { attempt });
    }

    fn joined(&mut self, seat: Seat, actions: &mut Vec<Action>) {
        let first = self.seat.is_none();
        let leads = seat.leads(self.settings.partitions);
        if seat.partitions.is_empty() {
            // To the others it is not there: whatever it runs may be given away.
            self.stop_all(true, actions);
        }
        self.seat = Some(seat);
        if first {
            self.caught_up = false;
            self.stale.extend(self.cluster.connectors.keys().cloned());
            self.read_again(actions);
        }
        match (leads, self.lead.is_some()) {
            (true, false) if !self.ends() => self.take_lead(actions),
            (false, true) => self.leave_lead(actions),
            _ => {}
        }
        self.due();
    }

    fn lost(&mut self, actions: &mut Vec<Action>) {
        self.seat = None;
        self.caught_up = false;
        self.reading = None;
        self.leave_lead(actions);
        self.stop_all(true, actions);
    }

    fn read_to_end(&mut self, attempt: u64, actions: &mut Vec<Action>) {
        if self.reading != Some(attempt) {
            return;
        }
        self.reading = None;
        self.caught_up = true;
        self.stale.extend(self.cluster.connectors.keys().cloned());
        if let Some(lead) = &mut self.lead {
            lead.caught_up();
        }
        self.settle_unknown(actions);
    }

    fn tick(&mut self, actions: &mut Vec<Action>) {
        self.retry_lead(actions);
        self.due();
        if self.claimed.is_none() {
            self.claiming = false;
        }
    }
}
