//! What every worker does: run the tasks that placements give it, and say what it runs.
//!
//! Invariants: a task runs here only under the token of a slot that was read, while the worker sits in
//! the membership group and after it has read what was written before it sat down; a claim says a
//! version was applied only when every task that it takes away has ended or is named as lingering.

use super::{Action, Answered, Member, Running};
use crate::distributed::cluster::{Change, Claim, Stance, TaskKey};
use crate::distributed::membership::{Seat, View};
use crate::state::Target;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Member {
    pub(super) fn config_read(
        &mut self,
        changes: Vec<Change>,
        live: bool,
        actions: &mut Vec<Action>,
    ) {
        for change in changes {
            if let Change::Restart { name, tasks } = &change
                && live
            {
                self.restart(name, tasks, actions);
            }
            self.stale.extend(change.name().cloned());
            if let Some(lead) = &mut self.lead {
                lead.look.extend(change.name().cloned());
            }
            let whole = matches!(change, Change::Led { .. });
            self.cluster.read(change);
            if whole {
                self.read_back(actions);
            }
        }
        self.due();
    }

    /// Tasks that are told to stop start again when they have ended, for they are still wanted.
    fn restart(&mut self, name: &Arc<str>, tasks: &BTreeSet<u32>, actions: &mut Vec<Action>) {
        for number in tasks {
            self.stop(&(name.clone(), *number), false, actions);
        }
    }

    pub(super) fn task_ended(&mut self, task: &TaskKey, token: u64) {
        if self.running.get(task).is_some_and(|running| running.token == token) {
            self.running.remove(task);
            self.stale.insert(task.0.clone());
            self.due();
        }
    }

    /// Who is there, as far as it is known.
    pub fn view(&self) -> View {
        let view = |seat: &Seat| View::of(&self.cluster, seat.generation, self.settings.partitions);
        self.seat.as_ref().map(view).unwrap_or_default()
    }

    pub(super) fn drain(&mut self, drain: bool) {
        self.stance = match self.stance {
            Stance::Active | Stance::Draining if drain => Stance::Draining,
            Stance::Active | Stance::Draining => Stance::Active,
            ending => ending,
        };
    }

    pub(super) fn shutdown(&mut self, returns: bool, actions: &mut Vec<Action>) {
        self.stance = if returns { Stance::Restarting } else { Stance::Left };
        self.leave_lead(actions);
        self.stop_all(false, actions);
    }

    pub(super) fn ends(&self) -> bool {
        matches!(self.stance, Stance::Restarting | Stance::Left)
    }

    pub(super) fn stop_all(&mut self, lost: bool, actions: &mut Vec<Action>) {
        let tasks: Vec<TaskKey> = self.running.keys().cloned().collect();
        tasks.iter().for_each(|task| self.stop(task, lost, actions));
    }

    fn stop(&mut self, task: &TaskKey, lost: bool, actions: &mut Vec<Action>) {
        if let Some(running) = self.running.get_mut(task)
            && !std::mem::replace(&mut running.stopping, true)
        {
            let token = running.token;
            actions.push(Action::StopTask { task: task.clone(), token, lost });
        }
    }

    /// Brings the tasks of this worker to what the placements say.
    pub(super) fn follow(&mut self, actions: &mut Vec<Action>) {
        let seated = self.seat.as_ref().is_some_and(|seat| !seat.partitions.is_empty());
        if !seated || !self.caught_up || self.ends() {
            return;
        }
        for name in std::mem::take(&mut self.stale) {
            self.follow_connector(&name, actions);
        }
    }

    fn follow_connector(&mut self, name: &Arc<str>, actions: &mut Vec<Action>) {
        let entry = self.cluster.connectors.get(name);
        let runs = entry.is_some_and(|e| e.config.is_some() && e.target() == Target::Started);
        let slots = entry.and_then(|e| e.placement.as_ref()).map_or(0, |p| p.slots.len() as u32);
        let wanted = |number: u32| {
            let entry = entry.filter(|_| runs)?;
            let token = entry.held_by(&self.me, number)?;
            Some((token, entry.tasks.get(number as usize)?.clone()))
        };
        let placement = entry.and_then(|e| e.placement.as_ref());
        let told = placement.map_or(0, |placement| placement.told(&self.me));
        self.told = self.told.max(told);
        let mut start = Vec::new();
        for number in 0..slots {
            let key = (name.clone(), number);
            if let Some((token, config)) = wanted(number)
                && !self.running.contains_key(&key)
            {
                start.push((key, token, config));
            }
        }
        let own = self.running.range((name.clone(), 0)..=(name.clone(), u32::MAX));
        let unwanted = own.filter(|((_, number), running)| {
            wanted(*number).is_none_or(|(token, _)| token != running.token)
        });
        let unwanted: Vec<TaskKey> = unwanted.map(|(key, _)| key.clone()).collect();
        unwanted.iter().for_each(|task| self.stop(task, false, actions));
        for (task, token, config) in start {
            self.running.insert(task.clone(), Running { token, stopping: false });
            actions.push(Action::StartTask { task, token, config });
        }
    }

    /// Says what this worker does, where that is not what it said last.
    pub(super) fn speak(&mut self, actions: &mut Vec<Action>) {
        if self.claiming || self.exited {
            return;
        }
        // One that ends says so when it has nothing left, whether or not it sits in the group.
        let over = self.ends() && self.running.is_empty();
        let claim = match &self.seat {
            Some(seat) if self.caught_up || over => Claim {
                worker: self.me.clone(),
                generation: seat.generation,
                partitions: seat.partitions.clone(),
                applied: self.applied(),
                lingering: self.lingering(),
                stance: if over || !self.ends() { self.stance } else { Stance::Ending },
            },
            None if over => Claim {
                worker: self.me.clone(),
                generation: -1,
                partitions: BTreeSet::new(),
                applied: self.cluster.version,
                lingering: BTreeSet::new(),
                stance: self.stance,
            },
            _ => return,
        };
        let said = self.claimed.as_ref() == Some(&claim);
        if said && !std::mem::take(&mut self.contradicted) {
            if over {
                self.exit(actions);
            }
            return;
        }
        self.claimed = Some(claim.clone());
        self.claiming = true;
        actions.push(Action::WriteClaim(claim));
    }

    fn exit(&mut self, actions: &mut Vec<Action>) {
        self.exited = true;
        for (id, _) in self.pending.take().into_iter().flat_map(|pending| pending.asked) {
            actions.push(Action::Answer { id, outcome: Err(Answered::Unknown) });
        }
        actions.push(Action::Exit);
    }

    /// The version it says it has applied: another one than before only where something was asked of
    /// it since.
    fn applied(&self) -> u64 {
        let said = self.claimed.as_ref().map_or(0, |claim| claim.applied);
        if self.told > said { self.cluster.version } else { said }
    }

    fn lingering(&self) -> BTreeSet<TaskKey> {
        let stopping = self.running.iter().filter(|(_, running)| running.stopping);
        stopping.map(|(task, _)| task.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Event;
    use super::*;

    #[test]
    fn an_event_of_another_token_ends_nothing() {
        let me = crate::distributed::cluster::WorkerId { name: "a:1".into(), run: 1 };
        let kinds = super::super::Kinds(Arc::new(|_| super::super::Kind::Source));
        let settings =
            super::super::Settings { kinds, partitions: 1, lost_wait_ms: 0, restart_wait_ms: 0 };
        let mut member = Member::new(me, settings);
        let task: TaskKey = ("c".into(), 0);
        member.running.insert(task.clone(), Running { token: 7, stopping: true });
        member.step(0, Event::TaskEnded { task: task.clone(), token: 6 });
        assert!(member.running.contains_key(&task));
        member.step(0, Event::TaskEnded { task: task.clone(), token: 7 });
        assert!(!member.running.contains_key(&task));
    }
}
