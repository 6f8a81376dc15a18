//! Where a destination's start is read: by the live reader, or by a reader of its own.

use super::destination::Feed;
use super::{Live, Move, Router, State};
use data::TopicPartition;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Offsets that the live reader goes back for a destination; what is farther back is caught up with
/// beside it.
const NEAR: i64 = 10_000;
/// How long a destination may retry before it is fed by itself.
const PATIENCE: Duration = Duration::from_secs(2);

impl State {
    /// The live destinations of a partition with the positions of their next push.
    pub(super) fn live_feeds(&self, tp: &TopicPartition) -> Vec<(u64, i64)> {
        let numbers = self.by_topic.get(&tp.topic).map(Vec::as_slice).unwrap_or_default();
        let feed = |number: &u64| {
            let at = self.destinations.get(number)?.feeds.get(&tp.partition)?.live()?;
            Some((*number, at))
        };
        numbers.iter().filter_map(feed).collect()
    }

    pub(super) fn set_feed(&mut self, number: u64, partition: i32, feed: Feed) {
        if let Some(destination) = self.destinations.get_mut(&number) {
            destination.feeds.insert(partition, feed);
        }
    }

    /// Starts a destination at `start` in a partition of its own.
    pub(super) fn place(&mut self, number: u64, tp: &TopicPartition, start: i64) -> Option<Move> {
        let at = self.live.get(tp)?.at;
        let mut others = self.live_feeds(tp);
        others.retain(|(other, _)| *other != number);
        let near = |a: i64, b: i64| a.saturating_sub(b) <= NEAR;
        let seat = match at.filter(|_| !others.is_empty()) {
            // It waits a little until the others have come as far.
            Some(at) if start >= at && near(start, at) => None,
            // The others are far behind, most likely at old records: they catch up by themselves.
            Some(at) if start >= at => {
                let mut least = start;
                for (other, position) in others {
                    if near(start, position) {
                        least = least.min(position);
                    } else {
                        self.set_feed(other, tp.partition, Feed::Behind(position));
                    }
                }
                (least != at).then_some(least)
            }
            Some(at) if near(at, start) => Some(start),
            Some(_) => {
                self.set_feed(number, tp.partition, Feed::Behind(start));
                return None;
            }
            None => Some(start),
        };
        self.set_feed(number, tp.partition, Feed::Live(start));
        let seat = seat?;
        self.live.insert(tp.clone(), Live { at: Some(seat) });
        Some(Move::Seat(tp.clone(), seat))
    }

    /// Stops reading partitions that nobody takes anything of.
    pub(super) fn pause_unused(&mut self, moves: &mut Vec<Move>) {
        let reading: Vec<TopicPartition> =
            self.live.iter().filter(|(_, l)| l.at.is_some()).map(|(tp, _)| tp.clone()).collect();
        for tp in reading {
            if self.live_feeds(&tp).is_empty() {
                self.live.insert(tp.clone(), Live { at: None });
                moves.push(Move::Pause(tp));
            }
        }
    }

    fn late_starts(&mut self, moves: &mut Vec<Move>) {
        let mut late = Vec::new();
        for (number, destination) in &mut self.destinations {
            let starts = destination.lane.take_seats();
            if !starts.is_empty() {
                let partitions: Vec<TopicPartition> = starts.keys().cloned().collect();
                destination.lane.reseated(&partitions);
            }
            for (tp, start) in starts {
                destination.durable.insert(tp.partition, start);
                late.push((*number, tp, start));
            }
        }
        for (number, tp, start) in late {
            if self.live.contains_key(&tp) {
                moves.extend(self.place(number, &tp, start));
            }
        }
        let numbers: Vec<u64> = self.destinations.keys().copied().collect();
        for number in numbers {
            self.join(number, moves);
        }
    }

    fn join(&mut self, number: u64, moves: &mut Vec<Move>) {
        let Some(destination) = self.destinations.get(&number) else { return };
        let joining = |(p, feed): (&i32, &Feed)| match feed {
            Feed::Joining(at) => Some((destination.tp(*p), *at)),
            _ => None,
        };
        let joining: Vec<_> = destination.feeds.iter().filter_map(joining).collect();
        for (tp, at) in joining {
            moves.extend(self.place(number, &tp, at));
        }
    }

    /// Takes destinations off the live reader that have ended or do not get on.
    fn park(&mut self, now: Instant) {
        for destination in self.destinations.values_mut() {
            destination.listen();
            let ended = !destination.lane.is_delivering();
            let stuck = destination.is_stuck(now);
            let retrying = destination.status.get().retrying.is_some_and(|retrying| {
                retrying.since.elapsed().is_ok_and(|since| since > PATIENCE)
            });
            if !(ended || stuck || retrying) {
                continue;
            }
            for feed in destination.feeds.values_mut() {
                if let Feed::Live(at) | Feed::Joining(at) | Feed::Reading { at, .. } = *feed {
                    *feed = Feed::Behind(at);
                }
            }
        }
    }
}

impl Router {
    /// What the lanes have to say, and what follows from it for the client. Called by the fetch
    /// thread before each poll; `thorough` now and then, to find those that do not get on.
    pub(in crate::worker) fn settle(&self, thorough: bool) -> Vec<Move> {
        let told = self.told.swap(false, Ordering::AcqRel);
        if !told && !thorough {
            return Vec::new();
        }
        let mut moves = Vec::new();
        let mut state = self.lock();
        state.late_starts(&mut moves);
        if thorough {
            state.park(Instant::now());
        }
        state.pause_unused(&mut moves);
        // A partition that is moved twice goes where it was sent last.
        let mut last = Vec::with_capacity(moves.len());
        for next in moves {
            last.retain(|earlier| next.tp() != Move::tp(earlier));
            last.push(next);
        }
        last
    }

    /// The log does not reach to where the live reader stands: all who read there ask anew.
    pub(in crate::worker) fn reopen(&self, tp: &TopicPartition) {
        let mut state = self.lock();
        for (number, _) in state.live_feeds(tp) {
            state.set_feed(number, tp.partition, Feed::Opening);
            if let Some(destination) = state.destinations.get(&number) {
                destination.lane.reopen(std::slice::from_ref(tp));
            }
        }
        if let Some(live) = state.live.get_mut(tp) {
            live.at = None;
        }
    }
}

impl Move {
    fn tp(&self) -> &TopicPartition {
        match self {
            Move::Seat(tp, _) | Move::Pause(tp) => tp,
        }
    }
}
