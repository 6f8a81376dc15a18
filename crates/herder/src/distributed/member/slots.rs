//! Where tasks run, as the leader decides it: connector by connector what must leave, wait or be made,
//! then the balance over all.
//!
//! Invariant: a slot is given away only when it is free, and is free only when its worker has said that
//! the task ended, or is certainly gone.

use super::lead::{Made, Making};
use super::{Action, Member};
use crate::distributed::assignment::{At, Item, balance};
use crate::distributed::cluster::{Change, Cluster, Entry, Placement, Slot, Stance};
use crate::distributed::cluster::{TaskKey, WorkerId};
use crate::distributed::membership::View;
use crate::state::Target;
use config::Props;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The key of a connector's configuration that says how much each of its tasks weighs.
const WEIGHT: &str = "copycat.task.weight";

/// Tasks leave their workers, as this version tells them.
pub(super) fn leave(slots: &mut [Slot], since: u64) {
    for slot in slots {
        if let Slot::Held { worker, token } = slot {
            *slot = Slot::Leaving { worker: worker.clone(), token: *token, since };
        }
    }
}

/// What the leader decides with, for one transaction.
struct Round<'a> {
    cluster: &'a Cluster,
    view: &'a View,
    version: u64,
    /// Workers that are gone and waited for no longer.
    given_up: BTreeSet<WorkerId>,
    /// Workers that are gone, and the run that has come in their place.
    returned: BTreeMap<WorkerId, WorkerId>,
}

/// What one transaction is going to say.
struct Draft<'a> {
    cluster: &'a Cluster,
    /// Connectors that are left to the next one.
    touched: &'a BTreeSet<Arc<str>>,
    now_ms: u64,
    version: u64,
    placements: BTreeMap<Arc<str>, Placement>,
    changes: Vec<Change>,
}

impl Draft<'_> {
    /// A slot of any connector that is decided on, to be changed.
    fn slot(&mut self, (name, number): &TaskKey) -> Option<&mut Slot> {
        if !self.placements.contains_key(name) {
            if self.touched.contains(name) {
                return None;
            }
            let known = self.cluster.connectors.get(name)?.placement.clone()?;
            self.placements.insert(name.clone(), known);
        }
        self.placements.get_mut(name)?.slots.get_mut(*number as usize)
    }
}

/// The task set that a connector should have.
struct Wanted<'a> {
    name: &'a Arc<str>,
    config: &'a Props,
    /// The fingerprint of the configuration.
    of: u64,
    incarnation: u64,
}

impl Member {
    /// What is to be written so that tasks run where they should; connectors in `touched` are left to
    /// the next transaction.
    pub(super) fn place(
        &mut self,
        now_ms: u64,
        version: u64,
        view: &View,
        touched: &BTreeSet<Arc<str>>,
        actions: &mut Vec<Action>,
    ) -> Vec<Change> {
        let (given_up, returned) = self.gone(now_ms, view);
        self.forget(view, actions);
        let takers = view.takers(&self.cluster);
        let look = self.worth_a_look(view, &takers);
        let cluster = std::mem::take(&mut self.cluster);
        let round = Round { cluster: &cluster, view, version, given_up, returned };
        let (placements, changes) = (BTreeMap::new(), Vec::new());
        let mut draft = Draft { cluster: &cluster, touched, now_ms, version, placements, changes };
        let mut any = false;
        for (name, entry) in cluster.connectors.iter().filter(|(n, _)| !touched.contains(*n)) {
            if look.is_for(name) || round.has_news(name, entry) {
                any = true;
                let placement = round.settle(name, entry);
                self.arrange(name, entry, placement, &mut draft, actions);
            }
        }
        if any {
            self.even_out(&takers, &mut draft, actions);
            drain(view, &takers, &mut draft);
        }
        let Draft { placements, mut changes, .. } = draft;
        for (name, placement) in placements {
            let before = cluster.connectors.get(&name).and_then(|entry| entry.placement.as_ref());
            if before != Some(&placement) {
                changes.push(Change::Placement { name, placement: Some(placement) });
            }
        }
        self.cluster = cluster;
        changes
    }

    /// What is to be looked at: everything where the workers are others than at the last look.
    fn worth_a_look(&mut self, view: &View, takers: &[WorkerId]) -> Look {
        let Some(lead) = &mut self.lead else { return Look { all: true, names: BTreeSet::new() } };
        let seen = (view.clone(), takers.to_vec());
        let same = lead.seen.as_ref() == Some(&seen);
        lead.seen = Some(seen);
        let mut names = std::mem::take(&mut lead.look);
        names.extend(lead.failures.keys().chain(lead.fences.failed().keys()).cloned());
        names.extend(lead.remake.iter().cloned());
        Look { all: !same, names }
    }

