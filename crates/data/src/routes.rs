//! Where the records of a batch go, and when they were made, as far as transforms changed it.
//!
//! The coordinates a record was fetched with stay in the raw batch: offsets are accounted by them.
//! Invariant: a batch whose records were not touched holds nothing here.

use std::sync::Arc;

/// Changes of topic, partition and timestamp by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// Topics that are not the batch's own; a row's number is one more than the place in this list.
    names: Vec<Arc<str>>,
    topics: Vec<u32>,
    partitions: Vec<Option<Option<i32>>>,
    timestamps: Vec<Option<Option<i64>>>,
}

impl Routes {
    pub(crate) fn topic(&self, row: usize) -> Option<&Arc<str>> {
        let number = *self.topics.get(row)? as usize;
        self.names.get(number.checked_sub(1)?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    pub(crate) fn set_topic(&mut self, rows: usize, row: usize, topic: &str, own: &str) {
        self.topics.resize(rows, 0);
        let number = if topic == own { 0 } else { self.number(topic) };
        if let Some(slot) = self.topics.get_mut(row) {
            *slot = number;
        }
    }

    fn number(&mut self, topic: &str) -> u32 {
        // Neighbours mostly go the same way.
        let seen = self.names.iter().rposition(|name| **name == *topic);
        let place = seen.unwrap_or_else(|| {
            self.names.push(topic.into());
            self.names.len() - 1
        });
        place as u32 + 1
    }

    pub(crate) fn partition(&self, row: usize) -> Option<Option<i32>> {
        self.partitions.get(row).copied().flatten()
    }

    pub(crate) fn set_partition(&mut self, rows: usize, row: usize, partition: Option<i32>) {
        self.partitions.resize(rows, None);
        if let Some(slot) = self.partitions.get_mut(row) {
            *slot = Some(partition);
        }
    }

    pub(crate) fn timestamp(&self, row: usize) -> Option<Option<i64>> {
        self.timestamps.get(row).copied().flatten()
    }

    pub(crate) fn set_timestamp(&mut self, rows: usize, row: usize, timestamp: Option<i64>) {
        self.timestamps.resize(rows, None);
        if let Some(slot) = self.timestamps.get_mut(row) {
            *slot = Some(timestamp);
        }
    }
}
