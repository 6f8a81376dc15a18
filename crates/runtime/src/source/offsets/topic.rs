//! Source offsets in a compacted Kafka topic, in Kafka Connect's format.
//!
//! The topic is read to its end when a task takes up position. Under exactly-once the offsets are
//! written by the task's own producer, in the transactions of its records, and only noted here.
//!
//! Invariant: what is read is committed, and the end is the end at the time of asking; so a reader
//! waits for transactions that are open, until they end.

use super::key::{OffsetKey, canonical};
use super::{OffsetChange, OffsetStore};
use crate::sink::kafka_error;
use api::{Error, Result, SourceMap};
use data::TopicPartition;
use kafka::{
    Admin, ErrorKind, NewTopic, NoRebalance, PollLimits, Producer, ProducerRecord, SinkConsumer,
    TransactionalProducer,
};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than a transaction that nobody ends may stay open by default.
const READ_TIMEOUT: Duration = Duration::from_secs(90);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 4 << 20 };

/// What there is to know of an offsets topic.
#[derive(Clone, Debug)]
pub struct OffsetTopicSettings {
    pub topic: String,
    /// For a topic that has to be made; -1 is the broker's default.
    pub partitions: i32,
    pub replication_factor: i16,
    /// Further settings of a topic that has to be made.
    pub configs: Vec<(String, String)>,
    pub consumer: kafka::ClientSettings,
    pub producer: kafka::ClientSettings,
    pub admin: kafka::ClientSettings,
}

/// An offset as it stands in the topic.
struct Entry {
    key: Vec<u8>,
    partition: SourceMap,
    offset: SourceMap,
}

/// An offsets topic, and what was read from it.
pub struct OffsetTopic {
    settings: OffsetTopicSettings,
    entries: Mutex<HashMap<(String, String), Entry>>,
    /// What has a null in the topic.
    forgotten: Mutex<HashSet<(String, String)>>,
    producer: Mutex<Option<Producer>>,
}

