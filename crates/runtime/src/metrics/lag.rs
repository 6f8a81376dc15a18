//! How far the partitions of a sink task are, and how old what is left of them is.
//!
//! The two threads of a task note what they do, once a batch; the fetch thread makes a report of it now
//! and then, which readers get. The end of a partition is the client's latest knowledge, which comes
//! with every fetch.

use data::{RawBatch, TopicPartition};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Pieces kept of a partition; beyond that the last one grows.
const PIECES_MAX: usize = 256;

/// Where a partition stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartitionLag {
    pub(crate) tp: TopicPartition,
    /// Everything before it is stored or reported.
    pub(crate) stored: i64,
    /// Records, or offsets where some are missing, from `stored` to the end.
    pub(crate) lag: u64,
    /// The same from what was fetched.
    pub(crate) fetch_lag: u64,
    /// Milliseconds since 1970: the timestamp of the oldest record that is not stored.
    pub(crate) oldest: Option<i64>,
}

/// Where a task stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lags {
    /// Partitions that the task has, those included whose position it does not know yet.
    pub(crate) assigned: usize,
    /// The position of each of them is known. Else nobody can say how far the task is behind: it has
    /// not joined its group yet, its destination does not answer, or it has ended.
    pub(crate) known: bool,
    pub(crate) partitions: Arc<[PartitionLag]>,
}

/// Records that were fetched together.
#[derive(Debug)]
struct Piece {
    /// The offset behind them.
    next: i64,
    /// Of the first of them.
    timestamp: i64,
}

#[derive(Debug, Default)]
struct Line {
    fetched: i64,
    delivered: i64,
    stored: i64,
    unread: VecDeque<Piece>,
    /// When it was seen first that there is more than was fetched.
    more_since: Option<i64>,
}

/// The partitions of a task.
#[derive(Debug, Default)]
pub(crate) struct Progress(BTreeMap<TopicPartition, Line>);

impl Progress {
    /// The partition is read from this offset on.
    pub(crate) fn seated(&mut self, tp: &TopicPartition, offset: i64) {
        let line = Line { fetched: offset, delivered: offset, stored: offset, ..Line::default() };
        self.0.insert(tp.clone(), line);
    }

    pub(crate) fn fetched(&mut self, batch: &RawBatch) {
        let Some(line) = self.0.get_mut(batch.tp()) else { return };
        let next = batch.next_offset();
        line.fetched = line.fetched.max(next);
        let Some(first) = batch.records().first() else { return };
        line.more_since = None;
        if line.unread.len() >= PIECES_MAX
            && let Some(last) = line.unread.back_mut()
        {
            last.next = next;
            return;
        }
        let timestamp = if first.timestamp >= 0 { first.timestamp } else { now_ms() };
        line.unread.push_back(Piece { next, timestamp });
    }

    /// The partition has come to this offset without a record.
    pub(crate) fn moved(&mut self, tp: &TopicPartition, next: i64) {
        if let Some(line) = self.0.get_mut(tp) {
            line.fetched = line.fetched.max(next);
        }
    }

    /// The connector was given everything before this offset.
    pub(crate) fn delivered(&mut self, tp: &TopicPartition, next: i64) {
        if let Some(line) = self.0.get_mut(tp) {
            line.delivered = line.delivered.max(next);
        }
    }

    pub(crate) fn stored(&mut self, tp: &TopicPartition, next: i64) {
        let Some(line) = self.0.get_mut(tp) else { return };
        line.stored = line.stored.max(next);
        while line.unread.front().is_some_and(|piece| piece.next <= line.stored) {
            line.unread.pop_front();
        }
    }

    pub(crate) fn forget(&mut self, partitions: &[TopicPartition]) {
        self.0.retain(|tp, _| !partitions.contains(tp));
    }

    /// Offsets between what was delivered and what is stored, over all partitions.
    pub(crate) fn active(&self) -> u64 {
        self.0.values().map(|line| distance(line.stored, line.delivered)).sum()
    }

    /// Where a task stands that has these partitions, or nobody has told it yet which.
    pub(crate) fn lags(
        &mut self,
        assigned: Option<&[TopicPartition]>,
        end: impl Fn(&TopicPartition) -> Option<i64>,
    ) -> Lags {
        let known = |all: &[TopicPartition]| all.iter().all(|tp| self.0.contains_key(tp));
        Lags {
            assigned: assigned.map_or(0, <[TopicPartition]>::len),
            known: assigned.is_some_and(known),
            partitions: self.report(end).into(),
        }
    }

