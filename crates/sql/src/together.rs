//! A task that writes the records of one topic for several members at once: consumers that are
//! committed together.
//!
//! Place in the data path: in front of a [`SqlSink`] of several members. Records come as they were
//! fetched, and each member's own chain decodes them. A partition begins at the least position of its
//! members; who stands farther on passes over what it has.
//!
//! Invariants: a partition is durable as far as it is for every member; what could not be decoded yet
//! is kept, and comes before everything later.

use crate::member::{key, partition_of};
use crate::sink::SqlSink;
use api::{
    Cancel, DeadLetter, Error, ResolvedStart, Result, Seat, SinkContext, SinkTask, StartResolver,
};
use data::{Batch, RawBatch, Reject, TopicPartition};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How one member reads records.
pub trait MemberChain: Send {
    /// Gets from outside what decoding will need.
    ///
    /// # Errors
    /// As `api::Converter::prepare`.
    fn prepare(&mut self, raw: &RawBatch) -> Result<()>;

    fn run(&mut self, raw: RawBatch) -> Batch;

    fn set_cancel(&mut self, cancelled: Cancel);
}

/// The task.
pub(crate) struct Together {
    sink: SqlSink,
    chains: Vec<Box<dyn MemberChain>>,
    /// What was given and not decoded yet, by call.
    waiting: VecDeque<Vec<Arc<RawBatch>>>,
    standing: Standing,
}

/// How far the members have come.
#[derive(Default)]
struct Standing {
    members: usize,
    /// By key.
    durable: BTreeMap<TopicPartition, i64>,
    /// What was told, by partition.
    told: BTreeMap<TopicPartition, i64>,
}

impl Standing {
    /// The least position of all members.
    fn least(&self, tp: &TopicPartition) -> Option<i64> {
        let positions = (0..self.members).map(|member| self.durable.get(&key(tp, member)).copied());
        positions.min().flatten()
    }

    /// The position to tell, where a member's has moved it.
    fn moved(&mut self, key: &TopicPartition, to: i64) -> Option<(TopicPartition, i64)> {
        let durable = self.durable.entry(key.clone()).or_insert(to);
        *durable = to.max(*durable);
        let tp = partition_of(key);
        let least = self.least(&tp)?;
        let told = self.told.insert(tp.clone(), least);
        told.is_none_or(|told| told < least).then_some((tp, least))
    }

    fn forget(&mut self, tp: &TopicPartition) {
        for member in 0..self.members {
            self.durable.remove(&key(tp, member));
        }
        self.told.remove(tp);
    }
}

impl Together {
    /// One chain for each member of the sink.
    pub(crate) fn new(sink: SqlSink, chains: Vec<Box<dyn MemberChain>>) -> Together {
        let standing = Standing { members: chains.len(), ..Standing::default() };
        Together { sink, chains, waiting: VecDeque::new(), standing }
    }

    /// Gives everything that waits to the sink.
    fn work(&mut self, context: &mut dyn SinkContext) -> Result<()> {
        while let Some(given) = self.waiting.front() {
            for raw in given {
                self.chains.iter_mut().try_for_each(|chain| chain.prepare(raw))?;
            }
            let given = self.waiting.pop_front().unwrap_or_default();
            let mut batches = Vec::with_capacity(given.len() * self.chains.len());
            for raw in given {
                for (member, chain) in self.chains.iter_mut().enumerate() {
                    batches.push((member, chain.run(RawBatch::clone(&raw))));
                }
            }
            let mut context = SetContext { outer: context, standing: &mut self.standing };
            self.sink.put_of(batches, &mut context).map_err(outwards)?;
        }
        Ok(())
    }

    fn keys(&self, partitions: &[TopicPartition]) -> Vec<TopicPartition> {
        let of_member = |member| partitions.iter().map(move |tp| key(tp, member));
        (0..self.chains.len()).flat_map(of_member).collect()
    }
}

/// An error that names partitions as others know them.
fn outwards(mut error: Error) -> Error {
    if let Some((tp, _)) = &mut error.record {
        *tp = partition_of(tp);
    }
    error
}

impl SinkTask for Together {
    fn set_cancel(&mut self, cancelled: Cancel) {
        self.sink.set_cancel(cancelled.clone());
        self.chains.iter_mut().for_each(|chain| chain.set_cancel(cancelled.clone()));
    }

