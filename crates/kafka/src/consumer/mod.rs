//! The batch consumer of one sink task.
//!
//! One thread drives it: it polls, and inside `poll` the rebalance callbacks run. Every seated
//! partition is routed to a queue of our own, which is drained in batches; the consumer's main queue
//! carries events only. Positions are the runtime's: every partition starts at a number that the
//! [`Rebalance`] handler returned or [`SinkConsumer::seat`] gave.
//!
//! Invariants:
//! - records of a partition come in ascending order, none twice, none before the seat's offset;
//! - each assigned partition gets exactly one `revoked`, at the latest in `close` or `leave`;
//! - librdkafka never commits, stores or resets an offset by itself.

mod close;
mod collect;
mod context;
mod handle;
mod seating;
mod seats;

use std::sync::Arc;
use std::time::{Duration, Instant};

use data::{ArenaPool, RawBatch, TimestampType, TopicPartition};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Headers, Message as _, Timestamp};

pub use collect::PollLimits;
pub use handle::{ClientHandle, GroupMetadata, Watermarks};

use crate::error::{Error, ErrorKind, Result};
use crate::ffi::{self, MessageBuffer, Queue};
use crate::lists::{self, Position};
use crate::options::{self, ClientSettings};
use crate::report::Reporter;
use crate::wake::{Wake, Waker, deadline};
use collect::{Collector, Record, Room};
use context::SinkContext;

/// How often routes are renewed after a change of the assignment.
const RENEW: Duration = Duration::from_millis(20);

/// Memory of batches that is kept for the next ones when they are gone.
const ARENAS_KEPT_BYTES: usize = 8 << 20;

/// Messages taken from the queue at once.
const DRAIN_MAX: usize = 1024;

/// The runtime's side of a rebalance. Called on the polling thread; polling stands still meanwhile, so
/// both calls must return well within the session timeout.
pub trait Rebalance: Send {
    /// Newly assigned partitions. Returns for each, in order, the offset to start at, or `None` to
    /// leave it out until `SinkConsumer::seat` is called for it.
    fn assigned(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Vec<Option<i64>>;

    /// Partitions that are taken away, seated or not. With `lost` another member may have them
    /// already: write nothing and commit nothing.
    fn revoked(&mut self, client: &ClientHandle, partitions: &[TopicPartition], lost: bool);
}

/// For consumers that assign their partitions themselves.
pub struct NoRebalance;

impl Rebalance for NoRebalance {
    fn assigned(&mut self, _: &ClientHandle, partitions: &[TopicPartition]) -> Vec<Option<i64>> {
        vec![None; partitions.len()]
    }

    fn revoked(&mut self, _: &ClientHandle, _: &[TopicPartition], _: bool) {}
}

/// An error, and the partition it concerns if it concerns one.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub at: Option<TopicPartition>,
    pub error: Error,
}

/// The outcome of a `commit_async`.
#[derive(Clone, Debug)]
pub struct CommitOutcome {
    pub positions: Vec<Position>,
    pub result: Result<()>,
}

/// What one poll found.
#[derive(Default)]
pub struct Polled {
    /// At most one batch per partition.
    pub batches: Vec<RawBatch>,
    /// Partitions whose end was reached, with the end offset: the consumer's position past control
    /// records and holes. Reported each time the end is reached anew, with or without a batch.
    pub ends: Vec<(TopicPartition, i64)>,
    pub errors: Vec<Trouble>,
    pub commits: Vec<CommitOutcome>,
}

impl Polled {
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
            && self.ends.is_empty()
            && self.errors.is_empty()
            && self.commits.is_empty()
    }
}

/// A consumer driven by one thread; see the module documentation.
pub struct SinkConsumer {
    // Before the client: queues must go first.
    events: Option<Queue>,
    buffer: MessageBuffer,
    wake: Wake,
    client: Option<Arc<BaseConsumer<SinkContext>>>,
    handle: ClientHandle,
    /// Recent average, for sizing drains and buffers.
    record_bytes: usize,
    arenas: ArenaPool,
    value_prefix: Option<Arc<[u8]>>,
    manual: bool,
    main_queue_records: u64,
    fatal_told: bool,
    renewed: Instant,
    waited: Duration,
}

