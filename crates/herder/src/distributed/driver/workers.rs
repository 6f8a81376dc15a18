//! The workers of the cluster, as this one knows them, and draining this one.
//!
//! Both are asked for seldom: the list is made when somebody asks, from what was read, not with every
//! view.

use super::Driver;
use crate::command::WorkersAsked;
use crate::distributed::cluster::{Slot, Stance, WorkerId};
use crate::distributed::member::Event;
use crate::distributed::membership::{View, has_left};
use crate::distributed::records::Said;
use crate::error::{Answer, HerderError};
use crate::state::Done;
use crate::view::{HeldTask, WorkerState, WorkerView};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::oneshot;

/// What a worker has said of itself beside its claim.
struct Heard {
    version: Arc<str>,
    troubles: Vec<String>,
    /// Where this start of it first had a place.
    joined: Option<i32>,
    /// When it wrote that; milliseconds since 1970, -1 where the record does not say.
    at_ms: i64,
}

/// What is kept for those who ask about workers.
#[derive(Default)]
pub(super) struct Workers {
    heard: BTreeMap<WorkerId, Heard>,
    /// Who waits until this worker's word says that it drains, or does not.
    waiting: Vec<(bool, oneshot::Sender<Answer>)>,
}

impl Workers {
    /// The generation of the group in which a start of a worker first had a place, if it has said so.
    pub(super) fn joined(&self, worker: &WorkerId) -> Option<i32> {
        self.heard.get(worker)?.joined
    }
}

impl Driver {
    /// Takes a worker's word on itself in. True once everything has ended.
    pub(super) fn said(
        &mut self,
        worker: WorkerId,
        said: Option<Said>,
        live: bool,
        at_ms: i64,
    ) -> bool {
        if let Some(said) = said.as_ref().filter(|_| live) {
            self.differences.look(&self.settings, said);
        }
        match &said {
            Some(said) => {
                self.urls.insert(worker.clone(), said.url.clone());
                let (version, troubles) = (said.version.clone(), said.troubles.clone());
                let heard = Heard { version, troubles, joined: said.joined, at_ms };
                let before = self.workers.heard.insert(worker.clone(), heard);
                if before.and_then(|before| before.joined) != said.joined {
                    // What an earlier start of it has said does not count any more.
                    let names = self.member.cluster().connectors.keys();
                    names.for_each(|name| self.stale.connector(name));
                }
            }
            None => {
                self.urls.remove(&worker);
                self.workers.heard.remove(&worker);
            }
        }
        self.stale.rest();
        let exit = self.step(Event::Claim { worker, claim: said.map(|said| said.claim) });
        self.answer_drains();
        exit
    }

    /// True once everything has ended.
    pub(super) fn workers_asked(&mut self, asked: WorkersAsked) -> bool {
        match asked {
            WorkersAsked::List(reply) => {
                // Whoever asked may have stopped waiting.
                drop(reply.send(Some(self.list_workers())));
                false
            }
            WorkersAsked::Drain { drain, force, reply } => self.drain(drain, force, reply),
        }
    }

    fn drain(&mut self, drain: bool, force: bool, reply: oneshot::Sender<Answer>) -> bool {
        if drain && !force && !self.somebody_takes() {
            let message =
                format!("{} is the only active worker: nobody could take its tasks", self.me.name);
            drop(reply.send(Err(HerderError::NoTaker(message))));
            return false;
        }
        for (wanted, other) in std::mem::take(&mut self.workers.waiting) {
            if wanted == drain {
                self.workers.waiting.push((wanted, other));
            } else {
                let message = "somebody else has asked for the opposite since".to_owned();
                drop(other.send(Err(HerderError::Failed(message))));
            }
        }
        tracing::info!("{}", if drain { "this worker drains" } else { "it drains no longer" });
        self.workers.waiting.push((drain, reply));
        let exit = self.step(Event::Drain(drain));
        self.answer_drains();
        exit
    }

