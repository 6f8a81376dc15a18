//! The fetch thread of one consumer group: drives the client, feeds the router, mirrors positions.
//!
//! It never waits for a destination: while somebody who reads live can hold no more it serves events
//! only, so that the group keeps its member.

use super::router::{Move, Router};
use data::TopicPartition;
use kafka::{
    ClientHandle, ClientSettings, CommitOutcome, ErrorKind as K, PollLimits, Polled, Position,
    Rebalance, SinkConsumer, Trouble,
};
use runtime::{Backoff, MIRROR};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest a poll sleeps: everything that happens ends it.
const POLL_WAIT: Duration = Duration::from_millis(500);
const ROOM_WAIT: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_secs(1);
const COMMIT_WAIT: Duration = Duration::from_secs(1);
/// How long a revocation waits for destinations.
const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// And when the worker leaves, so that others take over soon.
const LEAVE_WAIT: Duration = Duration::from_millis(1_500);
const RECONNECT: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// A poll is made where there is room for anything, so it brings no more than that again.
const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 2 << 20 };

/// What keeps a group from reading.
#[derive(Clone, Debug)]
pub(super) struct KafkaTrouble {
    pub(super) reason: String,
    /// It does not pass by itself.
    pub(super) needs_change: bool,
    pub(super) at: Instant,
}

/// What the manager tells the fetch thread, and hears of it.
#[derive(Default)]
pub(super) struct GroupShared {
    topics: Mutex<Vec<String>>,
    topics_changed: AtomicBool,
    stop: AtomicBool,
    close_wait_ms: AtomicU64,
    trouble: Mutex<Option<KafkaTrouble>>,
}

impl GroupShared {
    pub(super) fn set_topics(&self, topics: Vec<String>) -> bool {
        let mut current = lock(&self.topics);
        let changed = *current != topics;
        if changed {
            *current = topics;
            self.topics_changed.store(true, Ordering::Release);
        }
        changed
    }

    pub(super) fn stop(&self) {
        let wait = LEAVE_WAIT.as_millis() as u64;
        self.close_wait_ms.store(wait, Ordering::Release);
        self.stop.store(true, Ordering::Release);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn close_wait(&self) -> Duration {
        match self.close_wait_ms.load(Ordering::Acquire) {
            0 => CLOSE_WAIT,
            ms => Duration::from_millis(ms),
        }
    }

    pub(super) fn trouble(&self) -> Option<KafkaTrouble> {
        lock(&self.trouble).clone()
    }

    /// Kafka answers: what was wrong before a moment is over.
    pub(super) fn clear_trouble(&self, before: Instant) {
        let mut trouble = lock(&self.trouble);
        if trouble.as_ref().is_some_and(|trouble| trouble.at < before) {
            tracing::info!("kafka answers again");
            *trouble = None;
        }
    }

    fn set_trouble(&self, reason: String, needs_change: bool) {
        let mut trouble = lock(&self.trouble);
        if trouble.as_ref().is_none_or(|before| before.reason != reason) {
            tracing::warn!("waiting for kafka: {reason}");
        }
        *trouble = Some(KafkaTrouble { reason, needs_change, at: Instant::now() });
    }
}

/// What is guarded is replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct GroupRebalance {
    router: Arc<Router>,
    shared: Arc<GroupShared>,
}

impl Rebalance for GroupRebalance {
    fn assigned(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Vec<Option<i64>> {
        self.router.assign(client, partitions)
    }

    fn revoked(&mut self, client: &ClientHandle, partitions: &[TopicPartition], lost: bool) {
        let deadline = Instant::now() + self.shared.close_wait();
        let positions = self.router.revoke(partitions, lost, deadline);
        if !lost && let Err(error) = client.commit_sync(&mirrored(positions), COMMIT_WAIT) {
            tracing::debug!("group offsets not mirrored: {error}");
        }
    }
}

fn mirrored(positions: Vec<(TopicPartition, i64)>) -> Vec<Position> {
    let position = |(tp, offset)| Position::new(tp, offset).with_metadata(MIRROR);
    positions.into_iter().map(position).collect()
}

/// The loop of one group; see [`Fetch::run`].
pub(super) struct Fetch {
    pub(super) settings: ClientSettings,
    pub(super) router: Arc<Router>,
    pub(super) shared: Arc<GroupShared>,
    consumer: SinkConsumer,
    next_look: Instant,
    backoff: Backoff,
    refused_commit: bool,
}

impl Fetch {
    /// # Errors
    /// Settings the client refuses.
    pub(super) fn new(
        settings: ClientSettings,
        router: Arc<Router>,
        shared: Arc<GroupShared>,
    ) -> kafka::Result<Fetch> {
        let consumer = new_consumer(&settings, &router, &shared)?;
        Ok(Fetch {
            settings,
            router,
            shared,
            consumer,
            next_look: Instant::now(),
            backoff: Backoff::new(RECONNECT.0, RECONNECT.1),
            refused_commit: false,
        })
    }

