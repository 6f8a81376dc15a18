//! Where the records of a source task go: a plain producer, or one whose transactions hold the records
//! together with the offsets.
//!
//! Invariants: a transaction begins with its first record; offsets are sent into it when every record
//! of it has been acknowledged, and only then is it committed. Nobody takes a `transactional.id` over
//! twice in one session: whoever is fenced stops.

use super::offsets::{OffsetChange, OffsetTopic};
use crate::sink::kafka_error;
use api::{Error, Result};
use config::source::TransactionBoundary;
use kafka::{Delivery, ErrorKind, Producer, ProducerRecord, TransactionalProducer};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A step of a transaction is waited for in parts so long, so that a stop is noticed.
const PART: Duration = Duration::from_millis(500);
/// After so long another session decides what became of a transaction.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);
/// How long dropping a transaction may hold up the end of a task.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);
/// Kafka's default of `transaction.timeout.ms`.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Ids of records that are no records of the task: offsets.
pub(crate) const OFFSET_ID: usize = usize::MAX;

/// Asked again and again while a step waits for Kafka, with what it waits for; an error ends the wait.
pub(crate) type Waiting<'a> = dyn FnMut(Error) -> Result<()> + 'a;

/// How a task's records are to arrive.
#[derive(Clone)]
pub enum Delivered {
    /// Each at least once: offsets are stored once in a while.
    AtLeastOnce,
    /// Each exactly once: offsets are part of the records' transactions.
    ExactlyOnce {
        boundary: TransactionBoundary,
        /// For [`TransactionBoundary::Interval`].
        interval: Duration,
        offsets: Arc<OffsetTopic>,
    },
}

/// The producer of one session of a task.
pub(crate) enum Output {
    Plain(Producer),
    Transactional(Box<Transactions>),
}

pub(crate) struct Transactions {
    producer: TransactionalProducer,
    boundary: TransactionBoundary,
    interval: Duration,
    offsets: Arc<OffsetTopic>,
    open: bool,
    /// When the latest transaction began, by the clock that stands still while the machine sleeps, and
    /// by the other.
    began: (Instant, SystemTime),
    committed_at: Instant,
    /// After so long the broker ends a transaction by itself.
    timeout: Duration,
}

impl Output {
    /// Makes the producer; under exactly-once it fences every older one of its id.
    pub(crate) fn connect(
        settings: &kafka::ClientSettings,
        how: &Delivered,
        waiting: &mut Waiting<'_>,
    ) -> Result<Output> {
        match how {
            Delivered::AtLeastOnce => {
                Producer::new(settings).map(Output::Plain).map_err(kafka_error)
            }
            Delivered::ExactlyOnce { boundary, interval, offsets } => {
                let producer = TransactionalProducer::new(settings).map_err(kafka_error)?;
                step(|part| producer.init(part), |error| not_allowed(settings, error), waiting)?;
                let timeout = settings.get("transaction.timeout.ms");
                let timeout = timeout.and_then(|ms| ms.parse().ok()).map(Duration::from_millis);
                Ok(Output::Transactional(Box::new(Transactions {
                    producer,
                    boundary: *boundary,
                    interval: *interval,
                    offsets: offsets.clone(),
                    open: false,
                    began: (Instant::now(), SystemTime::now()),
                    committed_at: Instant::now(),
                    timeout: timeout.unwrap_or(TRANSACTION_TIMEOUT),
                })))
            }
        }
    }

    /// See [`Producer::send`]; begins a transaction where there is none.
    pub(crate) fn send(&mut self, record: &ProducerRecord<'_>) -> kafka::Result<()> {
        match self {
            Output::Plain(producer) => producer.send(record),
            Output::Transactional(transactions) => {
                transactions.begin()?;
                transactions.producer.send(record)
            }
        }
    }

    pub(crate) fn poll(&self, max_wait: Duration) -> Vec<Delivery> {
        match self {
            Output::Plain(producer) => producer.poll(max_wait),
            Output::Transactional(transactions) => transactions.producer.poll(max_wait),
        }
    }

    /// Records sent whose outcome was not taken yet.
    pub(crate) fn in_flight(&self) -> usize {
        match self {
            Output::Plain(producer) => producer.in_flight(),
            Output::Transactional(transactions) => transactions.producer.in_flight(),
        }
    }

    /// Ends a wait in [`Output::poll`] from another thread.
    pub(crate) fn waker(&self) -> kafka::Waker {
        match self {
            Output::Plain(producer) => producer.waker(),
            Output::Transactional(transactions) => transactions.producer.waker(),
        }
    }

    /// What the client had to say since it was asked last.
    pub(crate) fn latest_error(&self) -> Option<kafka::Error> {
        match self {
            Output::Plain(producer) => producer.take_errors().pop_back(),
            Output::Transactional(transactions) => transactions.producer.take_errors().pop_back(),
        }
    }

    /// The transaction timeout, if the open transaction is older: then the broker has ended it, and
    /// refuses its producer just as if another had taken over.
    pub(crate) fn outlived(&self) -> Option<Duration> {
        let Output::Transactional(transactions) = self else { return None };
        let age = transactions.age();
        (transactions.open && age >= transactions.timeout).then_some(transactions.timeout)
    }

