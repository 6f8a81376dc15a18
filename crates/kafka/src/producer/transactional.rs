//! The transactional producer: records and group offsets that become visible together or not at all.
//!
//! Before a commit the producer is drained by polling: librdkafka's own flush waits in slices of
//! 100 ms. A new `init` fences every older producer with the same `transactional.id`; whoever is fenced
//! must stop, never `init` again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rdkafka::error::KafkaError;
use rdkafka::producer::{Producer as _, PurgeConfig};

use super::{Delivery, Producer, ProducerRecord};
use crate::consumer::GroupMetadata;
use crate::error::{Error, ErrorKind, Result};
use crate::lists::{self, Position};
use crate::options::ClientSettings;
use crate::wake::{Waker, deadline};

/// A producer with a `transactional.id`.
pub struct TransactionalProducer {
    producer: Producer,
}

impl TransactionalProducer {
    /// Creates the client. `transactional.id` is required.
    pub fn new(settings: &ClientSettings) -> Result<TransactionalProducer> {
        if settings.get("transactional.id").is_none_or(String::is_empty) {
            let message = "a transactional producer needs a transactional.id";
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        Ok(TransactionalProducer { producer: Producer::new(settings)? })
    }

    /// Takes over the `transactional.id`: aborts what an older producer left open and fences it.
    pub fn init(&self, timeout: Duration) -> Result<()> {
        let done = self.producer.client.init_transactions(timeout);
        self.producer.serve();
        done.map_err(|e| self.error(&e, "take over the transactional.id"))
    }

    /// Begins a transaction. Local: a fenced producer learns it later.
    pub fn begin(&self) -> Result<()> {
        let done = self.producer.client.begin_transaction();
        done.map_err(|e| self.error(&e, "begin a transaction"))
    }

    /// Adds a record to the transaction; see [`Producer::send`].
    pub fn send(&self, record: &ProducerRecord<'_>) -> Result<()> {
        self.producer.send(record).map_err(|e| self.producer.fatal_or(e))
    }

    /// Adds records to the transaction; see [`Producer::send_batch`].
    pub fn send_batch(&self, records: &[ProducerRecord<'_>]) -> Result<usize> {
        self.producer.send_batch(records)
    }

    /// See [`Producer::poll`].
    pub fn poll(&self, max_wait: Duration) -> Vec<Delivery> {
        self.producer.poll(max_wait)
    }

    /// Adds a group's positions to the transaction. Also proves membership: a member that has left or
    /// whose generation is over gets `ErrorKind::Abortable`.
    pub fn send_offsets(
        &self,
        positions: &[Position],
        group: &GroupMetadata,
        timeout: Duration,
    ) -> Result<()> {
        let list = lists::with_metadata(positions)?;
        let done = self.producer.client.send_offsets_to_transaction(&list, &group.0, timeout);
        self.producer.serve();
        done.map_err(|e| self.error(&e, "add offsets to the transaction"))
    }

    /// Writes out everything and commits, within `timeout`. `ErrorKind::Abortable`: call `abort`.
    /// Retriable kinds: call `commit` again; the outcome is not decided yet.
    pub fn commit(&self, timeout: Duration) -> Result<()> {
        let deadline = deadline(timeout);
        self.producer.flush(timeout).map_err(|e| self.producer.fatal_or(e))?;
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let done = self.producer.client.commit_transaction(left);
        self.producer.serve();
        done.map_err(|e| self.error(&e, "commit the transaction"))
    }

    /// Discards the transaction, within `timeout`. Retriable kinds: call it again.
    pub fn abort(&self, timeout: Duration) -> Result<()> {
        let deadline = deadline(timeout);
        // What is not sent yet need not be; what is must come back before the abort can begin.
        self.producer.client.purge(PurgeConfig::default().queue());
        let _ = self.producer.flush(timeout);
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let done = self.producer.client.abort_transaction(left);
        self.producer.serve();
        done.map_err(|e| self.error(&e, "abort the transaction"))
    }

    /// See [`Producer::in_flight`].
    pub fn in_flight(&self) -> usize {
        self.producer.in_flight()
    }

    /// See [`Producer::waker`].
    pub fn waker(&self) -> Waker {
        self.producer.waker()
    }

    /// See [`Producer::fatal_error`].
    pub fn fatal_error(&self) -> Option<Error> {
        self.producer.fatal_error()
    }

    /// See [`Producer::take_errors`].
    pub fn take_errors(&self) -> VecDeque<Error> {
        self.producer.take_errors()
    }

    fn error(&self, error: &KafkaError, what: &str) -> Error {
        let error = self.producer.explain(Error::from_kafka(error, what));
        match error.kind() {
            ErrorKind::Fatal | ErrorKind::Fenced => self.producer.fatal_or(error),
            _ => error,
        }
    }
}