    /// Fetches until the worker or the group ends; what is in flight is settled before.
    pub(super) fn run(mut self) {
        while !self.shared.is_stopping() {
            if let Err(error) = self.turn() {
                self.start_over(&error);
            }
        }
        let stays = self.settings.contains_key("group.instance.id");
        if stays { self.consumer.close() } else { self.consumer.leave() }
    }

    fn turn(&mut self) -> kafka::Result<()> {
        let now = Instant::now();
        let look = now >= self.next_look;
        if look {
            self.next_look = now + LOOK;
            self.mirror();
        }
        self.subscribe()?;
        for next in self.router.settle(look) {
            self.follow(next)?;
        }
        let full = self.router.is_full();
        let polled = if full {
            self.consumer.poll(Duration::ZERO, PollLimits { rows_max: 0, bytes_max: 0 })?
        } else {
            self.consumer.poll(POLL_WAIT, LIMITS)?
        };
        self.take(polled)?;
        if full {
            self.router.wait_for_room(ROOM_WAIT);
        }
        Ok(())
    }

    fn subscribe(&self) -> kafka::Result<()> {
        if !self.shared.topics_changed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let topics = lock(&self.shared.topics).clone();
        tracing::info!("subscribing to {}", topics.join(", "));
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        self.consumer.subscribe(&names)
    }

    fn follow(&mut self, next: Move) -> kafka::Result<()> {
        match next {
            Move::Seat(tp, offset) => {
                self.consumer.seat(&tp, offset)?;
                self.consumer.resume(std::slice::from_ref(&tp))
            }
            Move::Pause(tp) => self.consumer.pause(std::slice::from_ref(&tp)),
        }
    }

    fn take(&mut self, polled: Polled) -> kafka::Result<()> {
        if !(polled.batches.is_empty() && polled.ends.is_empty()) {
            self.backoff.succeeded();
            self.shared.clear_trouble(Instant::now());
        }
        self.router.distribute(polled.batches, polled.ends);
        for outcome in polled.commits {
            self.told(outcome);
        }
        for Trouble { at, error } in polled.errors {
            match (error.kind(), at) {
                (K::OffsetOutOfRange, Some(tp)) => {
                    tracing::warn!(partition = %tp, "the log does not reach to the position");
                    self.router.reopen(&tp);
                }
                (K::Fatal | K::Fenced, _) => return Err(error),
                // Topics that come and go are the observer's business.
                (K::UnknownTopic, _) => tracing::debug!("{error}"),
                (kind, _) => {
                    let needs_change =
                        matches!(kind, K::Authentication | K::Authorization | K::Configuration);
                    self.shared.set_trouble(runtime::kafka_error(error).report(), needs_change);
                }
            }
        }
        Ok(())
    }

    /// A member that was fenced or whose client cannot go on is replaced by a new one.
    fn start_over(&mut self, error: &kafka::Error) {
        let reason = runtime::kafka_error(error.clone()).report();
        self.shared.set_trouble(format!("joining the group anew: {reason}"), false);
        let all = self.consumer.assignment();
        // Nobody is asked to write any more: others may have the partitions already.
        self.router.revoke(&all, true, Instant::now());
        let until = Instant::now() + self.backoff.failed(0.5);
        while Instant::now() < until && !self.shared.is_stopping() {
            std::thread::park_timeout(ROOM_WAIT);
        }
        match new_consumer(&self.settings, &self.router, &self.shared) {
            Ok(consumer) => {
                self.consumer = consumer;
                self.shared.topics_changed.store(true, Ordering::Release);
            }
            Err(error) => self.shared.set_trouble(error.to_string(), true),
        }
    }

    fn mirror(&mut self) {
        let positions = mirrored(self.router.take_mirror());
        if let Err(error) = self.consumer.commit_async(&positions) {
            self.told(CommitOutcome { positions, result: Err(error) });
        }
    }

    /// What the group has not kept it is asked for again.
    fn told(&mut self, outcome: CommitOutcome) {
        let kept = outcome.result.is_ok();
        for position in outcome.positions {
            self.router.mirrored(&position.tp, position.offset, kept);
        }
        if let Err(error) = outcome.result {
            self.commit_failed(&error);
        }
    }

    fn commit_failed(&mut self, error: &kafka::Error) {
        if error.kind() == K::Authorization && !self.refused_commit {
            self.refused_commit = true;
            tracing::warn!(
                "the group may not store offsets ({error}); positions are in the database, so only \
                 tools that look at the group are affected. With the option mirror=false nothing is \
                 mirrored"
            );
        } else {
            tracing::debug!("group offsets not mirrored: {error}");
        }
    }
}

fn new_consumer(
    settings: &ClientSettings,
    router: &Arc<Router>,
    shared: &Arc<GroupShared>,
) -> kafka::Result<SinkConsumer> {
    let rebalance = GroupRebalance { router: router.clone(), shared: shared.clone() };
    let consumer = SinkConsumer::new(settings, Box::new(rebalance))?;
    router.set_client(consumer.handle().clone(), consumer.waker());
    Ok(consumer)
}