    /// The workers that hold slots and are gone: those that are given up, and those that came back.
    fn gone(
        &mut self,
        now_ms: u64,
        view: &View,
    ) -> (BTreeSet<WorkerId>, BTreeMap<WorkerId, WorkerId>) {
        let slots = self.cluster.connectors.values().filter_map(|e| e.placement.as_ref());
        let holders = slots.flat_map(|placement| &placement.slots).filter_map(Slot::worker);
        // There are many slots and few workers.
        let mut known: Vec<&WorkerId> = Vec::new();
        for worker in holders {
            let same = |other: &&WorkerId| other.run == worker.run && other.name == worker.name;
            if !known.iter().any(same) {
                known.push(worker);
            }
        }
        let gone = known.into_iter().filter(|worker| view.is_gone(&self.cluster, worker));
        let gone: BTreeSet<WorkerId> = gone.cloned().collect();
        let takers = view.takers(&self.cluster);
        let Some(lead) = &mut self.lead else { return Default::default() };
        lead.gone_since_ms.retain(|worker, _| gone.contains(worker));
        let (mut given_up, mut returned) = (BTreeSet::new(), BTreeMap::new());
        for worker in gone {
            let since = *lead.gone_since_ms.entry(worker.clone()).or_insert(now_ms);
            let stance = self.cluster.claims.get(&worker).map(|claim| claim.stance);
            let wait = match stance {
                Some(Stance::Restarting) => {
                    self.settings.restart_wait_ms.max(self.settings.lost_wait_ms)
                }
                Some(Stance::Left) => 0,
                _ => self.settings.lost_wait_ms,
            };
            let next = takers.iter().find(|t| t.name == worker.name && t.run != worker.run);
            match next {
                Some(next) => {
                    returned.insert(worker, next.clone());
                }
                None if now_ms.saturating_sub(since) >= wait || now_ms < since => {
                    given_up.insert(worker);
                }
                None => {}
            }
        }
        (given_up, returned)
    }

    /// Has the words of those forgotten who are gone and hold nothing.
    fn forget(&self, view: &View, actions: &mut Vec<Action>) {
        let holding = self.lead.as_ref().map(|lead| &lead.gone_since_ms);
        let held = |worker: &WorkerId| holding.is_some_and(|gone| gone.contains_key(worker));
        let now = self.seat.as_ref().map_or(0, |seat| seat.generation);
        let older = self.cluster.claims.values().filter(|claim| claim.generation < now);
        let gone = older.filter(|claim| view.is_dead(&claim.worker) && !held(&claim.worker));
        actions.extend(gone.map(|claim| Action::Forget(claim.worker.clone())));
    }

    /// Decides on one connector, given which of its slots are free by now.
    fn arrange(
        &mut self,
        name: &Arc<str>,
        entry: &Entry,
        placement: Option<Placement>,
        draft: &mut Draft<'_>,
        actions: &mut Vec<Action>,
    ) {
        let version = draft.version;
        let Some(config) = &entry.config else {
            // Deleted: what is left of it ends first.
            let Some(mut placement) = placement else { return };
            leave(&mut placement.slots, version);
            if placement.is_free() {
                // Whoever is made again under this name has its own settings to fence with.
                self.forget_fences(name, actions);
                draft.changes.push(Change::Placement { name: name.clone(), placement: None });
            } else {
                draft.placements.insert(name.clone(), placement);
            }
            return;
        };
        let fresh = Placement { incarnation: version, ..Placement::default() };
        let mut placement = placement.unwrap_or(fresh);
        if entry.producers.is_none() && !entry.tasks.is_empty() && self.is_once(config) {
            // They were there before their records were to be given once.
            let (name, tasks) = (name.clone(), entry.task_count());
            draft.changes.push(Change::TaskCount { name, tasks });
        }
        match entry.target() {
            Target::Stopped => {
                leave(&mut placement.slots, version);
                if placement.is_free() {
                    placement.slots.clear();
                    placement.made_of = None;
                    if !entry.tasks.is_empty() {
                        draft.changes.push(Change::Tasks { name: name.clone(), tasks: Vec::new() });
                    }
                    self.retire(name, entry, draft, actions);
                }
            }
            Target::Paused => {}
            Target::Started => {
                let wanted =
                    Wanted { name, of: entry.of(), incarnation: placement.incarnation, config };
                if self.lacks_tasks(&wanted, entry, &placement, draft.now_ms) {
                    self.make_tasks(&wanted, actions);
                } else {
                    self.renew(&wanted, entry, &mut placement, draft, actions);
                }
            }
        }
        draft.placements.insert(name.clone(), placement);
    }

