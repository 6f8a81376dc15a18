//! A compacted topic as a log that workers share: read from its start, followed for ever, written with
//! acknowledgement.
//!
//! Three threads a log, so that whoever uses it never waits for a broker: `tail` reads, `ends` asks how
//! far there is to read, `write` writes. What is read goes to a [`LogReader`], in the order in which it
//! stands in each partition. The leader writes by a [`LeaderWriter`] of its own, in transactions.
//!
//! Invariants: every record is read once, in order; an outage ends nothing; whoever waits is answered
//! at the latest at its deadline, or when the log is closed.

mod ends;
mod leader;
mod offsets;
mod settings;
mod tail;
mod write;

pub use leader::{LeaderError, LeaderWriter, Membership};
pub use offsets::OffsetLog;
pub use settings::{Store, worker_client};

use super::topics::Written;
use api::{Error, Result};
use crossbeam_channel::{Sender, bounded, never};
use data::{RawBatch, TopicPartition};
use kafka::{ClientSettings, Waker};
use runtime::{Backoff, CompactedTopic};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Batches that may wait to be written.
const WRITES_MAX: usize = 1024;
/// How many may wait for the end.
const QUESTIONS_MAX: usize = 1024;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a log is made of. Client settings have librdkafka's names.
#[derive(Clone, Debug)]
pub struct LogSettings {
    pub topic: CompactedTopic,
    /// Records count by their order, which only one partition has: more are refused.
    pub one_partition: bool,
    /// With `isolation.level` as it is wanted: where leaders write transactions, `read_committed`.
    pub consumer: ClientSettings,
    pub producer: ClientSettings,
    pub admin: ClientSettings,
}

/// Takes what is read. Called on the log's own thread, which reads on when it returns: it must not
/// wait for anything outside.
pub trait LogReader: Send {
    /// Records of one partition. `live`: read after everything that was there at the start.
    fn read(&mut self, batch: &RawBatch, live: bool);

    /// Everything that was there when the log was opened has been read. Called once.
    fn caught_up(&mut self);

    /// Reading does not work; `None`: it does again. Told when it changes.
    fn trouble(&mut self, trouble: Option<&Error>);
}

/// Is called once, with how it went.
pub type Done = Box<dyn FnOnce(Result<()>) + Send>;

/// A log that is open. Dropping it closes it; writes that are not acknowledged by then may have been
/// written or not.
pub struct KafkaLog {
    topic: String,
    partitions: usize,
    ends: Option<Sender<ends::Question>>,
    writes: Option<Sender<write::Write>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads have in common: that it is over, and ways to end waits that poll a client.
#[derive(Default)]
struct Shared {
    closed: AtomicBool,
    /// There is no such topic any more.
    gone: AtomicBool,
    reading: Mutex<Option<Waker>>,
    writing: Mutex<Option<Waker>>,
}

impl Shared {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Waits before something is tried again, less where the log is closed.
    fn pause(&self, pauses: &mut Backoff) {
        rest(pauses.failed(1.0), &|| self.is_closed());
    }
}

/// Waits, less where it is stopped.
pub(crate) fn rest(pause: Duration, stopped: &dyn Fn() -> bool) {
    const LOOK: Duration = Duration::from_millis(50);
    let end = Instant::now() + pause;
    while !stopped() && Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        // Nothing ever comes; the wait is what is wanted.
        let _nothing = never::<()>().recv_timeout(LOOK.min(left));
    }
}

fn wake(waker: &Mutex<Option<Waker>>) {
    if let Some(waker) = &*waker.lock().unwrap_or_else(PoisonError::into_inner) {
        waker.wake();
    }
}

fn set(slot: &Mutex<Option<Waker>>, waker: Option<Waker>) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = waker;
}

