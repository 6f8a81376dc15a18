//! What is accepted and not durable yet, and how a failed part is narrowed to its bad rows.
//!
//! Pure: no database, no clock. Everything here can be asked again after any failure, because it
//! goes by positions alone.

use crate::bind::{BadRows, Part};
use crate::config::ChangeEvents;
use crate::envelope::{Events, open};
use data::{Batch, TopicPartition};
use std::collections::VecDeque;

/// The batches of one `put`, kept until all of them are durable.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub batches: Vec<Batch>,
    /// One a batch.
    pub lines: Vec<Line>,
    /// What batches were before their change events were opened; one a batch, or none at all.
    pub events: Vec<Option<Events>>,
    pub bad: BadRows,
}

/// How far a batch has come. `done <= sent <= end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub tp: TopicPartition,
    /// Everything before is in a transaction that was started.
    pub sent: i64,
    /// Everything before is durable.
    pub done: i64,
    /// The position after the batch.
    pub end: i64,
}

impl Line {
    /// Nothing of it is to be written any more.
    pub(crate) fn drop_rest(&mut self) {
        self.sent = self.end;
        self.done = self.end;
    }
}

impl Accepted {
    /// Batches, each with the position at which it begins.
    pub(crate) fn new(batches: Vec<(Batch, i64)>) -> Accepted {
        let line = |(batch, from): &(Batch, i64)| Line {
            tp: batch.tp().clone(),
            sent: *from,
            done: *from,
            end: batch.next_offset(),
        };
        let lines = batches.iter().map(line).collect();
        let batches = batches.into_iter().map(|(batch, _)| batch).collect();
        Accepted { batches, lines, events: Vec::new(), bad: BadRows::new() }
    }

    /// Puts the rows of change events in the place of the events.
    pub(crate) fn open_events(mut self, which: ChangeEvents) -> Accepted {
        self.events = self.batches.iter_mut().map(|batch| open(batch, which)).collect();
        self
    }

    pub(crate) fn is_done(&self) -> bool {
        self.lines.iter().all(|line| line.done >= line.end)
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.lines.iter().all(|line| line.sent >= line.end)
    }

    /// The parts of the next transaction: everything not sent, up to a number of rows.
    pub(crate) fn next_parts(&self, rows_max: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut room = rows_max.max(1) as u32;
        for (index, (batch, line)) in self.batches.iter().zip(&self.lines).enumerate() {
            if line.sent >= line.end || room == 0 {
                continue;
            }
            let start = row_at(batch, line.sent);
            let rest = batch.len() as u32 - start;
            let end = start + rest.min(room);
            let to = if end == batch.len() as u32 { line.end } else { offset_of(batch, end) };
            room -= end - start;
            parts.push(Part { batch: index as u32, rows: start..end, from: line.sent, to });
        }
        parts
    }

    /// The part of one batch from where it is durable to a position.
    pub(crate) fn part_to(&self, batch: u32, to: i64) -> Option<Part> {
        let (rows, line) = (self.batches.get(batch as usize)?, self.lines.get(batch as usize)?);
        let to = to.min(line.end);
        let range = row_at(rows, line.done)..row_at(rows, to);
        (line.done < to).then_some(Part { batch, rows: range, from: line.done, to })
    }

    pub(crate) fn tp(&self, part: &Part) -> Option<&TopicPartition> {
        self.lines.get(part.batch as usize).map(|line| &line.tp)
    }
}

/// The first row at or after an offset.
pub(crate) fn row_at(batch: &Batch, offset: i64) -> u32 {
    batch.raw.records().partition_point(|record| record.offset < offset) as u32
}

/// The offset of a row; the position after the batch for the row past its end.
pub(crate) fn offset_of(batch: &Batch, row: u32) -> i64 {
    batch.raw.records().get(row as usize).map_or(batch.next_offset(), |record| record.offset)
}

/// Cuts parts before the first reject of each batch, for tasks that tolerate none.
pub(crate) fn cut_before(batches: &[Batch], parts: &[Part], rejects: &[(u32, u32)]) -> Vec<Part> {
    let cut = |part: &Part| {
        let mut part = part.clone();
        let first = rejects.iter().filter(|(batch, _)| *batch == part.batch).map(|(_, row)| *row);
        if let (Some(row), Some(batch)) = (first.min(), batches.get(part.batch as usize)) {
            part.to = offset_of(batch, row);
            part.rows.end = row;
        }
        part
    };
    parts.iter().map(cut).filter(|part| part.from < part.to).collect()
}

/// What a failure says about the rows of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// This row is bad.
    Row(u32),
    /// One of several; smaller parts come next.
    Smaller,
    /// There is no row left that it could be.
    NoRow,
}

/// A failed transaction that is done again in smaller ones, one batch after the other.
///
/// Each job is a stack of positions: the part up to the topmost comes next. A located row is marked
/// and the part before it done first; an error that names no row halves the part; a row that fails
/// alone is marked and goes with what follows.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    jobs: VecDeque<(u32, Vec<i64>)>,
}

impl Narrow {
    pub(crate) fn new(parts: &[Part]) -> Narrow {
        Narrow { jobs: parts.iter().map(|part| (part.batch, vec![part.to])).collect() }
    }

    /// The part to do next; `None`: everything is done.
    pub(crate) fn next(&mut self, accepted: &Accepted) -> Option<Part> {
        while let Some((batch, ends)) = self.jobs.front_mut() {
            while let Some(end) = ends.last() {
                if let Some(part) = accepted.part_to(*batch, *end) {
                    return Some(part);
                }
                ends.pop();
            }
            self.jobs.pop_front();
        }
        None
    }

