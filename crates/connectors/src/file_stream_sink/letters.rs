//! Records that could not be written, until the dead-letter topic has them.
//!
//! A file has no place for them, so they are kept in memory, and the positions behind them are held
//! back: a worker that is killed reads these records again. Invariant: ids ascend in the order in
//! which records were refused.

use api::DeadLetter;
use data::{Batch, Reject, TopicPartition};
use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Letters {
    waiting: VecDeque<(TopicPartition, DeadLetter)>,
    next_id: i64,
}

impl Letters {
    pub(super) fn push(&mut self, batch: &Batch, reject: &Reject) {
        let letter = letter(batch, reject, self.next_id);
        self.next_id += 1;
        self.waiting.push_back((batch.tp().clone(), letter));
    }

    /// The oldest letters.
    pub(super) fn first(&self, letters_max: usize) -> Vec<DeadLetter> {
        self.waiting.iter().take(letters_max).map(|(_, letter)| letter.clone()).collect()
    }

    /// `ids` ascend, as [`Letters::first`] gave them.
    pub(super) fn forwarded(&mut self, ids: &[i64]) {
        self.waiting.retain(|(_, letter)| ids.binary_search(&letter.id).is_err());
    }

    /// The first offset of a partition whose letter still waits.
    pub(super) fn hold(&self, tp: &TopicPartition) -> Option<i64> {
        let own = self.waiting.iter().filter(|(of, _)| of == tp);
        own.map(|(_, letter)| letter.offset).min()
    }

    /// Whoever has the partition next reads the records again.
    pub(super) fn drop_partition(&mut self, tp: &TopicPartition) {
        self.waiting.retain(|(of, _)| of != tp);
    }
}

fn letter(batch: &Batch, reject: &Reject, id: i64) -> DeadLetter {
    let row = reject.row as usize;
    let record = batch.raw.records().get(row);
    let headers = batch.raw.headers(row);
    DeadLetter {
        id,
        topic: batch.tp().topic.to_string(),
        partition: batch.tp().partition,
        offset: record.map_or(-1, |record| record.offset),
        timestamp: record.map_or(-1, |record| record.timestamp),
        key: batch.raw.key(row).map(<[u8]>::to_vec),
        value: batch.raw.value(row).map(std::borrow::Cow::into_owned),
        headers: headers.map(|(name, value)| (name.to_owned(), value.map(<[u8]>::to_vec))).collect(),
        stage: reject.stage.name().to_owned(),
        class: reject.class.to_string(),
        exception: reject.exception.to_string(),
        message: reject.message.clone(),
    }
}
