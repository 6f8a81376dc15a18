//! The herder's decisions.
//!
//! Invariants, checked by a property test:
//! - tasks of two generations of a connector never run at the same time;
//! - every request is answered exactly once;
//! - requests that change one connector's configuration or offsets take effect one after the other, in
//!   the order in which they came;
//! - offsets are changed while the connector has no running task;
//! - once everything asked has happened, a started connector has all its tasks, others none that run.

mod asked;

use crate::state::{
    Action, Altering, Connector, Done, Event, OffsetsRefused, Refusal, State, Target,
};
use config::Props;
use config::providers::has_references;
use std::time::Instant;

impl State {
    /// Takes one event in and gives what is to be done about it, in order.
    pub fn step(&mut self, _now: Instant, event: Event) -> Vec<Action> {
        let (name, mut actions) = match event {
            Event::Asked { id, .. } if self.shutting_down => {
                return vec![refused(id, Refusal::ShuttingDown)];
            }
            Event::Asked { id, request } => (request.name().to_owned(), self.ask(id, request)),
            Event::Validated { id, name, outcome } => {
                let actions = self.validated(id, &name, outcome);
                (name, actions)
            }
            Event::TasksMade { name, attempt, outcome } => {
                let actions = self.tasks_made(&name, attempt, outcome);
                (name, actions)
            }
            Event::Again { name, epoch, task } => {
                let ends = self.shutting_down;
                let connector = self.connectors.get_mut(&name);
                let current = connector.filter(|connector| connector.epoch == epoch && !ends);
                let stop = current.and_then(|c| asked::restart_task(&name, c, task));
                (name, stop.into_iter().collect())
            }
            Event::TaskEnded { name, epoch, task } => {
                let actions = self.task_ended(&name, epoch, task);
                (name, actions)
            }
            Event::OffsetsAltered { name, outcome } => {
                let actions = self.offsets_altered(&name, outcome);
                (name, actions)
            }
            Event::Shutdown => return self.shutdown(),
        };
        if self.shutting_down {
            actions.extend(self.maybe_exit());
        } else {
            actions.extend(self.settle(&name));
            actions.extend(self.next_of_queue(&name));
        }
        self.changed.insert(name);
        actions
    }

    fn tasks_made(
        &mut self,
        name: &str,
        attempt: u64,
        outcome: Result<Vec<Props>, String>,
    ) -> Vec<Action> {
        let current = |connector: &&mut Connector| connector.attempt == attempt && connector.making;
        let Some(connector) = self.connectors.get_mut(name).filter(current) else {
            return Vec::new();
        };
        connector.making = false;
        if self.shutting_down {
            return Vec::new();
        }
        if connector.target != Target::Started {
            connector.remake = true;
        }
        if connector.remake {
            return follow(name, connector);
        }
        match outcome {
            Err(reason) => connector.failure = Some(reason),
            Ok(tasks) => {
                connector.failure = None;
                // A secret may have changed where the reference to it has not.
                let same = connector.tasks == tasks && !tasks.iter().any(has_references);
                if connector.running.is_empty() || !same {
                    connector.next = Some(tasks);
                }
            }
        }
        follow(name, connector)
    }

