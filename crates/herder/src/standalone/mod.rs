//! The standalone driver: one thread that steps the state machine and carries its actions out.
//!
//! Everything that may block (checks, connector code, starting and stopping tasks) runs on threads of
//! its own, which send their outcome back as events.

mod driver;
mod state_file;

use crate::state::{Done, Event, Refusal, Request, Target};
use crate::view::{ConnectorView, View};
use config::{Given, Props};
use crossbeam_channel::Sender;
use driver::{Driver, Message};
use runtime::{OffsetsChange, Worker};
pub use state_file::{Kept, StateFile, StateFileError};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::oneshot;

/// Events and requests that may wait for the driver; more make their senders wait.
const EVENTS_MAX: usize = 10_000;

/// The outcome of a request.
pub type Answer = Result<Done, HerderError>;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HerderError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Invalid(String),
    /// Something outside does not answer.
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Unavailable(String),
}

impl From<Refusal> for HerderError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown { message } => HerderError::NotFound(message),
            Refusal::Exists { name } => {
                HerderError::Conflict(format!("Connector {name} already exists"))
            }
            Refusal::Invalid { message } => HerderError::Invalid(message),
            Refusal::Failed { message } => HerderError::Failed(message),
            Refusal::ShuttingDown => HerderError::Unavailable("Worker is shutting down".to_owned()),
        }
    }
}

/// The handle everybody holds; cheap to clone.
#[derive(Clone)]
pub struct Herder {
    worker: Arc<Worker>,
    events: Sender<Message>,
    view: Arc<RwLock<View>>,
    requests: Arc<AtomicU64>,
    ended: crossbeam_channel::Receiver<()>,
}

impl Herder {
    /// Starts the driver thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(worker: Arc<Worker>) -> std::io::Result<Herder> {
        Self::start_with(worker, None)
    }

    /// The same, keeping every change of connectors in a file before it is answered.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_with(worker: Arc<Worker>, file: Option<StateFile>) -> std::io::Result<Herder> {
        let (events, inbox) = crossbeam_channel::bounded(EVENTS_MAX);
        let (ending, ended) = crossbeam_channel::bounded::<()>(0);
        let view = Arc::new(RwLock::new(View::default()));
        let driver = Driver::new(worker.clone(), events.clone(), view.clone(), file);
        std::thread::Builder::new().name("herder".to_owned()).spawn(move || {
            driver.run(&inbox);
            drop(ending);
        })?;
        Ok(Herder { worker, events, view, requests: Arc::default(), ended })
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

    async fn ask(&self, request: Request) -> Answer {
        let gone = || HerderError::Unavailable("Worker is shutting down".to_owned());
        let (reply, answer) = oneshot::channel();
        let id = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let message = Message::Ask { id, request, reply };
        self.events.send(message).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Lets every task make durable what it has and keep its seat in its group.
    pub fn shutdown(&self) {
        // A driver that is gone has nothing left to shut down.
        let _gone = self.events.send(Message::Event(Event::Shutdown));
    }

    /// Waits for the end of a shutdown. False if it takes longer than `timeout`.
    pub fn wait(&self, timeout: Duration) -> bool {
        let ended = self.ended.recv_timeout(timeout);
        !matches!(ended, Err(crossbeam_channel::RecvTimeoutError::Timeout))
    }
}
