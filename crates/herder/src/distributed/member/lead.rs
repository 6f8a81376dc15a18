//! What the leader does besides: one transaction at a time, each decided on what was read back of the
//! one before.
//!
//! The owner of the highest partition takes the cluster's writer, reads the config topic to its end, and
//! decides from then on. Each transaction is good only in the membership in which it is written, so that
//! a leader that was deposed and does not know it yet writes nothing.
//!
//! Invariant: nothing is decided while a transaction is on its way or before what it wrote was read.

use super::fences::Fences;
use super::{Action, Answered, Commit, Member, Pending};
use crate::distributed::cluster::{Change, WorkerId};
use crate::distributed::membership::View;
use crate::distributed::topics::SessionKey;
use crate::state::{Done, Refusal, Request, Target};
use config::{Given, Props};
use runtime::OffsetsChange;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How far the leader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Takes the writer; this is the attempt.
    Taking(u64),
    /// Reads what was written before it had the writer.
    Reading,
    Ready,
    /// Lost the writer to somebody: whoever is rightful will show.
    Fenced,
}

/// How long something that failed is left until it is tried again, at first and at most.
const WAIT_MS: u64 = 1_000;
const WAIT_MAX_MS: u64 = 60_000;

/// What the leader keeps in mind; what must outlive it is in the topic.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    phase: Phase,
    /// Something may have to be decided.
    pub(super) due: bool,
    /// Requests that wait for their turn.
    pub(super) asked: VecDeque<(u64, Request)>,
    /// Configurations that are being checked.
    pub(super) checking: BTreeMap<Arc<str>, (u64, Given, Target)>,
    /// Changes that are to go into the next transaction.
    pub(super) writes: Vec<Write>,
    /// Changes of offsets that wait for the last task, or run.
    pub(super) altering: BTreeMap<Arc<str>, Altering>,
    /// Task sets that are being worked out, by attempt.
    pub(super) making: BTreeMap<Arc<str>, Making>,
    /// Task sets that wait until the one before has left.
    pub(super) made: BTreeMap<Arc<str>, Made>,
    /// Connectors whose tasks are to be worked out again, though nothing says so.
    pub(super) remake: BTreeSet<Arc<str>>,
    /// Why the tasks of an incarnation's configuration could not be made.
    pub(super) failures: BTreeMap<Arc<str>, Failure>,
    /// The key that goes into the next transaction.
    key: Option<SessionKey>,
    /// How far former producers are fenced.
    pub(super) fences: Fences,
    /// Connectors that something was heard of since they were decided on.
    pub(super) look: BTreeSet<Arc<str>>,
    /// The workers as they were at the last decision, and those that took tasks; none: everything is to
    /// be decided anew.
    pub(super) seen: Option<(View, Vec<WorkerId>)>,
    /// Since when a worker is known to be gone.
    pub(super) gone_since_ms: BTreeMap<WorkerId, u64>,
}

/// What a request has come to, to be written.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) asked: Option<(u64, Done)>,
    pub(super) name: Arc<str>,
    pub(super) wanted: Wanted,
}

#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Create(Props, Target),
    Config(Props),
    Delete,
    Target(Target),
    /// So many producers may exist.
    Count(u32),
    Restart(BTreeSet<u32>),
}

#[derive(Clone, Debug)]
pub(super) struct Altering {
    pub(super) id: u64,
    /// None once it runs.
    pub(super) change: Option<OffsetsChange>,
    /// The connector is deleted once it is done.
    pub(super) deleting: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Making {
    pub(super) attempt: u64,
    pub(super) incarnation: u64,
    pub(super) of: u64,
}

/// Why the tasks of a configuration could not be made.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) incarnation: u64,
    pub(super) of: u64,
    pub(super) failed: Failed,
}

/// Something that is tried again, after longer and longer waits.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) message: String,
    at_ms: u64,
    wait_ms: u64,
}

impl Failed {
    /// It has failed; `before` is the last time it did, one after the other.
    pub(super) fn again(before: Option<&Failed>, message: String, at_ms: u64) -> Failed {
        let wait_ms = before.map_or(WAIT_MS, |before| (before.wait_ms * 2).min(WAIT_MAX_MS));
        Failed { message, at_ms, wait_ms }
    }

    /// It is time to try again. A clock that went back is not waited for.
    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        now_ms >= self.at_ms.saturating_add(self.wait_ms) || now_ms < self.at_ms
    }
}

/// A task set that was worked out.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) incarnation: u64,
    pub(super) of: u64,
    pub(super) tasks: Vec<Props>,
}

