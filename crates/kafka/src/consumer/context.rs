//! librdkafka's callbacks of a consumer: rebalances, commit outcomes, logs and errors.
//!
//! All callbacks run on the thread that polls, inside `SinkConsumer::poll`, `leave` or `close`.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use data::TopicPartition;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use super::handle::{ClientHandle, commit_error};
use super::seats::Seats;
use super::{CommitOutcome, NoRebalance, Rebalance};
use crate::error::{Error, Result};
use crate::ffi::{self, Queue};
use crate::lists::{self, Position};
use crate::report::Reporter;
use crate::wake::deadline;

pub(super) struct SinkContext {
    pub(super) reporter: Reporter,
    handler: Mutex<Box<dyn Rebalance>>,
    seats: Mutex<Seats>,
    /// The queue that every seated partition is routed to; gone once closing has begun.
    own: Mutex<Option<Queue>>,
    commits: Mutex<Vec<CommitOutcome>>,
    reroute_until: Mutex<Option<Instant>>,
    pub(super) handle: OnceLock<ClientHandle>,
}

/// How long routes are renewed after a change of the assignment. A fetch that is stopped clears its
/// partition's route when the library's thread gets to it, which may be after the partition was
/// routed and started anew; the partition would then feed no queue at all, silently.
const REROUTE: Duration = Duration::from_secs(5);

/// A panic in a callback leaves these values whole: each is changed in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SinkContext {
    pub(super) fn new(reporter: Reporter, handler: Box<dyn Rebalance>) -> SinkContext {
        SinkContext {
            reporter,
            handler: Mutex::new(handler),
            seats: Mutex::default(),
            own: Mutex::new(None),
            commits: Mutex::default(),
            reroute_until: Mutex::new(None),
            handle: OnceLock::new(),
        }
    }

    pub(super) fn seats(&self) -> MutexGuard<'_, Seats> {
        lock(&self.seats)
    }

    pub(super) fn own(&self) -> MutexGuard<'_, Option<Queue>> {
        lock(&self.own)
    }

    pub(super) fn take_commits(&self) -> Vec<CommitOutcome> {
        std::mem::take(&mut *lock(&self.commits))
    }

    pub(super) fn explain(&self, error: Error) -> Error {
        self.reporter.explain(error)
    }

    /// Tells the handler of partitions that are gone without librdkafka having said so, and lets go
    /// of the handler.
    pub(super) fn finish(&self, lost: bool) {
        let gone = self.seats().clear();
        self.tell_revoked(&gone, lost);
        *lock(&self.handler) = Box::new(NoRebalance);
    }

    fn tell_revoked(&self, partitions: &[TopicPartition], lost: bool) {
        if let (false, Some(handle)) = (partitions.is_empty(), self.handle.get()) {
            lock(&self.handler).revoked(handle, partitions, lost);
        }
    }

    /// Routes partitions to the own queue, now and repeatedly for [`REROUTE`].
    pub(super) fn route(&self, client: &BaseConsumer<SinkContext>, list: &[(TopicPartition, i64)]) {
        *lock(&self.reroute_until) = Some(deadline(REROUTE));
        if let Some(own) = self.own().as_ref() {
            for (tp, _) in list {
                ffi::route(client.client().native_client(), tp, Some(own));
            }
        }
    }

    /// Whether the assignment changed so short a while ago that routes must be renewed.
    pub(super) fn is_renewing(&self) -> bool {
        lock(&self.reroute_until).is_some_and(|until| Instant::now() < until)
    }

    /// Routes all seated partitions again while that is needed.
    pub(super) fn reroute(&self, client: &BaseConsumer<SinkContext>) {
        if !self.is_renewing() {
            return;
        }
        if let Some(own) = self.own().as_ref() {
            for (tp, _) in self.seats().positions() {
                ffi::route(client.client().native_client(), &tp, Some(own));
            }
        }
    }

    /// Puts partitions that stand at their end back to their true position; librdkafka resumes them
    /// one record too far after the pause that each rebalance brings (see `seats`).
    pub(super) fn restore_positions(
        &self,
        client: &BaseConsumer<SinkContext>,
        except: &[TopicPartition],
    ) {
        let mut ends = self.seats().at_end();
        ends.retain(|(tp, _)| !except.contains(tp));
        if let Err(e) = seek(client, &ends) {
            tracing::warn!(target: "kafka", "cannot restore positions: {e}");
        }
    }

    fn assign(
        &self,
        client: &BaseConsumer<SinkContext>,
        partitions: Vec<TopicPartition>,
    ) -> Result<()> {
        let cooperative = is_cooperative(client);
        if self.own().is_none() {
            // Closing: take nothing.
            return change(client, &TopicPartitionList::new(), Change::assign(cooperative));
        }
        self.restore_positions(client, &[]);
        let starts = match self.handle.get() {
            Some(handle) => lock(&self.handler).assigned(handle, &partitions),
            None => Vec::new(),
        };
        let starts = starts.into_iter().chain(std::iter::repeat(None));
        let mut now = Vec::new();
        let mut later = Vec::new();
        for (tp, start) in partitions.into_iter().zip(starts) {
            let start = start.filter(|offset| *offset >= 0);
            self.seats().take(tp.clone(), start);
            match start {
                Some(offset) => now.push((tp, offset)),
                None => later.push(tp),
            }
        }
        let mut list = lists::with_offsets(now.iter().map(|(tp, o)| (tp, *o)))?;
        if !cooperative && !later.is_empty() {
            // An eager group must be given all at once; `seat` moves these from their placeholder.
            // Paused before (which needs the partition to exist: routing sees to that) and after the
            // assignment, so that nothing is fetched from there.
            add_placeholders(&mut list, &later);
            let waiting: Vec<_> = later.iter().map(|tp| (tp.clone(), PLACEHOLDER)).collect();
            self.route(client, &waiting);
            let _ = client.pause(&lists::partitions(&later));
        }
        self.route(client, &now);
        let done = change(client, &list, Change::assign(cooperative));
        if !cooperative && !later.is_empty() {
            let _ = client.pause(&lists::partitions(&later));
        }
        // Again: a fetch that was just stopped may have cleared the route after the first call.
        self.route(client, &now);
        done
    }

    fn revoke(
        &self,
        client: &BaseConsumer<SinkContext>,
        partitions: Vec<TopicPartition>,
    ) -> Result<()> {
        let cooperative = is_cooperative(client);
        let lost = client.assignment_lost();
        self.restore_positions(client, &partitions);
        let known: Vec<TopicPartition> =
            partitions.iter().filter(|tp| self.seats().get(tp).is_some()).cloned().collect();
        self.tell_revoked(&known, lost);
        let mut paused = Vec::new();
        for tp in &partitions {
            if let Some(seat) = self.seats().remove(tp)
                && (seat.paused || (!cooperative && seat.position.is_none()))
            {
                paused.push(tp);
            }
        }
        if !paused.is_empty() {
            // The library remembers a pause beyond the assignment it belongs to.
            let _ = client.resume(&lists::partitions(paused));
        }
        // Only what was assigned may be taken away: partitions that waited for a seat were not.
        let assigned = client.assignment().map(|list| ffi::entries(&list)).unwrap_or_default();
        let held = partitions.iter().filter(|tp| assigned.iter().any(|e| e.tp == **tp));
        change(client, &lists::partitions(held), Change::unassign(cooperative))
    }
}