    /// Drops the open transaction, if that is quickly done, so that its readers need not wait for the
    /// broker to end it.
    pub(crate) fn discard(&mut self) {
        let Output::Transactional(transactions) = self else { return };
        if std::mem::take(&mut transactions.open)
            && let Err(error) = transactions.producer.abort(DISCARD_TIMEOUT)
        {
            tracing::warn!(
                "a transaction stays open until the task starts again or transaction.timeout.ms is \
                 over; readers of committed records wait for that: {error}"
            );
        }
    }

    /// Why the open transaction, of which a record was dropped, can only be aborted.
    pub(crate) fn spoiled(&self) -> Option<kafka::Error> {
        let Output::Transactional(transactions) = self else { return None };
        if !transactions.open {
            return None;
        }
        transactions.producer.commit(PART).err()
    }

    /// Why the producer is of no use any more.
    pub(crate) fn fatal_error(&self) -> Option<kafka::Error> {
        match self {
            Output::Plain(producer) => producer.fatal_error(),
            Output::Transactional(transactions) => transactions.producer.fatal_error(),
        }
    }
}

impl Transactions {
    fn begin(&mut self) -> kafka::Result<()> {
        if !self.open {
            self.producer.begin()?;
            self.began = (Instant::now(), SystemTime::now());
            self.open = true;
        }
        Ok(())
    }

    pub(crate) fn boundary(&self) -> TransactionBoundary {
        self.boundary
    }

    fn age(&self) -> Duration {
        self.began.0.elapsed().max(self.began.1.elapsed().unwrap_or_default())
    }

    /// Whether the time of this transaction is over. None may come near the broker's limit.
    pub(crate) fn is_due(&self) -> bool {
        self.committed_at.elapsed() >= self.interval
            || (self.open && self.age() >= self.timeout / 2)
    }

    /// Commits the records, every one of which has been acknowledged, with these offsets.
    pub(crate) fn commit(
        &mut self,
        connector: &str,
        changes: &[OffsetChange],
        waiting: &mut Waiting<'_>,
    ) -> Result<()> {
        self.committed_at = Instant::now();
        if !self.open && changes.is_empty() {
            return Ok(());
        }
        self.begin().map_err(kafka_error)?;
        let of = |(partition, offset): &OffsetChange| {
            self.offsets.records(connector, partition, offset.as_ref())
        };
        for (key, value) in changes.iter().flat_map(of) {
            let record = ProducerRecord {
                topic: self.offsets.topic(),
                key: Some(&key),
                value: value.as_deref(),
                id: OFFSET_ID,
                ..ProducerRecord::default()
            };
            while let Err(error) = self.producer.send(&record) {
                if error.kind() != ErrorKind::QueueFull {
                    return Err(kafka_error(error));
                }
                self.producer.poll(Duration::from_millis(100));
            }
        }
        let failed = |error| not_committed(self.offsets.topic(), error);
        step(|part| self.producer.commit(part), failed, waiting)?;
        // An offset that was not written has aborted the transaction, or is told here.
        let mut outcomes = self.producer.poll(Duration::ZERO).into_iter();
        if let Some(error) = outcomes.find_map(|done| done.result.err()) {
            return Err(failed(error));
        }
        self.open = false;
        self.offsets.note(connector, changes);
        Ok(())
    }

    /// Drops the records of the open transaction.
    pub(crate) fn abort(&mut self, waiting: &mut Waiting<'_>) -> Result<()> {
        if self.open {
            step(|part| self.producer.abort(part), kafka_error, waiting)?;
            self.open = false;
            self.producer.poll(Duration::ZERO);
        }
        Ok(())
    }
}

/// Does a step again until its outcome is known.
fn step(
    mut part: impl FnMut(Duration) -> kafka::Result<()>,
    failed: impl Fn(kafka::Error) -> Error,
    waiting: &mut Waiting<'_>,
) -> Result<()> {
    let started = Instant::now();
    loop {
        match part(PART) {
            Ok(()) => return Ok(()),
            Err(error) if error.is_retriable() && started.elapsed() < STEP_TIMEOUT => {
                waiting(failed(error))?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The records of the transaction are written by now: what may not be, are the offsets.
fn not_committed(offsets: &str, error: kafka::Error) -> Error {
    if error.is_forbidden() {
        return Error::config(format!("source offsets may not be written to {offsets}: {error}"))
            .hint(format!("grant Write on Topic {offsets} to the connector's principal"));
    }
    kafka_error(error)
}

/// Says which rights lack where that is what is wrong.
pub(crate) fn not_allowed(settings: &kafka::ClientSettings, error: kafka::Error) -> Error {
    let id = settings.get("transactional.id").map_or("", String::as_str).to_owned();
    if error.is_forbidden() {
        return Error::config(format!("the transactional.id {id} may not be used: {error}")).hint(
            format!(
                "grant Write and Describe on TransactionalId {id} to the connector's principal"
            ),
        );
    }
    kafka_error(error)
}
