//! Sorts fetched messages into one batch per partition.
//!
//! Messages come in runs of one partition, so the partition is looked up only where a run begins.
//! Records of partitions that are not seated, and records before the seat's position (left over from
//! an earlier assignment), are dropped here: what leaves is exactly what the position says.

use std::sync::Arc;

use data::{ArenaPool, RawBatch, RawBatchBuilder, RawRecord, TimestampType, TopicPartition};
use rdkafka::error::RDKafkaErrorCode as Code;

use super::seats::Seats;
use super::{Polled, Trouble};
use crate::error::Error;
use crate::ffi::Message;

/// How much one poll may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollLimits {
    /// Records over all batches; 0 serves events only.
    pub rows_max: usize,
    /// Bytes of keys, values and headers over all batches. Passed by at most one message of at most
    /// average size times 1.5, or by one single message of any size.
    pub bytes_max: usize,
}

/// A record's own bytes, before they are copied.
pub(super) struct Record<'a> {
    pub(super) offset: i64,
    pub(super) timestamp: (i64, TimestampType),
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
}

/// A partition's share of the current poll.
struct Slot {
    tp: TopicPartition,
    builder: RawBatchBuilder,
    next: i64,
    end: Option<i64>,
    at_end: bool,
    /// Not ours (any more): everything is dropped.
    discard: bool,
}

/// The state of one poll; see [`Collector::begin`].
pub(super) struct Collector {
    slots: Vec<Slot>,
    /// Topic key and partition of the current run, and its slot.
    run: Option<(usize, i32, usize)>,
    pub(super) rows: usize,
    pub(super) bytes: usize,
    troubles: Vec<Trouble>,
    /// Records dropped because they lie before the position.
    pub(super) stale: usize,
    room: Room,
}

/// What a slot's batch is made in.
#[derive(Clone)]
pub(super) struct Room {
    pub(super) pool: ArenaPool,
    /// Bytes that many values are expected to begin with.
    pub(super) prefix: Option<Arc<[u8]>>,
    /// Expected records and bytes a partition.
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

impl Collector {
    /// Starts a poll.
    pub(super) fn begin(room: Room) -> Collector {
        Collector {
            slots: Vec::new(),
            run: None,
            rows: 0,
            bytes: 0,
            troubles: Vec::new(),
            stale: 0,
            room,
        }
    }

    /// Forgets the current run: topic keys mean nothing beyond one drain.
    pub(super) fn next_drain(&mut self) {
        self.run = None;
    }

    pub(super) fn add(&mut self, message: &Message<'_>, seats: &Seats) {
        let (key, partition) = (message.topic_key(), message.partition());
        let index = match self.run {
            Some((k, p, index)) if k == key && p == partition => index,
            _ => {
                let index = self.slot(&message.topic(), partition, seats);
                self.run = Some((key, partition, index));
                index
            }
        };
        let Some(slot) = self.slots.get_mut(index) else { return };
        if slot.discard {
            return;
        }
        match message.code() {
            0 => {
                let record = Record {
                    offset: message.offset(),
                    timestamp: message.timestamp(),
                    key: message.key(),
                    value: message.value(),
                };
                let added = slot.push(record, |builder| {
                    message.headers(|name, value| builder.header(name, value));
                });
                self.count(added);
            }
            code if code == Code::PartitionEOF as i32 => {
                slot.next = slot.next.max(message.offset());
                slot.end = Some(message.offset());
                slot.at_end = true;
            }
            code => {
                let error = Error::from_code(code, "", Some(&message.error_text()));
                let at = Some(slot.tp.clone());
                self.troubles.push(Trouble { at, error });
            }
        }
    }

    /// Adds a record that came another way than through the consumer's own queue.
    pub(super) fn add_record(
        &mut self,
        (topic, partition): (&str, i32),
        record: Record<'_>,
        headers: impl FnOnce(&mut RawBatchBuilder),
        seats: &Seats,
    ) {
        let index = self.slot(topic, partition, seats);
        if let Some(slot) = self.slots.get_mut(index).filter(|s| !s.discard) {
            let added = slot.push(record, headers);
            self.count(added);
        }
    }