/// Where a partition of an eager group waits for its seat. A number: the library looks a logical
/// offset such as the end up, and an answer that comes late overrides the seat.
const PLACEHOLDER: i64 = 0;

pub(super) fn add_placeholders(list: &mut TopicPartitionList, waiting: &[TopicPartition]) {
    for tp in waiting {
        // Fails for unrepresentable offsets only.
        let _ = list.add_partition_offset(&tp.topic, tp.partition, Offset::Offset(PLACEHOLDER));
    }
}

/// Moves assigned partitions to offsets, without waiting.
pub(super) fn seek(
    client: &BaseConsumer<SinkContext>,
    list: &[(TopicPartition, i64)],
) -> Result<()> {
    if list.is_empty() {
        return Ok(());
    }
    let list = lists::with_offsets(list.iter().map(|(tp, o)| (tp, *o)))?;
    let done = client.seek_partitions(list, Duration::ZERO);
    done.map(drop).map_err(|e| Error::from_kafka(&e, "seek"))
}

pub(super) fn is_cooperative(client: &BaseConsumer<SinkContext>) -> bool {
    matches!(client.rebalance_protocol(), RebalanceProtocol::Cooperative)
}

enum Change {
    Assign,
    AddAssign,
    Unassign,
    RemoveAssign,
}

impl Change {
    fn assign(cooperative: bool) -> Change {
        if cooperative { Change::AddAssign } else { Change::Assign }
    }

    fn unassign(cooperative: bool) -> Change {
        if cooperative { Change::RemoveAssign } else { Change::Unassign }
    }
}

fn change(
    client: &BaseConsumer<SinkContext>,
    list: &TopicPartitionList,
    change: Change,
) -> Result<()> {
    match change {
        Change::Assign => client.assign(list),
        Change::AddAssign => client.incremental_assign(list),
        Change::Unassign => client.unassign(),
        Change::RemoveAssign => client.incremental_unassign(list),
    }
    .map_err(|e| Error::from_kafka(&e, "change the assignment"))
}

impl ClientContext for SinkContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.reporter.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.reporter.error(&error, reason);
    }

    fn stats_raw(&self, _: &[u8]) {}
}

impl ConsumerContext for SinkContext {
    fn rebalance(
        &self,
        client: &BaseConsumer<Self>,
        err: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let partitions = ffi::entries(list).into_iter().map(|e| e.tp).collect();
        let done = match err {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => {
                self.assign(client, partitions).inspect_err(|_| {
                    // The group waits for an answer, whatever it is.
                    let none = TopicPartitionList::new();
                    let _ = change(client, &none, Change::assign(is_cooperative(client)));
                })
            }
            _ => self.revoke(client, partitions),
        };
        if let Err(e) = done {
            // Fatal errors come here too; the owner is told by poll.
            tracing::warn!(target: "kafka", "rebalance: {e}");
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        let overall = result.err().and_then(|e| e.rdkafka_error_code()).map_or(0, |c| c as i32);
        const NO_OFFSET: i32 = rdkafka::error::RDKafkaErrorCode::NoOffset as i32;
        if overall == NO_OFFSET {
            return;
        }
        let entries = ffi::entries(offsets);
        let code = entries.iter().map(|e| e.code).find(|c| *c != 0).unwrap_or(overall);
        let positions = entries
            .into_iter()
            .map(|e| Position::new(e.tp, e.offset).with_metadata(e.metadata))
            .collect();
        let result = if code == 0 { Ok(()) } else { Err(commit_error(code)) };
        lock(&self.commits).push(CommitOutcome { positions, result });
    }
}
