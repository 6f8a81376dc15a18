//! What is accepted and not durable yet, and how a failed part is narrowed to its bad rows.
//!
//! The batches that the members of a set have of one partition lie side by side and have the same
//! records: transactions take them to the same position.
//!
//! Pure: no database, no clock. Everything here can be asked again after any failure, because it
//! goes by positions alone.

use crate::bind::{BadRows, Part};
use crate::config::ChangeEvents;
use crate::envelope::{Events, open};
use crate::member::key;
use data::{Batch, TopicPartition};
use std::collections::VecDeque;
use std::ops::Range;

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
    /// The partition; as a key, where there are several members.
    pub tp: TopicPartition,
    pub member: usize,
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
    /// Batches, each with its member and the position at which it begins.
    pub(crate) fn new(batches: Vec<(usize, Batch, i64)>) -> Accepted {
        let line = |(member, batch, from): &(usize, Batch, i64)| Line {
            tp: key(batch.tp(), *member),
            member: *member,
            sent: *from,
            done: *from,
            end: batch.next_offset(),
        };
        let lines = batches.iter().map(line).collect();
        let batches = batches.into_iter().map(|(_, batch, _)| batch).collect();
        Accepted { batches, lines, events: Vec::new(), bad: BadRows::new() }
    }

    /// Puts the rows of change events in the place of the events.
    pub(crate) fn open_events(mut self, which: impl Fn(usize) -> ChangeEvents) -> Accepted {
        let batches = self.batches.iter_mut().zip(&self.lines);
        self.events = batches.map(|(batch, line)| open(batch, which(line.member))).collect();
        self
    }

    pub(crate) fn is_done(&self) -> bool {
        self.lines.iter().all(|line| line.done >= line.end)
    }

    pub(crate) fn is_sent(&self) -> bool {
        self.lines.iter().all(|line| line.sent >= line.end)
    }

    /// The parts of the next transaction: everything not sent, up to a number of records.
    pub(crate) fn next_parts(&self, rows_max: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut room = rows_max.max(1) as u32;
        let mut next = 0;
        while let Some(batch) = self.batches.get(next) {
            let group = self.group(next);
            next = group.end;
            let own = || self.lines.get(group.clone()).unwrap_or_default().iter();
            let sent = own().filter(|line| line.sent < line.end).map(|line| line.sent).min();
            let Some(sent) = sent.filter(|_| room > 0) else { continue };
            let start = row_at(batch, sent);
            let rest = batch.len() as u32 - start;
            let end = start + rest.min(room);
            let whole = end == batch.len() as u32;
            room -= end - start;
            for (index, line) in group.clone().zip(own()) {
                let to = if whole { line.end } else { offset_of(batch, end) };
                if line.sent < to {
                    let rows = row_at(batch, line.sent)..end;
                    parts.push(Part { batch: index as u32, rows, from: line.sent, to });
                }
            }
        }
        parts
    }

    /// The batches of the same partition from this one on.
    fn group(&self, first: usize) -> Range<usize> {
        let tp = self.batches.get(first).map(Batch::tp);
        let others = self.batches.get(first..).unwrap_or_default();
        first..first + others.iter().take_while(|batch| Some(batch.tp()) == tp).count()
    }

    /// Whose batch it is.
    pub(crate) fn member(&self, batch: u32) -> usize {
        self.lines.get(batch as usize).map_or(0, |line| line.member)
    }

    /// Whether two batches are of the same partition.
    pub(crate) fn are_one(&self, a: u32, b: u32) -> bool {
        let tp = |batch: u32| self.batches.get(batch as usize).map(Batch::tp);
        tp(a) == tp(b)
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

/// Cuts parts before the first reject of each partition, for tasks that tolerate none.
pub(crate) fn cut_before(batches: &[Batch], parts: &[Part], rejects: &[(u32, u32)]) -> Vec<Part> {
    let tp = |batch: u32| batches.get(batch as usize).map(Batch::tp);
    let cut = |part: &Part| {
        let mut part = part.clone();
        let of_part = rejects.iter().filter(|(batch, _)| tp(*batch) == tp(part.batch));
        let first = of_part.map(|(_, row)| *row).min();
        if let (Some(row), Some(batch)) = (first, batches.get(part.batch as usize)) {
            part.to = offset_of(batch, row);
            part.rows.end = row;
        }
        part
    };
    parts.iter().map(cut).filter(|part| part.from < part.to).collect()
}

/// What a failure says about the rows of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// This row of this batch is bad.
    Row(u32, u32),
    /// One record is left, and it is one of these: a row of a batch of each member.
    OneOf(Vec<(u32, u32)>),
    /// One of several; smaller parts come next.
    Smaller,
    /// There is no row left that it could be.
    NoRow,
}

