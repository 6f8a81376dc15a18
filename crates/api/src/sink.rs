//! The sink contract: how batches reach a destination and how it says what is durable.
//!
//! A sink task is ordinary blocking code. It runs on a thread of its own, which calls one method at
//! a time; waiting for the destination there blocks nobody else. Long waits must end soon after
//! [`SinkContext::cancelled`] turns true.
//!
//! Invariants the runtime relies on:
//! - a batch given to [`SinkTask::put`] belongs to the task until it is durable, reported or its
//!   partition is closed; after a retriable error it is *not* given again, [`SinkTask::flush`] is
//!   called instead;
//! - durable positions of a partition only ascend, and everything before one is stored or reported.

use crate::error::Result;
use data::{Batch, Reject, TopicPartition};
use std::sync::Arc;

/// A partition that is assigned to the task, before its start is known.
#[derive(Clone, Debug)]
pub struct Seat {
    pub tp: TopicPartition,
    /// Kafka's id of the topic; `None` where the broker has none. Another id under the same name is
    /// a recreated topic.
    pub topic_id: Option<String>,
}

/// Where a partition starts when the destination has no position for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedStart {
    pub offset: i64,
}

/// Asks Kafka for the start of partitions that the destination does not know: the group's committed
/// offset, else the configured reset. Blocking; errors are the runtime's.
pub trait StartResolver {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> Result<Vec<ResolvedStart>>;
}

/// What a task tells the runtime while it works.
pub trait SinkContext {
    /// Everything of the partition before `next_offset` is stored or reported, for good.
    fn durable(&mut self, tp: &TopicPartition, next_offset: i64);

    /// Rows that have become durable (not counting reported ones), for counters.
    fn stored(&mut self, rows: u64);

    /// Asked before rejects are made durable: `failed` of the next `records` records cannot be
    /// stored, one of them for `reason`. Asking changes nothing; see [`SinkContext::settled`].
    /// # Errors
    /// The breaker has tripped: more than the tolerated share fails, the definition is wrong.
    fn tolerate(&self, records: u64, failed: u64, reason: &str) -> Result<()>;

    /// `records` records have come to their end for good, `failed` of them as reported. Each record
    /// is counted once, however often it was tried.
    fn settled(&mut self, records: u64, failed: u64);

    /// Rejects have become durable in the destination's dead-letter table. They are logged and, where
    /// a dead-letter topic is set, the outbox is forwarded.
    fn reported(&mut self, batch: &Batch, rejects: &[Reject]);

    /// Values that were left out on purpose (unknown fields of schemaless records), for counters and
    /// one log line a name.
    fn ignored(&mut self, what: &str, count: u64);

    /// The task must come to an end: blocking calls return `ErrorKind::Cancelled` soon.
    fn cancelled(&self) -> bool;
}

/// A reported record as the destination's dead-letter table holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The table's own key of the entry, ascending in the order of insertion.
    pub id: i64,
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    /// Milliseconds since the epoch, -1 for none.
    pub timestamp: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub stage: String,
    pub class: String,
    pub exception: String,
    pub message: String,
}

/// A question that waits ask again and again, from any thread.
pub type Cancel = Arc<dyn Fn() -> bool + Send + Sync>;

/// A destination of records. All methods are called from one thread.
pub trait SinkTask: Send {
    /// Given before anything else is called: waits for the destination end with
    /// `ErrorKind::Cancelled` soon after this turns true.
    fn set_cancel(&mut self, _cancelled: Cancel) {}

    /// Takes the partitions: stores the start of those the destination does not know, and gives the
    /// position each is to be read from. An owner before us can write no more once this returns.
    fn open(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
        context: &mut dyn SinkContext,
    ) -> Result<Vec<i64>>;

    /// Accepts batches, at most one a partition, each beginning where the one before ended. Returns
    /// when more can be taken, which may be before they are durable. A batch may hold no live row
    /// and still move the position.
    fn put(&mut self, batches: Vec<Batch>, context: &mut dyn SinkContext) -> Result<()>;

    /// Makes everything accepted durable; also how a task goes on after a retriable error.
    fn flush(&mut self, context: &mut dyn SinkContext) -> Result<()>;

    /// Gives partitions back. `lost`: another owner is active already, nothing may be written.
    /// Otherwise what was accepted has been flushed, or is dropped here.
    fn close(&mut self, partitions: &[TopicPartition], lost: bool, context: &mut dyn SinkContext);

    /// Whether it looks at headers as data ([`Batch::headers`]), which are decoded for those who do;
    /// without, they may be in the raw batch alone.
    fn uses_headers(&self) -> bool {
        false
    }

    /// Whether the destination keeps the positions, and what the group is told is a mirror of them.
    /// Without, the group's offsets are all there is.
    fn keeps_positions(&self) -> bool {
        true
    }

    /// Whether dead letters outlive the task, in a table. Without, they are forwarded as soon as they
    /// are reported, and the task is flushed afterwards: until then it holds the positions behind
    /// them back.
    fn keeps_letters(&self) -> bool {
        true
    }

    /// Dead letters not forwarded to the dead-letter topic yet, oldest first.
    fn outbox(&mut self, letters_max: usize) -> Result<Vec<DeadLetter>>;

    /// Marks letters as forwarded.
    fn forwarded(&mut self, ids: &[i64]) -> Result<()>;
}
