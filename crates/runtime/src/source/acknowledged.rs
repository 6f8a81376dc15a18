//! Which offsets of a source may be stored: those before which everything is in Kafka.
//!
//! A pure state machine. Batches are submitted in the order they were given, records are done in any
//! order: sent and acknowledged, filtered, or reported. The offset of a source partition is the one
//! after the longest run of done records from its first batch on; a slow record of one partition holds
//! back no other.
//!
//! Invariants: an offset is given out only when every record before it is done; the offsets of a
//! partition are given out in order, each at most once.

use api::{SourceMap, SourceOffsets};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Names a record among those in flight: the batch and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RecordId(usize);

/// Rows a batch may have, so that both parts fit into one number.
pub(crate) const ROWS_MAX: usize = 1 << 20;

impl RecordId {
    fn new(batch: usize, row: usize) -> RecordId {
        RecordId(batch * ROWS_MAX + row)
    }

    /// The number that goes with the record through the Kafka client.
    pub(crate) fn number(self) -> usize {
        self.0
    }

    pub(crate) fn from_number(number: usize) -> RecordId {
        RecordId(number)
    }

    fn batch(self) -> usize {
        self.0 / ROWS_MAX
    }

    fn row(self) -> usize {
        self.0 % ROWS_MAX
    }
}

/// A batch whose records are not all done, or not all before it are.
#[derive(Debug)]
struct Pending {
    number: usize,
    partition: usize,
    offsets: SourceOffsets,
    /// One bit a row that is not done.
    open: Vec<u64>,
    open_count: usize,
    rows: usize,
}

impl Pending {
    /// The rows from the first on that are done.
    fn prefix(&self) -> usize {
        let open_at = |(word, bits): (usize, &u64)| {
            (*bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        };
        self.open.iter().enumerate().find_map(open_at).unwrap_or(self.rows)
    }
}

/// The records of a task that are on their way.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// Batches in the order they were submitted; those done at the front are taken off.
    pending: VecDeque<Pending>,
    next_number: usize,
    /// Records that are not done.
    open: usize,
    partitions: Vec<Arc<SourceMap>>,
    by_address: HashMap<usize, usize>,
    /// Per partition, the batch and the number of its rows whose offset was given out last.
    given: HashMap<usize, (usize, usize)>,
}

impl Acknowledged {
    /// Notes a batch of `rows` records, at most [`ROWS_MAX`]; gives the ids of its records from row 0
    /// on by [`Submitted::id`].
    pub(crate) fn submit(
        &mut self,
        partition: &Arc<SourceMap>,
        offsets: SourceOffsets,
        rows: usize,
    ) -> Submitted {
        let rows = rows.min(ROWS_MAX);
        let number = self.next_number;
        self.next_number += 1;
        let partition = self.partition(partition);
        let mut open = vec![u64::MAX; rows / 64];
        if !rows.is_multiple_of(64) {
            open.push((1 << (rows % 64)) - 1);
        }
        self.open += rows;
        self.pending.push_back(Pending {
            number,
            partition,
            offsets,
            open,
            open_count: rows,
            rows,
        });
        Submitted { number }
    }

    fn partition(&mut self, partition: &Arc<SourceMap>) -> usize {
        // A task gives the same `Arc` for the same partition, mostly.
        let address = Arc::as_ptr(partition) as usize;
        if let Some(index) = self.by_address.get(&address) {
            return *index;
        }
        let known = self.partitions.iter().position(|known| known == partition);
        let index = known.unwrap_or(self.partitions.len());
        // Kept even where the partition is known, so that its address is not given to another.
        self.partitions.push(partition.clone());
        self.by_address.insert(address, index);
        index
    }

    /// The record is in Kafka, was filtered, or was reported. A second time changes nothing.
    pub(crate) fn done(&mut self, id: RecordId) {
        let Some(first) = self.pending.front().map(|batch| batch.number) else { return };
        let place = id.batch().checked_sub(first);
        let Some(batch) = place.and_then(|place| self.pending.get_mut(place)) else { return };
        let (word, bit) = (id.row() / 64, 1_u64 << (id.row() % 64));
        if let Some(bits) = batch.open.get_mut(word)
            && *bits & bit != 0
        {
            *bits &= !bit;
            batch.open_count -= 1;
            self.open -= 1;
        }
    }

    /// How many records are on their way.
    pub(crate) fn open(&self) -> u64 {
        self.open as u64
    }

    /// The offset after a record that is on its way.
    pub(crate) fn offset_after(&self, id: RecordId) -> Option<SourceMap> {
        let first = self.pending.front()?.number;
        let batch = self.pending.get(id.batch().checked_sub(first)?)?;
        batch.offsets.after(id.row())
    }

