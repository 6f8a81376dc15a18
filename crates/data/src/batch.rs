//! A decoded batch: rows beside their raw records, a mask of rows still alive, and rejects.
//!
//! Converters and transforms never drop a row from the vectors; they clear its bit and, unless the
//! row was filtered on purpose, add a reject. So row numbers mean the same at every stage.

use crate::TopicPartition;
use crate::headers::Headers;
use crate::raw::RawBatch;
use crate::routes::Routes;
use crate::rows::Rows;
use std::borrow::Cow;
use std::sync::Arc;

/// Which rows of a batch are still to be written.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    alive: Vec<bool>,
    count: usize,
}

impl Mask {
    pub fn all(rows: usize) -> Mask {
        Mask { alive: vec![true; rows], count: rows }
    }

    #[inline]
    pub fn is_alive(&self, row: usize) -> bool {
        *self.alive.get(row).unwrap_or(&false)
    }

    pub fn kill(&mut self, row: usize) {
        if let Some(slot) = self.alive.get_mut(row) {
            self.count -= usize::from(std::mem::replace(slot, false));
        }
    }

    /// Rows still alive.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn len(&self) -> usize {
        self.alive.len()
    }

    pub fn is_empty(&self) -> bool {
        self.alive.is_empty()
    }
}

/// Where in the pipeline a record failed; names as in Connect's error context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    KeyConverter,
    ValueConverter,
    HeaderConverter,
    Transformation,
    TaskPut,
    /// On the way of a source's record into Kafka.
    KafkaProduce,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::KeyConverter => "KEY_CONVERTER",
            Stage::ValueConverter => "VALUE_CONVERTER",
            Stage::HeaderConverter => "HEADER_CONVERTER",
            Stage::Transformation => "TRANSFORMATION",
            Stage::TaskPut => "TASK_PUT",
            Stage::KafkaProduce => "KAFKA_PRODUCE",
        }
    }
}

/// Where a batch comes from. Connect has two classes of records, which differ in what they know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Origin {
    /// Fetched from Kafka: partition and offset are known.
    #[default]
    Sink,
    /// Made by a source connector: there is no offset yet, and mostly no partition (the batch's is
    /// negative then).
    Source,
}

/// Why one record cannot be stored. The record's bytes are found by its row in the raw batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Reject {
    pub row: u32,
    pub stage: Stage,
    /// The class that was executing, in Connect's naming.
    pub class: Cow<'static, str>,
    /// The exception class a Connect user would look for.
    pub exception: Cow<'static, str>,
    pub message: String,
    pub sqlstate: Option<String>,
    pub column: Option<String>,
}

impl Reject {
    /// A record that a transform of this class refused; `exception` is Connect's class for it.
    pub fn transformation(
        row: usize,
        class: &'static str,
        exception: &'static str,
        message: String,
    ) -> Reject {
        Reject {
            exception: Cow::Borrowed(exception),
            ..Reject::data(row, Stage::Transformation, class, message)
        }
    }

    /// A conversion failure, which Connect calls a data error.
    pub fn data(row: usize, stage: Stage, class: &'static str, message: String) -> Reject {
        Reject {
            row: row as u32,
            stage,
            class: Cow::Borrowed(class),
            exception: Cow::Borrowed("org.apache.kafka.connect.errors.DataException"),
            message,
            sqlstate: None,
            column: None,
        }
    }
}

/// The records of one partition, decoded.
#[derive(Clone, Debug)]
pub struct Batch {
    pub raw: Arc<RawBatch>,
    pub keys: Rows,
    pub values: Rows,
    pub headers: Headers,
    pub origin: Origin,
    pub alive: Mask,
    /// In row order, at most one a row.
    pub rejects: Vec<Reject>,
    pub schemas: SchemaNames,
    routes: Routes,
}

/// What the schemas of values are called where they are kept, for messages about records.
#[derive(Clone, Debug, Default)]
pub struct SchemaNames(Vec<(u32, Arc<str>)>);

impl SchemaNames {
    /// Values from this row on are of this schema; rows come in their order.
    pub fn begin(&mut self, row: usize, name: &Arc<str>) {
        if self.0.last().is_none_or(|(_, last)| !Arc::ptr_eq(last, name)) {
            self.0.push((row as u32, name.clone()));
        }
    }

    fn of(&self, row: usize) -> Option<&str> {
        let next = self.0.partition_point(|(first, _)| *first as usize <= row);
        self.0.get(next.checked_sub(1)?).map(|(_, name)| &**name)
    }
}

impl Batch {
    /// A batch whose rows are all alive and not decoded yet.
    pub fn new(raw: Arc<RawBatch>) -> Batch {
        let keys = Rows::over(raw.arena().clone());
        let values = Rows::over(raw.arena().clone());
        let alive = Mask::all(raw.len());
        let headers = Headers::undecoded(Rows::over(raw.arena().clone()));
        Batch {
            raw,
            keys,
            values,
            headers,
            origin: Origin::Sink,
            alive,
            rejects: Vec::new(),
            schemas: SchemaNames::default(),
            routes: Routes::default(),
        }
    }