impl Lead {
    fn new(attempt: u64) -> Lead {
        Lead {
            phase: Phase::Taking(attempt),
            due: true,
            asked: VecDeque::new(),
            checking: BTreeMap::new(),
            writes: Vec::new(),
            altering: BTreeMap::new(),
            making: BTreeMap::new(),
            made: BTreeMap::new(),
            remake: BTreeSet::new(),
            failures: BTreeMap::new(),
            key: None,
            fences: Fences::default(),
            look: BTreeSet::new(),
            seen: None,
            gone_since_ms: BTreeMap::new(),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Offsets of the connector are being changed.
    pub(super) fn is_altering(&self, connector: &str) -> bool {
        self.altering.get(connector).is_some_and(|altering| altering.change.is_none())
    }

    pub(super) fn caught_up(&mut self) {
        if self.phase == Phase::Reading {
            self.phase = Phase::Ready;
            self.due = true;
        }
    }
}

impl Member {
    /// Whatever was read may ask for a decision.
    pub(super) fn due(&mut self) {
        if let Some(lead) = &mut self.lead {
            lead.due = true;
        }
    }

    /// Whoever made it makes another one where this one is not written.
    pub(super) fn key_made(&mut self, key: SessionKey) {
        if let Some(lead) = &mut self.lead {
            lead.key = Some(key);
            lead.due = true;
        }
    }

    pub(super) fn take_lead(&mut self, actions: &mut Vec<Action>) {
        let attempt = self.next_attempt();
        self.lead = Some(Lead::new(attempt));
        actions.push(Action::InitWriter { attempt });
    }

    /// Everything that was asked is asked elsewhere; what it was working out, the next one works out.
    pub(super) fn leave_lead(&mut self, actions: &mut Vec<Action>) {
        let Some(mut lead) = self.lead.take() else { return };
        let fencing = lead.fences.take_asked();
        let asked = lead.asked.into_iter().map(|(id, _)| id);
        let checking = lead.checking.into_values().map(|(id, ..)| id);
        let written = lead.writes.into_iter().filter_map(|write| write.asked.map(|(id, _)| id));
        for id in asked.chain(checking).chain(written).chain(fencing) {
            actions.push(Action::Answer { id, outcome: Err(Answered::NotLeader) });
        }
        for (_, altering) in lead.altering {
            let outcome = Err(match altering.change {
                Some(_) => Answered::NotLeader,
                None => Answered::Unknown,
            });
            actions.push(Action::Answer { id: altering.id, outcome });
        }
    }

    pub(super) fn writer_ready(
        &mut self,
        attempt: u64,
        outcome: Result<(), ()>,
        actions: &mut Vec<Action>,
    ) {
        let Some(lead) = self.lead.as_mut().filter(|l| l.phase == Phase::Taking(attempt)) else {
            return;
        };
        if outcome.is_err() {
            lead.phase = Phase::Fenced;
            return;
        }
        lead.phase = Phase::Reading;
        self.read_again(actions);
    }

    /// One that lost the writer, and has been told nothing else since, is the rightful one after all.
    pub(super) fn retry_lead(&mut self, actions: &mut Vec<Action>) {
        if self.lead.as_ref().is_some_and(|lead| lead.phase == Phase::Fenced) {
            self.take_writer_again(actions);
        }
    }

    fn take_writer_again(&mut self, actions: &mut Vec<Action>) {
        let attempt = self.next_attempt();
        if let Some(lead) = &mut self.lead {
            lead.phase = Phase::Taking(attempt);
            lead.seen = None;
            for id in lead.fences.forget_all() {
                actions.push(Action::Answer { id, outcome: Err(Answered::NotLeader) });
            }
            actions.push(Action::InitWriter { attempt });
        }
    }

    pub(super) fn committed(&mut self, version: u64, outcome: Commit, actions: &mut Vec<Action>) {
        let Some(pending) = self.pending.as_mut().filter(|p| p.version == version) else { return };
        match outcome {
            Commit::Done => {
                pending.committed = true;
                self.read_back(actions);
            }
            Commit::Stale | Commit::Fenced => {
                for (id, _) in std::mem::take(&mut pending.asked) {
                    actions.push(Action::Answer { id, outcome: Err(Answered::NotLeader) });
                }
                self.pending = None;
                if let Some(lead) = &mut self.lead {
                    // Decides again at the next seat or tick, not at once: nothing has changed yet.
                    lead.due = false;
                    lead.seen = None;
                    if outcome == Commit::Fenced {
                        lead.phase = Phase::Fenced;
                    }
                }
            }
            Commit::Unknown => {
                pending.unknown = true;
                if self.lead.is_some() {
                    self.take_writer_again(actions);
                } else {
                    self.read_again(actions);
                }
            }
        }
    }

    /// Answers those whose change was read back, or that was written and has been compacted away since.
    pub(super) fn read_back(&mut self, actions: &mut Vec<Action>) {
        let mine = self.cluster.led_by.as_ref() == Some(&self.me);
        let read = self.cluster.version;
        let written = |pending: &mut Pending| {
            (pending.version == read && mine) || (pending.committed && pending.version <= read)
        };
        let Some(pending) = self.pending.take_if(written) else { return };
        let answers = pending.asked.into_iter();
        actions.extend(answers.map(|(id, done)| Action::Answer { id, outcome: Ok(done) }));
    }

    /// Everything that could have been written has been read: what was not read was not written, unless
    /// a later version hides it.
    pub(super) fn settle_unknown(&mut self, actions: &mut Vec<Action>) {
        let Some(pending) = self.pending.take_if(|pending| pending.unknown) else { return };
        let hidden = self.cluster.version >= pending.version;
        let answered = if hidden { Answered::Unknown } else { Answered::NotLeader };
        for (id, _) in pending.asked {
            actions.push(Action::Answer { id, outcome: Err(answered.clone()) });
        }
    }

    /// Decides what is to be written next, if anything.
    pub(super) fn decide(&mut self, now_ms: u64, actions: &mut Vec<Action>) {
        let Some(seat) = self.seat.clone() else { return };
        let ready = self.lead.as_ref().is_some_and(|lead| lead.is_ready() && lead.due);
        if !ready || self.pending.is_some() || !self.caught_up {
            return;
        }
        let version = self.cluster.version + 1;
        let mut changes = Vec::new();
        let mut asked = Vec::new();
        let mut touched = BTreeSet::new();
        self.take_up(actions);
        let writes = self.lead.as_mut().map(|lead| std::mem::take(&mut lead.writes));
        for write in writes.unwrap_or_default() {
            changes.extend(self.changes(&write.name, write.wanted, version));
            touched.insert(write.name);
            asked.extend(write.asked);
        }
        let view = View::of(&self.cluster, seat.generation, self.settings.partitions);
        changes.extend(self.place(now_ms, version, &view, &touched, actions));
        if let Some(lead) = &mut self.lead {
            changes.extend(lead.key.take().map(Change::SessionKey));
            let failed = !lead.failures.is_empty() || !lead.fences.failed().is_empty();
            let waits = !lead.gone_since_ms.is_empty() || failed;
            lead.due = !changes.is_empty() || waits;
        }
        // A new leader says that it leads, so that the others know whom to ask.
        if changes.is_empty() && self.cluster.led_by.as_ref() == Some(&self.me) {
            return;
        }
        changes.push(Change::Led { version, worker: self.me.clone() });
        self.pending = Some(Pending { version, asked, committed: false, unknown: false });
        actions.push(Action::Commit { version, changes });
    }

    pub(super) fn tasks_made(
        &mut self,
        now_ms: u64,
        name: &Arc<str>,
        attempt: u64,
        outcome: Result<Vec<Props>, String>,
    ) {
        let Some(lead) = &mut self.lead else { return };
        let current = |making: &Making| making.attempt == attempt;
        if !lead.making.get(name).is_some_and(current) {
            return;
        }
        lead.due = true;
        lead.look.insert(name.clone());
        let Some(Making { incarnation, of, .. }) = lead.making.remove(name) else { return };
        match outcome {
            Ok(tasks) => {
                lead.failures.remove(name);
                lead.made.insert(name.clone(), Made { incarnation, of, tasks });
            }
            Err(message) => {
                let before = lead.failures.get(name);
                let before = before.filter(|f| f.of == of && f.incarnation == incarnation);
                let failed = Failed::again(before.map(|before| &before.failed), message, now_ms);
                let failure = Failure { incarnation, of, failed };
                lead.failures.insert(name.clone(), failure);
            }
        }
    }

    pub(super) fn asked(&mut self, id: u64, request: Request, actions: &mut Vec<Action>) {
        let refusal = if self.ends() {
            Answered::Refused(Refusal::ShuttingDown)
        } else if let Some(lead) = &mut self.lead {
            lead.asked.push_back((id, request));
            lead.due = true;
            return;
        } else {
            Answered::NotLeader
        };
        actions.push(Action::Answer { id, outcome: Err(refusal) });
    }
}