/// A failed transaction that is done again in smaller ones, one partition after the other.
///
/// Each job is a stack of positions: the parts up to the topmost come next. A located row is marked
/// and the parts before it done first; an error that names no row halves the parts; a row that fails
/// alone is marked and goes with what follows.
#[derive(Debug, Default)]
pub(crate) struct Narrow {
    /// The batches of a partition, one for each member, and the positions.
    jobs: VecDeque<(Vec<u32>, Vec<i64>)>,
}

impl Narrow {
    pub(crate) fn new(accepted: &Accepted, parts: &[Part]) -> Narrow {
        let one = |a: &Part, b: &Part| accepted.are_one(a.batch, b.batch);
        let job = |parts: &[Part]| {
            let batches = parts.iter().map(|part| part.batch).collect();
            (batches, parts.iter().map(|part| part.to).max().into_iter().collect())
        };
        Narrow { jobs: parts.chunk_by(one).map(job).collect() }
    }

    /// The parts to do next, all of one partition; none: everything is done.
    pub(crate) fn next(&mut self, accepted: &Accepted) -> Vec<Part> {
        while let Some((batches, ends)) = self.jobs.front_mut() {
            while let Some(end) = ends.last() {
                let part = |batch: &u32| accepted.part_to(*batch, *end);
                let parts: Vec<Part> = batches.iter().filter_map(part).collect();
                if !parts.is_empty() {
                    return parts;
                }
                ends.pop();
            }
            self.jobs.pop_front();
        }
        Vec::new()
    }

    /// Learns from the failure of parts that [`Narrow::next`] gave, or of those of one partition that
    /// it was made with.
    pub(crate) fn failed(
        &mut self,
        accepted: &Accepted,
        parts: &[Part],
        located: Option<(u32, u32)>,
    ) -> Finding {
        let is_live = |batch: u32, row: u32| {
            let known = accepted.batches.get(batch as usize);
            known.is_some_and(|known| known.alive.is_alive(row as usize))
                && !accepted.bad.contains_key(&(batch, row))
        };
        let of_part = |part: &Part, row: u32| part.rows.contains(&row) && is_live(part.batch, row);
        let mut rows: Vec<u32> = Vec::new();
        for part in parts {
            rows.extend(part.rows.clone().filter(|row| is_live(part.batch, *row)));
        }
        rows.sort_unstable();
        rows.dedup();
        let located = located.filter(|(batch, row)| {
            parts.iter().any(|part| part.batch == *batch && of_part(part, *row))
        });
        let (finding, end) = match (located, rows.as_slice()) {
            (_, []) => (Finding::NoRow, None),
            (Some((batch, row)), [first, ..]) => {
                (Finding::Row(batch, row), (*first != row).then_some(row))
            }
            (None, [row]) => {
                let own = parts.iter().filter(|part| of_part(part, *row));
                let own: Vec<(u32, u32)> = own.map(|part| (part.batch, *row)).collect();
                match own.as_slice() {
                    [(batch, row)] => (Finding::Row(*batch, *row), None),
                    _ => (Finding::OneOf(own), None),
                }
            }
            (None, rows) => (Finding::Smaller, rows.get(rows.len() / 2).copied()),
        };
        let batch = parts.first().and_then(|part| accepted.batches.get(part.batch as usize));
        if let (Some(end), Some(batch), Some(part)) = (end, batch, parts.first())
            && let Some((_, ends)) = self.jobs.iter_mut().find(|(b, _)| b.contains(&part.batch))
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
            (0, batch(0, &[10, 12, 15], 20), 8),
            (0, batch(1, &[], 5), 3),
            (0, batch(2, &[7, 8], 9), 7),
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
        let batches = vec![(0, batch(0, &[10, 12, 15], 20), 8), (0, batch(1, &[1, 2], 3), 1)];
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
            let mut accepted = Accepted::new(vec![(0, one, 0)]);
            let mut narrow = Narrow::new(&accepted, &accepted.next_parts(usize::MAX));
            let mut attempts = 0;
            while let Some(part) = narrow.next(&accepted).first().cloned() {
                attempts += 1;
                let unmarked = |row: &u32| {
                    bad.contains(row) && !accepted.bad.contains_key(&(0, *row))
                };
                match part.rows.clone().find(unmarked) {
                    None => accepted.lines[0].done = part.to,
                    Some(first) => {
                        let hint = located.then_some((0, first));
                        match narrow.failed(&accepted, std::slice::from_ref(&part), hint) {
                            Finding::Row(_, row) => {
                                prop_assert!(bad.contains(&row));
                                accepted.bad.insert((0, row), reject(0, row));
                            }
                            Finding::Smaller => prop_assert!(!located),
                            Finding::NoRow | Finding::OneOf(_) => prop_assert!(false, "no row left"),
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
