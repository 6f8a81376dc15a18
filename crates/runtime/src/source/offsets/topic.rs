//! Source offsets in a compacted Kafka topic, in Kafka Connect's format.
//!
//! The topic is read to its end when a task takes up position. Under exactly-once the offsets are
//! written by the task's own producer, in the transactions of its records, and only noted here.
//!
//! Invariant: what is read is committed, and the end is the end at the time of asking; so a reader
//! waits for transactions that are open, until they end.

use super::{OffsetChange, OffsetEntries, OffsetStore};
use crate::compacted::{CompactedTopic, read_to_end};
use crate::sink::kafka_error;
use api::{Result, SourceMap};
use kafka::{Producer, ProducerRecord, TransactionalProducer};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// What there is to know of an offsets topic.
#[derive(Clone, Debug)]
pub struct OffsetTopicSettings {
    pub topic: CompactedTopic,
    pub consumer: kafka::ClientSettings,
    pub producer: kafka::ClientSettings,
    pub admin: kafka::ClientSettings,
}

/// An offsets topic, and what was read from it.
pub struct OffsetTopic {
    settings: OffsetTopicSettings,
    entries: Mutex<OffsetEntries>,
    producer: Mutex<Option<Producer>>,
}

impl OffsetTopic {
    /// Connects to nothing yet.
    pub fn new(settings: OffsetTopicSettings) -> OffsetTopic {
        OffsetTopic { settings, entries: Mutex::default(), producer: Mutex::default() }
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.settings.topic.name
    }

    fn entries(&self) -> MutexGuard<'_, OffsetEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the topic to its end; makes it where it is missing. `stopped` ends the wait.
    ///
    /// # Errors
    /// Retriable where the brokers do not answer or a transaction stays open.
    pub fn read(&self, stopped: &dyn Fn() -> bool) -> Result<()> {
        let OffsetTopicSettings { topic, consumer, admin, .. } = &self.settings;
        let partitions = topic.ensure(admin)?;
        let mut take = |batch: &data::RawBatch| self.take(batch);
        read_to_end(self.topic(), partitions, consumer, stopped, &mut take).map(drop)
    }

    fn take(&self, batch: &data::RawBatch) {
        let mut entries = self.entries();
        for (row, record) in batch.records().iter().enumerate() {
            let (key, value) = (batch.key(row), batch.value(row));
            if let Err(why) = entries.apply(key, value.as_deref(), record.timestamp) {
                tracing::warn!(
                    topic = self.topic(),
                    "a record that is no source offset, with key '{}': {why}",
                    String::from_utf8_lossy(key.unwrap_or_default())
                );
            }
        }
    }

    /// The records that write an offset; see [`OffsetEntries::records`].
    pub(crate) fn records(
        &self,
        connector: &str,
        partition: &SourceMap,
        offset: Option<&SourceMap>,
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        self.entries().records(connector, partition, offset)
    }

    /// What was written is what is known from now on.
    pub(crate) fn note(&self, connector: &str, changes: &[OffsetChange]) {
        self.entries().note(connector, changes);
    }

    /// The records of several changes.
    fn all_records(
        &self,
        connector: &str,
        changes: &[OffsetChange],
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let of = |(partition, offset): &OffsetChange| {
            self.records(connector, partition, offset.as_ref())
        };
        changes.iter().flat_map(of).collect()
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
        let records = self.all_records(connector, changes);
        let sent = records.iter().enumerate().try_for_each(|(id, (key, value))| {
            producer.send(&ProducerRecord {
                topic: self.topic(),
                key: Some(key),
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
        for (id, (key, value)) in self.all_records(connector, changes).iter().enumerate() {
            let record = ProducerRecord {
                topic: self.topic(),
                key: Some(key),
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
        Ok(self.entries().get(connector, partition))
    }

    fn forgot(&self, connector: &str, partition: &SourceMap) -> bool {
        self.entries().forgot(connector, partition)
    }

    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
        let entries = self.entries();
        let usable =
            |(partition, offset): (SourceMap, Option<SourceMap>)| Some((partition, offset?));
        Ok(entries.partitions(connector).filter_map(usable).collect())
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