    /// A batch that a source made, over [`RawBatch::made`]: keys, values and headers are the maker's to
    /// fill. Headers are decoded, and empty.
    pub fn made(raw: RawBatch) -> Batch {
        let mut batch = Batch { origin: Origin::Source, ..Batch::new(Arc::new(raw)) };
        batch.headers.begin(batch.raw.len());
        batch
    }

    /// The topic a record goes to: the one it was fetched from, until a transform changes it.
    pub fn topic(&self, row: usize) -> &Arc<str> {
        self.routes.topic(row).unwrap_or_else(|| self.raw.topic())
    }

    /// Whether a transform has sent any record to another topic.
    pub fn is_routed(&self) -> bool {
        !self.routes.is_empty()
    }

    pub fn set_topic(&mut self, row: usize, topic: &str) {
        self.routes.set_topic(self.raw.len(), row, topic, self.raw.topic());
    }

    /// The record's partition, changed or not; `None` where the producer chooses one.
    pub fn partition(&self, row: usize) -> Option<i32> {
        let own = Some(self.raw.partition()).filter(|partition| *partition >= 0);
        self.routes.partition(row).unwrap_or(own)
    }

    pub fn set_partition(&mut self, row: usize, partition: Option<i32>) {
        self.routes.set_partition(self.raw.len(), row, partition);
    }

    /// Milliseconds since the epoch, changed or not; `None` where the record has no timestamp.
    pub fn timestamp(&self, row: usize) -> Option<i64> {
        self.routes.timestamp(row).unwrap_or_else(|| {
            self.raw.records().get(row).map(|record| record.timestamp).filter(|time| *time != -1)
        })
    }

    pub fn set_timestamp(&mut self, row: usize, timestamp: Option<i64>) {
        self.routes.set_timestamp(self.raw.len(), row, timestamp);
    }

    /// The offset a record was fetched at; `None` for a source's records.
    pub fn offset(&self, row: usize) -> Option<i64> {
        match self.origin {
            Origin::Sink => self.raw.records().get(row).map(|record| record.offset),
            Origin::Source => None,
        }
    }

    pub fn tp(&self) -> &TopicPartition {
        self.raw.tp()
    }

    pub fn next_offset(&self) -> i64 {
        self.raw.next_offset()
    }

    pub fn len(&self) -> usize {
        self.raw.len()
    }

    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// A message about a record, with the schema that its value was written with, if it has one.
    pub fn about(&self, row: usize, mut message: String) -> String {
        if let Some(name) = self.schemas.of(row) {
            message.push_str(&format!(" ({name})"));
        }
        message
    }

    /// Takes a row out of the batch and keeps the reason. The first reason of a row stays.
    pub fn reject(&mut self, reject: Reject) {
        let row = reject.row as usize;
        if self.alive.is_alive(row) {
            self.alive.kill(row);
            let at = self.rejects.partition_point(|r| r.row < reject.row);
            self.rejects.insert(at, reject);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{RawBatchBuilder, TimestampType};

    #[test]
    fn coordinates_change_by_row_and_the_fetched_ones_stay() {
        let mut b = RawBatchBuilder::new(TopicPartition::new("t", 3));
        b.push(7, 5, TimestampType::CreateTime, None, None);
        b.push(8, -1, TimestampType::None, None, None);
        let mut batch = Batch::new(Arc::new(b.finish(9)));
        assert!(!batch.is_routed());
        assert_eq!((batch.timestamp(0), batch.timestamp(1)), (Some(5), None));
        assert_eq!(
            (&**batch.topic(0), batch.partition(0), batch.offset(1)),
            ("t", Some(3), Some(8))
        );
        batch.set_topic(1, "u");
        batch.set_timestamp(0, None);
        batch.set_partition(1, None);
        assert!(batch.is_routed());
        assert_eq!((&**batch.topic(0), &**batch.topic(1)), ("t", "u"));
        assert_eq!(
            (batch.timestamp(0), batch.partition(0), batch.partition(1)),
            (None, Some(3), None)
        );
        batch.set_topic(1, "t");
        assert_eq!((&**batch.topic(1), &**batch.raw.topic()), ("t", "t"));
        batch.origin = Origin::Source;
        assert_eq!(batch.offset(1), None);
    }

    #[test]
    fn rejects_stay_in_row_order_and_the_first_reason_wins() {
        let mut b = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for offset in 0..4 {
            b.push(offset, 0, TimestampType::CreateTime, None, Some(b"x"));
        }
        let mut batch = Batch::new(Arc::new(b.finish(4)));
        for (row, message) in [(2, "late"), (0, "early"), (2, "again")] {
            batch.reject(Reject::data(row, Stage::ValueConverter, "C", message.to_owned()));
        }
        let seen: Vec<_> = batch.rejects.iter().map(|r| (r.row, r.message.as_str())).collect();
        assert_eq!(seen, [(0, "early"), (2, "late")]);
        assert_eq!(batch.alive.count(), 2);
    }
}
