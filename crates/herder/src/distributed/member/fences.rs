//! The producers of task sets that are over: the leader fences them before the next set is placed, so
//! that nothing of an older set is committed after something of a newer one.
//!
//! Of a connector that gives its records exactly once, the config topic has a count: so many
//! transactional producers may exist. It is written in the transaction that places the task set which has
//! them. A round takes all their transactional ids over; only then is the next set, with its count,
//! written. One task after one task needs no round: the new one's own producer fences the old one's.
//!
//! Whoever takes such an id later, from a start that was on its way, asks [`Member::confirm`] before it
//! writes: its slot is not its own any more.
//!
//! Invariants: a round begins only after it was read back that no slot is held; what it has done counts
//! until a slot is given away, or the writer was lost for a moment.

use super::lead::Failed;
use super::{Action, Answered, Kind, Member};
use crate::distributed::cluster::{Entry, TaskKey};
use crate::state::{Done, Refusal};
use config::Props;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rounds of the leader.
#[derive(Clone, Debug, Default)]
pub(super) struct Fences {
    /// On their way, by attempt.
    rounds: BTreeMap<Arc<str>, u64>,
    /// Connectors whose former producers can write no more.
    done: BTreeSet<Arc<str>>,
    failed: BTreeMap<Arc<str>, Failed>,
    /// Who waits for the end of a round.
    asked: BTreeMap<Arc<str>, Vec<u64>>,
}

impl Fences {
    /// What was done holds no more: somebody else may have led. Gives those who wait.
    pub(super) fn forget_all(&mut self) -> Vec<u64> {
        self.done.clear();
        self.rounds.clear();
        self.take_asked()
    }

    /// Takes ids over at this moment.
    pub(super) fn is_busy(&self, connector: &str) -> bool {
        self.rounds.contains_key(connector)
    }

    /// Those who wait, of whatever connector.
    pub(super) fn take_asked(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.asked).into_values().flatten().collect()
    }

    /// Rounds that are to be tried again after a while.
    pub(super) fn failed(&self) -> &BTreeMap<Arc<str>, Failed> {
        &self.failed
    }
}

/// Whether a task may write what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmed {
    Yes,
    /// Its slot is another's, or nobody's: it was told to stop, or will be.
    No,
    /// The leader has not written yet that it exists.
    NotCounted,
}

impl Member {
    /// Whether a task that has taken its transactional id over may write under it. The config topic must
    /// have been read to its end since.
    pub fn confirm(&self, (name, task): &TaskKey, token: u64) -> Confirmed {
        let entry = self.cluster.connectors.get(name);
        let Some(entry) = entry.filter(|e| e.held_by(&self.me, *task) == Some(token)) else {
            return Confirmed::No;
        };
        match entry.producers {
            Some(producers) if producers == entry.task_count() => Confirmed::Yes,
            _ => Confirmed::NotCounted,
        }
    }

    pub(super) fn kind(&self, config: &Props) -> Kind {
        (self.settings.kinds.0)(config)
    }

    /// Whether the records of this connector are given exactly once.
    pub(super) fn is_once(&self, config: &Props) -> bool {
        self.kind(config) == Kind::OnceSource
    }

    /// Whether the tasks that run are others than those that were counted: they were there before
    /// somebody wanted their records exactly once.
    pub(super) fn is_miscounted(&self, entry: &Entry, config: &Props) -> bool {
        let counted = entry.producers.is_some_and(|producers| producers != entry.task_count());
        counted && self.is_once(config)
    }

    /// Whether nobody of a former task set can write any more, so that `tasks` may begin; begins the
    /// round that sees to it where nobody has.
    pub(super) fn is_fenced(
        &mut self,
        (name, entry, config): (&Arc<str>, &Entry, &Props),
        tasks: u32,
        now_ms: u64,
        actions: &mut Vec<Action>,
    ) -> bool {
        // Those of a set that was there before it was counted may have been transactional, too.
        let producers = entry.producers.unwrap_or(entry.task_count());
        if producers == 0 || (producers == 1 && tasks == 1) {
            return true;
        }
        let Some(lead) = &self.lead else { return false };
        let waits = lead.fences.failed.get(name).is_some_and(|failed| !failed.is_over(now_ms));
        if lead.fences.done.contains(name) {
            return true;
        }
        // One that alters offsets takes ids over, too.
        let busy = lead.fences.is_busy(name) || lead.is_altering(name);
        if waits || busy || entry.is_held() {
            return false;
        }
        let attempt = self.next_attempt();
        if let Some(lead) = &mut self.lead {
            lead.fences.rounds.insert(name.clone(), attempt);
        }
        let (name, config) = (name.clone(), config.clone());
        actions.push(Action::Fence { name, attempt, config, producers });
        false
    }

    /// What was done for a connector holds no more: there may be new producers, or none for ever.
    pub(super) fn forget_fences(&mut self, name: &Arc<str>, actions: &mut Vec<Action>) {
        let Some(lead) = &mut self.lead else { return };
        lead.fences.done.remove(name);
        lead.fences.rounds.remove(name);
        lead.fences.failed.remove(name);
        for id in lead.fences.asked.remove(name).unwrap_or_default() {
            actions.push(Action::Answer { id, outcome: Ok(Done::Done) });
        }
    }

    pub(super) fn fenced(
        &mut self,
        now_ms: u64,
        name: &Arc<str>,
        attempt: u64,
        outcome: Result<(), String>,
        actions: &mut Vec<Action>,
    ) {
        let Some(lead) = &mut self.lead else { return };
        if lead.fences.rounds.get(name) != Some(&attempt) {
            return;
        }
        lead.fences.rounds.remove(name);
        lead.due = true;
        lead.look.insert(name.clone());
        let answer = match outcome {
            Ok(()) => {
                lead.fences.failed.remove(name);
                lead.fences.done.insert(name.clone());
                Ok(Done::Done)
            }
            Err(message) => {
                let failed = Failed::again(lead.fences.failed.get(name), message.clone(), now_ms);
                lead.fences.failed.insert(name.clone(), failed);
                let message = format!("Failed to perform zombie fencing: {message}");
                Err(Answered::Refused(Refusal::Failed { message }))
            }
        };
        for id in lead.fences.asked.remove(name).unwrap_or_default() {
            actions.push(Action::Answer { id, outcome: answer.clone() });
        }
    }

    /// A worker of Kafka Connect asks before it starts a task. There is nothing to do but to wait for a
    /// round that runs: no task set is placed before its round is over.
    pub(super) fn fence_asked(&mut self, id: u64, name: &Arc<str>, actions: &mut Vec<Action>) {
        let config = self.cluster.connectors.get(name).and_then(|entry| entry.config.as_ref());
        if config.is_some_and(|config| self.kind(config) == Kind::Sink) {
            let message = format!("Connector {name} is not a source connector");
            let outcome = Err(Answered::Refused(Refusal::Invalid { message }));
            return actions.push(Action::Answer { id, outcome });
        }
        let Some(lead) = &mut self.lead else { return };
        if lead.fences.is_busy(name) || lead.fences.failed.contains_key(name) {
            return lead.fences.asked.entry(name.clone()).or_default().push(id);
        }
        actions.push(Action::Answer { id, outcome: Ok(Done::Done) });
    }
}
