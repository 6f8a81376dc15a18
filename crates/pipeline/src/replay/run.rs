//! Carrying out a replay, from the lease to the last record.
//!
//! Place in the data path: a thread reads without a group, the lanes' threads decode and write. A
//! partition belongs to one lane, so that its order stays.

use super::Definition;
use super::ask::{Asking, LEASE_SECONDS, Lease};
use super::range::{Range, again, ranges};
use crate::control::Questions;
use crate::worker::lanes::lanes_of;
use crate::worker::properties::{Clients, clients};
use crate::worker::starts::{of_database, topic_of};
use crate::worker::words::{error_in_sql, in_sql};
use api::{Error, ErrorKind};
use data::{RawBatch, TopicPartition};
use kafka::{Admin, ErrorKind as K, NoRebalance, PollLimits, Polled, SinkConsumer};
use runtime::{Budget, Lane, StatusCell, kafka_error};
use sql::postgres::SessionPool;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL_WAIT: Duration = Duration::from_millis(50);
const ROOM_WAIT: Duration = Duration::from_millis(50);
const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 2 << 20 };
const NONE: PollLimits = PollLimits { rows_max: 0, bytes_max: 0 };
/// How often the lease is kept and states are told.
const TELL: Duration = Duration::from_secs(3);
const LEAVE: Duration = Duration::from_secs(8);

/// How far a replay has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Offsets of the range that are behind it, over all partitions.
    pub done: i64,
    /// Offsets of the range.
    pub all: i64,
    /// Records that became rows since this process took it.
    pub rows: u64,
    /// Records that became dead letters since then.
    pub letters: u64,
    /// Why it stands still.
    pub trouble: Option<String>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum End {
    Done,
    /// It was cancelled or changed.
    Over,
    /// Another process runs it.
    Taken,
    Stopped,
    /// Someone has to act; it may be tried again later.
    Blocked(Error),
    /// Something outside is down.
    Away(Error),
}

/// What running a replay needs.
pub(crate) struct Run<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) owner: &'a str,
    pub(crate) questions: &'a Questions,
    pub(crate) pool: &'a Arc<SessionPool>,
    pub(crate) budget: &'a Arc<Budget>,
    /// True when this process is to stop, or the replay is not wanted any more.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl Run<'_> {
    /// Runs the replay until it is done or cannot go on, and says so in the schema.
    pub(crate) fn run(&self, progress: &mut dyn FnMut(&Progress)) -> End {
        let attempt = self.attempt(progress).map_err(error_in_sql);
        let end = attempt.unwrap_or_else(|error| match error.kind {
            ErrorKind::Cancelled => End::Stopped,
            ErrorKind::Retriable | ErrorKind::Fenced => End::Away(error),
            _ => End::Blocked(error),
        });
        let asking = self.asking();
        let told = match &end {
            End::Done if self.definition.replay.is_retry => asking.end_retry(),
            End::Done => asking.state("done", None),
            End::Blocked(error) => asking.state("blocked", Some(&error.report())),
            End::Away(error) => asking.state("backing_off", Some(&error.report())),
            End::Stopped => asking.lease(0).map(|_| ()),
            End::Over | End::Taken => Ok(()),
        };
        match (end, told) {
            // Not done before the schema says so.
            (End::Done, Err(error)) => End::Away(of_database(error)),
            (end, _) => end,
        }
    }

    fn asking(&self) -> Asking<'_> {
        let replay = &self.definition.replay;
        Asking {
            questions: self.questions,
            replay: replay.id,
            version: replay.config_version,
            owner: self.owner,
        }
    }

    fn attempt(&self, progress: &mut dyn FnMut(&Progress)) -> Result<End, Error> {
        let asking = self.asking();
        let lease = match asking.lease(LEASE_SECONDS).map_err(of_database)? {
            Lease::Taken => return Ok(End::Taken),
            Lease::Over => return Ok(End::Over),
            lease => lease,
        };
        let clients = clients(&self.definition.cluster).map_err(Error::config)?;
        let mut consumer = self.consumer(&clients)?;
        let admin = Admin::new(&clients.admin).map_err(kafka_error)?;
        let topic = self.definition.consumer.topic.as_str();
        let (topic_id, partitions) = match self.definition.replay.is_retry {
            true => (None, 0),
            false => topic_of(&admin, topic)?,
        };
        if lease == Lease::New {
            let found = ranges(&self.definition.replay, consumer.handle(), topic, partitions)?;
            asking.store(topic_id.as_deref(), &found).map_err(of_database)?;
        }
        let ranges = asking.ranges().map_err(of_database)?;
        let lanes = self.lanes(topic_id.as_deref(), &ranges)?;
        let topic: Arc<str> = Arc::from(topic);
        let part = |(number, range): (usize, Range)| Part::new(&topic, range, number % lanes.len());
        let mut reading = Reading {
            run: self,
            parts: ranges.into_iter().enumerate().map(part).collect(),
            lanes,
            told: Instant::now(),
            trouble: None,
        };
        let end = reading.all(&mut consumer, progress);
        leave(&reading.lanes);
        consumer.close();
        end
    }

    /// As many lanes as the consumer's parallelism and the partitions that are left allow. Letters come
    /// in their order, by one.
    fn lanes(&self, topic_id: Option<&str>, ranges: &[Range]) -> Result<Vec<Delivery>, Error> {
        let definition = self.definition;
        let left = ranges.iter().filter(|range| range.next < range.end).count();
        let parallelism = definition.consumer.settings.parallelism;
        let lanes = match definition.replay.is_retry {
            true => 1,
            false => lanes_of(parallelism, left),
        };
        let mut started = Vec::with_capacity(lanes as usize);
        for number in 0..lanes {
            let (status, topic_id) = (StatusCell::default(), topic_id.map(str::to_owned));
            let (place, given) = ((number, lanes), (self.pool, self.budget));
            match super::lane::start(definition, topic_id, given, place, &status) {
                Ok(lane) => started.push(Delivery { lane, status }),
                Err(error) => {
                    leave(&started);
                    return Err(error);
                }
            }
        }
        Ok(started)
    }

    fn consumer(&self, clients: &Clients) -> Result<SinkConsumer, Error> {
        let mut settings = clients.consumer.clone();
        // The client asks for a name; nothing is committed and no group is joined.
        settings.insert("group.id".to_owned(), format!("replay-{}", self.definition.replay.id));
        settings.entry("client.id".to_owned()).or_insert_with(|| "copycat-pg".to_owned());
        SinkConsumer::new(&settings, Box::new(NoRebalance)).map_err(kafka_error)
    }
}

