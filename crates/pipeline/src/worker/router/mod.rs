//! Who gets which fetched batch: the destinations of one consumer group, and how far each has come.
//!
//! Place in the data path: between the group's fetch thread, the readers that catch up, and the lanes
//! that deliver. A partition is fetched once, from the least position of its live destinations; each
//! batch is shared by all of them, and a destination is given what lies at or behind its position.
//!
//! Invariants, for each destination and partition: what is pushed begins where the push before ended,
//! or at the start that was claimed last; nobody but the fetch thread or one reader pushes; the live
//! reader never stands behind the position of a live destination's next push without coming back.

mod assign;
mod destination;
mod feed;
mod place;
mod readers;
mod report;

use data::TopicPartition;
use kafka::{ClientHandle, Waker};
use runtime::{Budget, Mirror};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use destination::{Destination, Failure, Goals};
pub(super) use readers::{Errand, Keep};
pub(super) use report::Report;

/// What the fetch thread has to do with its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Read the partition from here on.
    Seat(TopicPartition, i64),
    /// Nobody takes anything of it for now.
    Pause(TopicPartition),
}

/// The live reader in one assigned partition.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    /// The offset that it reads next; `None`: it does not read.
    at: Option<i64>,
}

#[derive(Default)]
struct State {
    client: Option<ClientHandle>,
    waker: Option<Waker>,
    live: BTreeMap<TopicPartition, Live>,
    destinations: BTreeMap<u64, Destination>,
    by_topic: HashMap<Arc<str>, Vec<u64>>,
    mirror: Mirror,
    /// The positions that the mirror has.
    mirrored: BTreeMap<TopicPartition, i64>,
    turns: u64,
}

/// The destinations of one group in this process.
pub(super) struct Router {
    state: Mutex<State>,
    budget: Arc<Budget>,
    budget_bytes_max: usize,
    /// A lane has something to say.
    told: Arc<AtomicBool>,
}

impl Router {
    pub(super) fn new(budget: Arc<Budget>, budget_bytes_max: usize) -> Router {
        Router {
            state: Mutex::default(),
            budget,
            budget_bytes_max,
            told: Arc::new(AtomicBool::new(false)),
        }
    }

    /// A panic leaves the maps whole: each change is one insertion or removal.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client of the fetch thread, in place of an earlier one: nothing is assigned any more.
    pub(super) fn set_client(&self, client: ClientHandle, waker: Waker) {
        let mut state = self.lock();
        state.client = Some(client);
        state.waker = Some(waker);
        state.live.clear();
        for destination in state.destinations.values_mut() {
            destination.feeds.clear();
        }
    }

    /// Has the fetch thread look after the lanes.
    pub(super) fn wake(&self) {
        self.told.store(true, Ordering::Release);
        let waker = self.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes a destination in; partitions of it that are assigned are opened.
    pub(super) fn add(&self, mut destination: Destination) {
        let mut state = self.lock();
        let ours = |tp: &&TopicPartition| destination.takes(tp);
        let partitions: Vec<TopicPartition> = state.live.keys().filter(ours).cloned().collect();
        if let Some(client) = &state.client {
            destination.open(client, &partitions);
        }
        state.by_topic.entry(destination.topic.clone()).or_default().push(destination.number);
        state.destinations.insert(destination.number, destination);
    }

    /// Lets a destination go: it settles what it has accepted and ends.
    pub(super) fn remove(&self, number: u64) -> Option<Destination> {
        let mut state = self.lock();
        let destination = state.destinations.remove(&number)?;
        if let Some(numbers) = state.by_topic.get_mut(&destination.topic) {
            numbers.retain(|other| *other != number);
        }
        state.by_topic.retain(|_, numbers| !numbers.is_empty());
        drop(state);
        destination.lane.stop();
        Some(destination)
    }

    /// Every destination, at the end.
    pub(super) fn take_all(&self) -> Vec<Destination> {
        let mut state = self.lock();
        state.by_topic.clear();
        std::mem::take(&mut state.destinations).into_values().collect()
    }

    /// A topic was created anew: all who consume it ask anew where they stand.
    pub(super) fn reopen_topic(&self, topic: &str) {
        for tp in self.assigned().iter().filter(|tp| &*tp.topic == topic) {
            self.reopen(tp);
        }
    }

    /// The partitions that this member has.
    pub(super) fn assigned(&self) -> Vec<TopicPartition> {
        self.lock().live.keys().cloned().collect()
    }
}