    /// Where all stand; `end` knows the offset behind the last record of a partition, if anybody does.
    fn report(&mut self, end: impl Fn(&TopicPartition) -> Option<i64>) -> Vec<PartitionLag> {
        let now = now_ms();
        let each = |(tp, line): (&TopicPartition, &mut Line)| {
            let end = end(tp).unwrap_or(line.fetched).max(line.fetched);
            let (lag, fetch_lag) = (distance(line.stored, end), distance(line.fetched, end));
            if fetch_lag == 0 {
                line.more_since = None;
            } else {
                line.more_since.get_or_insert(now);
            }
            let oldest = line.unread.front().map(|piece| piece.timestamp).or(line.more_since);
            let oldest = oldest.filter(|_| lag > 0);
            PartitionLag { tp: tp.clone(), stored: line.stored, lag, fetch_lag, oldest }
        };
        self.0.iter_mut().map(each).collect()
    }
}

fn distance(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{RawBatchBuilder, TimestampType};

    fn tp() -> TopicPartition {
        TopicPartition::new("t", 0)
    }

    /// Records with these offsets; the timestamp is ten times the offset.
    fn batch(offsets: std::ops::Range<i64>) -> RawBatch {
        let mut builder = RawBatchBuilder::new(tp());
        for offset in offsets.clone() {
            builder.push(offset, offset * 10, TimestampType::CreateTime, None, None);
        }
        builder.finish(offsets.end)
    }

    fn report(progress: &mut Progress, end: i64) -> (i64, u64, u64, Option<i64>) {
        let all = progress.report(|_| Some(end));
        (all[0].stored, all[0].lag, all[0].fetch_lag, all[0].oldest)
    }

    #[test]
    fn lag_is_counted_from_what_is_stored_and_aged_by_the_oldest_record() {
        let mut progress = Progress::default();
        progress.stored(&tp(), 3);
        assert!(progress.report(|_| None).is_empty(), "not ours");
        progress.seated(&tp(), 5);
        assert_eq!(report(&mut progress, 5), (5, 0, 0, None));
        progress.fetched(&batch(5..8));
        progress.fetched(&batch(8..10));
        progress.delivered(&tp(), 8);
        assert_eq!(report(&mut progress, 12), (5, 7, 2, Some(50)));
        assert_eq!(progress.active(), 3);
        progress.stored(&tp(), 8);
        assert_eq!(report(&mut progress, 12), (8, 4, 2, Some(80)));
        progress.stored(&tp(), 10);
        let (stored, lag, _, oldest) = report(&mut progress, 12);
        assert_eq!((stored, lag), (10, 2));
        assert!(oldest.is_some_and(|at| at > 1_000_000), "since it was seen");
        progress.moved(&tp(), 12);
        progress.stored(&tp(), 12);
        assert_eq!(report(&mut progress, 12), (12, 0, 0, None));
        progress.forget(&[tp()]);
        assert!(progress.report(|_| None).is_empty());
    }

    #[test]
    fn a_task_is_behind_by_nobody_knows_what_until_each_position_is_known() {
        let mut progress = Progress::default();
        let lags = |progress: &mut Progress, assigned: Option<&[TopicPartition]>| {
            let Lags { assigned, known, partitions } = progress.lags(assigned, |_| Some(7));
            (assigned, known, partitions.len())
        };
        let both = [tp(), TopicPartition::new("t", 1)];
        assert_eq!(lags(&mut progress, None), (0, false, 0));
        assert_eq!(lags(&mut progress, Some(&[])), (0, true, 0));
        assert_eq!(lags(&mut progress, Some(&both)), (2, false, 0));
        progress.seated(&both[0], 5);
        assert_eq!(lags(&mut progress, Some(&both)), (2, false, 1));
        progress.seated(&both[1], 5);
        assert_eq!(lags(&mut progress, Some(&both)), (2, true, 2));
    }

    #[test]
    fn any_number_of_pieces_takes_little_room() {
        let mut progress = Progress::default();
        progress.seated(&tp(), 0);
        let all = PIECES_MAX as i64 * 2;
        (0..all).for_each(|offset| progress.fetched(&batch(offset..offset + 1)));
        assert_eq!(progress.0[&tp()].unread.len(), PIECES_MAX);
        progress.stored(&tp(), all - 1);
        assert_eq!(progress.0[&tp()].unread.len(), 1);
        progress.stored(&tp(), all);
        assert!(progress.0[&tp()].unread.is_empty());
    }
}
