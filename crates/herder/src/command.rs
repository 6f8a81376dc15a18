//! The handle by which everybody asks the herder, whichever driver there is behind it.

use crate::distributed::keys::SessionKeys;
use crate::error::{Answer, HerderError};
use crate::state::{Request, Target};
use crate::view::{ConnectorView, Leader, View, WorkerView};
use config::{Given, Props};
use crossbeam_channel::Sender;
use runtime::{OffsetsChange, Worker};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::oneshot;

/// Events and requests that may wait for a driver; more make their senders wait.
pub(crate) const EVENTS_MAX: usize = 10_000;

/// What a driver is asked.
pub(crate) enum Command {
    Ask {
        id: u64,
        request: Request,
        reply: oneshot::Sender<Answer>,
    },
    /// Only workers of a cluster do it.
    OfCluster {
        what: OfCluster,
        reply: oneshot::Sender<Answer>,
    },
    Workers(WorkersAsked),
    /// The process is to end.
    Shutdown,
}

/// What any worker of a cluster does by itself.
pub(crate) enum OfCluster {
    /// Tells every worker.
    LogLevel { logger: String, level: String },
    /// Has every worker forget the topics that a connector has used.
    ResetTopics { connector: String },
    /// What keeps this worker from working with the others: it says so.
    Troubles(Vec<String>),
}

/// What is asked about workers.
pub(crate) enum WorkersAsked {
    /// Those that there are; none where there is only one.
    List(oneshot::Sender<Option<Vec<WorkerView>>>),
    /// Whether this worker is to give its tasks away; `force`: though nobody takes them.
    Drain { drain: bool, force: bool, reply: oneshot::Sender<Answer> },
}

impl WorkersAsked {
    /// The answer of a worker that is alone.
    pub(crate) fn answer_alone(self) {
        // Whoever asked may have stopped waiting.
        match self {
            WorkersAsked::List(reply) => drop(reply.send(None)),
            WorkersAsked::Drain { reply, .. } => {
                let message = "a standalone worker is alone: nobody could take its tasks";
                drop(reply.send(Err(HerderError::NoTaker(message.to_owned()))));
            }
        }
    }
}

/// Gives a command to the driver; false if that has ended.
pub(crate) type Give = Arc<dyn Fn(Command) -> bool + Send + Sync>;

/// The handle everybody holds; cheap to clone.
#[derive(Clone)]
pub struct Herder {
    worker: Arc<Worker>,
    give: Give,
    view: Arc<RwLock<View>>,
    requests: Arc<AtomicU64>,
    ended: crossbeam_channel::Receiver<()>,
}

impl Herder {
    /// A handle to a driver, and what is dropped when that has ended.
    pub(crate) fn new(worker: Arc<Worker>, give: Give) -> (Herder, Sender<()>) {
        let (ending, ended) = crossbeam_channel::bounded::<()>(0);
        let view = Arc::new(RwLock::new(View::default()));
        (Herder { worker, give, view, requests: Arc::default(), ended }, ending)
    }

    /// What the driver publishes.
    pub(crate) fn shared_view(&self) -> Arc<RwLock<View>> {
        self.view.clone()
    }

