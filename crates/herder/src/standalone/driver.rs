//! Carries out what the state machine decides.

use super::state_file::{Kept, StateFile};
use super::{Answer, HerderError};
use crate::state::{Action, Connector, Event, OffsetsRefused, Refusal, Request, State};
use crate::view::{ConnectorView, TaskView, View};
use config::{Given, Props};
use crossbeam_channel::{Receiver, Sender};
use runtime::{ActiveTopics, OffsetsChange, StatusCell, StopMode, TaskHandle, Worker};
use std::collections::{BTreeMap, BTreeSet};
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

impl Task {
    /// It has not ended, or was not told to.
    fn is_alive(&self) -> bool {
        self.handle.is_some() || self.stop.is_some()
    }
}

pub(crate) struct Driver {
    worker: Arc<Worker>,
    state: State,
    events: Sender<Message>,
    view: Arc<RwLock<View>>,
    replies: BTreeMap<u64, oneshot::Sender<Answer>>,
    tasks: BTreeMap<TaskKey, Task>,
    /// The topics of every connector there is.
    topics: BTreeMap<String, Arc<ActiveTopics>>,
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
        Driver {
            worker,
            state: State::default(),
            events,
            view,
            replies: BTreeMap::new(),
            tasks: BTreeMap::new(),
            topics: BTreeMap::new(),
            file,
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
            if let Event::TaskEnded { name, epoch, task } = &event
                && let Some(ended) = self.tasks.get_mut(&(name.clone(), *epoch, *task))
            {
                // Its status stays readable as long as the connector knows the task.
                ended.stop = None;
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
            Action::Validate { id, name, config } => self.validate(id, name, config),
            Action::MakeTasks { name, attempt, config } => self.make_tasks(name, attempt, config),
            Action::AlterOffsets { name, config, change } => {
                self.alter_offsets(name, config, change);
            }
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

    fn validate(&self, id: u64, name: String, config: Given) {
        self.elsewhere("validate", move |worker| {
            let outcome = worker.check_connector_config(&config).map(|notices| {
                for notice in notices {
                    tracing::warn!(connector = %name, "{notice}");
                }
            });
            Message::Event(Event::Validated { id, name, outcome })
        });
    }

    fn alter_offsets(&self, name: String, config: Props, change: OffsetsChange) {
        self.elsewhere("alter-offsets", move |worker| {
            let outcome = worker.alter_offsets(&name, &config, &change);
            let outcome = outcome.map_err(|error| match error.kind {
                api::ErrorKind::Retriable => OffsetsRefused::Failed(error.report()),
                _ => OffsetsRefused::Invalid(error.report()),
            });
            Message::Event(Event::OffsetsAltered { name, outcome })
        });
    }

    fn make_tasks(&self, name: String, attempt: u64, config: Props) {
        self.elsewhere("make-tasks", move |worker| {
            let outcome = worker.task_configs(&config).map_err(|error| error.report());
            Message::Event(Event::TasksMade { name, attempt, outcome })
        });
    }

    fn start_task(&mut self, key: TaskKey, config: Props) {
        let topics = self.topics.entry(key.0.clone()).or_default().clone();
        let status = self.worker.new_status(topics);
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
                    let connector = &name;
                    tracing::error!(%connector, task, "the task does not end and is left behind");
                }
            }
            Message::Event(Event::TaskEnded { name, epoch, task })
        });
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
                self.tasks.retain(|(own, ..), task| *own != name || task.is_alive());
                self.topics.remove(&name);
                views.push((name, None));
                continue;
            };
            let known = |(own, epoch, number): &TaskKey| {
                *own != name
                    || (*epoch == connector.epoch && (*number as usize) < connector.tasks.len())
            };
            self.tasks.retain(|key, task| known(key) || task.is_alive());
            self.topics.entry(name.clone()).or_default();
            let view = self.connector_view(&name, connector);
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
            restarting: connector.restarting.contains(&number),
            status: self
                .tasks
                .get(&(name.to_owned(), connector.epoch, number))
                .map(|task| task.status.clone())
                .unwrap_or_default(),
        };
        ConnectorView {
            config: connector.config.clone(),
            direction: self.worker.direction(&connector.config),
            version: self.worker.version(&connector.config),
            target: connector.target,
            failure: connector.failure.clone(),
            tasks: (0..).zip(&connector.tasks).map(task).collect(),
            topics: self.topics.get(name).cloned().unwrap_or_default(),
        }
    }
}