    /// Whether the tasks of a connector have to be worked out: there are none of its configuration, or
    /// somebody wants them anew, and nobody is at it.
    fn lacks_tasks(
        &self,
        wanted: &Wanted<'_>,
        entry: &Entry,
        placement: &Placement,
        now_ms: u64,
    ) -> bool {
        let Some(lead) = &self.lead else { return false };
        if lead.remake.contains(wanted.name) {
            return true;
        }
        let (of, incarnation) = (wanted.of, wanted.incarnation);
        let made = lead.made.get(wanted.name);
        let placed = placement.made_of == Some(of) && placement.is_for(entry);
        let there = (placed && !self.is_miscounted(entry, wanted.config))
            || made.is_some_and(|made| made.of == of && made.incarnation == incarnation);
        let making = lead.making.get(wanted.name);
        let making = making.is_some_and(|m| m.of == of && m.incarnation == incarnation);
        let failed = lead.failures.get(wanted.name).is_some_and(|failure| {
            failure.of == of
                && failure.incarnation == incarnation
                && !failure.failed.is_over(now_ms)
        });
        !there && !making && !failed
    }

    fn make_tasks(&mut self, wanted: &Wanted<'_>, actions: &mut Vec<Action>) {
        let attempt = self.next_attempt();
        let Some(lead) = &mut self.lead else { return };
        let (name, config) = (wanted.name.clone(), wanted.config.clone());
        lead.remake.remove(&name);
        lead.made.remove(&name);
        let making = Making { attempt, incarnation: wanted.incarnation, of: wanted.of };
        lead.making.insert(name.clone(), making);
        actions.push(Action::MakeTasks { name, attempt, config });
    }

    /// Puts a task set that was worked out in place, once the one before has left.
    fn renew(
        &mut self,
        wanted: &Wanted<'_>,
        entry: &Entry,
        placement: &mut Placement,
        draft: &mut Draft<'_>,
        actions: &mut Vec<Action>,
    ) {
        let (now_ms, once) = (draft.now_ms, self.is_once(wanted.config));
        let miscounted = self.is_miscounted(entry, wanted.config);
        let Some(lead) = &mut self.lead else { return };
        let fits = |made: &Made| made.incarnation == wanted.incarnation && made.of == wanted.of;
        let Some(made) = lead.made.get(wanted.name).filter(|made| fits(made)) else {
            // A change that was taken back: what was worked out for it would keep slots free for ever.
            lead.made.remove(wanted.name);
            return;
        };
        // A secret may have changed where the reference to it has not.
        let same = placement.made_of.is_some()
            && placement.is_for(entry)
            && made.tasks == entry.tasks
            && !miscounted
            && !made.tasks.iter().any(config::providers::has_references);
        if !same && !placement.is_free() {
            return leave(&mut placement.slots, draft.version);
        }
        if !same {
            let (name, tasks) = (wanted.name.clone(), made.tasks.clone());
            let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
            if once {
                let connector = (wanted.name, entry, wanted.config);
                if !self.is_fenced(connector, count, now_ms, actions) {
                    return;
                }
                let name = name.clone();
                draft.changes.push(Change::TaskCount { name, tasks: count });
            }
            placement.slots = vec![Slot::Free; tasks.len()];
            draft.changes.push(Change::Tasks { name, tasks });
        }
        placement.made_of = Some(wanted.of);
        if let Some(lead) = &mut self.lead {
            lead.made.remove(wanted.name);
        }
    }

    /// Ends what the producers of a connector that is stopped may have open: then it has none.
    fn retire(
        &mut self,
        name: &Arc<str>,
        entry: &Entry,
        draft: &mut Draft<'_>,
        actions: &mut Vec<Action>,
    ) {
        let Some(config) = &entry.config else { return };
        let any = entry.producers.is_some_and(|producers| producers > 0);
        if any
            && self.is_once(config)
            && self.is_fenced((name, entry, config), 0, draft.now_ms, actions)
        {
            draft.changes.push(Change::TaskCount { name: name.clone(), tasks: 0 });
        }
    }