/// A partition of a replay.
struct Part {
    tp: TopicPartition,
    range: Range,
    /// The lane that it belongs to.
    lane: usize,
    /// What is pushed next; `None`: not opened.
    at: Option<i64>,
    durable: i64,
}

impl Part {
    fn new(topic: &Arc<str>, range: Range, lane: usize) -> Part {
        let tp = TopicPartition::new(topic.clone(), range.partition);
        Part { tp, lane, at: None, durable: range.next, range }
    }

    fn is_done(&self) -> bool {
        self.durable >= self.range.end
    }

    fn is_read(&self) -> bool {
        self.at.is_some_and(|at| at >= self.range.end)
    }
}

/// One lane, and how it fares.
struct Delivery {
    lane: Lane,
    status: StatusCell,
}

/// Ends lanes, all at once.
fn leave(lanes: &[Delivery]) {
    lanes.iter().for_each(|one| one.lane.stop());
    let deadline = Instant::now() + LEAVE;
    for one in lanes {
        if let Err(error) = one.lane.join(deadline) {
            tracing::debug!("a lane of a replay ended: {}", error.report());
        }
    }
}

struct Reading<'a> {
    run: &'a Run<'a>,
    lanes: Vec<Delivery>,
    parts: Vec<Part>,
    told: Instant,
    /// The trouble that was told last.
    trouble: Option<String>,
}