    /// Whether another worker, as far as is known, would take tasks of this one.
    fn somebody_takes(&self) -> bool {
        let view = self.member.view();
        let mut claims = self.member.cluster().claims.values();
        claims.any(|claim| {
            let other = claim.worker.name != self.me.name;
            let there = !claim.partitions.is_empty() && !view.is_dead(&claim.worker);
            other && there && claim.stance == Stance::Active
        })
    }

    /// Answers those whose wish stands in the topic.
    pub(super) fn answer_drains(&mut self) {
        let claim = self.member.cluster().claims.get(&self.me);
        let said = match claim.map(|claim| claim.stance) {
            Some(Stance::Draining) => true,
            Some(Stance::Active) => false,
            _ => return,
        };
        for (wanted, reply) in std::mem::take(&mut self.workers.waiting) {
            if wanted == said {
                drop(reply.send(Ok(Done::Done)));
            } else {
                self.workers.waiting.push((wanted, reply));
            }
        }
    }

    fn list_workers(&self) -> Vec<WorkerView> {
        let cluster = self.member.cluster();
        let view = self.member.view();
        let mut held: BTreeMap<&WorkerId, BTreeSet<HeldTask>> = BTreeMap::new();
        for (name, entry) in &cluster.connectors {
            let slots = entry.placement.iter().flat_map(|placement| &placement.slots);
            for (task, slot) in (0..).zip(slots) {
                let Some(worker) = slot.worker() else { continue };
                let leaving = matches!(slot, Slot::Leaving { .. });
                let task = HeldTask { connector: name.clone(), task, leaving };
                held.entry(worker).or_default().insert(task);
            }
        }
        for claim in cluster.claims.values() {
            let tasks = held.entry(&claim.worker).or_default();
            for (connector, task) in &claim.lingering {
                let known = |held: &HeldTask| held.connector == *connector && held.task == *task;
                if !tasks.iter().any(known) {
                    tasks.insert(HeldTask {
                        connector: connector.clone(),
                        task: *task,
                        leaving: true,
                    });
                }
            }
        }
        let views = held.into_iter().map(|(worker, tasks)| self.worker_view(worker, tasks, &view));
        views.collect()
    }

    fn worker_view(&self, worker: &WorkerId, tasks: BTreeSet<HeldTask>, view: &View) -> WorkerView {
        let claim = self.member.cluster().claims.get(worker);
        let heard = self.workers.heard.get(worker);
        let leads = self.member.leads();
        let led_by = self.member.cluster().led_by.as_ref();
        WorkerView {
            id: worker.name.clone(),
            run: Some(worker.run),
            url: self.urls.get(worker).cloned().unwrap_or_default(),
            version: heard.map(|heard| heard.version.clone()).unwrap_or_default(),
            state: match claim {
                // Its word was taken away; what it holds is still to be given to others.
                None => WorkerState::Lost,
                Some(claim) if has_left(claim.stance) || !view.is_dead(worker) => {
                    state_of(claim.stance)
                }
                Some(claim) if self.generation == claim.generation => WorkerState::Waiting,
                Some(_) => WorkerState::Lost,
            },
            leader: if leads { *worker == self.me } else { led_by == Some(worker) },
            here: *worker == self.me,
            partitions: claim.map(|claim| claim.partitions.clone()).unwrap_or_default(),
            troubles: heard.map(|heard| heard.troubles.clone()).unwrap_or_default(),
            heard_ms: heard.and_then(|heard| u64::try_from(heard.at_ms).ok()),
            tasks: tasks.into_iter().collect(),
        }
    }
}

fn state_of(stance: Stance) -> WorkerState {
    match stance {
        Stance::Active => WorkerState::Active,
        Stance::Draining => WorkerState::Draining,
        Stance::Ending => WorkerState::Ending,
        Stance::Restarting => WorkerState::Restarting,
        Stance::Left => WorkerState::Left,
    }
}
