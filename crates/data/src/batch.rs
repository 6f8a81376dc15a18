//! A decoded batch: rows beside their raw records, a mask of rows still alive, and rejects.
//!
//! Converters and transforms never drop a row from the vectors; they clear its bit and, unless the
//! row was filtered on purpose, add a reject. So row numbers mean the same at every stage.

use crate::TopicPartition;
use crate::raw::RawBatch;
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

    pub fn is_alive(&self, row: usize) -> bool {
        self.alive.get(row).copied().unwrap_or(false)
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
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::KeyConverter => "KEY_CONVERTER",
            Stage::ValueConverter => "VALUE_CONVERTER",
            Stage::HeaderConverter => "HEADER_CONVERTER",
            Stage::Transformation => "TRANSFORMATION",
            Stage::TaskPut => "TASK_PUT",
        }
    }
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
    pub alive: Mask,
    /// In row order, at most one a row.
    pub rejects: Vec<Reject>,
}

impl Batch {
    /// A batch whose rows are all alive and not decoded yet.
    pub fn new(raw: Arc<RawBatch>) -> Batch {
        let keys = Rows::over(raw.arena().clone());
        let values = Rows::over(raw.arena().clone());
        let alive = Mask::all(raw.len());
        Batch { raw, keys, values, alive, rejects: Vec::new() }
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
