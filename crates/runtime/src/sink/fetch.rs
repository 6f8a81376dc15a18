//! The fetch thread: drives the consumer, fills the mailbox, mirrors positions to the group.
//!
//! It never waits for the destination. When the mailbox is full it serves events only, so the group
//! keeps its member while librdkafka stops fetching by itself.

use super::rebalance::{CloseWait, SharedMirror, SinkRebalance, close, marked};
use super::settings::SinkTaskSettings;
use super::shared::{Command, Shared};
use super::start::{GroupStarts, kafka_error};
use super::stop::{StopMode, StopSignal};
use crate::metrics::Phase;
use crate::status::Retrying;
use api::Error;
use data::{RawBatch, TopicPartition};
use kafka::settings::Reset;
use kafka::{CommitOutcome, ErrorKind as K, PollLimits, Polled, SinkConsumer, Trouble};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The longest a poll sleeps: seats, commits and new topics are looked after in between.
const POLL_WAIT: Duration = Duration::from_millis(100);
const ROOM_WAIT: Duration = Duration::from_millis(20);
const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// How often brokers are asked where partitions end while nothing is fetched, and how long they may take.
const ENDS_INTERVAL: Duration = Duration::from_secs(5);
const ENDS_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the metrics hear where the partitions stand.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// A client that is fenced twice within this has a rival; one that is fenced once met itself.
const FENCED_AGAIN: Duration = Duration::from_secs(60);

pub(crate) struct Fetch {
    settings: SinkTaskSettings,
    shared: Arc<Shared>,
    mirror: SharedMirror,
    consumer: SinkConsumer,
    stop: StopSignal,
    close_wait: CloseWait,
    starts: GroupStarts,
    limits: PollLimits,
    next_commit: Instant,
    /// When the commits were sent whose outcome has not come.
    committing: VecDeque<Instant>,
    next_report: Instant,
    /// Since when nothing was to be fetched; the client learns nothing of the partitions' ends then.
    idle_since: Option<Instant>,
    /// What the brokers said of these meanwhile.
    ends: BTreeMap<TopicPartition, i64>,
    next_topics: Instant,
    subscribed: Vec<String>,
    troubled: bool,
    /// The trouble that was logged last; repetitions are not.
    last_trouble: Option<String>,
    /// Without a group: all partitions have been assigned.
    self_assigned: bool,
    /// When the client was last replaced because it was fenced.
    fenced: Option<Instant>,
}

impl Fetch {
    /// # Errors
    /// Settings the client refuses.
    pub(crate) fn new(
        settings: SinkTaskSettings,
        shared: Arc<Shared>,
        stop: StopSignal,
        starts: GroupStarts,
    ) -> Result<Self, Error> {
        let close_wait = CloseWait::new(settings.shutdown_timeout);
        let mirror = SharedMirror::default();
        let consumer = new_consumer(&settings, (&shared, &mirror), &close_wait, &stop)?;
        // A poll is made where there is room for anything, so it may not bring more than that again.
        let limits = PollLimits {
            rows_max: settings.batch_rows_max,
            bytes_max: settings.batch_bytes_max.min(settings.queue_bytes_max),
        };
        let now = Instant::now();
        Ok(Fetch {
            next_commit: now + settings.commit_interval,
            committing: VecDeque::new(),
            next_report: now,
            idle_since: None,
            ends: BTreeMap::new(),
            next_topics: now,
            settings,
            shared,
            mirror,
            consumer,
            stop,
            close_wait,
            starts,
            limits,
            subscribed: Vec::new(),
            troubled: false,
            last_trouble: None,
            self_assigned: false,
            fenced: None,
        })
    }