fn fatal_error(client: &BaseConsumer<SinkContext>) -> Option<Error> {
    let (code, reason) = client.client().fatal_error()?;
    let error = Error::from_code(code as i32, "", Some(&reason));
    Some(if error.kind() == ErrorKind::Fenced { error } else { error.with_kind(ErrorKind::Fatal) })
}

impl SinkConsumer {
    /// Creates the client; connects in the background. `group.id` is required.
    pub fn new(settings: &ClientSettings, rebalance: Box<dyn Rebalance>) -> Result<SinkConsumer> {
        let Some(group) = settings.get("group.id").filter(|g| !g.is_empty()) else {
            let message = "a consumer needs a group.id";
            return Err(Error::new(ErrorKind::Configuration, message));
        };
        let wake = Wake::new()?;
        let bootstrap = settings.get("bootstrap.servers").map(String::as_str);
        let reporter = Reporter::new(format!("consumer '{group}'"), bootstrap);
        let context = SinkContext::new(reporter, rebalance);
        let client: BaseConsumer<SinkContext> = options::consumer(settings)
            .create_with_context(context)
            .map_err(|e| Error::from_kafka(&e, "create kafka consumer"))?;
        let client = Arc::new(client);
        let native = client.client().native_client();
        let own = Queue::new(native);
        let events = Queue::of_consumer(native);
        own.wake_on(Some(wake.target()));
        if let Some(events) = &events {
            events.wake_on(Some(wake.target()));
        }
        *client.context().own() = Some(own);
        let handle = ClientHandle { client: Arc::downgrade(&client) };
        let _ = client.context().handle.set(handle.clone());
        Ok(SinkConsumer {
            events,
            buffer: MessageBuffer::default(),
            wake,
            client: Some(client),
            handle,
            record_bytes: 256,
            arenas: ArenaPool::new(ARENAS_KEPT_BYTES),
            value_prefix: None,
            manual: false,
            main_queue_records: 0,
            fatal_told: false,
            renewed: Instant::now(),
            waited: Duration::ZERO,
        })
    }

    fn client(&self) -> Result<&Arc<BaseConsumer<SinkContext>>> {
        self.client.as_ref().ok_or_else(Error::closed)
    }

    /// Joins the group for these topics, in place of any earlier subscription.
    pub fn subscribe(&self, topics: &[&str]) -> Result<()> {
        let what = format!("subscribe to {}", topics.join(", "));
        self.client()?.subscribe(topics).map_err(|e| Error::from_kafka(&e, &what))
    }

