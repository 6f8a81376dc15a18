//! Pushing what was fetched to those who read live.

use super::destination::Feed;
use super::{Router, State};
use data::{RawBatch, TopicPartition};
use std::sync::Arc;
use std::time::Duration;

/// The part of a batch at or behind a position; `None`: all of it lies before.
pub(super) fn from_position(batch: &RawBatch, at: i64) -> Option<RawBatch> {
    if batch.next_offset() <= at {
        return None;
    }
    let before = batch.records().partition_point(|record| record.offset < at);
    Some(if before == 0 { batch.clone() } else { batch.tail(before) })
}

impl State {
    fn push(&mut self, batch: &RawBatch) {
        let Some(live) = self.live.get_mut(batch.tp()).filter(|live| live.at.is_some()) else {
            return;
        };
        live.at = Some(batch.next_offset());
        let Some(numbers) = self.by_topic.get(batch.topic()) else { return };
        for number in numbers {
            let Some(destination) = self.destinations.get_mut(number) else { continue };
            let Some(Feed::Live(at)) = destination.feeds.get_mut(&batch.partition()) else {
                continue;
            };
            if let Some(part) = from_position(batch, *at) {
                *at = batch.next_offset();
                destination.lane.push(part);
            }
        }
    }
}

impl Router {
    /// Gives fetched batches, and the ends of partitions, to all who read live.
    pub(in crate::worker) fn distribute(
        &self,
        batches: Vec<RawBatch>,
        ends: Vec<(TopicPartition, i64)>,
    ) {
        let mut state = self.lock();
        for batch in batches {
            state.push(&batch);
        }
        for (tp, end) in ends {
            state.push(&RawBatch::empty(tp, end));
        }
    }

    /// Whether fetching must wait: somebody who reads live, or the worker, can hold no more.
    pub(in crate::worker) fn is_full(&self) -> bool {
        if !self.has_budget() {
            return true;
        }
        let state = self.lock();
        let live = |feeds: &std::collections::BTreeMap<i32, Feed>| {
            feeds.values().any(|feed| matches!(feed, Feed::Live(_)))
        };
        state.destinations.values().any(|d| live(&d.feeds) && !d.lane.has_room())
    }

    /// Whether the worker can hold more.
    pub(in crate::worker) fn has_budget(&self) -> bool {
        self.budget.used_bytes() < self.budget_bytes_max
    }

    /// Waits until somebody has room again, at most `timeout`.
    pub(in crate::worker) fn wait_for_room(&self, timeout: Duration) {
        let full = |d: &&super::Destination| d.lane.is_delivering() && !d.lane.has_room();
        let lane = self.lock().destinations.values().find(full).map(|d| Arc::clone(&d.lane));
        match lane {
            Some(lane) => {
                lane.wait_for_room(timeout);
            }
            // The worker's budget is used up by other groups.
            None => std::thread::park_timeout(timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{RawBatchBuilder, TimestampType};

    #[test]
    fn a_destination_gets_what_lies_at_or_behind_its_position() {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for offset in [3, 5, 8] {
            builder.push(offset, 0, TimestampType::None, None, Some(b"v"));
        }
        let batch = builder.finish(12);
        let offsets = |at| {
            from_position(&batch, at).map(|b| {
                (b.records().iter().map(|r| r.offset).collect::<Vec<_>>(), b.next_offset())
            })
        };
        assert_eq!(offsets(0), Some((vec![3, 5, 8], 12)));
        assert_eq!(offsets(4), Some((vec![5, 8], 12)));
        assert_eq!(offsets(9), Some((vec![], 12)), "holes and markers move the position");
        assert_eq!(offsets(12), None);
    }
}