impl Reading<'_> {
    fn all(
        &mut self,
        consumer: &mut SinkConsumer,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<End, Error> {
        if self.parts.iter().all(Part::is_done) {
            return Ok(End::Done);
        }
        for (number, one) in self.lanes.iter().enumerate() {
            let left = self.parts.iter().filter(|part| part.lane == number && !part.is_done());
            let left: Vec<TopicPartition> = left.map(|part| part.tp.clone()).collect();
            if !left.is_empty() {
                one.lane.open(consumer.handle(), &left);
            }
        }
        self.run.asking().state("running", None).map_err(of_database)?;
        loop {
            if (self.run.stop)() {
                return Ok(End::Stopped);
            }
            if let Some(outcome) = self.lanes.iter().find_map(|one| one.lane.outcome()) {
                return outcome.map(|()| End::Stopped);
            }
            for (tp, offset) in self.lanes.iter().flat_map(|one| one.lane.take_durable()) {
                if let Some(part) = self.parts.iter_mut().find(|part| part.tp == tp) {
                    part.durable = offset;
                }
            }
            progress(&self.progress());
            if self.parts.iter().all(Part::is_done) {
                return Ok(End::Done);
            }
            self.seat(consumer)?;
            if let Some(end) = self.tell()? {
                return Ok(end);
            }
            self.read(consumer)?;
        }
    }

    /// Reads from where the lanes were opened, or opened again.
    fn seat(&mut self, consumer: &mut SinkConsumer) -> Result<(), Error> {
        let mut seats: BTreeMap<TopicPartition, i64> = BTreeMap::new();
        for one in &self.lanes {
            let own = one.lane.take_seats();
            if !own.is_empty() {
                let all: Vec<TopicPartition> = own.keys().cloned().collect();
                one.lane.reseated(&all);
                seats.extend(own);
            }
        }
        if seats.is_empty() {
            return Ok(());
        }
        for (tp, offset) in seats {
            if let Some(part) = self.parts.iter_mut().find(|part| part.tp == tp) {
                (part.at, part.durable) = (Some(offset), offset);
            }
        }
        let from =
            |part: &Part| part.at.filter(|_| !part.is_read()).map(|at| (part.tp.clone(), at));
        let from: Vec<(TopicPartition, i64)> = self.parts.iter().filter_map(from).collect();
        match self.run.definition.replay.is_retry {
            // Dead letters are read from where they are kept.
            true => Ok(()),
            false => consumer.assign_manually(&from).map_err(kafka_error),
        }
    }

    fn read(&mut self, consumer: &mut SinkConsumer) -> Result<(), Error> {
        let idle = self.parts.iter().all(|part| part.at.is_none() || part.is_read());
        // What is read next may be of any lane: the others go on with what they have.
        if let Some(full) = self.lanes.iter().find(|one| !one.lane.has_room()) {
            full.lane.wait_for_room(ROOM_WAIT);
            consumer.poll(Duration::ZERO, NONE).map_err(kafka_error)?;
            return Ok(());
        }
        if self.run.definition.replay.is_retry && !idle {
            return self.read_letters();
        }
        let limits = if idle { NONE } else { LIMITS };
        let polled = consumer.poll(POLL_WAIT, limits).map_err(kafka_error)?;
        if idle {
            // The client does not wait where nothing may be taken.
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self.take(polled, consumer)
    }

    /// Pushes the next dead letters of each partition.
    fn read_letters(&mut self) -> Result<(), Error> {
        let replay = self.run.definition.replay.id;
        for part in &mut self.parts {
            let Some(at) = part.at.filter(|at| *at < part.range.end) else { continue };
            let range = (at, part.range.end);
            let batch = super::letters::read(self.run.questions, replay, &part.tp, range);
            let batch = batch.map_err(of_database)?;
            part.at = Some(batch.next_offset());
            if let Some(one) = self.lanes.get(part.lane) {
                one.lane.push(batch);
            }
        }
        Ok(())
    }

    fn take(&mut self, polled: Polled, consumer: &SinkConsumer) -> Result<(), Error> {
        let ends = polled.ends.into_iter().map(|(tp, end)| RawBatch::empty(tp, end));
        for batch in polled.batches.into_iter().chain(ends) {
            let Some(part) = self.parts.iter_mut().find(|part| part.tp == *batch.tp()) else {
                continue;
            };
            let Some(at) = part.at.filter(|at| *at < part.range.end.min(batch.next_offset()))
            else {
                continue;
            };
            let batch = batch.before(part.range.end);
            let old = batch.records().partition_point(|record| record.offset < at);
            part.at = Some(batch.next_offset());
            if let Some(one) = self.lanes.get(part.lane) {
                one.lane.push(if old == 0 { batch } else { batch.tail(old) });
            }
            if part.is_read() {
                consumer.pause(std::slice::from_ref(&part.tp)).map_err(kafka_error)?;
            }
        }
        for trouble in polled.errors {
            match (trouble.error.kind(), trouble.at) {
                (K::OffsetOutOfRange, Some(tp)) => return Err(self.gone(&tp, consumer)),
                (K::Fatal | K::Authentication | K::Authorization, _) => {
                    return Err(kafka_error(trouble.error));
                }
                // The client goes on trying.
                _ => tracing::debug!("{}", trouble.error),
            }
        }
        Ok(())
    }

    fn gone(&self, tp: &TopicPartition, consumer: &SinkConsumer) -> Error {
        let at = self.parts.iter().find(|part| part.tp == *tp).and_then(|part| part.at);
        let marks = consumer.handle().watermarks(tp, Duration::from_secs(5));
        let low = marks.map_or_else(|_| "later".to_owned(), |marks| format!("at {}", marks.low));
        Error::config(format!(
            "partition {} of {} begins {low}: what follows offset {} is not in the log any more",
            tp.partition,
            tp.topic,
            at.unwrap_or_default()
        ))
        .hint(again(&self.run.definition.replay))
    }

    /// Keeps the lease and tells the state, now and then. `Some`: it is somebody else's, or nobody's.
    fn tell(&mut self) -> Result<Option<End>, Error> {
        if self.told.elapsed() < TELL {
            return Ok(None);
        }
        self.told = Instant::now();
        let asking = self.run.asking();
        match asking.lease(LEASE_SECONDS).map_err(of_database)? {
            Lease::Over => return Ok(Some(End::Over)),
            Lease::Taken => return Ok(Some(End::Taken)),
            Lease::New | Lease::Started => {}
        }
        let trouble = self.progress().trouble;
        if trouble != self.trouble {
            let state = if trouble.is_some() { "backing_off" } else { "running" };
            asking.state(state, trouble.as_deref()).map_err(of_database)?;
            self.trouble = trouble;
        }
        Ok(None)
    }

    fn progress(&self) -> Progress {
        let all: Vec<_> = self.lanes.iter().map(|one| one.status.get()).collect();
        Progress {
            done: self.parts.iter().map(|p| p.durable.min(p.range.end) - p.range.start).sum(),
            all: self.parts.iter().map(|p| p.range.end - p.range.start).sum(),
            rows: all.iter().map(|status| status.counters.records_stored).sum(),
            letters: all.iter().map(|status| status.counters.records_reported).sum(),
            trouble: all
                .into_iter()
                .find_map(|s| s.retrying)
                .map(|retrying| in_sql(&retrying.reason)),
        }
    }
}
