//! The herder's decisions.
//!
//! Invariants, checked by a property test:
//! - tasks of two epochs of a connector never run at the same time;
//! - every request is answered exactly once;
//! - once everything asked has happened, a stopped connector has no tasks, a started one all of them.

use crate::state::{Action, Connector, Event, Refusal, Request, State, Target};
use config::Props;
use std::collections::BTreeSet;
use std::time::Instant;

impl State {
    /// Takes one event in and gives what is to be done about it, in order.
    pub fn step(&mut self, _now: Instant, event: Event) -> Vec<Action> {
        match event {
            Event::Asked { id, .. } if self.shutting_down => {
                vec![Action::Answer { id, outcome: Err(Refusal::ShuttingDown) }]
            }
            Event::Asked { id, request } => self.asked(id, request),
            Event::Validated { id, outcome } => self.validated(id, outcome),
            Event::TasksMade { name, epoch, outcome } => self.tasks_made(&name, epoch, outcome),
            Event::TaskEnded { name, epoch, task } => self.task_ended(&name, epoch, task),
            Event::Shutdown => self.shutdown(),
        }
    }

    fn asked(&mut self, id: u64, request: Request) -> Vec<Action> {
        match request {
            Request::Create { name, config, target } => {
                let taken = self.creating.values().any(|(other, ..)| *other == name)
                    || self.connectors.contains_key(&name);
                if taken {
                    return vec![Action::Answer { id, outcome: Err(Refusal::Exists { name }) }];
                }
                self.creating.insert(id, (name.clone(), config.clone(), target));
                vec![Action::Validate { id, name, config }]
            }
            Request::Stop { name } => self.retarget(id, name, Target::Stopped),
            Request::Resume { name } => self.retarget(id, name, Target::Started),
        }
    }

    fn retarget(&mut self, id: u64, name: String, target: Target) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(&name) else {
            return vec![Action::Answer { id, outcome: Err(Refusal::Unknown { name }) }];
        };
        connector.target = target;
        let mut actions = follow(&name, connector);
        actions.push(Action::Answer { id, outcome: Ok(()) });
        actions
    }

    fn validated(&mut self, id: u64, outcome: Result<(), String>) -> Vec<Action> {
        let Some((name, config, target)) = self.creating.remove(&id) else { return Vec::new() };
        if let Err(message) = outcome {
            return vec![Action::Answer { id, outcome: Err(Refusal::Invalid { message }) }];
        }
        if self.shutting_down {
            return vec![Action::Answer { id, outcome: Err(Refusal::ShuttingDown) }];
        }
        let connector = Connector {
            config,
            target,
            epoch: 0,
            failure: None,
            tasks: Vec::new(),
            running: BTreeSet::new(),
            making: false,
            stopping: false,
        };
        let connector = self.connectors.entry(name.clone()).or_insert(connector);
        let mut actions = follow(&name, connector);
        actions.push(Action::Answer { id, outcome: Ok(()) });
        actions
    }

    fn tasks_made(
        &mut self,
        name: &str,
        epoch: u64,
        outcome: Result<Vec<Props>, String>,
    ) -> Vec<Action> {
        let current = |connector: &&mut Connector| connector.epoch == epoch && connector.making;
        let Some(connector) = self.connectors.get_mut(name).filter(current) else {
            return Vec::new();
        };
        connector.making = false;
        if self.shutting_down || connector.target == Target::Stopped {
            return self.maybe_exit();
        }
        match outcome {
            Err(reason) => {
                connector.failure = Some(reason);
                Vec::new()
            }
            Ok(tasks) => {
                connector.running = (0..tasks.len() as u32).collect();
                connector.tasks = tasks;
                let start = |(task, config): (u32, &Props)| Action::StartTask {
                    name: name.to_owned(),
                    epoch,
                    task,
                    config: config.clone(),
                };
                (0..).zip(&connector.tasks).map(start).collect()
            }
        }
    }

    fn task_ended(&mut self, name: &str, epoch: u64, task: u32) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(name).filter(|c| c.epoch == epoch) else {
            return Vec::new();
        };
        connector.running.remove(&task);
        if connector.running.is_empty() {
            connector.stopping = false;
            connector.tasks.clear();
        }
        if self.shutting_down {
            return self.maybe_exit();
        }
        follow(name, connector)
    }

    fn shutdown(&mut self) -> Vec<Action> {
        if std::mem::replace(&mut self.shutting_down, true) {
            return Vec::new();
        }
        let connectors = self.connectors.iter_mut();
        let mut actions: Vec<Action> =
            connectors.flat_map(|(name, connector)| stop_tasks(name, connector, false)).collect();
        actions.extend(self.maybe_exit());
        actions
    }

    fn maybe_exit(&self) -> Vec<Action> {
        let quiet = |c: &Connector| c.running.is_empty() && !c.making;
        let exit = self.shutting_down && self.connectors.values().all(quiet);
        if exit { vec![Action::Exit] } else { Vec::new() }
    }
}