    fn task_ended(&mut self, name: &str, epoch: u64, task: u32) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(name).filter(|c| c.epoch == epoch) else {
            return Vec::new();
        };
        connector.running.remove(&task);
        let again = connector.restarting.remove(&task) && !connector.stopping;
        if again
            && !self.shutting_down
            && let Some(config) = connector.tasks.get(task as usize).cloned()
        {
            connector.running.insert(task);
            return vec![Action::StartTask { name: name.to_owned(), epoch, task, config }];
        }
        if connector.running.is_empty() {
            connector.stopping = false;
        }
        if self.shutting_down { Vec::new() } else { follow(name, connector) }
    }

    fn offsets_altered(
        &mut self,
        name: &str,
        outcome: Result<String, OffsetsRefused>,
    ) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(name) else { return Vec::new() };
        let Some(Altering { id, .. }) = connector.altering.take() else { return Vec::new() };
        // One that would be deleted with its offsets stays as long as they do.
        connector.deleting &= outcome.is_ok();
        let outcome = match outcome {
            Ok(text) => Ok(Done::Told(text)),
            Err(OffsetsRefused::Invalid(message)) => Err(Refusal::Invalid { message }),
            Err(OffsetsRefused::Failed(message)) => Err(Refusal::Failed { message }),
        };
        vec![Action::Answer { id, outcome }]
    }

    /// Answers those who waited for what has happened, and takes a deleted connector out.
    fn settle(&mut self, name: &str) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(name) else { return Vec::new() };
        if !connector.is_settled() || connector.altering.is_some() {
            return Vec::new();
        }
        let waiting = std::mem::take(&mut connector.waiting);
        if connector.deleting {
            self.connectors.remove(name);
        }
        waiting.into_iter().map(|(id, done)| Action::Answer { id, outcome: Ok(done) }).collect()
    }

    fn shutdown(&mut self) -> Vec<Action> {
        if std::mem::replace(&mut self.shutting_down, true) {
            return Vec::new();
        }
        let mut actions = Vec::new();
        for (name, connector) in &mut self.connectors {
            connector.restarting.clear();
            actions.extend(stop_tasks(name, connector, NONE));
            let waiting = std::mem::take(&mut connector.waiting).into_iter().map(|(id, _)| id);
            let unstarted = connector.altering.take_if(|altering| altering.change.is_some());
            let ids = waiting.chain(unstarted.map(|altering| altering.id));
            actions.extend(ids.map(|id| refused(id, Refusal::ShuttingDown)));
        }
        let queued = std::mem::take(&mut self.queues).into_values().flatten().map(|(id, _)| id);
        actions.extend(queued.map(|id| refused(id, Refusal::ShuttingDown)));
        self.changed.extend(self.connectors.keys().cloned());
        actions.extend(self.maybe_exit());
        actions
    }

    fn maybe_exit(&self) -> Vec<Action> {
        let quiet = |c: &Connector| c.running.is_empty() && !c.making && c.altering.is_none();
        let exit = self.shutting_down && self.connectors.values().all(quiet);
        if exit { vec![Action::Exit] } else { Vec::new() }
    }
}

fn refused(id: u64, refusal: Refusal) -> Action {
    Action::Answer { id, outcome: Err(refusal) }
}

/// Brings a connector nearer to its target.
fn follow(name: &str, connector: &mut Connector) -> Vec<Action> {
    match connector.target {
        Target::Started => approach(name, connector),
        Target::Paused | Target::Stopped => {
            connector.failure = None;
            connector.next = None;
            connector.remake = true;
            let mut actions = stop_tasks(name, connector, ALL);
            if !connector.running.is_empty() || connector.making {
                return actions;
            }
            if connector.target == Target::Stopped {
                connector.tasks.clear();
            }
            let change = connector.altering.as_mut().and_then(|altering| altering.change.take());
            if let Some(change) = change {
                let (name, config) = (name.to_owned(), connector.config.clone());
                actions.push(Action::AlterOffsets { name, config, change });
            }
            actions
        }
    }
}

fn approach(name: &str, connector: &mut Connector) -> Vec<Action> {
    if connector.making || connector.stopping {
        return Vec::new();
    }
    if connector.remake {
        connector.remake = false;
        connector.next = None;
        connector.making = true;
        connector.attempt += 1;
        let (attempt, config) = (connector.attempt, connector.config.clone());
        return vec![Action::MakeTasks { name: name.to_owned(), attempt, config }];
    }
    if let Some(next) = connector.next.as_ref().filter(|_| !connector.running.is_empty()) {
        // A task that has no successor must not be waited for by the others of its group.
        let surplus = next.len() as u32;
        return stop_tasks(name, connector, surplus);
    }
    let Some(tasks) = connector.next.take() else { return Vec::new() };
    connector.epoch += 1;
    connector.running = (0..tasks.len() as u32).collect();
    connector.tasks = tasks;
    let epoch = connector.epoch;
    let start = |(task, config): (u32, &Props)| Action::StartTask {
        name: name.to_owned(),
        epoch,
        task,
        config: config.clone(),
    };
    (0..).zip(&connector.tasks).map(start).collect()
}

/// All tasks give their seats up.
const ALL: u32 = 0;
/// All are expected back.
const NONE: u32 = u32::MAX;

/// Tasks from number `leave_from` on give their seats up, those before it are expected back.
fn stop_tasks(name: &str, connector: &mut Connector, leave_from: u32) -> Vec<Action> {
    if connector.running.is_empty() || std::mem::replace(&mut connector.stopping, true) {
        return Vec::new();
    }
    // Those that were told already end anyway.
    let told = std::mem::take(&mut connector.restarting);
    let epoch = connector.epoch;
    let stop = |task: &u32| {
        let (task, leave) = (*task, *task >= leave_from);
        Action::StopTask { name: name.to_owned(), epoch, task, leave }
    };
    connector.running.iter().filter(|task| !told.contains(task)).map(stop).collect()
}

#[cfg(test)]
mod tests;