    /// The offsets that have become storable since the last call, one a partition.
    pub(crate) fn take_storable(&mut self) -> Vec<(Arc<SourceMap>, SourceMap)> {
        let mut found: Vec<(usize, Option<SourceMap>)> = Vec::new();
        let mut held: Vec<usize> = Vec::new();
        for batch in &self.pending {
            if held.contains(&batch.partition) {
                continue;
            }
            let prefix = batch.prefix();
            if prefix < batch.rows {
                held.push(batch.partition);
            }
            let given = self.given.get(&batch.partition).copied();
            // Nothing of this batch is new if a later one's offset was given out, or this very one.
            if prefix == 0 || given.is_some_and(|given| given >= (batch.number, prefix)) {
                continue;
            }
            self.given.insert(batch.partition, (batch.number, prefix));
            let offset = batch.offsets.after(prefix - 1);
            match found.iter_mut().find(|(partition, _)| *partition == batch.partition) {
                Some(slot) => slot.1 = offset.or(slot.1.take()),
                None => found.push((batch.partition, offset)),
            }
        }
        while self.pending.front().is_some_and(|batch| batch.open_count == 0) {
            self.pending.pop_front();
        }
        let with_partition = |(partition, offset): (usize, Option<SourceMap>)| {
            Some((self.partitions.get(partition)?.clone(), offset?))
        };
        found.into_iter().filter_map(with_partition).collect()
    }
}

/// A batch on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Submitted {
    number: usize,
}

impl Submitted {
    pub(crate) fn id(self, row: usize) -> RecordId {
        RecordId::new(self.number, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(name: &str, value: i64) -> SourceMap {
        SourceMap::from_iter([(name.to_owned(), value.into())])
    }

    fn offsets(from: i64, rows: usize) -> SourceOffsets {
        SourceOffsets::Number {
            name: "p".into(),
            after: (1..=rows as i64).map(|n| from + n).collect(),
        }
    }

    #[test]
    fn a_slow_record_holds_back_its_own_partition_alone() {
        let mut acked = Acknowledged::default();
        let (a, b) = (Arc::new(map("f", 1)), Arc::new(map("f", 2)));
        let first = acked.submit(&a, offsets(0, 2), 2);
        let other = acked.submit(&b, offsets(0, 1), 1);
        let second = acked.submit(&a, offsets(2, 1), 1);
        acked.done(other.id(0));
        acked.done(second.id(0));
        acked.done(first.id(1));
        assert_eq!(acked.take_storable(), [(b.clone(), map("p", 1))]);
        assert!(acked.take_storable().is_empty());
        acked.done(first.id(0));
        acked.done(first.id(0));
        assert_eq!(acked.take_storable(), [(a.clone(), map("p", 3))]);
        assert!(acked.pending.is_empty());
    }

    proptest! {
        #[test]
        fn offsets_never_run_ahead_and_come_to_the_end(
            sizes in proptest::collection::vec((0_usize..3, 1_usize..150), 1..12),
            order in any::<u64>(),
            ask in 1_usize..40,
        ) {
            let parts: Vec<_> = (0..3).map(|n| Arc::new(map("f", n))).collect();
            let mut acked = Acknowledged::default();
            let mut sent = [0_i64; 3];
            let mut open: Vec<(usize, i64, RecordId)> = Vec::new();
            for (part, rows) in &sizes {
                let batch = acked.submit(&parts[*part], offsets(sent[*part], *rows), *rows);
                open.extend((0..*rows).map(|row| (*part, sent[*part] + row as i64 + 1, batch.id(row))));
                sent[*part] += *rows as i64;
            }
            let mut stored = [0_i64; 3];
            let mut random = order | 1;
            let mut done = 0;
            while !open.is_empty() {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let (_, _, id) = open.swap_remove(random as usize % open.len());
                acked.done(id);
                prop_assert_eq!(acked.open(), open.len() as u64);
                done += 1;
                if done % ask == 0 || open.is_empty() {
                    for (partition, offset) in acked.take_storable() {
                        let part = parts.iter().position(|p| *p == partition).unwrap();
                        let offset = offset["p"].as_i64().unwrap();
                        prop_assert!(offset > stored[part], "in order");
                        let ahead = open.iter().any(|(p, after, _)| *p == part && *after <= offset);
                        prop_assert!(!ahead, "a record before the offset is open");
                        stored[part] = offset;
                    }
                }
            }
            prop_assert_eq!(stored, sent);
            prop_assert!(acked.pending.is_empty());
        }
    }
}