    /// Joins the group for all topics, present and future, whose whole name matches one of the
    /// patterns. Only what POSIX extended expressions know is accepted; for others match the names of
    /// `ClientHandle::list_topics` and call `subscribe`.
    pub fn subscribe_regex(&self, patterns: &[&str]) -> Result<()> {
        let translated =
            patterns.iter().map(|p| posix_pattern(p)).collect::<Result<Vec<String>>>()?;
        self.subscribe(&translated.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Reads these partitions from these offsets, without joining the group; replaces whatever was
    /// assigned. Commits still go to the group. The rebalance handler is not called.
    pub fn assign_manually(&mut self, partitions: &[(TopicPartition, i64)]) -> Result<()> {
        let client = self.client()?.clone();
        let context = client.context();
        let list = lists::with_offsets(partitions.iter().map(|(tp, o)| (tp, *o)))?;
        self.manual = true;
        // What is queued of partitions that were read already must not pass for what comes from the
        // new offsets; a seek outdates it at once (its own outcome does not matter).
        let seated = |tp| context.seats().get(tp).is_some_and(|s| s.position.is_some());
        let moved: Vec<_> = partitions.iter().filter(|(tp, _)| seated(tp)).cloned().collect();
        context::seek(&client, &moved)?;
        let paused = {
            let mut seats = context.seats();
            let mut paused = seats.paused();
            seats.clear();
            for (tp, offset) in partitions {
                seats.take(tp.clone(), Some(*offset));
            }
            paused.retain(|tp| seats.get(tp).is_some());
            paused
        };
        context.route(&client, partitions);
        client.assign(&list).map_err(|e| Error::from_kafka(&e, "assign partitions"))?;
        context.route(&client, partitions);
        self.pause(&paused)
    }

    /// Values that begin with these bytes are kept without them from the next poll on; see
    /// [`data::RawBatch::value_parts`].
    pub fn share_prefix(&mut self, prefix: Option<Arc<[u8]>>) {
        self.value_prefix = prefix;
    }

    /// Waits up to `max_wait` for records or events and returns what is there, within `limits`.
    /// Rebalances are served inside. Never waits for more than the first thing to return.
    pub fn poll(&mut self, max_wait: Duration, limits: PollLimits) -> Result<Polled> {
        let deadline = deadline(max_wait);
        loop {
            self.wake.clear();
            self.renew_routes()?;
            let mut out = Polled::default();
            self.fill(limits, &mut out)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !out.is_empty() || left.is_zero() || self.wake.by_hand() {
                return Ok(out);
            }
            // Asked only now: what was served above may have changed the assignment.
            let renewing = self.client()?.context().is_renewing();
            let waiting = Instant::now();
            self.wake.wait(if renewing { left.min(RENEW) } else { left });
            self.waited += waiting.elapsed();
        }
    }

    /// Renews routes every [`RENEW`] after a change of the assignment.
    fn renew_routes(&mut self) -> Result<()> {
        if self.renewed.elapsed() >= RENEW {
            let client = self.client()?;
            client.context().reroute(client);
            self.renewed = Instant::now();
        }
        Ok(())
    }

    fn fill(&mut self, limits: PollLimits, out: &mut Polled) -> Result<()> {
        let client = self.client()?.clone();
        let context = client.context();
        let queued = context.own().as_ref().map_or(0, Queue::len).min(limits.rows_max);
        let share = queued / context.seats().positions().len().max(1) + 1;
        let share_bytes = (share * self.record_bytes).min(limits.bytes_max);
        let mut collector = Collector::begin(Room {
            pool: self.arenas.clone(),
            prefix: self.value_prefix.clone(),
            rows: share,
            bytes: share_bytes,
        });
        self.serve_events(&client, &mut collector);
        self.drain(&client, limits, &mut collector);
        if let Some(average) = collector.bytes.checked_div(collector.rows) {
            self.record_bytes = average.max(1);
        }
        if collector.stale > 0 {
            tracing::debug!(target: "kafka", stale = collector.stale, "dropped records before the position");
        }
        collector.finish(&mut context.seats(), out);
        out.commits = context.take_commits();
        for error in context.reporter.take() {
            // The library's "fatal" event only points to the error, which is told below.
            if error.kind() != ErrorKind::Fatal {
                out.errors.push(Trouble { at: None, error });
            }
        }
        if !self.fatal_told
            && let Some(error) = fatal_error(&client)
        {
            self.fatal_told = true;
            out.errors.push(Trouble { at: None, error });
        }
        Ok(())
    }

    /// Serves rebalances, commit outcomes, logs and errors until none is left.
    fn serve_events(&mut self, client: &BaseConsumer<SinkContext>, collector: &mut Collector) {
        // Bounded, so that a flood of events cannot keep records waiting for ever.
        for _ in 0..DRAIN_MAX {
            // Errors have been collected by the context already.
            if let Some(Ok(message)) = client.poll(Duration::ZERO) {
                // Fetched before its partition's route took effect: it comes first, in order.
                self.main_queue_records += 1;
                add_borrowed(collector, &message, client.context());
            }
            if self.events.as_ref().is_none_or(|q| q.len() == 0) {
                return;
            }
        }
    }

    fn drain(
        &mut self,
        client: &BaseConsumer<SinkContext>,
        limits: PollLimits,
        collector: &mut Collector,
    ) {
        let context = client.context();
        let own = context.own();
        let Some(own) = own.as_ref() else { return };
        let seats = context.seats();
        while collector.rows < limits.rows_max && collector.bytes < limits.bytes_max {
            let average = collector.bytes.checked_div(collector.rows).unwrap_or(self.record_bytes);
            let by_bytes = (limits.bytes_max - collector.bytes) / average.max(1);
            let by_rows = limits.rows_max - collector.rows;
            let max = by_bytes.min(by_rows).clamp(1, DRAIN_MAX);
            collector.next_drain();
            let n = own.drain(max, &mut self.buffer, |message| collector.add(message, &seats));
            if n < max {
                return;
            }
        }
    }

    /// How long `poll` has waited for something to come since the last call of this.
    pub fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// The offset behind the last record of a partition, as far as the last fetch told it; asks no
    /// broker.
    pub fn known_end(&self, tp: &TopicPartition) -> Option<i64> {
        ffi::known_end(self.client.as_ref()?.client().native_client(), tp)
    }

    /// Offset of the next record of each seated partition.
    pub fn positions(&self) -> Vec<(TopicPartition, i64)> {
        self.client.as_ref().map_or_else(Vec::new, |c| c.context().seats().positions())
    }

    pub fn position(&self, tp: &TopicPartition) -> Option<i64> {
        self.client.as_ref()?.context().seats().get(tp)?.position
    }

    /// Every partition that is assigned, seated or waiting for its seat.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.client.as_ref().map_or_else(Vec::new, |c| c.context().seats().all())
    }

    /// The error after which this client is of no use any more: fenced by a newer process with the
    /// same `group.instance.id`, or fatal. No `revoked` comes before `close`, which then says lost.
    pub fn fatal_error(&self) -> Option<Error> {
        fatal_error(self.client.as_ref()?)
    }

    /// Records that came over the client's own queue instead of the partitions' route, since the
    /// start. They are delivered all the same; a number that grows means that routing is broken.
    pub fn main_queue_records(&self) -> u64 {
        self.main_queue_records
    }

    /// For other threads and for questions to the brokers.
    pub fn handle(&self) -> &ClientHandle {
        &self.handle
    }

    /// Ends a wait in `poll` from another thread.
    pub fn waker(&self) -> Waker {
        self.wake.waker()
    }

    /// See [`ClientHandle::commit_async`].
    pub fn commit_async(&self, positions: &[Position]) -> Result<()> {
        self.handle.commit_async(positions)
    }

    /// See [`ClientHandle::commit_sync`].
    pub fn commit_sync(&self, positions: &[Position], timeout: Duration) -> Result<()> {
        self.handle.commit_sync(positions, timeout)
    }
}

impl Drop for SinkConsumer {
    fn drop(&mut self) {
        self.shut();
    }
}

fn add_borrowed(collector: &mut Collector, m: &BorrowedMessage<'_>, context: &SinkContext) {
    let timestamp = match m.timestamp() {
        Timestamp::NotAvailable => (-1, TimestampType::None),
        Timestamp::CreateTime(at) => (at, TimestampType::CreateTime),
        Timestamp::LogAppendTime(at) => (at, TimestampType::LogAppendTime),
    };
    let headers = |builder: &mut data::RawBatchBuilder| {
        for header in m.headers().into_iter().flat_map(|h| h.iter()) {
            builder.header(header.key, header.value);
        }
    };
    let record = Record { offset: m.offset(), timestamp, key: m.key(), value: m.payload() };
    collector.add_record((m.topic(), m.partition()), record, headers, &context.seats());
}

/// Java's `matches` (the whole name) as a librdkafka subscription pattern.
fn posix_pattern(pattern: &str) -> Result<String> {
    let java_only = pattern.contains("(?")
        || pattern.contains("*+")
        || pattern.contains("++")
        || pattern.as_bytes().windows(2).any(|w| w[0] == b'\\' && w[1].is_ascii_alphanumeric());
    if java_only {
        let message = format!("topic pattern '{pattern}' uses more than posix expressions know");
        return Err(Error::new(ErrorKind::Configuration, message)
            .with_hint("match the names of the topic list instead"));
    }
    Ok(format!("^({pattern})$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names_and_java_only_syntax_is_refused() {
        assert_eq!(posix_pattern("a|b.*").unwrap(), "^(a|b.*)$");
        assert_eq!(posix_pattern(r"a\.b").unwrap(), r"^(a\.b)$");
        for pattern in [r"\d+", "(?i)a", "a*+"] {
            assert_eq!(posix_pattern(pattern).unwrap_err().kind(), ErrorKind::Configuration);
        }
    }

    #[test]
    fn a_group_is_required_and_bad_settings_are_named() {
        let none = SinkConsumer::new(&ClientSettings::new(), Box::new(NoRebalance)).err().unwrap();
        assert_eq!(none.kind(), ErrorKind::Configuration);
        let mut settings = ClientSettings::new();
        settings.insert("group.id".into(), "g".into());
        settings.insert("fetch.min.bytes".into(), "many".into());
        let bad = SinkConsumer::new(&settings, Box::new(NoRebalance)).err().unwrap();
        assert_eq!(bad.kind(), ErrorKind::Configuration);
        assert!(bad.to_string().contains("fetch.min.bytes"), "{bad}");
    }
}
