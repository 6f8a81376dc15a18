//! Readers that catch up: whom they read for, and when the live reader takes over again.

use super::Router;
use super::destination::Feed;
use super::feed::from_position;
use data::{RawBatch, TopicPartition};
use runtime::Lane;
use std::sync::Arc;

/// Offsets that the live reader goes back to take a reader's work over.
const JOIN: i64 = 500;

/// What a reader is to read, and for whom.
pub(in crate::worker) struct Errand {
    pub(in crate::worker) number: u64,
    pub(in crate::worker) consumer: i32,
    pub(in crate::worker) turn: u64,
    pub(in crate::worker) lane: Arc<Lane>,
    pub(in crate::worker) partitions: Vec<(TopicPartition, i64)>,
}

/// Whether a reader goes on with a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worker) enum Keep {
    Reading,
    /// The live reader has it, or it was taken away.
    Done,
}

impl Router {
    /// The next destination that needs a reader of its own, if it is well enough to be read for.
    /// Those that are alone in a partition go back to the live reader instead.
    pub(in crate::worker) fn next_errand(&self) -> Option<Errand> {
        let mut state = self.lock();
        let numbers: Vec<u64> = state.destinations.keys().copied().collect();
        let mut joined = false;
        let mut errand = None;
        for number in numbers {
            let Some(destination) = state.destinations.get(&number) else { continue };
            let behind = |(p, feed): (&i32, &Feed)| match feed {
                Feed::Behind(at) => Some((destination.tp(*p), *at)),
                _ => None,
            };
            let mut partitions: Vec<_> = destination.feeds.iter().filter_map(behind).collect();
            if partitions.is_empty() || !destination.is_well() {
                continue;
            }
            let (lane, consumer) = (destination.lane.clone(), destination.first());
            partitions.retain(|(tp, at)| {
                let alone = state.live_feeds(tp).is_empty();
                if alone {
                    state.set_feed(number, tp.partition, Feed::Joining(*at));
                    joined = true;
                }
                !alone
            });
            if partitions.is_empty() {
                continue;
            }
            state.turns += 1;
            let turn = state.turns;
            for (tp, at) in &partitions {
                state.set_feed(number, tp.partition, Feed::Reading { at: *at, turn });
            }
            errand = Some(Errand { number, consumer, turn, lane, partitions });
            break;
        }
        drop(state);
        if joined {
            self.wake();
        }
        errand
    }

    /// Whether somebody waits for a reader.
    pub(in crate::worker) fn waits_for_reader(&self) -> bool {
        let state = self.lock();
        let behind = |feeds: &std::collections::BTreeMap<i32, Feed>| {
            feeds.values().any(|feed| matches!(feed, Feed::Behind(_)))
        };
        state.destinations.values().any(|d| behind(&d.feeds) && d.is_well())
    }

    /// Takes what a reader has read.
    pub(in crate::worker) fn push_read(&self, errand: &Errand, batch: &RawBatch) -> Keep {
        let mut state = self.lock();
        let live = state.live.get(batch.tp()).and_then(|live| live.at);
        let live = live.filter(|_| !state.live_feeds(batch.tp()).is_empty());
        let Some(destination) = state.destinations.get_mut(&errand.number) else {
            return Keep::Done;
        };
        let Some(feed) = destination.feeds.get_mut(&batch.partition()) else { return Keep::Done };
        let Feed::Reading { at, turn } = *feed else { return Keep::Done };
        if turn != errand.turn {
            return Keep::Done;
        }
        let Some(part) = from_position(batch, at) else { return Keep::Reading };
        let at = batch.next_offset();
        destination.lane.push(part);
        // What the live reader reads next, or nearly so: from here on it pushes.
        let next = match live {
            Some(live) if at >= live => Feed::Live(at),
            Some(live) if live - at <= JOIN => Feed::Joining(at),
            None => Feed::Joining(at),
            Some(_) => Feed::Reading { at, turn },
        };
        *feed = next;
        let keep = if matches!(next, Feed::Reading { .. }) { Keep::Reading } else { Keep::Done };
        drop(state);
        if matches!(next, Feed::Joining(_)) {
            self.wake();
        }
        keep
    }

    /// The log does not reach to where a reader stands.
    pub(in crate::worker) fn reopen_read(&self, errand: &Errand, tp: &TopicPartition) {
        let mut state = self.lock();
        let Some(destination) = state.destinations.get_mut(&errand.number) else { return };
        let feed = destination.feeds.get_mut(&tp.partition);
        if let Some(feed @ Feed::Reading { .. }) = feed {
            *feed = Feed::Opening;
            destination.lane.reopen(std::slice::from_ref(tp));
        }
    }

    /// A reader ends before its work is done: somebody else goes on.
    pub(in crate::worker) fn end_errand(&self, errand: &Errand) {
        let mut state = self.lock();
        let Some(destination) = state.destinations.get_mut(&errand.number) else { return };
        for feed in destination.feeds.values_mut() {
            if let Feed::Reading { at, turn } = *feed
                && turn == errand.turn
            {
                *feed = Feed::Behind(at);
            }
        }
    }

    /// Whether a reader is still wanted in any of these partitions.
    pub(in crate::worker) fn wanted(&self, errand: &Errand, tp: &TopicPartition) -> bool {
        let state = self.lock();
        let feed = state.destinations.get(&errand.number).and_then(|d| d.feeds.get(&tp.partition));
        matches!(feed, Some(Feed::Reading { turn, .. }) if *turn == errand.turn)
    }
}
