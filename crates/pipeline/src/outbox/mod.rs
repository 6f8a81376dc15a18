//! Messages out of the database: what `produce_message` and `emit_tuple` have left in the outbox goes
//! into Kafka, each message once.
//!
//! Place in the data path: the produce side, a thread of `copycat pg run`. One worker at a time sends
//! for a cluster: it holds a lease in the database (`outbox_senders`), and its transactional id fences
//! whoever held it before. A Kafka transaction holds the messages and a record of which rows they were
//! ([`progress`]); the rows are deleted after its commit, one by one, because ids commit out of order.
//!
//! Invariants: a row is deleted only if a committed transaction has it; after any failure the records
//! of progress are read again before anything is sent; messages of one topic keep the order of their
//! ids among what is committed.

mod progress;
mod rows;
mod sender;

use crate::control::{Cluster, Questions};
use rows::{Rows, Verdict};
use sender::{Message, Sender, Sent};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread looks whether it is to end; whatever happens wakes it.
const IDLE: Duration = Duration::from_secs(30);
/// Calls that wait for the thread.
const CALLS_MAX: usize = 16;
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// How a cluster's Kafka clients are set up, or what is wrong with its definition.
pub type ClientsOf = dyn Fn(&Cluster) -> Result<Clients, String> + Send;

/// The settings of the clients that the outbox needs.
#[derive(Clone, Debug)]
pub struct Clients {
    pub producer: kafka::ClientSettings,
    /// Without a group, reading committed records.
    pub consumer: kafka::ClientSettings,
    pub admin: kafka::ClientSettings,
}

/// What the outbox of a worker needs to know.
pub struct Options {
    /// The connection; others ask by it too.
    pub questions: Arc<Questions>,
    /// The worker's number in `workers`; its heartbeat keeps the lease.
    pub worker: String,
    pub clients: Box<ClientsOf>,
    /// True when the worker is to stop.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// The thread that empties the outbox.
pub struct Outbox {
    wake: Option<SyncSender<Vec<Cluster>>>,
    thread: Option<JoinHandle<()>>,
}

impl Outbox {
    /// Starts the thread; it asks when there is something to send.
    /// # Errors
    /// No thread to be had.
    pub fn start(options: Options) -> Result<Outbox, crate::control::Error> {
        let rows = Rows::new(options.questions.clone(), &options.worker);
        let (wake, woken) = sync_channel(CALLS_MAX);
        let drain = Drain { options, rows, senders: HashMap::new(), backoff: BACKOFF_FIRST };
        let thread = std::thread::Builder::new().name("outbox".to_owned());
        let thread = thread.spawn(move || drain.run(&woken)).map_err(|error| {
            let text = format!("thread outbox could not be started: {error}");
            crate::control::Error::new(crate::control::ErrorKind::Bug, text)
        })?;
        Ok(Outbox { wake: Some(wake), thread: Some(thread) })
    }

