//! Carries out what the state machine decides.

use super::{Answer, HerderError};
use crate::state::{Action, Event, Request, State};
use crate::view::{ConnectorView, TaskView, View};
use config::Props;
use crossbeam_channel::{Receiver, Sender};
use runtime::{StatusCell, StopMode, TaskHandle, Worker};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a cancelled task may take to end before it is left behind.
const ABANDON_AFTER: Duration = Duration::from_secs(3);

pub(crate) enum Message {
    Event(Event),
    Ask {
        id: u64,
        request: Request,
        reply: oneshot::Sender<Answer>,
    },
    /// A task was started; its handle stays with the driver.
    Started {
        key: TaskKey,
        handle: TaskHandle,
    },
}

/// Connector, epoch, task.
type TaskKey = (String, u64, u32);

struct Task {
    status: StatusCell,
    handle: Option<TaskHandle>,
    /// A stop that came before the task had started.
    stop: Option<StopMode>,
}

pub(crate) struct Driver {
    worker: Arc<Worker>,
    state: State,
    events: Sender<Message>,
    view: Arc<RwLock<View>>,
    replies: BTreeMap<u64, oneshot::Sender<Answer>>,
    tasks: BTreeMap<TaskKey, Task>,
}

impl Driver {
    pub(crate) fn new(
        worker: Arc<Worker>,
        events: Sender<Message>,
        view: Arc<RwLock<View>>,
    ) -> Self {
        Driver {
            worker,
            state: State::default(),
            events,
            view,
            replies: BTreeMap::new(),
            tasks: BTreeMap::new(),
        }
    }

    pub(crate) fn run(mut self, inbox: &Receiver<Message>) {
        for message in inbox {
            let event = match message {
                Message::Event(event) => event,
                Message::Ask { id, request, reply } => {
                    self.replies.insert(id, reply);
                    Event::Asked { id, request }
                }
                Message::Started { key, handle } => {
                    self.started(key, handle);
                    continue;
                }
            };
            if let Event::TaskEnded { name, epoch, task } = &event {
                self.tasks.remove(&(name.clone(), *epoch, *task));
            }
            let actions = self.state.step(Instant::now(), event);
            let exit = actions.contains(&Action::Exit);
            // Tasks first, so that an answer finds them in the view.
            let (answers, others): (Vec<_>, Vec<_>) =
                actions.into_iter().partition(|a| matches!(a, Action::Answer { .. }));
            for action in others {
                self.carry_out(action);
            }
            self.publish();
            for action in answers {
                self.carry_out(action);
            }
            if exit {
                return;
            }
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Validate { id, name, config } => self.validate(id, name, config),
            Action::MakeTasks { name, epoch, config } => self.make_tasks(name, epoch, config),
            Action::StartTask { name, epoch, task, config } => {
                self.start_task((name, epoch, task), config);
            }
            Action::StopTask { name, epoch, task, leave } => {
                let mode = if leave { StopMode::Leave } else { StopMode::Stay };
                self.stop_task((name, epoch, task), mode);
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

    /// Runs blocking work on a thread of its own and sends back what it gives.
    fn elsewhere(&self, what: &str, work: impl FnOnce(&Worker) -> Message + Send + 'static) {
        let (worker, events) = (self.worker.clone(), self.events.clone());
        let body = move || {
            // The driver outlives its threads unless the process ends.
            let _gone = events.send(work(&worker));
        };
        if let Err(error) = std::thread::Builder::new().name(what.to_owned()).spawn(body) {
            tracing::error!("thread {what} could not be started: {error}");
        }
    }

    fn validate(&self, id: u64, name: String, config: Props) {
        self.elsewhere("validate", move |worker| {
            let outcome = worker.validate(&config).map_err(|errors| {
                let count = errors.errors.len();
                format!(
                    "Connector configuration is invalid and contains the following {count} \
                     error(s):\n{errors}"
                )
            });
            let outcome = outcome.map(|validated| {
                for notice in validated.notices {
                    tracing::warn!(connector = %name, "{notice}");
                }
            });
            Message::Event(Event::Validated { id, outcome })
        });
    }

    fn make_tasks(&self, name: String, epoch: u64, config: Props) {
        self.elsewhere("make-tasks", move |worker| {
            let outcome = worker.task_configs(&config).map_err(|error| error.report());
            Message::Event(Event::TasksMade { name, epoch, outcome })
        });
    }

    fn start_task(&mut self, key: TaskKey, config: Props) {
        let status = StatusCell::default();
        let task = Task { status: status.clone(), handle: None, stop: None };
        self.tasks.insert(key.clone(), task);
        self.elsewhere("start-task", move |worker| {
            let (name, _, task) = &key;
            let handle = worker.start_task(name, *task, &config, status);
            Message::Started { key, handle }
        });
    }

    fn started(&mut self, key: TaskKey, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(&key) else { return };
        match task.stop {
            None => task.handle = Some(handle),
            Some(mode) => self.end(key, handle, mode),
        }
    }

    fn stop_task(&mut self, key: TaskKey, mode: StopMode) {
        let Some(task) = self.tasks.get_mut(&key) else { return };
        task.stop = Some(mode);
        if let Some(handle) = task.handle.take() {
            self.end(key, handle, mode);
        }
    }

    fn end(&self, key: TaskKey, handle: TaskHandle, mode: StopMode) {
        handle.stop(mode);
        let graceful = self.worker.config().task_shutdown_graceful_timeout_ms;
        self.elsewhere("stop-task", move |_| {
            let (name, epoch, task) = key;
            if !handle.wait(Duration::from_millis(graceful) + ABANDON_AFTER) {
                handle.cancel();
                if !handle.wait(ABANDON_AFTER) {
                    tracing::error!("task {name}-{task} does not end and is left behind");
                }
            }
            Message::Event(Event::TaskEnded { name, epoch, task })
        });
    }

    fn publish(&self) {
        let connectors = self.state.connectors().iter().map(|(name, connector)| {
            let task = |(number, config): (u32, &Props)| TaskView {
                config: config.clone(),
                status: self
                    .tasks
                    .get(&(name.clone(), connector.epoch, number))
                    .map(|task| task.status.clone())
                    .unwrap_or_default(),
            };
            let view = ConnectorView {
                config: connector.config.clone(),
                direction: self.worker.direction(&connector.config),
                target: connector.target,
                failure: connector.failure.clone(),
                tasks: (0..).zip(&connector.tasks).map(task).collect(),
            };
            (name.clone(), view)
        });
        let connectors = connectors.collect();
        self.view.write().unwrap_or_else(PoisonError::into_inner).connectors = connectors;
    }
}