    /// What the connectors run on.
    pub fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// A copy of everything there is to read.
    pub fn view(&self) -> View {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One connector.
    pub fn connector(&self, name: &str) -> Option<Arc<ConnectorView>> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).connectors.get(name).cloned()
    }

    /// Whether the connectors given at the start have been created.
    pub fn is_ready(&self) -> bool {
        self.view.read().unwrap_or_else(PoisonError::into_inner).ready
    }

    /// Whether the worker does not know yet which connectors its cluster has.
    pub fn is_joining(&self) -> bool {
        self.view.read().unwrap_or_else(PoisonError::into_inner).joining
    }

    /// What the worker waits for, if anything keeps it from being ready.
    pub fn waits(&self) -> Option<String> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).waits.clone()
    }

    /// The worker takes no part in its cluster any more: nobody can be asked through it.
    pub fn has_ended(&self) -> bool {
        self.view.read().unwrap_or_else(PoisonError::into_inner).ended
    }

    /// Who decides about connectors.
    pub fn leader(&self) -> Leader {
        self.view.read().unwrap_or_else(PoisonError::into_inner).leader.clone()
    }

    /// How far this worker has read what leaders wrote.
    pub fn version(&self) -> u64 {
        self.view.read().unwrap_or_else(PoisonError::into_inner).version
    }

    /// The connectors given at the start have been created.
    pub fn set_ready(&self) {
        self.view.write().unwrap_or_else(PoisonError::into_inner).ready = true;
    }

    /// # Errors
    /// The configuration is invalid, or the name exists.
    pub async fn create(&self, name: String, config: impl Into<Given>, target: Target) -> Answer {
        self.ask(Request::Create { name, config: config.into(), target }).await
    }

    /// A new configuration, of a connector that may be new.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub async fn put(&self, name: String, config: Given) -> Answer {
        self.ask(Request::Put { name, config }).await
    }

    /// Sets single keys, takes those out that are null.
    ///
    /// # Errors
    /// No such connector, or the configuration would be invalid.
    pub async fn patch(&self, name: String, patch: Given) -> Answer {
        self.ask(Request::Patch { name, patch }).await
    }

    /// Answers when its tasks have ended.
    ///
    /// # Errors
    /// No such connector.
    pub async fn delete(&self, name: String) -> Answer {
        self.ask(Request::Delete { name, offsets: false }).await
    }

    /// The same, after its offsets were reset.
    ///
    /// # Errors
    /// No such connector; or its offsets cannot be reset, and it is still there, stopped.
    pub async fn delete_with_offsets(&self, name: String) -> Answer {
        self.ask(Request::Delete { name, offsets: true }).await
    }

    /// A connector as it was before this process: what is wrong with it shows in its status.
    ///
    /// # Errors
    /// The name exists.
    pub async fn restore(&self, name: String, config: Props, target: Target) -> Answer {
        self.ask(Request::Restore { name, config, target }).await
    }

    /// Answers when what was asked for is so.
    ///
    /// # Errors
    /// No such connector.
    pub async fn retarget(&self, name: String, target: Target) -> Answer {
        self.ask(Request::Retarget { name, target }).await
    }

    /// Restarts the connector; answers when its tasks are known.
    ///
    /// # Errors
    /// No such connector.
    pub async fn restart(&self, name: String) -> Answer {
        let (connector, tasks, at_once) = (true, BTreeSet::new(), false);
        self.ask(Request::Restart { name, connector, tasks, at_once }).await
    }

    /// Begins to restart what is selected: whether the connector, and which tasks.
    ///
    /// # Errors
    /// No such connector.
    pub async fn begin_restart(
        &self,
        name: String,
        connector: bool,
        tasks: BTreeSet<u32>,
    ) -> Answer {
        self.ask(Request::Restart { name, connector, tasks, at_once: true }).await
    }

    /// # Errors
    /// No such connector or task.
    pub async fn restart_task(&self, name: String, task: u32) -> Answer {
        self.ask(Request::RestartTask { name, task }).await
    }

    /// # Errors
    /// No such connector, it is not stopped, the offsets are wrong, or Kafka does not answer.
    pub async fn alter_offsets(&self, name: String, change: OffsetsChange) -> Answer {
        self.ask(Request::Offsets { name, change }).await
    }

    /// A task set as another worker has worked it out.
    ///
    /// # Errors
    /// No such connector, or it is stopped.
    pub async fn set_tasks(&self, name: String, tasks: Vec<Props>) -> Answer {
        self.ask(Request::Tasks { name, tasks }).await
    }

    /// Answers when no producer of a former task set of a source can write any more.
    ///
    /// # Errors
    /// No such connector; its tasks have become others meanwhile; Kafka does not answer.
    pub async fn fence(&self, name: String) -> Answer {
        self.ask(Request::Fence { name }).await
    }

    /// Sets the level of a logger on every worker of the cluster; answers when they will read of it.
    ///
    /// # Errors
    /// Kafka does not answer; there is no cluster.
    pub async fn set_log_level(&self, logger: String, level: String) -> Answer {
        self.ask_own(OfCluster::LogLevel { logger, level }).await
    }

    /// Has every worker of the cluster forget the topics that a connector has used.
    ///
    /// # Errors
    /// Kafka does not answer; there is no cluster.
    pub async fn reset_topics(&self, connector: String) -> Answer {
        self.ask_own(OfCluster::ResetTopics { connector }).await
    }

    /// Tells the others what keeps this worker from working with them; nothing any more if empty.
    ///
    /// # Errors
    /// There is no cluster.
    pub async fn tell_troubles(&self, troubles: Vec<String>) -> Answer {
        self.ask_own(OfCluster::Troubles(troubles)).await
    }

    /// The keys by which workers of the cluster believe each other.
    pub fn session_keys(&self) -> SessionKeys {
        self.view.read().unwrap_or_else(PoisonError::into_inner).keys.clone()
    }

    async fn ask_own(&self, what: OfCluster) -> Answer {
        self.hand_over(|reply| Command::OfCluster { what, reply }).await
    }

    /// The workers of the cluster as this one knows them, by their ids; none where there is no cluster.
    ///
    /// # Errors
    /// The worker ends.
    pub async fn workers(&self) -> Result<Option<Vec<WorkerView>>, HerderError> {
        let (reply, answer) = oneshot::channel();
        let given = (self.give)(Command::Workers(WorkersAsked::List(reply)));
        let gone = || HerderError::Unavailable("Worker is shutting down".to_owned());
        if given { answer.await.map_err(|_| gone()) } else { Err(gone()) }
    }

    /// Has this worker give its tasks away and take no new ones, or take part again. Answers when it
    /// has said so to the others; its tasks leave afterwards. `force`: though there is nobody to take
    /// them, where they stay until there is.
    ///
    /// # Errors
    /// Nobody could take its tasks; the worker ends.
    pub async fn drain(&self, drain: bool, force: bool) -> Answer {
        let (reply, answer) = oneshot::channel();
        let asked = WorkersAsked::Drain { drain, force, reply };
        let gone = || HerderError::Unavailable("Worker is shutting down".to_owned());
        if (self.give)(Command::Workers(asked)) {
            answer.await.map_err(|_| gone())?
        } else {
            Err(gone())
        }
    }

    async fn ask(&self, request: Request) -> Answer {
        let id = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.hand_over(|reply| Command::Ask { id, request, reply }).await
    }

    async fn hand_over(&self, command: impl FnOnce(oneshot::Sender<Answer>) -> Command) -> Answer {
        let gone = || HerderError::Unavailable("Worker is shutting down".to_owned());
        let (reply, answer) = oneshot::channel();
        if !(self.give)(command(reply)) {
            return Err(gone());
        }
        answer.await.map_err(|_| gone())?
    }

    /// Lets every task make durable what it has and keep its seat in its group.
    pub fn shutdown(&self) {
        // A driver that is gone has nothing left to shut down.
        let _gone = (self.give)(Command::Shutdown);
    }

    /// Waits for the end of a shutdown. False if it takes longer than `timeout`.
    pub fn wait(&self, timeout: Duration) -> bool {
        let ended = self.ended.recv_timeout(timeout);
        !matches!(ended, Err(crossbeam_channel::RecvTimeoutError::Timeout))
    }
}
