//! Values that are decoded once for all consumers of a topic that read them alike.
//!
//! Place in the data path: in front of the converter of each lane. What one fetch brought reaches the
//! lanes of all consumers as the same bytes; the first lane that comes to a batch decodes it, the
//! others take a copy of its cells, which costs a fraction of it.
//!
//! Invariants: a copy is taken only of the very bytes that were decoded (the same memory, the same
//! offsets), and only where no record was refused before; what nobody asks for is let go soon.

use api::{Cancel, Converter, EncodeError, Encoded, Result, Side, Topics};
use data::{Arena, Batch, RawBatch, Reject, Rows, SchemaNames};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Decoded batches of a topic that wait for somebody, at most.
const KEPT_MAX: usize = 4;
/// Batches with fewer records are decoded by each lane.
const RECORDS_MIN: usize = 64;

/// What is read alike: cluster, group and topic, and how.
pub(super) type Like = (String, String, String, String);

/// The values of all topics of a worker that several consumers read alike.
#[derive(Default)]
pub(super) struct Decoded {
    topics: Mutex<BTreeMap<Like, Weak<Topic>>>,
}

impl Decoded {
    /// A converter that shares what it decodes with all those of the same `like`.
    pub(super) fn share(&self, like: Like, inner: Box<dyn Converter>) -> Box<dyn Converter> {
        let mut topics = lock(&self.topics);
        topics.retain(|_, topic| topic.strong_count() > 0);
        let known = topics.get(&like).and_then(Weak::upgrade);
        let topic = known.unwrap_or_else(|| {
            let topic = Arc::new(Topic::default());
            topics.insert(like, Arc::downgrade(&topic));
            topic
        });
        drop(topics);
        topic.readers.fetch_add(1, Ordering::Relaxed);
        Box::new(Shared { topic, inner })
    }
}

/// What is guarded is replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Topic {
    /// Lanes that read the topic.
    readers: AtomicUsize,
    kept: Mutex<VecDeque<Kept>>,
}

/// A batch that somebody decodes or has decoded.
struct Kept {
    arena: Arc<Arena>,
    offsets: (i64, i64, usize),
    values: Arc<OnceLock<Values>>,
    /// Lanes that have not come to it yet.
    left: usize,
}

struct Values {
    rows: Rows,
    schemas: SchemaNames,
    rejects: Vec<Reject>,
}

fn offsets(raw: &RawBatch) -> (i64, i64, usize) {
    (raw.first_offset().unwrap_or(-1), raw.next_offset(), raw.len())
}

impl Topic {
    /// The place of a batch's values; `None`: nobody else reads it.
    fn place(&self, raw: &RawBatch) -> Option<Arc<OnceLock<Values>>> {
        let readers = self.readers.load(Ordering::Relaxed);
        if readers < 2 || raw.len() < RECORDS_MIN {
            return None;
        }
        let mut kept = lock(&self.kept);
        let same = |one: &Kept| Arc::ptr_eq(&one.arena, raw.arena()) && one.offsets == offsets(raw);
        if let Some(at) = kept.iter().position(same) {
            let one = kept.get_mut(at)?;
            let values = one.values.clone();
            one.left -= 1;
            if one.left == 0 {
                kept.remove(at);
            }
            return Some(values);
        }
        if kept.len() >= KEPT_MAX {
            kept.pop_front();
        }
        let values = Arc::new(OnceLock::new());
        kept.push_back(Kept {
            arena: raw.arena().clone(),
            offsets: offsets(raw),
            values: values.clone(),
            left: readers - 1,
        });
        Some(values)
    }
}

struct Shared {
    topic: Arc<Topic>,
    inner: Box<dyn Converter>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.topic.readers.fetch_sub(1, Ordering::Relaxed);
        // Who has left does not come to them.
        lock(&self.topic.kept).clear();
    }
}

