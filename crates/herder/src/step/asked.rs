//! Requests: what is refused at once, what waits its turn, what is taken up.

use super::{follow, refused};
use crate::state::{Action, Altering, Checking, Connector, Done, Refusal, Request, State, Target};
use config::Given;
use runtime::OffsetsChange;

impl State {
    /// Takes a request up, or lets it wait while something else changes its connector.
    pub(super) fn ask(&mut self, id: u64, request: Request) -> Vec<Action> {
        let name = request.name();
        if self.is_busy(name) || self.queues.contains_key(name) {
            self.queues.entry(name.to_owned()).or_default().push_back((id, request));
            return Vec::new();
        }
        self.take_up(id, request)
    }

    fn is_busy(&self, name: &str) -> bool {
        let changing = |c: &Connector| c.deleting || c.altering.is_some();
        self.checking.contains_key(name) || self.connectors.get(name).is_some_and(changing)
    }

    /// Takes up requests that waited, until one of them takes time.
    pub(super) fn next_of_queue(&mut self, name: &str) -> Vec<Action> {
        let mut actions = Vec::new();
        while !self.is_busy(name) {
            let queue = self.queues.get_mut(name);
            let Some((id, request)) = queue.and_then(|queue| queue.pop_front()) else {
                self.queues.remove(name);
                break;
            };
            actions.extend(self.take_up(id, request));
            actions.extend(self.settle(name));
        }
        actions
    }

    fn take_up(&mut self, id: u64, request: Request) -> Vec<Action> {
        match request {
            Request::Create { name, .. } if self.connectors.contains_key(&name) => {
                vec![refused(id, Refusal::Exists { name })]
            }
            Request::Create { name, config, target } => self.check(id, name, config, target),
            Request::Put { name, config } => self.check(id, name, config, Target::Started),
            Request::Patch { name, patch } => match self.connectors.get(&name) {
                None => vec![unknown(id, format!("Connector {name} not found"))],
                Some(connector) => {
                    let config = Given::patched(&connector.config, &patch);
                    let target = connector.target;
                    self.check(id, name, config, target)
                }
            },
            Request::Restore { name, .. } if self.connectors.contains_key(&name) => {
                vec![refused(id, Refusal::Exists { name })]
            }
            Request::Restore { name, config, target } => {
                let mut connector = Connector::new(config, target);
                connector.waiting.push((id, Done::Created));
                let actions = follow(&name, &mut connector);
                self.connectors.insert(name, connector);
                actions
            }
            Request::Delete { name, offsets } => self.delete(id, &name, offsets),
            Request::Retarget { name, target } => match self.connectors.get_mut(&name) {
                None => vec![unknown(id, format!("Unknown connector {name}"))],
                Some(connector) => retarget(id, &name, connector, target),
            },
            Request::Restart { name, connector: whole, tasks, at_once } => {
                let Some(connector) = self.connectors.get_mut(&name) else {
                    return vec![unknown(id, format!("Unknown connector: {name}"))];
                };
                let mut actions = Vec::new();
                for task in tasks {
                    actions.extend(restart_task(&name, connector, task));
                }
                if whole {
                    connector.remake = true;
                    actions.extend(follow(&name, connector));
                }
                if at_once {
                    actions.push(Action::Answer { id, outcome: Ok(Done::Done) });
                } else {
                    connector.waiting.push((id, Done::Done));
                }
                actions
            }
            Request::RestartTask { name, task } => {
                let Some(connector) = self.connectors.get_mut(&name) else {
                    return vec![unknown(id, format!("Unknown connector: {name}"))];
                };
                if connector.tasks.get(task as usize).is_none() {
                    return vec![unknown(id, format!("Task {name}-{task} not found"))];
                }
                connector.waiting.push((id, Done::Done));
                restart_task(&name, connector, task).into_iter().collect()
            }
            Request::Offsets { name, change } => self.alter_offsets(id, &name, change),
            Request::Tasks { .. } | Request::Fence { .. } => {
                let message = "a standalone worker works out its tasks by itself".to_owned();
                vec![refused(id, Refusal::Invalid { message })]
            }
        }
    }

    fn delete(&mut self, id: u64, name: &str, offsets: bool) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(name) else {
            return vec![unknown(id, format!("Connector {name} not found"))];
        };
        connector.deleting = true;
        if !offsets {
            return retarget(id, name, connector, Target::Stopped);
        }
        connector.target = Target::Stopped;
        connector.altering = Some(Altering { id, change: Some(OffsetsChange::Reset) });
        follow(name, connector)
    }

    fn alter_offsets(&mut self, id: u64, name: &str, change: OffsetsChange) -> Vec<Action> {
        let Some(connector) = self.connectors.get_mut(name) else {
            return vec![unknown(id, format!("Connector {name} not found"))];
        };
        if connector.target != Target::Stopped {
            let message = format!(
                "Connectors must be in the STOPPED state before their offsets can be modified. This \
                 can be done for the specified connector by issuing a 'PUT' request to the \
                 '/connectors/{name}/stop' endpoint"
            );
            return vec![refused(id, Refusal::Invalid { message })];
        }
        connector.altering = Some(Altering { id, change: Some(change) });
        follow(name, connector)
    }

    fn check(&mut self, id: u64, name: String, config: Given, target: Target) -> Vec<Action> {
        let checking = Checking { id, config: config.clone(), target };
        self.checking.insert(name.clone(), checking);
        vec![Action::Validate { id, name, config }]
    }

    pub(super) fn validated(
        &mut self,
        id: u64,
        name: &str,
        outcome: Result<(), String>,
    ) -> Vec<Action> {
        let Some(Checking { config, target, .. }) =
            self.checking.remove(name).filter(|checking| checking.id == id)
        else {
            return Vec::new();
        };
        if let Err(message) = outcome {
            return vec![refused(id, Refusal::Invalid { message })];
        }
        if self.shutting_down {
            return vec![refused(id, Refusal::ShuttingDown)];
        }
        let done = match self.connectors.get_mut(name) {
            Some(connector) => {
                connector.config = config.props;
                connector.remake = true;
                Done::Done
            }
            None => {
                let connector = Connector::new(config.props, target);
                self.connectors.insert(name.to_owned(), connector);
                Done::Created
            }
        };
        let Some(connector) = self.connectors.get_mut(name) else { return Vec::new() };
        connector.waiting.push((id, done));
        follow(name, connector)
    }
}

fn unknown(id: u64, message: String) -> Action {
    refused(id, Refusal::Unknown { message })
}

fn retarget(id: u64, name: &str, connector: &mut Connector, target: Target) -> Vec<Action> {
    if connector.target != target || connector.failure.is_some() {
        connector.target = target;
        connector.remake = true;
    }
    connector.waiting.push((id, Done::Done));
    follow(name, connector)
}

/// Tasks that are about to stop, or do not run, start anew anyway.
pub(super) fn restart_task(name: &str, connector: &mut Connector, task: u32) -> Option<Action> {
    let runs = connector.running.contains(&task) && !connector.stopping;
    if !runs || !connector.restarting.insert(task) {
        return None;
    }
    let (name, epoch) = (name.to_owned(), connector.epoch);
    Some(Action::StopTask { name, epoch, task, leave: false })
}
