//! Records into topics, with every acknowledgement checked.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rdkafka::{
    ClientContext, Message as _,
    error::KafkaError,
    message::{DeliveryResult, Header, OwnedHeaders},
    producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext},
    types::RDKafkaErrorCode,
};

use super::{PATIENCE, client};

/// One record to produce. Without a partition the key decides, or chance where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The partition, or `None` to let the producer choose.
    pub partition: Option<i32>,
    /// The key; `None` is Kafka's null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is Kafka's null, a tombstone.
    pub value: Option<Vec<u8>>,
    /// Headers in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Milliseconds since 1970; `None` takes the clock's.
    pub timestamp: Option<i64>,
}

impl Record {
    /// A record with a value and no key.
    pub fn value(value: impl Into<Vec<u8>>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// A record with a null value.
    pub fn tombstone(key: impl Into<Vec<u8>>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }

    /// The same with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same for this partition.
    #[must_use]
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), Some(value.into())));
        self
    }

    /// The same with this timestamp in milliseconds since 1970.
    #[must_use]
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }
}

/// Produces all records and waits for their acknowledgement.
///
/// Returns the number of records for each partition.
///
/// # Panics
///
/// When one is not acknowledged.
pub fn produce(
    bootstrap: &str,
    topic: &str,
    records: impl IntoIterator<Item = Record>,
) -> BTreeMap<i32, u64> {
    let producer = Producer::new(bootstrap);
    for record in records {
        producer.send(topic, &record);
    }
    producer.flush()
}

/// A producer for tests that interleave sending with other things.
pub struct Producer {
    client: Arc<Connection>,
    /// What became of the records of this value; others may share the client.
    seen: Arc<Mutex<Seen>>,
    sent: AtomicU64,
}

type Connection = BaseProducer<Outcomes>;

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer").field("sent", &self.sent).finish_non_exhaustive()
    }
}

impl Producer {
    /// An idempotent producer that keeps the order of records per partition.
    pub fn new(bootstrap: &str) -> Self {
        // A new idempotent producer waits half a second for its id; one for all tests of a process
        // waits once.
        static SHARED: OnceLock<Arc<Connection>> = OnceLock::new();
        Self::over(if bootstrap == super::bootstrap() {
            Arc::clone(SHARED.get_or_init(|| connect(bootstrap, None)))
        } else {
            connect(bootstrap, None)
        })
    }

    /// A transactional producer, ready for [`begin`](Self::begin).
    pub fn transactional(bootstrap: &str, id: &str) -> Self {
        let producer = Self::over(connect(bootstrap, Some(id)));
        producer.client.init_transactions(PATIENCE).expect("the transactional id is taken over");
        producer
    }

    /// Sends one record; [`flush`](Self::flush) waits for the acknowledgement.
    ///
    /// # Panics
    ///
    /// When it cannot be queued.
    pub fn send(&self, topic: &str, record: &Record) {
        let mut next = BaseRecord::<[u8], [u8], _>::with_opaque_to(topic, Arc::clone(&self.seen));
        next.partition = record.partition;
        next.key = record.key.as_deref();
        next.payload = record.value.as_deref();
        next.timestamp = record.timestamp;
        if !record.headers.is_empty() {
            let headers = OwnedHeaders::new_with_capacity(record.headers.len());
            next.headers = Some(record.headers.iter().fold(headers, |headers, (key, value)| {
                headers.insert(Header { key, value: value.as_ref() })
            }));
        }
        loop {
            match self.client.send(next) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    self.client.poll(Duration::from_millis(100));
                    next = back;
                }
                Err((error, _)) => panic!("producing to {topic}: {error}"),
            }
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.client.poll(Duration::ZERO);
    }

    /// Waits until everything sent is acknowledged. Returns the number of records acknowledged for
    /// each partition since the last call.
    ///
    /// # Panics
    ///
    /// When a record was refused, or not acknowledged within a minute.
    pub fn flush(&self) -> BTreeMap<i32, u64> {
        let start = Instant::now();
        let sent = self.sent.swap(0, Ordering::Relaxed);
        loop {
            {
                let mut seen = self.seen.lock().expect("no panic under the lock");
                assert!(seen.refused.is_none(), "a record was refused: {:?}", seen.refused);
                if seen.acknowledged.values().sum::<u64>() >= sent {
                    return std::mem::take(&mut seen.acknowledged);
                }
            }
            assert!(start.elapsed() < 2 * PATIENCE, "the broker does not acknowledge records");
            self.client.poll(Duration::from_millis(5));
        }
    }

    /// Opens a transaction.
    pub fn begin(&self) {
        self.client.begin_transaction().expect("a transaction can begin");
    }

    /// Commits the open transaction.
    pub fn commit(&self) {
        self.flush();
        self.client.commit_transaction(PATIENCE).expect("the transaction is committed");
    }

    /// Aborts the open transaction once its records are in the log.
    pub fn abort(&self) {
        self.flush();
        self.client.abort_transaction(PATIENCE).expect("the transaction is aborted");
    }

    fn over(client: Arc<Connection>) -> Self {
        Self { client, seen: Arc::default(), sent: AtomicU64::new(0) }
    }
}

fn connect(bootstrap: &str, transactional_id: Option<&str>) -> Arc<Connection> {
    let mut config = client(bootstrap);
    config.set("enable.idempotence", "true");
    config.set("linger.ms", "1");
    config.set("message.max.bytes", "60000000");
    config.set("queue.buffering.max.messages", "1000000");
    // Records without a key go everywhere, one by one, and keys as the Java client puts them.
    config.set("sticky.partitioning.linger.ms", "0");
    config.set("partitioner", "murmur2_random");
    if let Some(id) = transactional_id {
        config.set("transactional.id", id);
    }
    Arc::new(config.create_with_context(Outcomes).expect("the settings are valid"))
}

struct Outcomes;

#[derive(Default)]
struct Seen {
    acknowledged: BTreeMap<i32, u64>,
    refused: Option<KafkaError>,
}

impl ClientContext for Outcomes {}

impl ProducerContext for Outcomes {
    type DeliveryOpaque = Arc<Mutex<Seen>>;

    fn delivery(&self, result: &DeliveryResult<'_>, seen: Self::DeliveryOpaque) {
        let mut seen = seen.lock().expect("no panic under the lock");
        match result {
            Ok(message) => *seen.acknowledged.entry(message.partition()).or_default() += 1,
            Err((error, _)) => seen.refused = Some(error.clone()),
        }
    }
}