impl Converter for Shared {
    fn class(&self) -> &'static str {
        self.inner.class()
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        self.inner.set_cancel(cancelled);
    }

    fn prepare(&mut self, side: Side, raw: &RawBatch) -> Result<()> {
        self.inner.prepare(side, raw)
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let untouched = side == Side::Value && batch.alive.count() == batch.len();
        let place = if untouched { self.topic.place(&batch.raw) } else { None };
        let Some(place) = place else { return self.inner.decode(side, batch) };
        let mut decoded_here = false;
        let values = place.get_or_init(|| {
            decoded_here = true;
            self.inner.decode(side, batch);
            let schemas = batch.schemas.clone();
            Values { rows: batch.values.clone(), schemas, rejects: batch.rejects.clone() }
        });
        if !decoded_here {
            batch.values = values.rows.clone();
            batch.schemas = values.schemas.clone();
            values.rejects.iter().for_each(|reject| batch.reject(reject.clone()));
        }
    }

    fn refuses(&self) -> bool {
        self.inner.refuses()
    }

    fn value_prefix(&self) -> Option<Arc<[u8]>> {
        self.inner.value_prefix()
    }

    fn encode(
        &mut self,
        topics: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        self.inner.encode(topics, rows, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{Cell, RawBatchBuilder, Stage, TimestampType, TopicPartition};

    /// Numbers its calls and refuses the first record.
    struct Counting(Arc<AtomicUsize>);

    impl Converter for Counting {
        fn class(&self) -> &'static str {
            "Counting"
        }

        fn decode(&mut self, _: Side, batch: &mut Batch) {
            let call = self.0.fetch_add(1, Ordering::Relaxed);
            for _ in 0..batch.len() {
                batch.values.push(None, Cell::int(call as i64));
            }
            batch.reject(Reject::data(0, Stage::ValueConverter, "Counting", "no".to_owned()));
        }

        fn encode(&mut self, _: Topics<'_>, _: &Rows, _: &mut Encoded) -> Result<Vec<EncodeError>> {
            Ok(Vec::new())
        }
    }

    fn raw(from: i64) -> RawBatch {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for offset in from..from + 100 {
            builder.push(offset, 0, TimestampType::None, None, Some(b"v"));
        }
        builder.finish(from + 100)
    }

    fn run(converter: &mut Box<dyn Converter>, raw: &RawBatch) -> (Cell, usize, usize) {
        let mut batch = Batch::new(Arc::new(raw.clone()));
        converter.decode(Side::Value, &mut batch);
        (batch.values.root(1), batch.alive.count(), batch.rejects.len())
    }

    #[test]
    fn the_same_bytes_are_decoded_once_and_refused_for_all() {
        let (decoded, calls) = (Decoded::default(), Arc::new(AtomicUsize::new(0)));
        let like = |topic: &str| ["c", "g", topic, "json"].map(str::to_owned).into();
        let lane = |topic| decoded.share(like(topic), Box::new(Counting(calls.clone())));
        let (mut a, mut b, mut other) = (lane("t"), lane("t"), lane("u"));
        let first = raw(0);
        let expect = (Cell::int(0), 99, 1);
        assert_eq!([run(&mut a, &first), run(&mut b, &first)], [expect, expect]);
        assert!(lock(&a_topic(&decoded, like("t")).kept).is_empty(), "all have come to it");
        assert_eq!(run(&mut other, &first).0, Cell::int(1), "another topic");
        assert_eq!(run(&mut a, &first.tail(10)).0, Cell::int(2), "another part of the same bytes");
        assert_eq!(run(&mut b, &raw(0)).0, Cell::int(3), "the same offsets in other bytes");
        drop(b);
        assert_eq!(run(&mut a, &first).0, Cell::int(4), "nobody to share with");
    }

    fn a_topic(decoded: &Decoded, like: Like) -> Arc<Topic> {
        lock(&decoded.topics).get(&like).and_then(Weak::upgrade).unwrap()
    }

    #[test]
    fn what_nobody_comes_to_is_let_go() {
        let (decoded, calls) = (Decoded::default(), Arc::new(AtomicUsize::new(0)));
        let like: Like = ["c", "g", "t", "json"].map(str::to_owned).into();
        let mut a = decoded.share(like.clone(), Box::new(Counting(calls.clone())));
        let _idle = decoded.share(like.clone(), Box::new(Counting(calls)));
        for n in 0..10 {
            run(&mut a, &raw(n * 100));
        }
        assert_eq!(lock(&a_topic(&decoded, like).kept).len(), KEPT_MAX);
    }
}
