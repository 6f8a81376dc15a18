//! Rebalances: starts for what is given, an orderly end for what is taken.

use super::destination::Feed;
use super::{Live, Router};
use data::TopicPartition;
use kafka::ClientHandle;
use runtime::Lane;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Polling stands still meanwhile; who has not answered by then starts late.
const OPEN_WAIT: Duration = Duration::from_secs(2);

impl Router {
    /// Partitions were given to this member: where the live reader begins. `None`: later.
    pub(in crate::worker) fn assign(
        &self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Vec<Option<i64>> {
        let mut asked: Vec<(u64, Arc<Lane>, Vec<TopicPartition>)> = Vec::new();
        {
            let mut state = self.lock();
            for tp in partitions {
                state.live.insert(tp.clone(), Live::default());
            }
            for destination in state.destinations.values_mut() {
                let ours = partitions.iter().filter(|tp| destination.takes(tp));
                let ours: Vec<TopicPartition> = ours.cloned().collect();
                if !ours.is_empty() {
                    destination.open(client, &ours);
                    asked.push((destination.number, destination.lane.clone(), ours));
                }
            }
        }
        let deadline = Instant::now() + OPEN_WAIT;
        let mut starts: BTreeMap<TopicPartition, Vec<(u64, i64)>> = BTreeMap::new();
        for (number, lane, ours) in asked {
            let left = deadline.saturating_duration_since(Instant::now());
            let found = lane.wait_for_seats(&ours, left);
            for (tp, start) in ours.into_iter().zip(found) {
                if let Some(start) = start {
                    starts.entry(tp).or_default().push((number, start));
                }
            }
        }
        let mut state = self.lock();
        let mut begin = |tp: &TopicPartition| {
            let mut found = starts.remove(tp)?;
            // The foremost first: who is far behind it catches up by itself.
            found.sort_by_key(|(_, start)| std::cmp::Reverse(*start));
            for (number, start) in found {
                if let Some(destination) = state.destinations.get_mut(&number) {
                    destination.durable.insert(tp.partition, start);
                }
                // The moves come to the position that is asked for below.
                let _moved = state.place(number, tp, start);
            }
            state.live.get(tp)?.at
        };
        partitions.iter().map(&mut begin).collect()
    }

    /// Partitions are taken away; waits until nothing of them is in flight, at most until `deadline`.
    /// Gives the last positions for the group.
    pub(in crate::worker) fn revoke(
        &self,
        partitions: &[TopicPartition],
        lost: bool,
        deadline: Instant,
    ) -> Vec<(TopicPartition, i64)> {
        let mut closing = Vec::new();
        {
            let mut state = self.lock();
            for tp in partitions {
                state.live.remove(tp);
            }
            for destination in state.destinations.values_mut() {
                let held = |tp: &&TopicPartition| {
                    destination.takes(tp) && destination.feeds.contains_key(&tp.partition)
                };
                let ours: Vec<TopicPartition> = partitions.iter().filter(held).cloned().collect();
                if !ours.is_empty() {
                    closing.push(destination.lane.close(&ours, lost));
                }
            }
        }
        // Counted, not collected: `all` would not wait for those behind the first that is late.
        if closing.iter().filter(|closing| !closing.wait(deadline)).count() > 0 {
            tracing::warn!("partitions are given back before every destination has answered");
        }
        let mut state = self.lock();
        state.note_mirror();
        let positions = state.mirror.let_go(partitions);
        for destination in state.destinations.values_mut() {
            for tp in partitions.iter().filter(|tp| tp.topic == destination.topic) {
                destination.feeds.remove(&tp.partition);
                destination.durable.remove(&tp.partition);
                // A start that came too late must not seat what is gone.
                let _late =
                    destination.lane.wait_for_seats(std::slice::from_ref(tp), Duration::ZERO);
            }
        }
        for tp in partitions {
            state.mirrored.remove(tp);
        }
        positions
    }
}

impl super::State {
    /// Brings the least durable position of those who consume each partition to the mirror.
    fn note_mirror(&mut self) {
        let mut least: BTreeMap<TopicPartition, Option<i64>> = BTreeMap::new();
        for destination in self.destinations.values_mut() {
            destination.listen();
            for (partition, feed) in destination.feeds.iter().filter(|_| destination.mirrors) {
                // Who has not said where it stands holds the mirror back.
                let known = !matches!(feed, Feed::Opening);
                let at = destination.durable.get(partition).copied().filter(|_| known);
                let least = least.entry(destination.tp(*partition));
                least.and_modify(|other| *other = (*other).min(at)).or_insert(at);
            }
        }
        for (tp, at) in least {
            let Some(at) = at else { continue };
            match self.mirrored.insert(tp.clone(), at) {
                Some(before) if before <= at => self.mirror.moved(vec![(tp, at)]),
                _ => self.mirror.opened(tp, at),
            }
        }
    }
}

impl Router {
    /// The positions that the group is to be told now.
    pub(in crate::worker) fn take_mirror(&self) -> Vec<(TopicPartition, i64)> {
        let mut state = self.lock();
        state.note_mirror();
        state.mirror.take_due()
    }

    /// What the group has answered to a position that it was told.
    pub(in crate::worker) fn mirrored(&self, tp: &TopicPartition, position: i64, kept: bool) {
        self.lock().mirror.answered(tp, position, kept);
    }
}
