//! Writes records of any worker, idempotently, and tells when they are acknowledged.

use super::{Done, FIRST_PAUSE, LONGEST_PAUSE, LogSettings, Shared, set};
use crate::distributed::topics::Written;
use api::{Error, Result};
use crossbeam_channel::{Receiver, TryRecvError};
use kafka::{ClientSettings, ErrorKind, Producer, ProducerRecord};
use runtime::{Backoff, kafka_error};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Whatever comes wakes the poll.
const POLL: Duration = Duration::from_secs(1);
/// How long a record is tried, unless the settings say.
const WRITE_TIMEOUT_MS: &str = "30000";
const TIMEOUTS: [&str; 2] = ["message.timeout.ms", "delivery.timeout.ms"];

/// Records that belong together.
pub(super) struct Write {
    pub(super) records: Vec<Written>,
    pub(super) done: Done,
}

/// Records that are under way.
struct Pending {
    left: usize,
    error: Option<kafka::Error>,
    done: Done,
}

pub(super) struct Writer {
    topic: Arc<str>,
    settings: ClientSettings,
    writes: Receiver<Write>,
    shared: Arc<Shared>,
    pending: HashMap<usize, Pending>,
    next: usize,
}

impl Writer {
    pub(super) fn new(
        settings: &LogSettings,
        writes: Receiver<Write>,
        shared: Arc<Shared>,
    ) -> Writer {
        let topic = settings.topic.name.as_str().into();
        let mut settings = settings.producer.clone();
        settings.remove("transactional.id");
        if !TIMEOUTS.iter().any(|key| settings.contains_key(*key)) {
            settings.insert(TIMEOUTS[0].to_owned(), WRITE_TIMEOUT_MS.to_owned());
        }
        Writer { topic, settings, writes, shared, pending: HashMap::new(), next: 0 }
    }

    pub(super) fn run(mut self) {
        let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        // The client is made for the first write.
        while let Ok(first) = self.writes.recv() {
            match Producer::new(&self.settings) {
                Ok(producer) => {
                    pauses.succeeded();
                    set(&self.shared.writing, Some(producer.waker()));
                    let ended = self.serve(&producer, first);
                    set(&self.shared.writing, None);
                    drop(producer);
                    self.fail(&ended.err().unwrap_or_else(Error::cancelled));
                }
                Err(error) => {
                    (first.done)(Err(kafka_error(error)));
                    self.shared.pause(&mut pauses);
                }
            }
        }
    }

    /// Writes until the log is closed.
    ///
    /// # Errors
    /// The client is of no use any more; it must not be used again, since what it still holds would
    /// come after what is newer.
    fn serve(&mut self, producer: &Producer, first: Write) -> Result<()> {
        self.send(producer, first);
        loop {
            loop {
                match self.writes.try_recv() {
                    Ok(write) => self.send(producer, write),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            self.take(producer, POLL);
            if let Some(fatal) = producer.fatal_error() {
                return Err(kafka_error(fatal));
            }
        }
    }

    fn send(&mut self, producer: &Producer, write: Write) {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        let Write { records, done } = write;
        let topic = self.topic.clone();
        let mut pending = Pending { left: 0, error: None, done };
        for (key, value) in &records {
            let record = ProducerRecord {
                topic: &topic,
                key: Some(key),
                value: value.as_deref(),
                id,
                ..ProducerRecord::default()
            };
            let mut sent = producer.send(&record);
            while sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::QueueFull)
                && !self.shared.is_closed()
            {
                // Outcomes of this very batch come later: it is put in before the next poll.
                self.pending.insert(id, pending);
                self.take(producer, Duration::from_millis(100));
                let Some(again) = self.pending.remove(&id) else { return };
                pending = again;
                sent = producer.send(&record);
            }
            match sent {
                Ok(()) => pending.left += 1,
                Err(error) => {
                    pending.error = Some(error);
                    break;
                }
            }
        }
        if pending.left == 0 {
            self.settle(pending);
        } else {
            self.pending.insert(id, pending);
        }
    }

    /// Takes the outcomes that have come.
    fn take(&mut self, producer: &Producer, wait: Duration) {
        for delivery in producer.poll(wait) {
            let Some(pending) = self.pending.get_mut(&delivery.id) else { continue };
            pending.left = pending.left.saturating_sub(1);
            if let Err(error) = delivery.result {
                pending.error.get_or_insert(error);
            }
            if pending.left == 0
                && let Some(pending) = self.pending.remove(&delivery.id)
            {
                self.settle(pending);
            }
        }
    }

    /// Ends what is under way without an outcome.
    fn fail(&mut self, error: &Error) {
        for (_, pending) in self.pending.drain() {
            (pending.done)(Err(super::ends::again(error)));
        }
    }

    fn settle(&self, pending: Pending) {
        let topic = &self.topic;
        let outcome = pending.error.map_or(Ok(()), |error| match error.kind() {
            ErrorKind::Authorization => Err(Error::config(error.to_string())
                .hint(format!("grant the worker's principal Describe and Write on Topic {topic}"))),
            _ => Err(kafka_error(error)),
        });
        (pending.done)(outcome);
    }
}
