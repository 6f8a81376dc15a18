//! A destination in memory: keeps positions and rows under one lock, and fails on demand.

use api::{DeadLetter, Error, Result, Seat, SinkContext, SinkTask, StartResolver};
use data::{Batch, TopicPartition};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What the next calls of `put` or `flush` do instead of working.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// Works this once.
    None,
    Retriable,
    /// Another owner moved our rows; its work is undone, ours is not applied.
    Fenced,
    Config,
}

#[derive(Default)]
pub(crate) struct Stored {
    pub(crate) positions: BTreeMap<TopicPartition, i64>,
    /// Partition and offset of every applied record, in order.
    pub(crate) applied: Vec<(i32, i64)>,
    pub(crate) rejected: Vec<(i32, i64)>,
    pub(crate) failures: VecDeque<Failure>,
    /// The most batches that a task has held at once.
    pub(crate) held_max: usize,
    pub(crate) opens: usize,
    pub(crate) closes: Vec<(i32, bool)>,
    /// Dead letters that are to be forwarded.
    pub(crate) letters: Vec<DeadLetter>,
    /// How often it was looked for letters in vain.
    pub(crate) no_letters: usize,
}

/// Shared by the tasks of one test, as a database would be.
pub(crate) type Store = Arc<Mutex<Stored>>;

pub(crate) struct MemorySink {
    pub(crate) store: Store,
    pub(crate) accepted: Vec<Batch>,
}

impl MemorySink {
    fn settle(&mut self, context: &mut dyn SinkContext) -> Result<()> {
        let mut store = self.store.lock().unwrap();
        match store.failures.pop_front() {
            Some(Failure::Retriable) => return Err(Error::retriable("the store is down")),
            Some(Failure::Fenced) => return Err(Error::fenced("somebody else was here")),
            Some(Failure::Config) => return Err(Error::config("no such table").hint("create it")),
            Some(Failure::None) | None => {}
        }
        for batch in self.accepted.drain(..) {
            let failed = batch.rejects.len() as u64;
            let reason = batch.rejects.first().map_or("", |reject| reject.message.as_str());
            context.tolerate(batch.len() as u64, failed, reason)?;
            context.settled(batch.len() as u64, failed);
            for row in 0..batch.len() {
                let offset = batch.raw.records()[row].offset;
                let list = if batch.alive.is_alive(row) {
                    &mut store.applied
                } else {
                    &mut store.rejected
                };
                list.push((batch.tp().partition, offset));
            }
            store.positions.insert(batch.tp().clone(), batch.next_offset());
            context.durable(batch.tp(), batch.next_offset());
            context.stored(batch.alive.count() as u64);
            context.reported(&batch, &batch.rejects);
        }
        Ok(())
    }
}

impl SinkTask for MemorySink {
    fn open(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
        _context: &mut dyn SinkContext,
    ) -> Result<Vec<i64>> {
        let mut store = self.store.lock().unwrap();
        store.opens += 1;
        let mut starts = Vec::new();
        for seat in seats {
            let start = match store.positions.get(&seat.tp) {
                Some(position) => *position,
                None => resolver.resolve(std::slice::from_ref(&seat.tp))?[0].offset,
            };
            store.positions.insert(seat.tp.clone(), start);
            starts.push(start);
        }
        Ok(starts)
    }

    fn put(&mut self, batches: Vec<Batch>, context: &mut dyn SinkContext) -> Result<()> {
        self.accepted.extend(batches);
        let mut store = self.store.lock().unwrap();
        store.held_max = store.held_max.max(self.accepted.len());
        drop(store);
        self.settle(context)
    }

    fn flush(&mut self, context: &mut dyn SinkContext) -> Result<()> {
        self.settle(context)
    }

    fn close(&mut self, partitions: &[TopicPartition], lost: bool, _: &mut dyn SinkContext) {
        self.accepted.retain(|batch| !partitions.contains(batch.tp()));
        let closes = partitions.iter().map(|tp| (tp.partition, lost));
        self.store.lock().unwrap().closes.extend(closes);
    }

    fn outbox(&mut self, letters_max: usize) -> Result<Vec<DeadLetter>> {
        let mut store = self.store.lock().unwrap();
        store.no_letters += usize::from(store.letters.is_empty());
        Ok(store.letters.iter().take(letters_max).cloned().collect())
    }

    fn forwarded(&mut self, ids: &[i64]) -> Result<()> {
        self.store.lock().unwrap().letters.retain(|letter| !ids.contains(&letter.id));
        Ok(())
    }
}