/// Brings a connector nearer to its target.
fn follow(name: &str, connector: &mut Connector) -> Vec<Action> {
    match connector.target {
        Target::Stopped => {
            connector.failure = None;
            stop_tasks(name, connector, true)
        }
        Target::Started => {
            let idle = connector.running.is_empty() && !connector.making;
            if !idle || connector.failure.is_some() {
                return Vec::new();
            }
            connector.epoch += 1;
            connector.making = true;
            let (epoch, config) = (connector.epoch, connector.config.clone());
            vec![Action::MakeTasks { name: name.to_owned(), epoch, config }]
        }
    }
}

fn stop_tasks(name: &str, connector: &mut Connector, leave: bool) -> Vec<Action> {
    if connector.running.is_empty() || std::mem::replace(&mut connector.stopping, true) {
        return Vec::new();
    }
    let epoch = connector.epoch;
    let stop = |task: &u32| Action::StopTask { name: name.to_owned(), epoch, task: *task, leave };
    connector.running.iter().map(stop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Carries actions out in any order, like a driver whose threads race.
    #[derive(Default)]
    struct World {
        state: State,
        pending: Vec<Event>,
        live: BTreeMap<(String, u32), u64>,
        answers: BTreeMap<u64, usize>,
        asked: u64,
        exits: usize,
    }

    impl World {
        fn feed(&mut self, event: Event) {
            for action in self.state.step(Instant::now(), event) {
                self.carry_out(action);
            }
        }

        fn carry_out(&mut self, action: Action) {
            match action {
                Action::Validate { id, .. } => {
                    self.pending.push(Event::Validated { id, outcome: Ok(()) });
                }
                Action::MakeTasks { name, epoch, .. } => {
                    let outcome = Ok(vec![Props::new(), Props::new()]);
                    self.pending.push(Event::TasksMade { name, epoch, outcome });
                }
                Action::StartTask { name, epoch, task, .. } => {
                    let before = self.live.insert((name, task), epoch);
                    assert_eq!(before, None, "two epochs of a task at once");
                }
                Action::StopTask { name, epoch, task, .. } => {
                    assert_eq!(self.live.get(&(name.clone(), task)), Some(&epoch));
                    self.pending.push(Event::TaskEnded { name, epoch, task });
                }
                Action::Answer { id, .. } => *self.answers.entry(id).or_default() += 1,
                Action::Exit => self.exits += 1,
            }
        }

        fn happen(&mut self, which: usize) {
            if self.pending.is_empty() {
                return;
            }
            let event = self.pending.remove(which % self.pending.len());
            if let Event::TaskEnded { name, task, .. } = &event {
                self.live.remove(&(name.clone(), *task));
            }
            self.feed(event);
        }

        fn ask(&mut self, kind: u8, name: u8) {
            let name = format!("c{}", name % 3);
            let request = match kind % 3 {
                0 => Request::Create { name, config: Props::new(), target: Target::Started },
                1 => Request::Stop { name },
                _ => Request::Resume { name },
            };
            self.asked += 1;
            self.feed(Event::Asked { id: self.asked, request });
        }

        fn settle(&mut self) {
            while !self.pending.is_empty() {
                self.happen(0);
            }
            for id in 1..=self.asked {
                assert_eq!(self.answers.get(&id), Some(&1), "request {id}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_order_of_events_keeps_the_invariants(
            script in proptest::collection::vec((0_u8..4, 0_u8..3, 0_usize..8), 0..200)
        ) {
            let mut world = World::default();
            for (kind, name, which) in script {
                if kind == 3 { world.happen(which) } else { world.ask(kind, name) }
            }
            world.settle();
            for (name, connector) in world.state.connectors() {
                let live = world.live.keys().filter(|(n, _)| n == name).count();
                let wanted = if connector.target == Target::Started { 2 } else { 0 };
                prop_assert_eq!(live, wanted);
            }
            world.feed(Event::Shutdown);
            world.settle();
            prop_assert_eq!(world.exits, 1);
            prop_assert!(world.live.is_empty());
        }
    }

    #[test]
    fn a_connector_whose_tasks_cannot_be_made_is_failed_until_stopped_and_resumed() {
        let mut state = State::default();
        let now = Instant::now();
        let name = "c".to_owned();
        let config = Props::new();
        let create = Request::Create { name: name.clone(), config, target: Target::Started };
        state.step(now, Event::Asked { id: 1, request: create });
        state.step(now, Event::Validated { id: 1, outcome: Ok(()) });
        let outcome = Err("no".to_owned());
        state.step(now, Event::TasksMade { name: name.clone(), epoch: 1, outcome });
        assert_eq!(state.connectors["c"].failure.as_deref(), Some("no"));
        state.step(now, Event::Asked { id: 2, request: Request::Stop { name: name.clone() } });
        let actions = state.step(now, Event::Asked { id: 3, request: Request::Resume { name } });
        assert!(matches!(actions.first(), Some(Action::MakeTasks { epoch: 2, .. })));
    }
}