    fn open(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
        context: &mut dyn SinkContext,
    ) -> Result<Vec<i64>> {
        for seat in seats {
            self.drop_waiting(std::slice::from_ref(&seat.tp));
            self.standing.forget(&seat.tp);
        }
        let seat = |member: usize, seat: &Seat| Seat {
            tp: key(&seat.tp, member),
            topic_id: seat.topic_id.clone(),
        };
        let of_member = |member| seats.iter().map(move |one| seat(member, one));
        let keyed: Vec<Seat> = (0..self.chains.len()).flat_map(of_member).collect();
        let mut outer = SetContext { outer: context, standing: &mut self.standing };
        let starts = self.sink.open(&keyed, &mut SetResolver(resolver), &mut outer);
        let starts = starts.map_err(outwards)?;
        for (seat, start) in keyed.into_iter().zip(starts) {
            self.standing.durable.insert(seat.tp, start);
        }
        let least = |seat: &Seat| {
            let least = self.standing.least(&seat.tp);
            least.ok_or_else(|| Error::bug("a member has no start"))
        };
        let starts: Vec<i64> = seats.iter().map(least).collect::<Result<_>>()?;
        for (seat, start) in seats.iter().zip(&starts) {
            self.standing.told.insert(seat.tp.clone(), *start);
        }
        Ok(starts)
    }

    fn put(&mut self, batches: Vec<Batch>, context: &mut dyn SinkContext) -> Result<()> {
        self.waiting.push_back(batches.into_iter().map(|batch| batch.raw).collect());
        self.work(context)
    }

    fn flush(&mut self, context: &mut dyn SinkContext) -> Result<()> {
        self.work(context)?;
        let mut context = SetContext { outer: context, standing: &mut self.standing };
        self.sink.flush(&mut context).map_err(outwards)
    }

    fn close(&mut self, partitions: &[TopicPartition], lost: bool, context: &mut dyn SinkContext) {
        self.drop_waiting(partitions);
        let keys = self.keys(partitions);
        let mut context = SetContext { outer: context, standing: &mut self.standing };
        self.sink.close(&keys, lost, &mut context);
        partitions.iter().for_each(|tp| self.standing.forget(tp));
    }

    fn outbox(&mut self, letters_max: usize) -> Result<Vec<DeadLetter>> {
        self.sink.outbox(letters_max)
    }

    fn forwarded(&mut self, ids: &[i64]) -> Result<()> {
        self.sink.forwarded(ids)
    }
}

impl Together {
    fn drop_waiting(&mut self, partitions: &[TopicPartition]) {
        for given in &mut self.waiting {
            given.retain(|raw| !partitions.contains(raw.tp()));
        }
    }
}

struct SetResolver<'a>(&'a mut dyn StartResolver);

impl StartResolver for SetResolver<'_> {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> Result<Vec<ResolvedStart>> {
        let partitions: Vec<TopicPartition> = partitions.iter().map(partition_of).collect();
        self.0.resolve(&partitions)
    }
}

/// What the sink tells of keys, told of partitions; records count once, not for each member.
struct SetContext<'a> {
    outer: &'a mut dyn SinkContext,
    standing: &'a mut Standing,
}

impl SetContext<'_> {
    fn records(&self, records: u64) -> u64 {
        records.div_ceil(self.standing.members.max(1) as u64)
    }
}

impl SinkContext for SetContext<'_> {
    fn durable(&mut self, key: &TopicPartition, next_offset: i64) {
        if let Some((tp, least)) = self.standing.moved(key, next_offset) {
            self.outer.durable(&tp, least);
        }
    }

    fn stored(&mut self, rows: u64) {
        self.outer.stored(rows);
    }

    fn tolerate(&self, records: u64, failed: u64, reason: &str) -> Result<()> {
        let records = self.records(records);
        self.outer.tolerate(records, failed.min(records), reason)
    }

    fn settled(&mut self, records: u64, failed: u64) {
        let records = self.records(records);
        self.outer.settled(records, failed.min(records));
    }

    fn reported(&mut self, batch: &Batch, rejects: &[Reject]) {
        self.outer.reported(batch, rejects);
    }

    fn ignored(&mut self, what: &str, count: u64) {
        self.outer.ignored(what, count);
    }

    fn cancelled(&self) -> bool {
        self.outer.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_stands_where_its_last_member_stands() {
        let mut standing = Standing { members: 2, ..Standing::default() };
        let tp = TopicPartition::new("t", 0);
        assert_eq!(standing.moved(&key(&tp, 0), 10), None, "nothing is known of the other");
        assert_eq!(standing.moved(&key(&tp, 1), 4), Some((tp.clone(), 4)));
        assert_eq!(standing.moved(&key(&tp, 0), 12), None);
        assert_eq!(standing.moved(&key(&tp, 1), 30), Some((tp.clone(), 12)));
        standing.forget(&tp);
        assert_eq!(standing.least(&tp), None);
    }
}