    /// Gives free slots to workers, and takes some from those that have too many.
    fn even_out(&mut self, takers: &[WorkerId], draft: &mut Draft<'_>, actions: &mut Vec<Action>) {
        let mut items = Vec::new();
        for (name, entry) in &draft.cluster.connectors {
            let placement = draft.placements.get(name).or(entry.placement.as_ref());
            let Some(placement) = placement else { continue };
            let weight = weight(entry);
            // A set that leaves as a whole comes back as another one.
            let replaced = self.lead.as_ref().is_some_and(|lead| lead.made.contains_key(name));
            let stays =
                placement.made_of.is_some() && entry.target() != Target::Stopped && !replaced;
            for (number, slot) in (0..).zip(&placement.slots) {
                let at = match slot {
                    Slot::Free if stays && !draft.touched.contains(name) => At::Nowhere,
                    Slot::Held { worker, .. } if takers.contains(worker) => {
                        At::Worker(worker.clone())
                    }
                    Slot::Leaving { .. } if stays => At::Leaving,
                    _ => continue,
                };
                let since = match slot {
                    Slot::Held { token, .. } => *token,
                    Slot::Free | Slot::Leaving { .. } => 0,
                };
                items.push(Item { task: (name.clone(), number), weight, at, since });
            }
        }
        let moves = balance(takers, &items);
        let token = draft.version;
        for (task, worker) in moves.give {
            self.forget_fences(&task.0, actions);
            if let Some(slot) = draft.slot(&task) {
                *slot = Slot::Held { worker, token };
            }
        }
        for task in moves.leave {
            if let Some(slot) = draft.slot(&task) {
                leave(std::slice::from_mut(slot), token);
            }
        }
    }
}

/// Takes the tasks of those that drain, if there is anybody to take them.
fn drain(view: &View, takers: &[WorkerId], draft: &mut Draft<'_>) {
    let cluster = draft.cluster;
    let drains = |worker: &WorkerId| {
        let claim = cluster.claims.get(worker);
        claim.is_some_and(|claim| claim.stance == Stance::Draining) && view.alive().contains(worker)
    };
    if takers.is_empty() {
        return;
    }
    let version = draft.version;
    for slot in draft.placements.values_mut().flat_map(|placement| &mut placement.slots) {
        if matches!(slot, Slot::Held { worker, .. } if drains(worker)) {
            leave(std::slice::from_mut(slot), version);
        }
    }
}

/// The connectors that something was heard of since they were decided on.
struct Look {
    all: bool,
    names: BTreeSet<Arc<str>>,
}

impl Look {
    fn is_for(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

impl Round<'_> {
    /// Whether a slot is free by now, or another's.
    fn has_news(&self, name: &Arc<str>, entry: &Entry) -> bool {
        let slots = entry.placement.iter().flat_map(|placement| &placement.slots);
        (0..).zip(slots).any(|(number, slot)| match slot {
            Slot::Free => false,
            Slot::Held { worker, .. } => {
                self.given_up.contains(worker) || self.returned.contains_key(worker)
            }
            Slot::Leaving { worker, since, .. } => self.has_left(name, number, worker, *since),
        })
    }

    /// Whether a worker has said that a task has ended, or is certainly gone.
    fn has_left(&self, name: &Arc<str>, number: u32, worker: &WorkerId, since: u64) -> bool {
        let said = self.cluster.claims.get(worker).filter(|claim| claim.applied >= since);
        said.is_some_and(|claim| !claim.lingering.contains(&(name.clone(), number)))
            || self.view.is_gone(self.cluster, worker)
    }

    /// The placement of a connector, with the slots freed that are free by now.
    fn settle(&self, name: &Arc<str>, entry: &Entry) -> Option<Placement> {
        let mut placement = entry.placement.clone()?;
        for (number, slot) in (0..).zip(&mut placement.slots) {
            match slot {
                Slot::Free => {}
                Slot::Held { worker, .. } => {
                    if let Some(next) = self.returned.get(worker) {
                        *slot = Slot::Held { worker: next.clone(), token: self.version };
                    } else if self.given_up.contains(worker) {
                        *slot = Slot::Free;
                    }
                }
                Slot::Leaving { worker, since, .. } => {
                    if self.has_left(name, number, worker, *since) {
                        *slot = Slot::Free;
                    }
                }
            }
        }
        Some(placement)
    }
}

/// How much a task of this connector weighs: at least 1.
fn weight(entry: &Entry) -> u32 {
    let given = entry.config.as_ref().and_then(|config| config.get(WEIGHT));
    given.and_then(|text| text.trim().parse().ok()).unwrap_or(1).max(1)
}
