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
//! - where records are given exactly once, nothing of an older set is committed after a newer one's;
//! - the leader decides on what it has read to the end, after it alone can write;
//! - a request is answered once, and as done only after its change was read back.

mod events;
mod fences;
mod follow;
mod lead;
mod requests;
mod slots;
#[cfg(test)]
mod tests;

use super::cluster::{Claim, Cluster, Stance, TaskKey, WorkerId};
use super::membership::Seat;
use crate::state::{Done, Target};
use config::Props;
use lead::Lead;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use events::{Action, Answered, Commit, Event};
pub use fences::Confirmed;

/// What the records of a connector ask of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sink,
    /// Its records are given at least once.
    Source,
    /// Its tasks have transactional producers, or may have them on other workers.
    OnceSource,
}

/// Tells the kind of a connector by its configuration, the same one every time.
#[derive(Clone)]
pub struct Kinds(pub Arc<dyn Fn(&Props) -> Kind + Send + Sync>);

impl std::fmt::Debug for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kinds")
    }
}

/// What the operator has set.
#[derive(Clone, Debug)]
pub struct Settings {
    pub kinds: Kinds,
    /// Partitions of the membership topic: as many workers as there can be.
    pub partitions: i32,
    /// How long tasks of a worker that is gone wait for it: `scheduled.rebalance.max.delay.ms` where
    /// it is set, else 0.
    pub lost_wait_ms: u64,
    /// How long tasks wait for a worker that was stopped to be started again.
    pub restart_wait_ms: u64,
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

    /// Why the tasks of a connector could not be made, or may not begin; only the leader knows.
    pub fn failure(&self, connector: &str) -> Option<&str> {
        let lead = self.lead.as_ref()?;
        let failure = lead.failures.get(connector).map(|failure| &failure.failed);
        let unfenced = || {
            // One that is stopped has what it was asked for.
            let entry = self.cluster.connectors.get(connector);
            let starts = entry.is_some_and(|entry| entry.target() == Target::Started);
            lead.fences.failed().get(connector).filter(|_| starts)
        };
        failure.or_else(unfenced).map(|failed| failed.message.as_str())
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
            Event::Fenced { name, attempt, outcome } => {
                self.fenced(now_ms, &name, attempt, outcome, &mut actions);
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