impl OffsetTopic {
    /// Connects to nothing yet.
    pub fn new(settings: OffsetTopicSettings) -> OffsetTopic {
        OffsetTopic {
            settings,
            entries: Mutex::default(),
            forgotten: Mutex::default(),
            producer: Mutex::default(),
        }
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.settings.topic
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<(String, String), Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forgotten(&self) -> MutexGuard<'_, HashSet<(String, String)>> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the topic to its end; makes it where it is missing. `stopped` ends the wait.
    ///
    /// # Errors
    /// Retriable where the brokers do not answer or a transaction stays open.
    pub fn read(&self, stopped: &dyn Fn() -> bool) -> Result<()> {
        let partitions = self.partitions()?;
        let mut consumer = SinkConsumer::new(&self.settings.consumer, Box::new(NoRebalance))
            .map_err(kafka_error)?;
        let mut ends = HashMap::new();
        let mut starts = Vec::new();
        for partition in 0..partitions as i32 {
            let tp = TopicPartition::new(self.topic(), partition);
            let marks = consumer.handle().watermarks(&tp, ASK_TIMEOUT).map_err(kafka_error)?;
            if marks.high > marks.low {
                ends.insert(tp.clone(), marks.high);
                starts.push((tp, marks.low));
            }
        }
        if starts.is_empty() {
            return Ok(());
        }
        consumer.assign_manually(&starts).map_err(kafka_error)?;
        let deadline = Instant::now() + READ_TIMEOUT;
        while !ends.is_empty() {
            if stopped() {
                return Err(Error::cancelled());
            }
            if Instant::now() > deadline {
                return Err(Error::retriable(format!(
                    "topic {} could not be read to its end in {} s: a broker does not answer, or \
                     a transaction is open",
                    self.topic(),
                    READ_TIMEOUT.as_secs()
                )));
            }
            let polled = consumer.poll(Duration::from_millis(200), LIMITS).map_err(kafka_error)?;
            if let Some(fatal) = consumer.fatal_error() {
                return Err(kafka_error(fatal));
            }
            for batch in &polled.batches {
                self.take(batch);
            }
            let batches = polled.batches.iter().map(|b| (b.tp().clone(), b.next_offset()));
            for (tp, position) in batches.chain(polled.ends) {
                if ends.get(&tp).is_some_and(|end| position >= *end) {
                    ends.remove(&tp);
                }
            }
        }
        Ok(())
    }

    fn take(&self, batch: &data::RawBatch) {
        let mut entries = self.entries();
        for row in 0..batch.len() {
            let Some(bytes) = batch.key(row) else { continue };
            let Some(key) = OffsetKey::parse(bytes) else {
                tracing::warn!(
                    topic = self.topic(),
                    "skipped a record that is no source offset: {}",
                    String::from_utf8_lossy(bytes)
                );
                continue;
            };
            let place = (key.connector.clone(), canonical(&key.partition));
            let offset = batch.value(row).and_then(|value| serde_json::from_slice(&value).ok());
            match offset {
                Some(offset) => {
                    let entry = Entry { key: bytes.to_vec(), partition: key.partition, offset };
                    entries.insert(place, entry);
                }
                None => {
                    entries.remove(&place);
                    self.forgotten().insert(place);
                }
            }
        }
    }

    fn partitions(&self) -> Result<usize> {
        let admin = Admin::new(&self.settings.admin).map_err(kafka_error)?;
        let name = self.topic();
        match admin.topic(name, ASK_TIMEOUT) {
            Ok(topic) => {
                self.check_policy(&admin)?;
                return Ok(topic.partitions);
            }
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {}
            Err(error) => return Err(kafka_error(error)),
        }
        let mut new =
            NewTopic::new(name, self.settings.partitions).config("cleanup.policy", "compact");
        new.replication = self.settings.replication_factor.into();
        new.configs.extend(self.settings.configs.iter().cloned());
        for outcome in admin.create_topics(&[new], CREATE_TIMEOUT).map_err(kafka_error)? {
            match outcome {
                Ok(()) => tracing::info!(topic = name, "topic of source offsets created"),
                Err(error) if error.kind() == ErrorKind::TopicExists => {}
                Err(error) if error.is_retriable() => return Err(kafka_error(error)),
                Err(error) => {
                    return Err(Error::config(format!(
                        "topic {name} for source offsets could not be created: {error}"
                    ))
                    .hint(
                        "create it with cleanup.policy=compact, or correct \
                         offset.storage.replication.factor and offset.storage.partitions",
                    ));
                }
            }
        }
        admin.topic(name, ASK_TIMEOUT).map(|topic| topic.partitions).map_err(kafka_error)
    }

    /// A topic that deletes what is old loses the offsets of whatever stands still.
    fn check_policy(&self, admin: &Admin) -> Result<()> {
        let name = self.topic();
        let settings = match admin.topic_settings(name, ASK_TIMEOUT) {
            Ok(settings) => settings,
            Err(error) if error.is_retriable() => return Err(kafka_error(error)),
            Err(error) => {
                tracing::warn!(
                    "whether topic {name} keeps offsets (cleanup.policy=compact) could not be seen: \
                     {error}"
                );
                return Ok(());
            }
        };
        let policy = settings.into_iter().find(|(key, _)| key == "cleanup.policy");
        let policy = policy.and_then(|(_, value)| value).unwrap_or_default();
        if policy.is_empty() || policy == "compact" {
            return Ok(());
        }
        Err(Error::config(format!(
            "topic {name} has cleanup.policy={policy}, which deletes source offsets"
        ))
        .hint(format!(
            "kafka-configs.sh --bootstrap-server HOST:PORT --alter --topic {name} --add-config \
             cleanup.policy=compact"
        )))
    }

    /// A record's key and value; the key with the bytes it was first seen with.
    pub(crate) fn record(
        &self,
        connector: &str,
        partition: &SourceMap,
        offset: Option<&SourceMap>,
    ) -> (Vec<u8>, Option<Vec<u8>>) {
        let place = (connector.to_owned(), canonical(partition));
        let known = self.entries().get(&place).map(|entry| entry.key.clone());
        let key = known.unwrap_or_else(|| {
            OffsetKey { connector: connector.to_owned(), partition: partition.clone() }.to_bytes()
        });
        let value = offset.map(|offset| serde_json::Value::Object(offset.clone()).to_string());
        (key, value.map(String::into_bytes))
    }

    /// What was written is what is known from now on.
    pub(crate) fn note(&self, connector: &str, changes: &[OffsetChange]) {
        for (partition, offset) in changes {
            let (key, _) = self.record(connector, partition, None);
            let place = (connector.to_owned(), canonical(partition));
            let mut entries = self.entries();
            match offset {
                Some(offset) => {
                    let partition = SourceMap::clone(partition);
                    entries.insert(place, Entry { key, partition, offset: offset.clone() });
                }
                None => {
                    entries.remove(&place);
                    self.forgotten().insert(place);
                }
            }
        }
    }

    /// Writes changes in one transaction of a producer that has taken over from the task.
    ///
    /// # Errors
    /// Nothing of it is there, unless the commit's outcome is unknown: then it can be done again.
    pub(crate) fn put_at_once(
        &self,
        producer: &TransactionalProducer,
        connector: &str,
        changes: &[OffsetChange],
    ) -> Result<()> {
        producer.begin().map_err(kafka_error)?;
        let sent = changes.iter().enumerate().try_for_each(|(id, (partition, offset))| {
            let (key, value) = self.record(connector, partition, offset.as_ref());
            producer.send(&ProducerRecord {
                topic: self.topic(),
                key: Some(&key),
                value: value.as_deref(),
                id,
                ..ProducerRecord::default()
            })
        });
        if let Err(error) = sent.and_then(|()| producer.commit(WRITE_TIMEOUT)) {
            if let Err(more) = producer.abort(WRITE_TIMEOUT) {
                tracing::debug!("a transaction of offsets is left to time out: {more}");
            }
            return Err(kafka_error(error));
        }
        self.note(connector, changes);
        Ok(())
    }

    fn write(&self, producer: &Producer, connector: &str, changes: &[OffsetChange]) -> Result<()> {
        for (id, (partition, offset)) in changes.iter().enumerate() {
            let (key, value) = self.record(connector, partition, offset.as_ref());
            let record = ProducerRecord {
                topic: self.topic(),
                key: Some(&key),
                value: value.as_deref(),
                id,
                ..ProducerRecord::default()
            };
            producer.send(&record).map_err(kafka_error)?;
        }
        producer.flush(WRITE_TIMEOUT).map_err(kafka_error)?;
        match producer.poll(Duration::ZERO).into_iter().find_map(|done| done.result.err()) {
            Some(error) => Err(kafka_error(error)),
            None => Ok(()),
        }
    }
}

impl OffsetStore for OffsetTopic {
    fn refresh(&self, stopped: &dyn Fn() -> bool) -> Result<()> {
        self.read(stopped)
    }

    fn get(&self, connector: &str, partition: &SourceMap) -> Result<Option<SourceMap>> {
        let place = (connector.to_owned(), canonical(partition));
        Ok(self.entries().get(&place).map(|entry| entry.offset.clone()))
    }

    fn forgot(&self, connector: &str, partition: &SourceMap) -> bool {
        self.forgotten().contains(&(connector.to_owned(), canonical(partition)))
    }

    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
        let entries = self.entries();
        let own = entries.iter().filter(|((name, _), _)| name == connector);
        Ok(own.map(|(_, entry)| (entry.partition.clone(), entry.offset.clone())).collect())
    }

    fn put(&self, connector: &str, changes: &[OffsetChange]) -> Result<()> {
        let mut slot = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        // One that failed is not used again: what it still holds would come after what is newer.
        let producer = match slot.take() {
            Some(producer) => producer,
            None => Producer::new(&self.settings.producer).map_err(kafka_error)?,
        };
        self.write(&producer, connector, changes)?;
        *slot = Some(producer);
        drop(slot);
        self.note(connector, changes);
        Ok(())
    }
}
