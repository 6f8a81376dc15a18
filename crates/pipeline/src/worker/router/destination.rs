//! A destination: one lane of one consumer, and where it stands in its partitions.

use data::TopicPartition;
use kafka::ClientHandle;
use runtime::{Lane, StatusCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longer than a large transaction takes.
const STUCK: Duration = Duration::from_secs(5);

/// How a destination is fed in one partition. Positions are those of the next push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    /// It was asked for its start.
    Opening,
    /// The fetch thread pushes.
    Live(i64),
    /// It stands so far behind, or did so badly, that nobody pushes.
    Behind(i64),
    /// A reader of its own pushes.
    Reading { at: i64, turn: u64 },
    /// It has caught up; the fetch thread is to come to it.
    Joining(i64),
}

impl Feed {
    pub(super) fn live(self) -> Option<i64> {
        match self {
            Feed::Live(at) => Some(at),
            _ => None,
        }
    }
}

/// Why a lane has ended.
#[derive(Clone, Debug)]
pub(in crate::worker) struct Failure {
    pub(in crate::worker) message: String,
    pub(in crate::worker) hint: Option<String>,
    pub(in crate::worker) record: Option<(TopicPartition, i64)>,
    /// The consumer whose record it is, where the lane has several.
    pub(in crate::worker) consumer: Option<i32>,
}

/// Ends of partitions as they were when they were opened: until then a consumer is catching up.
pub(in crate::worker) type Goals = Arc<Mutex<BTreeMap<i32, i64>>>;

/// One lane of one consumer, or of several.
pub(in crate::worker) struct Destination {
    /// Never used twice in a process.
    pub(in crate::worker) number: u64,
    /// More than one where they are committed together.
    pub(in crate::worker) consumers: Vec<i32>,
    pub(in crate::worker) topic: Arc<str>,
    /// Which of the consumer's lanes it is, and how many there are.
    pub(in crate::worker) place: (u32, u32),
    /// Its positions are mirrored to the group.
    pub(in crate::worker) mirrors: bool,
    pub(in crate::worker) lane: Arc<Lane>,
    pub(in crate::worker) status: StatusCell,
    pub(in crate::worker) goals: Goals,
    pub(super) feeds: BTreeMap<i32, Feed>,
    pub(super) durable: BTreeMap<i32, i64>,
    pub(super) failure: Option<Failure>,
    /// Since when it takes nothing more and makes no progress, and how far it had come.
    full_since: Option<(Instant, i64)>,
}

impl Destination {
    pub(in crate::worker) fn new(
        (number, consumers): (u64, Vec<i32>),
        topic: Arc<str>,
        place: (u32, u32),
        mirrors: bool,
        (lane, status, goals): (Lane, StatusCell, Goals),
    ) -> Destination {
        Destination {
            number,
            consumers,
            topic,
            place,
            mirrors,
            lane: Arc::new(lane),
            status,
            goals,
            feeds: BTreeMap::new(),
            durable: BTreeMap::new(),
            failure: None,
            full_since: None,
        }
    }

    /// What it is called by in messages.
    pub(super) fn first(&self) -> i32 {
        self.consumers.first().copied().unwrap_or_default()
    }

    /// Whether a partition is one of its own.
    pub(super) fn takes(&self, tp: &TopicPartition) -> bool {
        let (lane, lanes) = self.place;
        tp.topic == self.topic && tp.partition as u32 % lanes.max(1) == lane
    }

    pub(super) fn open(&mut self, client: &ClientHandle, partitions: &[TopicPartition]) {
        for tp in partitions {
            self.feeds.insert(tp.partition, Feed::Opening);
        }
        if !partitions.is_empty() && self.lane.is_delivering() {
            self.lane.open(client, partitions);
        }
    }

    pub(super) fn tp(&self, partition: i32) -> TopicPartition {
        TopicPartition::new(self.topic.clone(), partition)
    }

    /// Positions that became durable since the last call, and the failure that it ended with.
    pub(super) fn listen(&mut self) {
        for (tp, offset) in self.lane.take_durable() {
            self.durable.insert(tp.partition, offset);
        }
        if let Some(Err(error)) = self.lane.outcome() {
            let consumer = error.member.and_then(|member| self.consumers.get(member).copied());
            let api::Error { message, hint, record, .. } = error;
            self.failure = Some(Failure { message, hint, record, consumer });
        }
    }

    /// Whether it works: nothing is retried and more can be pushed.
    pub(super) fn is_well(&self) -> bool {
        self.lane.is_delivering() && self.status.get().retrying.is_none() && self.lane.has_room()
    }

    /// Whether it has taken nothing more and made nothing durable for long.
    pub(super) fn is_stuck(&mut self, now: Instant) -> bool {
        let come: i64 = self.durable.values().sum();
        if self.lane.has_room() {
            self.full_since = None;
            return false;
        }
        let (since, before) = *self.full_since.get_or_insert((now, come));
        if before != come {
            self.full_since = Some((now, come));
            return false;
        }
        now.duration_since(since) > STUCK
    }

    /// A partition whose end at its opening has not been reached.
    pub(super) fn is_catching_up(&self, partition: i32) -> bool {
        let goals = self.goals.lock().unwrap_or_else(PoisonError::into_inner);
        let goal = goals.get(&partition).copied().unwrap_or(0);
        self.durable.get(&partition).copied().unwrap_or(0) < goal
    }
}