    fn count(&mut self, added: Option<usize>) {
        match added {
            Some(bytes) => {
                self.rows += 1;
                self.bytes += bytes;
            }
            None => self.stale += 1,
        }
    }

    fn slot(&mut self, topic: &str, partition: i32, seats: &Seats) -> usize {
        let same = |s: &Slot| s.tp.partition == partition && &*s.tp.topic == topic;
        if let Some(index) = self.slots.iter().position(same) {
            return index;
        }
        let tp = TopicPartition::new(Arc::<str>::from(topic), partition);
        let position = seats.get(&tp).and_then(|s| s.position);
        let Room { pool, prefix, rows, bytes } = &self.room;
        let builder = match position {
            Some(_) => {
                let mut builder = RawBatchBuilder::pooled(tp.clone(), pool, *rows, *bytes);
                builder.share_prefix(prefix.clone());
                builder
            }
            None => RawBatchBuilder::new(tp.clone()),
        };
        self.slots.push(Slot {
            tp,
            builder,
            next: position.unwrap_or(0),
            end: None,
            at_end: false,
            discard: position.is_none(),
        });
        self.slots.len() - 1
    }

    /// Writes the new positions into `seats` and the batches, ends and troubles into `out`.
    pub(super) fn finish(self, seats: &mut Seats, out: &mut Polled) {
        for slot in self.slots {
            if slot.discard {
                continue;
            }
            if let Some(seat) = seats.get_mut(&slot.tp) {
                seat.position = Some(slot.next);
                seat.at_end = slot.at_end || (seat.at_end && slot.builder.is_empty());
            }
            if let Some(end) = slot.end {
                out.ends.push((slot.tp.clone(), end));
            }
            if !slot.builder.is_empty() {
                let batch: RawBatch = slot.builder.finish(slot.next);
                out.batches.push(batch);
            }
        }
        out.errors.extend(self.troubles);
    }
}

impl Slot {
    /// Copies a record in; returns its bytes, or `None` if it lies before the position.
    fn push(
        &mut self,
        Record { offset, timestamp: (at, kind), key, value }: Record<'_>,
        headers: impl FnOnce(&mut RawBatchBuilder),
    ) -> Option<usize> {
        if offset < self.next {
            return None;
        }
        let before = self.builder.bytes();
        headers(&mut self.builder);
        self.builder.push(offset, at, kind, key, value);
        self.next = offset + 1;
        self.at_end = false;
        Some(self.builder.bytes() - before + size_of::<RawRecord>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(c: &mut Collector, p: i32, offset: i64, seats: &Seats) {
        let timestamp = (-1, TimestampType::None);
        let record = Record { offset, timestamp, key: None, value: Some(b"v") };
        c.add_record(("t", p), record, |_| (), seats);
    }

    #[test]
    fn records_before_the_position_or_without_a_seat_are_dropped() {
        let mut seats = Seats::default();
        seats.take(TopicPartition::new("t", 0), Some(5));
        seats.take(TopicPartition::new("t", 1), None);
        let pool = ArenaPool::new(1000);
        let mut c = Collector::begin(Room { pool, prefix: None, rows: 4, bytes: 100 });
        for (p, offset) in [(0, 4), (0, 5), (1, 0), (2, 0), (0, 5), (0, 9)] {
            record(&mut c, p, offset, &seats);
        }
        assert_eq!((c.rows, c.stale), (2, 2));
        let mut out = Polled::default();
        c.finish(&mut seats, &mut out);
        assert_eq!(out.batches.len(), 1);
        assert_eq!(out.batches[0].records().iter().map(|r| r.offset).collect::<Vec<_>>(), [5, 9]);
        assert_eq!(out.batches[0].next_offset(), 10);
        assert_eq!(seats.positions(), [(TopicPartition::new("t", 0), 10)]);
    }
}
