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
use std::time::{Duration, Instant};

/// How long a step of a transaction may take before it is tried again.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// Ids of records that are no records of the task: offsets.
pub(crate) const OFFSET_ID: usize = usize::MAX;

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
    committed_at: Instant,
}

impl Output {
    /// Makes the producer; under exactly-once it fences every older one of its id.
    pub(crate) fn connect(settings: &kafka::ClientSettings, how: &Delivered) -> Result<Output> {
        match how {
            Delivered::AtLeastOnce => {
                Producer::new(settings).map(Output::Plain).map_err(kafka_error)
            }
            Delivered::ExactlyOnce { boundary, interval, offsets } => {
                let producer = TransactionalProducer::new(settings).map_err(kafka_error)?;
                producer.init(STEP_TIMEOUT).map_err(|error| not_allowed(settings, error))?;
                Ok(Output::Transactional(Box::new(Transactions {
                    producer,
                    boundary: *boundary,
                    interval: *interval,
                    offsets: offsets.clone(),
                    open: false,
                    committed_at: Instant::now(),
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
            self.open = true;
        }
        Ok(())
    }

    pub(crate) fn boundary(&self) -> TransactionBoundary {
        self.boundary
    }

    /// Whether the time of this transaction is over.
    pub(crate) fn is_due(&self) -> bool {
        self.committed_at.elapsed() >= self.interval
    }

    /// Commits the records, every one of which has been acknowledged, with these offsets.
    pub(crate) fn commit(&mut self, connector: &str, changes: &[OffsetChange]) -> Result<()> {
        self.committed_at = Instant::now();
        if !self.open && changes.is_empty() {
            return Ok(());
        }
        self.begin().map_err(kafka_error)?;
        for (partition, offset) in changes {
            let (key, value) = self.offsets.record(connector, partition, offset.as_ref());
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
        self.flush_and_commit()?;
        self.open = false;
        self.offsets.note(connector, changes);
        Ok(())
    }

    fn flush_and_commit(&self) -> Result<()> {
        let started = Instant::now();
        loop {
            match self.producer.commit(STEP_TIMEOUT) {
                Ok(()) => break,
                // The outcome is open: only asking again decides it.
                Err(error) if error.is_retriable() && started.elapsed() < STEP_TIMEOUT * 4 => {}
                Err(error) => return Err(kafka_error(error)),
            }
        }
        // An offset that was not written has aborted the transaction, or is told here.
        match self.producer.poll(Duration::ZERO).into_iter().find_map(|done| done.result.err()) {
            Some(error) => Err(kafka_error(error)),
            None => Ok(()),
        }
    }

    /// Drops the records of the open transaction.
    pub(crate) fn abort(&mut self) -> Result<()> {
        if std::mem::take(&mut self.open) {
            self.producer.abort(STEP_TIMEOUT).map_err(kafka_error)?;
            self.producer.poll(Duration::ZERO);
        }
        Ok(())
    }
}

fn not_allowed(settings: &kafka::ClientSettings, error: kafka::Error) -> Error {
    let id = settings.get("transactional.id").map_or("", String::as_str).to_owned();
    if error.kind() == ErrorKind::Authorization {
        return Error::config(format!("the transactional.id {id} may not be used: {error}")).hint(
            format!(
                "grant Write and Describe on TransactionalId {id} to the connector's principal"
            ),
        );
    }
    kafka_error(error)
}