impl KafkaLog {
    /// Makes the topic where it is missing, checks it, and begins to read. Waits for brokers until
    /// `stopped` says otherwise; `reader` is told when everything was read.
    ///
    /// # Errors
    /// The topic cannot be used, with what to do about it; cancelled.
    pub fn open(
        settings: LogSettings,
        reader: Box<dyn LogReader>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<KafkaLog> {
        let partitions = ensure_topic(&settings.topic, &settings.admin, stopped)?;
        if settings.one_partition && partitions > 1 {
            return Err(too_many(&settings.topic, partitions));
        }
        let topic = settings.topic.name.clone();
        let places: Vec<TopicPartition> = (0..i32::try_from(partitions).unwrap_or(i32::MAX))
            .map(|partition| TopicPartition::new(topic.as_str(), partition))
            .collect();
        let shared = Arc::new(Shared::default());
        let (to_tail, barriers) = bounded(QUESTIONS_MAX);
        let (to_ends, questions) = bounded(QUESTIONS_MAX);
        let (to_write, writes) = bounded(WRITES_MAX);
        let tail = tail::Tail::new(&settings, places.clone(), reader, barriers, shared.clone());
        let ends = ends::Ends::new(&settings, places, questions, to_tail, shared.clone());
        let write = write::Writer::new(&settings, writes, shared.clone());
        let mut log = KafkaLog {
            topic,
            partitions,
            ends: Some(to_ends),
            writes: Some(to_write),
            shared,
            threads: Vec::new(),
        };
        log.spawn("tail", move || tail.run())?;
        log.spawn("ends", move || ends.run())?;
        log.spawn("write", move || write.run())?;
        Ok(log)
    }

    fn spawn(&mut self, what: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let name = format!("log-{what}");
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(body)
            .map_err(|error| Error::retriable("a thread cannot be started").source(error))?;
        self.threads.push(thread);
        Ok(())
    }

    pub fn topic(&self) -> &str {
        &self.topic
    }

    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Calls `done` once everything has been given to the reader that is in the log now, transactions
    /// that are open included, or at the deadline. Returns at once.
    pub fn at_end(&self, deadline: Instant, done: Done) {
        let question = ends::Question { deadline, done };
        match send(self.ends.as_ref(), question) {
            Ok(()) => {}
            Err((question, true)) => (question.done)(Err(Error::retriable(format!(
                "{QUESTIONS_MAX} wait already for the end of topic {}",
                self.topic
            )))),
            Err((question, false)) => (question.done)(Err(Error::cancelled())),
        }
    }

    /// The same, waiting.
    ///
    /// # Errors
    /// Retriable: the end was not reached in time.
    pub fn read_to_end(&self, timeout: Duration) -> Result<()> {
        let (told, answer) = bounded(1);
        let tell = move |outcome| {
            // Whoever waited may be gone.
            let _gone = told.send(outcome);
        };
        self.at_end(Instant::now() + timeout, Box::new(tell));
        answer.recv().unwrap_or_else(|_| Err(Error::cancelled()))
    }

    /// Writes records in order (those of one key) and calls `done` when all of them are acknowledged,
    /// or one is not: then any of the others may have been written. Returns at once.
    pub fn write(&self, records: Vec<Written>, done: Done) {
        match send(self.writes.as_ref(), write::Write { records, done }) {
            Ok(()) => wake(&self.shared.writing),
            Err((write, true)) => (write.done)(Err(Error::retriable(format!(
                "{WRITES_MAX} writes to topic {} wait already",
                self.topic
            )))),
            Err((write, false)) => (write.done)(Err(Error::cancelled())),
        }
    }

    /// The same, waiting.
    ///
    /// # Errors
    /// As told to `done` there.
    pub fn write_and_wait(&self, records: Vec<Written>) -> Result<()> {
        let (told, answer) = bounded(1);
        let tell = move |outcome| {
            let _gone = told.send(outcome);
        };
        self.write(records, Box::new(tell));
        answer.recv().unwrap_or_else(|_| Err(Error::cancelled()))
    }
}

impl Drop for KafkaLog {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        // `write` and `ends` end with their channels, `tail` with `ends`.
        (self.writes, self.ends) = (None, None);
        wake(&self.shared.writing);
        wake(&self.shared.reading);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!(topic = self.topic, "a thread of the log has panicked");
            }
        }
    }
}

/// Gives something to a thread; what could not be given comes back, with whether the queue is full.
fn send<T>(to: Option<&Sender<T>>, what: T) -> std::result::Result<(), (T, bool)> {
    let Some(to) = to else { return Err((what, false)) };
    to.try_send(what).map_err(|refused| {
        let is_full = refused.is_full();
        (refused.into_inner(), is_full)
    })
}

/// Makes a topic where it is missing, and checks it; gives its number of partitions. Waits for brokers,
/// not for people.
pub(crate) fn ensure_topic(
    topic: &CompactedTopic,
    admin: &ClientSettings,
    stopped: &dyn Fn() -> bool,
) -> Result<usize> {
    let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        if stopped() {
            return Err(Error::cancelled());
        }
        match topic.ensure(admin) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind == api::ErrorKind::Retriable => {
                let pause = pauses.failed(1.0);
                // A new cluster is not ready at once: the first two are not worth a word.
                if pauses.attempts() == 3 {
                    tracing::warn!("topic {}: {}; tried again", topic.name, error.report());
                }
                rest(pause, stopped);
            }
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn too_many(topic: &CompactedTopic, found: usize) -> Error {
    let CompactedTopic { name, what, prefix, .. } = topic;
    Error::config(format!(
        "topic {name} has {found} partitions; {what} need a topic with exactly one, which keeps \
         their order"
    ))
    .hint(format!(
        "kafka-topics.sh --bootstrap-server HOST:PORT --create --topic NEW --partitions 1 --config \
         cleanup.policy=compact, and name it in {prefix}topic"
    ))
}