    /// Runs until stopped, or until either thread cannot go on.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let result = self.fetch();
        let mode = self.stop.mode();
        if mode == Some(StopMode::Leave) {
            self.close_wait.set(StopMode::LEAVE_WAIT.min(self.settings.shutdown_timeout));
        }
        if self.settings.self_assign {
            let all = self.consumer.assignment();
            self.close(&all, false, self.settings.shutdown_timeout);
        }
        match mode {
            Some(StopMode::Stay) => self.consumer.close(),
            Some(StopMode::Leave) | None => self.consumer.leave(),
        }
        result
    }

    fn close(&self, partitions: &[TopicPartition], lost: bool, wait: Duration) {
        let client = self.consumer.handle();
        close(&self.shared, &self.mirror, client, partitions, lost, wait);
    }

    fn fetch(&mut self) -> Result<(), Error> {
        while self.stop.mode().is_none() && self.shared.is_delivering() {
            if self.settings.self_assign && !self.self_assigned {
                self.self_assigned = self.assign_all()?;
            } else {
                if !self.settings.self_assign {
                    self.follow_topics()?;
                }
                self.take_seats()?;
            }
            self.mirror_positions();
            self.report();
            let room = self.shared.mailbox.room();
            let polled = self.poll(room).map_err(kafka_error)?;
            self.take(polled)?;
            if room.is_none() {
                self.shared.mailbox.wait_for_room(ROOM_WAIT);
            }
        }
        Ok(())
    }

    /// Polls for at most so many bytes; without room for events alone.
    fn poll(&mut self, room: Option<usize>) -> kafka::Result<Polled> {
        let started = Instant::now();
        self.idle_since = if room.is_none() { self.idle_since.or(Some(started)) } else { None };
        let polled = match room {
            None => {
                let events_only = PollLimits { rows_max: 0, bytes_max: 0 };
                self.consumer.poll(Duration::ZERO, events_only)
            }
            Some(bytes) => {
                self.consumer.share_prefix(self.shared.value_prefix());
                let bytes_max = self.limits.bytes_max.min(bytes);
                self.consumer.poll(POLL_WAIT, PollLimits { bytes_max, ..self.limits })
            }
        };
        let busy = started.elapsed().saturating_sub(self.consumer.take_waited());
        self.shared.metrics().spent(Phase::Fetch, busy);
        polled
    }

    /// Tells where the partitions stand, now and then.
    fn report(&mut self) {
        let now = Instant::now();
        if now >= self.next_report {
            self.next_report = now + REPORT_INTERVAL;
            self.ask_for_ends(now);
            let end =
                |tp: &TopicPartition| self.consumer.known_end(tp).max(self.ends.get(tp).copied());
            let metrics = self.shared.metrics();
            let told =
                if self.settings.self_assign { self.self_assigned } else { metrics.has_joined() };
            let assigned = told.then(|| self.consumer.assignment());
            let lags = self.shared.progress().lags(assigned.as_deref(), end);
            metrics.report(lags);
        }
    }

    /// While the destination is slow, the lag grows and no fetch tells so.
    fn ask_for_ends(&mut self, now: Instant) {
        let Some(since) = self.idle_since else { return self.ends.clear() };
        if now.saturating_duration_since(since) < ENDS_INTERVAL {
            return;
        }
        self.idle_since = Some(now);
        let partitions = self.consumer.assignment();
        match self.consumer.handle().ends(&partitions, ENDS_TIMEOUT) {
            Ok(ends) => {
                let known = partitions.into_iter().zip(ends);
                self.ends.extend(known.filter_map(|(tp, end)| Some((tp, end?))));
            }
            Err(error) => tracing::debug!("ends of partitions not known: {error}"),
        }
    }

    fn take(&mut self, polled: Polled) -> Result<(), Error> {
        if self.troubled && !(polled.batches.is_empty() && polled.ends.is_empty()) {
            self.troubled = false;
            self.last_trouble = None;
            self.shared.status.update(|status| status.retrying = None);
        }
        let (mut rows, mut bytes) = (0, 0);
        for batch in polled.batches {
            rows += batch.len() as u64;
            bytes += batch.bytes() as u64;
            self.shared.progress().fetched(&batch);
            self.shared.mailbox.push(batch);
        }
        self.shared.metrics().fetched(rows, bytes);
        for (tp, end) in polled.ends {
            self.shared.progress().moved(&tp, end);
            self.shared.mailbox.push(RawBatch::empty(tp, end));
        }
        for outcome in polled.commits {
            let took = self.committing.pop_front().map_or(Duration::ZERO, |at| at.elapsed());
            self.shared.metrics().committed(outcome.result.is_ok(), took);
            self.mirrored(outcome);
        }
        let client = self.fenced;
        for trouble in polled.errors {
            self.face(trouble)?;
            if self.fenced != client {
                // The rest is about the client that was replaced, mostly the same once more.
                break;
            }
        }
        Ok(())
    }

    /// Troubles that pass are shown in the status; others end the task.
    fn face(&mut self, trouble: Trouble) -> Result<(), Error> {
        let Trouble { at, error } = trouble;
        match (error.kind(), at) {
            (K::OffsetOutOfRange, Some(tp)) => self.out_of_range(&tp),
            (K::Authentication | K::Authorization | K::Configuration | K::Fatal, _) => {
                Err(kafka_error(error).source("the kafka client cannot go on".to_owned()))
            }
            (K::Fenced, _) => self.join_anew(&error),
            _ => {
                self.wait_for_kafka(&error);
                Ok(())
            }
        }
    }

    /// A member that was cut off from the brokers for longer than its session joins anew, and what it
    /// had sent before may then be answered as if from a second one. Such a client is of no use any
    /// more and is replaced; where a rival has the same identity, that happens again at once.
    fn join_anew(&mut self, error: &kafka::Error) -> Result<(), Error> {
        let all = self.consumer.assignment();
        self.close(&all, true, Duration::ZERO);
        let now = Instant::now();
        let before = self.fenced.replace(now);
        if before.is_some_and(|before| now.duration_since(before) < FENCED_AGAIN) {
            return Err(Error::config(format!(
                "another worker has taken this task's seat: {error}"
            ))
            .hint("stop the other worker, or give one of them another listener port or name"));
        }
        tracing::warn!("joining the group anew: {error}");
        let shared = (&self.shared, &self.mirror);
        self.consumer = new_consumer(&self.settings, shared, &self.close_wait, &self.stop)?;
        self.committing.clear();
        self.subscribed.clear();
        self.self_assigned = false;
        self.next_topics = now;
        Ok(())
    }

    fn wait_for_kafka(&mut self, error: &kafka::Error) {
        let now = SystemTime::now();
        self.troubled = true;
        let reason = kafka_error(error.clone()).report();
        if self.last_trouble.as_ref() != Some(&reason) {
            tracing::warn!("waiting for kafka: {reason}");
            self.last_trouble = Some(reason.clone());
        }
        self.shared.status.update(|status| {
            let (attempts, since) =
                status.retrying.as_ref().map_or((1, now), |r| (r.attempts + 1, r.since));
            let next_attempt = now + Duration::from_secs(1);
            status.retrying =
                Some(Retrying { reason, sqlstate: None, attempts, since, next_attempt });
        });
    }

    /// The log no longer reaches back to our position (or has been cut short): the gap is said and the
    /// configured reset followed.
    fn out_of_range(&mut self, tp: &TopicPartition) -> Result<(), Error> {
        let Some(position) = self.consumer.position(tp) else { return Ok(()) };
        if self.settings.reset == Reset::None {
            return Err(Error::config(format!(
                "position {position} of {tp} is not in the log any more and auto.offset.reset is none"
            ))
            .hint("set consumer.override.auto.offset.reset to earliest or latest to go on"));
        }
        let reset = self.starts.reset(self.consumer.handle(), tp)?;
        if reset < position {
            return Err(Error::config(format!(
                "the log of {tp} ends before our position {position}: records were lost in Kafka, or \
                 the topic was created anew"
            ))
            .hint("stop the connector, set its row in copycat_offsets (next_offset to where it shall go on, \
                 epoch = epoch + 1), and resume it"));
        }
        tracing::warn!(partition = %tp, from = position, to = reset,
            "gap: these offsets are not in the log any more and were never read");
        self.shared.mailbox.push(RawBatch::empty(tp.clone(), reset));
        self.consumer.seat(tp, reset).map_err(kafka_error)?;
        Ok(())
    }

    /// Seats partitions whose start came too late for the rebalance, or that were opened again.
    fn take_seats(&mut self) -> Result<(), Error> {
        let seats = self.shared.take_seats();
        if seats.is_empty() {
            return Ok(());
        }
        let partitions: Vec<TopicPartition> = seats.keys().cloned().collect();
        self.shared.mailbox.drop_partitions(&partitions);
        for (tp, seat) in &seats {
            self.shared.progress().seated(tp, seat.offset);
            if self.consumer.seat(tp, seat.offset).map_err(kafka_error)? {
                self.mirror.lock().opened(tp.clone(), seat.offset);
            }
        }
        self.shared.mailbox.command(Command::Reseated(seats));
        Ok(())
    }

    fn follow_topics(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if now < self.next_topics {
            return Ok(());
        }
        self.next_topics = now + self.settings.topics_refresh;
        let wanted = match self.topics() {
            Ok(wanted) => wanted,
            Err(error) if error.is_retriable() => {
                self.wait_for_kafka(&error);
                self.next_topics = now + Duration::from_secs(1);
                return Ok(());
            }
            Err(error) => return Err(kafka_error(error)),
        };
        if wanted != self.subscribed && !wanted.is_empty() {
            tracing::info!("subscribing to {}", wanted.join(", "));
            let names: Vec<&str> = wanted.iter().map(String::as_str).collect();
            self.consumer.subscribe(&names).map_err(kafka_error)?;
            self.subscribed = wanted;
        }
        Ok(())
    }

    fn topics(&self) -> kafka::Result<Vec<String>> {
        self.settings.topics.select(|| self.consumer.handle().list_topics(ASK_TIMEOUT))
    }

    /// Without a group: all partitions of all topics, once their starts are known.
    fn assign_all(&mut self) -> Result<bool, Error> {
        let mut partitions = Vec::new();
        for topic in self.topics().map_err(kafka_error)? {
            match self.consumer.handle().topic(&topic, ASK_TIMEOUT) {
                Ok(found) => partitions.extend(
                    (0..found.partitions).map(|p| TopicPartition::new(topic.as_str(), p as i32)),
                ),
                Err(error) if error.is_retriable() || error.kind() == K::UnknownTopic => {
                    self.wait_for_kafka(&error);
                    return Ok(false);
                }
                Err(error) => return Err(kafka_error(error)),
            }
        }
        self.shared.open(self.consumer.handle(), &partitions);
        let mut starts = vec![None; partitions.len()];
        while starts.iter().any(Option::is_none)
            && self.stop.mode().is_none()
            && self.shared.is_delivering()
        {
            let found = self.shared.wait_for_seats(&partitions, POLL_WAIT);
            for (start, found) in starts.iter_mut().zip(found) {
                *start = start.or(found);
            }
        }
        let seats: Vec<_> =
            partitions.into_iter().zip(starts).filter_map(|(tp, at)| Some((tp, at?))).collect();
        self.consumer.assign_manually(&seats).map_err(kafka_error)?;
        for (tp, start) in seats {
            self.mirror.lock().opened(tp, start);
        }
        Ok(true)
    }

    fn mirror_positions(&mut self) {
        let now = Instant::now();
        if now < self.next_commit {
            return;
        }
        self.next_commit = now + self.settings.commit_interval;
        let due = {
            let mut mirror = self.mirror.lock();
            mirror.moved(self.shared.take_durable(None));
            mirror.take_due()
        };
        if due.is_empty() {
            return;
        }
        let positions = marked(&self.shared, due);
        self.shared.metrics().committing();
        match self.consumer.commit_async(&positions) {
            Ok(()) => self.committing.push_back(now),
            Err(error) => {
                self.shared.metrics().committed(false, Duration::ZERO);
                self.mirrored(CommitOutcome { positions, result: Err(error) });
            }
        }
    }

    /// What the group has not kept it is asked for again after the commit interval.
    fn mirrored(&self, outcome: CommitOutcome) {
        let kept = match outcome.result {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!("group offsets not mirrored: {error}");
                false
            }
        };
        let mut mirror = self.mirror.lock();
        for position in outcome.positions {
            mirror.answered(&position.tp, position.offset, kept);
        }
    }
}

fn new_consumer(
    settings: &SinkTaskSettings,
    (shared, mirror): (&Arc<Shared>, &SharedMirror),
    close_wait: &CloseWait,
    stop: &StopSignal,
) -> Result<SinkConsumer, Error> {
    let (shared, mirror, close_wait) = (shared.clone(), mirror.clone(), close_wait.clone());
    let rebalance = SinkRebalance { shared, mirror, close_wait };
    let consumer =
        SinkConsumer::new(&settings.consumer, Box::new(rebalance)).map_err(kafka_error)?;
    stop.wake_with(consumer.waker());
    Ok(consumer)
}