    /// Learns from the failure of a part that [`Narrow::next`] gave, or of one it was made with.
    pub(crate) fn failed(
        &mut self,
        accepted: &Accepted,
        part: &Part,
        located: Option<u32>,
    ) -> Finding {
        let Some(batch) = accepted.batches.get(part.batch as usize) else {
            return Finding::NoRow;
        };
        let is_live = |row: &u32| {
            batch.alive.is_alive(*row as usize) && !accepted.bad.contains_key(&(part.batch, *row))
        };
        let live = || part.rows.clone().filter(is_live);
        let located = located.filter(|row| part.rows.contains(row) && is_live(row));
        let count = live().count();
        let (finding, end) = match (located, count) {
            (_, 0) => (Finding::NoRow, None),
            (Some(row), _) => {
                let first = live().next() == Some(row);
                (Finding::Row(row), (!first).then_some(row))
            }
            (None, 1) => (live().next().map_or(Finding::NoRow, Finding::Row), None),
            (None, _) => (Finding::Smaller, live().nth(count / 2)),
        };
        if let Some(end) = end
            && let Some((_, ends)) = self.jobs.iter_mut().find(|(batch, _)| *batch == part.batch)
        {
            ends.push(offset_of(batch, end));
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{RefusedBy, RejectRow};
    use data::{RawBatchBuilder, Reject, Stage, TimestampType};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn batch(partition: i32, offsets: &[i64], end: i64) -> Batch {
        let mut b = RawBatchBuilder::new(TopicPartition::new("t", partition));
        for offset in offsets {
            b.push(*offset, 0, TimestampType::CreateTime, None, Some(b"x"));
        }
        Batch::new(Arc::new(b.finish(end)))
    }

    fn reject(batch: u32, row: u32) -> RejectRow {
        let reject = Reject::data(row as usize, Stage::TaskPut, "C", "bad".to_owned());
        RejectRow { batch, reject, by: RefusedBy::Writing, table: None }
    }

    #[test]
    fn parts_cover_holes_and_empty_batches() {
        let batches = vec![
            (batch(0, &[10, 12, 15], 20), 8),
            (batch(1, &[], 5), 3),
            (batch(2, &[7, 8], 9), 7),
        ];
        let mut accepted = Accepted::new(batches);
        let part = |batch, rows, from, to| Part { batch, rows, from, to };
        assert_eq!(accepted.next_parts(2), [part(0, 0..2, 8, 15)]);
        assert_eq!(
            accepted.next_parts(4),
            [part(0, 0..3, 8, 20), part(1, 0..0, 3, 5), part(2, 0..1, 7, 8)]
        );
        accepted.lines[0].drop_rest();
        accepted.lines[1].sent = 5;
        accepted.lines[2].sent = 8;
        assert_eq!(accepted.next_parts(9), [part(2, 1..2, 8, 9)]);
    }

    #[test]
    fn cutting_keeps_what_is_before_the_first_reject() {
        let batches = vec![(batch(0, &[10, 12, 15], 20), 8), (batch(1, &[1, 2], 3), 1)];
        let accepted = Accepted::new(batches);
        let parts = accepted.next_parts(100);
        let cut = cut_before(&accepted.batches, &parts, &[(0, 2), (0, 1), (1, 0)]);
        assert_eq!(cut, [Part { batch: 0, rows: 0..1, from: 8, to: 12 }]);
    }

    proptest! {
        /// Whatever rows are bad and however errors are located, exactly the bad rows are found,
        /// in a number of attempts that does not grow with the good ones.
        #[test]
        fn narrowing_finds_exactly_the_bad_rows(
            rows in 1usize..200,
            seed in proptest::collection::btree_set(0u32..200, 0..12),
            dead in proptest::collection::btree_set(0u32..200, 0..10),
            located in proptest::bool::ANY,
        ) {
            let rows = rows as u32;
            let offsets: Vec<i64> = (0..i64::from(rows)).map(|i| i * 3).collect();
            let mut one = batch(0, &offsets, i64::from(rows) * 3 + 5);
            for row in dead.iter().filter(|row| **row < rows) {
                one.alive.kill(*row as usize);
            }
            let bad: BTreeSet<u32> =
                seed.into_iter().filter(|row| *row < rows && !dead.contains(row)).collect();
            let mut accepted = Accepted::new(vec![(one, 0)]);
            let mut narrow = Narrow::new(&accepted.next_parts(usize::MAX));
            let mut attempts = 0;
            while let Some(part) = narrow.next(&accepted) {
                attempts += 1;
                let unmarked = |row: &u32| {
                    bad.contains(row) && !accepted.bad.contains_key(&(0, *row))
                };
                match part.rows.clone().find(unmarked) {
                    None => accepted.lines[0].done = part.to,
                    Some(first) => {
                        let hint = located.then_some(first);
                        match narrow.failed(&accepted, &part, hint) {
                            Finding::Row(row) => {
                                prop_assert!(bad.contains(&row));
                                accepted.bad.insert((0, row), reject(0, row));
                            }
                            Finding::Smaller => prop_assert!(!located),
                            Finding::NoRow => prop_assert!(false, "no row left"),
                        }
                    }
                }
                prop_assert!(attempts <= 2 + bad.len() * 20);
            }
            prop_assert!(accepted.is_done());
            let found: BTreeSet<u32> = accepted.bad.keys().map(|(_, row)| *row).collect();
            prop_assert_eq!(found, bad);
        }
    }
}
