//! The runtime's side of a rebalance; runs on the fetch thread inside a poll.
//!
//! Polling must never wait for a database: a partition whose destination does not answer in time is
//! left out and seated later, and a revocation waits for what is in flight only up to a deadline. The
//! offset row, not this wait, keeps two owners apart.

use super::mirror::Mirror;
use super::shared::Shared;
use super::start::MIRROR;
use data::TopicPartition;
use kafka::{ClientHandle, Position, Rebalance};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const OPEN_WAIT: Duration = Duration::from_secs(2);
const COMMIT_WAIT: Duration = Duration::from_secs(1);

/// How long a revocation waits, in milliseconds; a stop shortens it.
#[derive(Clone, Debug)]
pub(crate) struct CloseWait(Arc<AtomicU64>);

impl CloseWait {
    pub(crate) fn new(wait: Duration) -> Self {
        CloseWait(Arc::new(AtomicU64::new(wait.as_millis() as u64)))
    }

    pub(crate) fn set(&self, wait: Duration) {
        self.0.store(wait.as_millis() as u64, Ordering::Release);
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Acquire))
    }
}

/// The mirror of a consumer, used inside its polls and between them, on one thread.
#[derive(Clone, Default)]
pub(crate) struct SharedMirror(Arc<Mutex<Mirror>>);

impl SharedMirror {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Mirror> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct SinkRebalance {
    pub(crate) shared: Arc<Shared>,
    pub(crate) mirror: SharedMirror,
    pub(crate) close_wait: CloseWait,
}

impl Rebalance for SinkRebalance {
    fn assigned(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Vec<Option<i64>> {
        self.shared.metrics().rebalanced();
        self.shared.open(client, partitions);
        let seats = self.shared.wait_for_seats(partitions, OPEN_WAIT);
        let mut mirror = self.mirror.lock();
        for (tp, seat) in partitions.iter().zip(&seats) {
            if let Some(start) = seat {
                mirror.opened(tp.clone(), *start);
            }
        }
        seats
    }

    fn revoked(&mut self, client: &ClientHandle, partitions: &[TopicPartition], lost: bool) {
        self.shared.metrics().rebalanced();
        close(&self.shared, &self.mirror, client, partitions, lost, self.close_wait.get());
    }
}

/// Gives partitions back: nothing of them is delivered any more; what is in flight is waited for, and
/// the group gets the final positions.
pub(crate) fn close(
    shared: &Arc<Shared>,
    mirror: &SharedMirror,
    client: &ClientHandle,
    partitions: &[TopicPartition],
    lost: bool,
    wait: Duration,
) {
    if partitions.is_empty() {
        return;
    }
    let closing = shared.begin_close(partitions, lost);
    if !closing.wait(Instant::now() + wait) {
        tracing::warn!(
            waited_ms = wait.as_millis() as u64,
            "partitions are given back before the destination has answered"
        );
    }
    shared.drop_seats(partitions);
    shared.progress().forget(partitions);
    let untold = {
        let mut mirror = mirror.lock();
        mirror.moved(shared.take_durable(Some(partitions)));
        mirror.let_go(partitions)
    };
    if lost || untold.is_empty() {
        return;
    }
    let positions = marked(shared, untold);
    let (metrics, started) = (shared.metrics(), Instant::now());
    metrics.committing();
    let outcome = client.commit_sync(&positions, COMMIT_WAIT);
    metrics.committed(outcome.is_ok(), started.elapsed());
    if let Err(error) = outcome {
        tracing::debug!("group offsets not mirrored: {error}");
    }
}

/// Positions as the group keeps them, marked where they mirror the destination's own.
pub(crate) fn marked(shared: &Shared, durable: Vec<(TopicPartition, i64)>) -> Vec<Position> {
    let mark = if shared.mirrors() { MIRROR } else { "" };
    let position = |(tp, offset)| Position::new(tp, offset).with_metadata(mark);
    durable.into_iter().map(position).collect()
}