    /// Tells that these clusters have messages waiting.
    pub fn wake(&self, clusters: Vec<Cluster>) {
        if let Some(wake) = &self.wake {
            // When it is full, the thread is awake; what it does not hear now it hears again soon.
            let _full = wake.try_send(clusters);
        }
    }
}

impl Drop for Outbox {
    /// Waits for the transaction under way; `Options::stop` keeps that short.
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// A sender under our lease.
struct Held {
    /// Of the cluster's definition.
    version: i64,
    /// The connection behind which no row is left that was sent.
    connection: u64,
    sender: Sender,
}

struct Drain {
    options: Options,
    rows: Rows,
    /// Senders under our lease, by cluster.
    senders: HashMap<String, Held>,
    backoff: Duration,
}

impl Drain {
    fn run(mut self, woken: &Receiver<Vec<Cluster>>) {
        let mut waiting: Vec<Cluster> = Vec::new();
        while !(self.options.stop)() {
            let patience = if waiting.is_empty() { IDLE } else { self.backoff };
            match woken.recv_timeout(patience) {
                Ok(clusters) => waiting = clusters,
                Err(RecvTimeoutError::Timeout) if waiting.is_empty() => continue,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // What was asked meanwhile is asked for by the newest message.
            while let Ok(clusters) = woken.try_recv() {
                waiting = clusters;
            }
            waiting.retain(|cluster| !self.cluster(cluster));
            self.backoff = match waiting.is_empty() {
                true => BACKOFF_FIRST,
                false => BACKOFF_MAX.min(self.backoff * 2),
            };
        }
        self.rows.release();
    }

    /// Sends what a cluster has waiting; false: it has to be tried again.
    fn cluster(&mut self, cluster: &Cluster) -> bool {
        match self.drain(cluster) {
            Ok(()) => true,
            Err(text) => {
                self.senders.remove(&cluster.name);
                if (self.options.stop)() {
                    return true;
                }
                tracing::warn!(cluster = cluster.name, "messages of the outbox wait: {text}");
                self.rows.set_detail(&cluster.name, Some(&text));
                false
            }
        }
    }

    fn drain(&mut self, cluster: &Cluster) -> Result<(), String> {
        let name = cluster.name.as_str();
        while !(self.options.stop)() {
            if !self.rows.hold_lease(name).map_err(|error| error.to_string())? {
                // Another worker sends for it.
                self.senders.remove(name);
                return Ok(());
            }
            let (connection, due) = self.rows.due(name).map_err(|error| error.to_string())?;
            if due.is_empty() {
                return Ok(());
            }
            let version = cluster.config_version;
            match self.senders.get_mut(name).filter(|held| held.version == version) {
                Some(held) if held.connection == connection => {}
                Some(held) => {
                    // A replica that took over may have rows again that were sent.
                    let sent = held.sender.sent();
                    self.rows.delete(&sent).map_err(|error| error.to_string())?;
                    held.connection = connection;
                    continue;
                }
                None => {
                    self.senders.remove(name);
                    let sender = self.take_over(cluster)?;
                    let held = Held { version, connection, sender };
                    self.senders.insert(name.to_owned(), held);
                    // What the predecessor has sent is gone from the rows now.
                    continue;
                }
            }
            if !self.send(name, &due)? && due.len() > 1 {
                // A broker refuses a batch as a whole: who is to blame is found one by one.
                let mut put_off = BTreeSet::new();
                for message in &due {
                    let waits = put_off.contains(message.topic.as_str());
                    if !waits && !self.send(name, std::slice::from_ref(message))? {
                        put_off.insert(message.topic.as_str());
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends messages in one transaction; false: it was refused. A message that is refused alone is
    /// put off.
    fn send(&mut self, cluster: &str, messages: &[Message]) -> Result<bool, String> {
        let Some(Held { sender, .. }) = self.senders.get_mut(cluster) else { return Ok(false) };
        match sender.send(messages, &*self.options.stop).map_err(|error| error.to_string())? {
            Sent::All(record) => {
                self.rows.delete(&record).map_err(|error| error.to_string())?;
                self.rows.set_detail(cluster, None);
                tracing::debug!(cluster, messages = messages.len(), "sent from the outbox");
                Ok(true)
            }
            Sent::Refused(verdicts) => {
                if messages.len() == 1 {
                    self.put_off(cluster, &verdicts)?;
                }
                Ok(false)
            }
        }
    }

    fn take_over(&mut self, cluster: &Cluster) -> Result<Sender, String> {
        let clients = (self.options.clients)(cluster)?;
        let installation = self.rows.installation().map_err(|error| error.to_string())?;
        let stop = &*self.options.stop;
        let (sender, sent) =
            Sender::take_over(&clients, &installation, stop).map_err(|error| error.to_string())?;
        for record in &sent {
            self.rows.delete(record).map_err(|error| error.to_string())?;
        }
        Ok(sender)
    }

    fn put_off(&mut self, cluster: &str, verdicts: &[Verdict]) -> Result<(), String> {
        for Verdict { id, topic, reason, .. } in verdicts {
            tracing::warn!(cluster, topic, id, "a message of the outbox is refused: {reason}");
        }
        self.rows.put_off(verdicts).map_err(|error| error.to_string())
    }
}
