//! The standalone driver: one thread that steps the state machine and carries its actions out.
//!
//! Everything that may block (checks, connector code, starting and stopping tasks) runs on threads of
//! its own, which send their outcome back as events.

mod driver;

use crate::state::{Event, Refusal, Request, Target};
use crate::view::View;
use config::Props;
use crossbeam_channel::Sender;
use driver::{Driver, Message};
use runtime::Worker;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::oneshot;

/// Events and requests that may wait for the driver; more make their senders wait.
const EVENTS_MAX: usize = 10_000;

/// The outcome of a request.
pub type Answer = Result<(), HerderError>;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HerderError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Unavailable(String),
}

impl From<Refusal> for HerderError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown { name } => HerderError::NotFound(format!("Unknown connector {name}")),
            Refusal::Exists { name } => {
                HerderError::Conflict(format!("Connector {name} already exists"))
            }
            Refusal::Invalid { message } => HerderError::Invalid(message),
            Refusal::ShuttingDown => HerderError::Unavailable("Worker is shutting down".to_owned()),
        }
    }
}

/// The handle everybody holds; cheap to clone.
#[derive(Clone)]
pub struct Herder {
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
        let (events, inbox) = crossbeam_channel::bounded(EVENTS_MAX);
        let (ending, ended) = crossbeam_channel::bounded::<()>(0);
        let view = Arc::new(RwLock::new(View::default()));
        let driver = Driver::new(worker, events.clone(), view.clone());
        std::thread::Builder::new().name("herder".to_owned()).spawn(move || {
            driver.run(&inbox);
            drop(ending);
        })?;
        Ok(Herder { events, view, requests: Arc::default(), ended })
    }

    /// A copy of everything there is to read.
    pub fn view(&self) -> View {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The connectors given at the start have been created.
    pub fn set_ready(&self) {
        self.view.write().unwrap_or_else(PoisonError::into_inner).ready = true;
    }

    /// # Errors
    /// The configuration is invalid, or the name exists.
    pub async fn create(&self, name: String, config: Props, target: Target) -> Answer {
        self.ask(Request::Create { name, config, target }).await
    }

    /// # Errors
    /// No such connector.
    pub async fn stop(&self, name: String) -> Answer {
        self.ask(Request::Stop { name }).await
    }

    /// # Errors
    /// No such connector.
    pub async fn resume(&self, name: String) -> Answer {
        self.ask(Request::Resume { name }).await
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
