//! The producer: records in, delivery results out, driven by one thread.
//!
//! Each record carries a number of the caller's, under which its outcome comes back from
//! [`Producer::poll`] or [`Producer::flush`]. Nothing is sent twice (idempotent by default), and
//! every accepted record gets exactly one outcome.

mod transactional;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer as _, ProducerContext};

pub use transactional::TransactionalProducer;

use crate::error::{Error, ErrorKind, Result};
use crate::ffi::Queue;
use crate::options::{self, ClientSettings};
use crate::report::Reporter;
use crate::wake::{Wake, Waker, deadline};

/// A record to send. Bytes are copied by `send`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProducerRecord<'a> {
    pub topic: &'a str,
    /// `None` lets the key decide, as Java's default partitioner does.
    pub partition: Option<i32>,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: &'a [(&'a str, Option<&'a [u8]>)],
    /// Milliseconds since the epoch; `None` is now.
    pub timestamp: Option<i64>,
    /// Comes back in the record's [`Delivery`].
    pub id: usize,
}

/// The outcome of one record.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: usize,
    /// Partition and offset, or why it was not written.
    pub result: Result<(i32, i64)>,
}

struct ProducerState {
    reporter: Reporter,
    deliveries: Mutex<Vec<Delivery>>,
}

impl ProducerState {
    fn take(&self) -> Vec<Delivery> {
        std::mem::take(&mut *self.deliveries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, delivery: Delivery) {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).push(delivery);
    }
}

impl ClientContext for ProducerState {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.reporter.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.reporter.error(&error, reason);
    }

    fn stats_raw(&self, _: &[u8]) {}
}

impl ProducerContext for ProducerState {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, id: usize) {
        let result = match result {
            Ok(m) => Ok((m.partition(), m.offset())),
            Err((e, m)) => {
                let error = Error::from_kafka(e, &format!("write to topic '{}'", m.topic()));
                Err(self.reporter.explain(error))
            }
        };
        self.add(Delivery { id, result });
    }
}

/// An idempotent producer; see the module documentation.
pub struct Producer {
    // Before the client: the queue must go first.
    main: Queue,
    wake: Wake,
    client: BaseProducer<ProducerState>,
}

impl Producer {
    /// Creates the client; connects in the background.
    pub fn new(settings: &ClientSettings) -> Result<Producer> {
        let wake = Wake::new()?;
        let bootstrap = settings.get("bootstrap.servers").map(String::as_str);
        let name = settings.get("transactional.id").or_else(|| settings.get("client.id"));
        let name = name.map_or_else(|| "producer".to_owned(), |id| format!("producer '{id}'"));
        let state = ProducerState {
            reporter: Reporter::new(name, bootstrap),
            deliveries: Mutex::default(),
        };
        let client: BaseProducer<ProducerState> = options::producer(settings)
            .create_with_context(state)
            .map_err(|e| Error::from_kafka(&e, "create kafka producer"))?;
        let main = Queue::main(client.client().native_client());
        main.wake_on(Some(wake.target()));
        Ok(Producer { main, wake, client })
    }

    /// Accepts a record, or says why not. `ErrorKind::QueueFull`: poll, then send it again. A record
    /// that is refused here has no [`Delivery`].
    pub fn send(&self, record: &ProducerRecord<'_>) -> Result<()> {
        let mut out: BaseRecord<'_, [u8], [u8], usize> =
            BaseRecord::with_opaque_to(record.topic, record.id);
        out.partition = record.partition;
        out.key = record.key;
        out.payload = record.value;
        out.timestamp = record.timestamp;
        if !record.headers.is_empty() {
            let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
            for (key, value) in record.headers {
                headers = headers.insert(Header { key, value: *value });
            }
            out.headers = Some(headers);
        }
        match self.client.send(out) {
            Ok(()) => Ok(()),
            Err((e, _)) => {
                Err(Error::from_kafka(&e, &format!("write to topic '{}'", record.topic)))
            }
        }
    }

    /// Sends records in order until the buffer is full. Returns how many were taken; one that is
    /// refused for itself (too large) counts as taken and its [`Delivery`] says so.
    pub fn send_batch(&self, records: &[ProducerRecord<'_>]) -> Result<usize> {
        for (index, record) in records.iter().enumerate() {
            match self.send(record) {
                Ok(()) => {}
                Err(e) => match e.kind() {
                    ErrorKind::QueueFull => return Ok(index),
                    ErrorKind::Fatal | ErrorKind::Fenced => return Err(self.fatal_or(e)),
                    _ => self.client.context().add(Delivery { id: record.id, result: Err(e) }),
                },
            }
        }
        Ok(records.len())
    }

    /// The outcomes that have come in, waiting up to `max_wait` for the first.
    pub fn poll(&self, max_wait: Duration) -> Vec<Delivery> {
        let deadline = deadline(max_wait);
        loop {
            self.wake.clear();
            self.serve();
            let done = self.client.context().take();
            let left = deadline.saturating_duration_since(Instant::now());
            if !done.is_empty() || left.is_zero() || self.wake.by_hand() {
                return done;
            }
            self.wake.wait(left);
        }
    }

    /// Serves delivery reports, logs and errors until none is left.
    fn serve(&self) {
        loop {
            self.client.poll(Duration::ZERO);
            if self.main.len() == 0 {
                return;
            }
        }
    }

    /// Waits until every accepted record has its outcome, at most `timeout`. The outcomes are given
    /// out by the next `poll`.
    pub fn flush(&self, timeout: Duration) -> Result<()> {
        /// How often linger is cut short.
        const NUDGE: Duration = Duration::from_millis(10);
        let deadline = deadline(timeout);
        loop {
            self.wake.clear();
            self.serve();
            if self.in_flight() == 0 {
                return Ok(());
            }
            // Also tells the broker threads not to linger.
            let _ = self.client.flush(Duration::ZERO);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format!("flush: {} records are not written yet", self.in_flight());
                return Err(self.explain(Error::new(ErrorKind::TimedOut, message)));
            }
            self.wake.wait(left.min(NUDGE));
        }
    }

    /// Records without an outcome, and outcomes that were not served yet.
    pub fn in_flight(&self) -> usize {
        usize::try_from(self.client.in_flight_count()).unwrap_or(0)
    }

    /// Connection and other global errors since the last call.
    pub fn take_errors(&self) -> VecDeque<Error> {
        self.client.context().reporter.take()
    }

    /// The error after which this producer is of no use any more.
    pub fn fatal_error(&self) -> Option<Error> {
        let (code, reason) = self.client.client().fatal_error()?;
        let error = Error::from_code(code as i32, "", Some(&reason));
        let fenced = error.kind() == ErrorKind::Fenced;
        Some(if fenced { error } else { error.with_kind(ErrorKind::Fatal) })
    }

    /// Ends a wait in `poll` from another thread.
    pub fn waker(&self) -> Waker {
        self.wake.waker()
    }

    fn explain(&self, error: Error) -> Error {
        self.client.context().reporter.explain(error)
    }

    fn fatal_or(&self, error: Error) -> Error {
        self.fatal_error().unwrap_or(error)
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.main.wake_on(None);
    }
}
