//! What every driver does with its worker: work that may block, on threads of its own, and the tasks
//! that it has started.
//!
//! Whatever comes of it is told by a call from one of those threads; the driver turns it into events.

use crate::state::OffsetsRefused;
use config::{Given, Props};
use runtime::{
    ActiveTopics, Confirm, OffsetsChange, StatusCell, StopMode, TaskHandle, TaskHooks, Worker,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a cancelled task may take to end before it is left behind.
const ABANDON_AFTER: Duration = Duration::from_secs(3);

/// Connector, which start of its tasks, task.
pub(crate) type TaskKey = (String, u64, u32);

/// What came of something.
pub(crate) enum Told {
    Validated {
        id: u64,
        name: String,
        outcome: Result<(), String>,
    },
    TasksMade {
        name: String,
        attempt: u64,
        outcome: Result<Vec<Props>, String>,
    },
    OffsetsAltered {
        name: String,
        outcome: Result<String, OffsetsRefused>,
    },
    Fenced {
        name: String,
        attempt: u64,
        outcome: Result<(), String>,
    },
    /// A task was started: to be given to [`Hands::started`].
    Started {
        key: TaskKey,
        handle: TaskHandle,
    },
    /// A task that has failed would do better if it were started once more.
    Again(TaskKey),
    /// A task is gone, after it was told to stop.
    Ended(TaskKey),
}

/// Where it is told.
pub(crate) type Tell = Arc<dyn Fn(Told) + Send + Sync>;

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

/// The worker, and the tasks that were started on it.
pub(crate) struct Hands {
    worker: Arc<Worker>,
    tell: Tell,
    tasks: BTreeMap<TaskKey, Task>,
    /// The topics of every connector there is.
    topics: BTreeMap<String, Arc<ActiveTopics>>,
}

impl Hands {
    pub(crate) fn new(worker: Arc<Worker>, tell: Tell) -> Hands {
        Hands { worker, tell, tasks: BTreeMap::new(), topics: BTreeMap::new() }
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Runs blocking work on a thread of its own and tells what it gives.
    fn elsewhere(&self, what: &str, work: impl FnOnce(&Worker) -> Told + Send + 'static) {
        let (worker, tell) = (self.worker.clone(), self.tell.clone());
        let body = move || tell(work(&worker));
        if let Err(error) = std::thread::Builder::new().name(what.to_owned()).spawn(body) {
            tracing::error!("thread {what} could not be started: {error}");
        }
    }

    pub(crate) fn validate(&self, id: u64, name: String, config: Given) {
        self.elsewhere("validate", move |worker| {
            let outcome = worker.check_connector_config(&config).map(|notices| {
                for notice in notices {
                    tracing::warn!(connector = %name, "{notice}");
                }
            });
            Told::Validated { id, name, outcome }
        });
    }

    pub(crate) fn make_tasks(&self, name: String, attempt: u64, config: Props) {
        self.elsewhere("make-tasks", move |worker| {
            let outcome = worker.task_configs(&config).map_err(|error| error.report());
            Told::TasksMade { name, attempt, outcome }
        });
    }

    /// `former`: in a cluster, as many transactional producers as may exist, and who says whether the
    /// offsets may still be changed.
    pub(crate) fn alter_offsets(
        &self,
        name: String,
        config: Props,
        change: OffsetsChange,
        former: Option<(u32, Confirm)>,
    ) {
        self.elsewhere("alter-offsets", move |worker| {
            let outcome = worker.alter_offsets(&name, &config, &change, former);
            let outcome = outcome.map_err(|error| match error.kind {
                api::ErrorKind::Retriable => OffsetsRefused::Failed(error.report()),
                _ => OffsetsRefused::Invalid(error.report()),
            });
            Told::OffsetsAltered { name, outcome }
        });
    }

    /// Takes the transactional ids of so many tasks over from whoever has them.
    pub(crate) fn fence(&self, name: String, attempt: u64, config: Props, producers: u32) {
        self.elsewhere("fence", move |worker| {
            let fenced = worker.fence_producers(&name, &config, producers);
            if let Err(error) = &fenced {
                tracing::warn!(connector = %name, "former tasks are not fenced: {}", error.report());
            }
            Told::Fenced { name, attempt, outcome: fenced.map_err(|error| error.report()) }
        });
    }

    /// `confirm`: where the task may have to ask before it writes.
    pub(crate) fn start_task(&mut self, key: TaskKey, config: Props, confirm: Option<Confirm>) {
        let topics = self.topics(&key.0);
        let status = self.worker.new_status(topics);
        let task = Task { status: status.clone(), handle: None, stop: None };
        self.tasks.insert(key.clone(), task);
        let (name, token, number) = &key;
        tracing::debug!(connector = %name, task = number, token, "the task is started");
        let (tell, own) = (self.tell.clone(), key.clone());
        let again = Arc::new(move || tell(Told::Again(own.clone())));
        let hooks = TaskHooks { confirm, again };
        self.elsewhere("start-task", move |worker| {
            let (name, _, task) = &key;
            let handle = worker.start_task(name, *task, &config, status, hooks);
            Told::Started { key, handle }
        });
    }

    pub(crate) fn started(&mut self, key: TaskKey, handle: TaskHandle) {
        let Some(task) = self.tasks.get_mut(&key) else { return };
        match task.stop {
            None => task.handle = Some(handle),
            Some(mode) => self.end(key, handle, mode),
        }
    }

    pub(crate) fn stop_task(&mut self, key: TaskKey, mode: StopMode) {
        let Some(task) = self.tasks.get_mut(&key) else { return };
        let (name, token, number) = &key;
        tracing::debug!(connector = %name, task = number, token, "the task is told to stop");
        task.stop = Some(mode);
        if let Some(handle) = task.handle.take() {
            self.end(key, handle, mode);
        }
    }

    fn end(&self, key: TaskKey, handle: TaskHandle, mode: StopMode) {
        handle.stop(mode);
        let graceful = self.worker.config().task_shutdown_graceful_timeout_ms;
        self.elsewhere("stop-task", move |_| {
            if !handle.wait(Duration::from_millis(graceful) + ABANDON_AFTER) {
                handle.cancel();
                if !handle.wait(ABANDON_AFTER) {
                    let (connector, _, task) = &key;
                    tracing::error!(%connector, task, "the task does not end and is left behind");
                }
            }
            let (name, token, number) = &key;
            tracing::debug!(connector = %name, task = number, token, "the task has ended");
            Told::Ended(key)
        });
    }

    /// A task has ended. Its status stays readable as long as the connector knows the task.
    pub(crate) fn ended(&mut self, key: &TaskKey) {
        if let Some(ended) = self.tasks.get_mut(key) {
            ended.stop = None;
        }
    }

    /// The topics of a connector's tasks.
    pub(crate) fn topics(&mut self, name: &str) -> Arc<ActiveTopics> {
        self.topics.entry(name.to_owned()).or_default().clone()
    }

    /// The status of a task; a blank one where it was never started.
    pub(crate) fn status(&self, key: &TaskKey) -> StatusCell {
        self.tasks.get(key).map(|task| task.status.clone()).unwrap_or_default()
    }

    /// The task was told to stop and has not ended.
    pub(crate) fn is_ending(&self, key: &TaskKey) -> bool {
        self.tasks.get(key).is_some_and(|task| task.stop.is_some())
    }

    /// The tasks that were started and have not ended.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (&TaskKey, &StatusCell)> {
        let alive = self.tasks.iter().filter(|(_, task)| task.is_alive());
        alive.map(|(key, task)| (key, &task.status))
    }

    /// Forgets the tasks of a connector that have ended and that `known` does not choose.
    pub(crate) fn retain(&mut self, name: &str, known: impl Fn(u64, u32) -> bool) {
        self.tasks.retain(|(own, epoch, number), task| {
            *own != name || known(*epoch, *number) || task.is_alive()
        });
    }

    /// Forgets what a connector that is gone has left.
    pub(crate) fn forget(&mut self, name: &str) {
        self.retain(name, |_, _| false);
        self.topics.remove(name);
    }
}
