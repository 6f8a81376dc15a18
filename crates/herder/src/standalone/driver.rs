//! Carries out what the state machine decides.

use super::state_file::{Kept, StateFile};
use crate::command::Command;
use crate::error::{Answer, HerderError};
use crate::hands::{Hands, TaskKey, Told};
use crate::state::{Action, Connector, Event, Refusal, State};
use crate::view::{ConnectorView, TaskView, View};
use config::Props;
use crossbeam_channel::{Receiver, Sender};
use runtime::{StopMode, TaskHandle, Worker};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;
use tokio::sync::oneshot;

pub(crate) enum Message {
    Event(Event),
    Command(Command),
    /// A task was started; its handle stays with the driver.
    Started {
        key: TaskKey,
        handle: TaskHandle,
    },
}

impl Message {
    /// None: nothing that a standalone driver has asked for.
    fn of(told: Told) -> Option<Message> {
        Some(Message::Event(match told {
            Told::Validated { id, name, outcome } => Event::Validated { id, name, outcome },
            Told::TasksMade { name, attempt, outcome } => {
                Event::TasksMade { name, attempt, outcome }
            }
            Told::OffsetsAltered { name, outcome } => Event::OffsetsAltered { name, outcome },
            Told::Ended((name, epoch, task)) => Event::TaskEnded { name, epoch, task },
            Told::Again((name, epoch, task)) => Event::Again { name, epoch, task },
            Told::Started { key, handle } => return Some(Message::Started { key, handle }),
            Told::Fenced { .. } => return None,
        }))
    }
}

pub(crate) struct Driver {
    hands: Hands,
    state: State,
    view: Arc<RwLock<View>>,
    replies: BTreeMap<u64, oneshot::Sender<Answer>>,
    /// Where connectors outlive this process.
    file: Option<StateFile>,
}

impl Driver {
    pub(crate) fn new(
        worker: Arc<Worker>,
        events: Sender<Message>,
        view: Arc<RwLock<View>>,
        file: Option<StateFile>,
    ) -> Self {
        let tell = move |told: Told| {
            if let Some(message) = Message::of(told) {
                // The driver outlives its threads unless the process ends.
                let _gone = events.send(message);
            }
        };
        let hands = Hands::new(worker, Arc::new(tell));
        Driver { hands, state: State::default(), view, replies: BTreeMap::new(), file }
    }

    pub(crate) fn run(mut self, inbox: &Receiver<Message>) {
        for message in inbox {
            let event = match message {
                Message::Event(event) => event,
                Message::Command(Command::Ask { id, request, reply }) => {
                    self.replies.insert(id, reply);
                    Event::Asked { id, request }
                }
                Message::Command(Command::OfCluster { reply, .. }) => {
                    let message = "a standalone worker has no cluster".to_owned();
                    let _gone = reply.send(Err(HerderError::Invalid(message)));
                    continue;
                }
                Message::Command(Command::Workers(asked)) => {
                    asked.answer_alone();
                    continue;
                }
                Message::Command(Command::Shutdown) => Event::Shutdown,
                Message::Started { key, handle } => {
                    self.hands.started(key, handle);
                    continue;
                }
            };
            if let Event::TaskEnded { name, epoch, task } = &event {
                self.hands.ended(&(name.clone(), *epoch, *task));
            }
            let actions = self.state.step(Instant::now(), event);
            let exit = actions.contains(&Action::Exit);
            // Tasks first, so that an answer finds them in the view.
            let (answers, others): (Vec<_>, Vec<_>) =
                actions.into_iter().partition(|a| matches!(a, Action::Answer { .. }));
            for action in others {
                self.carry_out(action);
            }
            let changed = self.state.take_changed();
            let unkept = self.keep(&changed).err();
            self.publish(changed);
            for action in answers {
                self.carry_out(match (&unkept, action) {
                    (Some(message), Action::Answer { id, outcome: Ok(_) }) => {
                        let message = message.clone();
                        Action::Answer { id, outcome: Err(Refusal::Failed { message }) }
                    }
                    (_, action) => action,
                });
            }
            if exit {
                return;
            }
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Validate { id, name, config } => self.hands.validate(id, name, config),
            Action::MakeTasks { name, attempt, config } => {
                self.hands.make_tasks(name, attempt, config);
            }
            Action::AlterOffsets { name, config, change } => {
                self.hands.alter_offsets(name, config, change, None);
            }
            Action::StartTask { name, epoch, task, config } => {
                self.hands.start_task((name, epoch, task), config, None);
            }
            Action::StopTask { name, epoch, task, leave } => {
                let mode = if leave { StopMode::Leave } else { StopMode::Stay };
                self.hands.stop_task((name, epoch, task), mode);
            }
            Action::Answer { id, outcome } => {
                if let Some(reply) = self.replies.remove(&id) {
                    // Whoever asked may have stopped waiting.
                    let _gone = reply.send(outcome.map_err(HerderError::from));
                }
            }
            Action::Exit => {}
        }
    }

    /// Writes changes where they outlive this process; an answer comes only afterwards.
    fn keep(&mut self, changed: &BTreeSet<String>) -> Result<(), String> {
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        let known = self.state.connectors();
        // One that is being deleted is gone after a crash: its end was asked for.
        let now = |name: &String| known.get(name).filter(|connector| !connector.is_deleting());
        let changes = changed.iter().map(|name| {
            let kept = now(name).map(|c| Kept { config: c.config.clone(), target: c.target });
            (name.clone(), kept)
        });
        file.keep(changes).map_err(|error| {
            tracing::error!("{error}");
            format!("the change is in effect, and will be lost with this worker: {error}")
        })
    }

    /// Shows what has changed to readers.
    fn publish(&mut self, changed: BTreeSet<String>) {
        let mut views = Vec::with_capacity(changed.len());
        for name in changed {
            let Some(connector) = self.state.connectors().get(&name) else {
                self.hands.forget(&name);
                views.push((name, None));
                continue;
            };
            let (epoch, tasks) = (connector.epoch, connector.tasks.len());
            self.hands.retain(&name, |own, number| own == epoch && (number as usize) < tasks);
            let topics = self.hands.topics(&name);
            let view = ConnectorView { topics, ..self.connector_view(&name, connector) };
            views.push((name, Some(Arc::new(view))));
        }
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        for (name, connector) in views {
            match connector {
                Some(connector) => view.connectors.insert(name, connector),
                None => view.connectors.remove(&name),
            };
        }
    }

    fn connector_view(&self, name: &str, connector: &Connector) -> ConnectorView {
        let task = |(number, config): (u32, &Props)| TaskView {
            config: config.clone(),
            elsewhere: None,
            unplaced: false,
            at: None,
            restarting: connector.restarting.contains(&number),
            status: self.hands.status(&(name.to_owned(), connector.epoch, number)),
        };
        let worker = self.hands.worker();
        ConnectorView {
            config: connector.config.clone(),
            direction: worker.direction(&connector.config),
            elsewhere: None,
            at: None,
            version: worker.version(&connector.config),
            target: connector.target,
            failure: connector.failure.clone(),
            tasks: (0..).zip(&connector.tasks).map(task).collect(),
            topics: Arc::default(),
        }
    }
}
