//! The broker: a log with transactions, a compacted map of claims, a writer that fences, a group.

use crate::distributed::cluster::{Change, Claim, WorkerId};
use crate::distributed::membership::Seat;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Partitions of the membership topic.
pub(super) const PARTITIONS: i32 = 8;
/// How long a member may be silent.
pub(super) const SESSION_MS: u64 = 6_000;
/// When an open transaction that nobody ends is aborted.
pub(super) const TRANSACTION_MS: u64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Open,
    Committed,
    Aborted,
}

/// A transaction in the config topic.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) changes: Vec<Change>,
    pub(super) outcome: Outcome,
    pub(super) epoch: u64,
    pub(super) generation: i32,
    pub(super) begun_ms: u64,
}

/// A member of the group.
#[derive(Clone, Debug)]
pub(super) struct Mate {
    pub(super) heard_ms: u64,
    rejoined: bool,
    owned: BTreeSet<i32>,
}

#[derive(Debug, Default)]
pub(super) struct Kafka {
    pub(super) log: Vec<Entry>,
    /// Everything before it has come to its end.
    settled: usize,
    pub(super) claims: BTreeMap<WorkerId, (u64, Option<Claim>)>,
    claim_count: u64,
    /// Of the transactional writer.
    pub(super) epoch: u64,
    pub(super) mates: BTreeMap<u64, Mate>,
    pub(super) generation: i32,
    rebalancing: bool,
}

impl Kafka {
    /// Up to where a reader of committed records gets.
    pub(super) fn stable_end(&mut self) -> usize {
        let rest = self.log.get(self.settled..).unwrap_or_default();
        let open = rest.iter().position(|entry| entry.outcome == Outcome::Open);
        self.settled += open.unwrap_or(rest.len());
        self.settled
    }

    /// Takes the writer: what its last holder left open is aborted.
    pub(super) fn init_writer(&mut self) -> u64 {
        self.epoch += 1;
        self.abort(|_| true);
        self.epoch
    }

    fn abort(&mut self, which: impl Fn(&Entry) -> bool) {
        let settled = self.stable_end();
        for entry in self.log.iter_mut().skip(settled) {
            if entry.outcome == Outcome::Open && which(entry) {
                entry.outcome = Outcome::Aborted;
            }
        }
    }

    /// Aborts what has been open for too long.
    pub(super) fn expire(&mut self, now_ms: u64) {
        self.abort(|entry| now_ms >= entry.begun_ms + TRANSACTION_MS);
    }

    pub(super) fn put_claim(&mut self, worker: WorkerId, claim: Option<Claim>) -> u64 {
        self.claim_count += 1;
        self.claims.insert(worker, (self.claim_count, claim));
        self.claim_count
    }

    /// Drops what later records replace, and tombstones that everybody has read: they stay for a day, and
    /// nobody is away for so long.
    pub(super) fn compact(&mut self, before: usize, read: usize) {
        let mut seen: BTreeSet<(u8, Option<Arc<str>>)> = BTreeSet::new();
        let upto = before.min(self.stable_end());
        for (index, entry) in self.log.iter_mut().enumerate().rev() {
            if entry.outcome != Outcome::Committed {
                continue;
            }
            let mut kept = Vec::new();
            for change in entry.changes.drain(..).rev() {
                let kind = match &change {
                    Change::Connector { .. } => 0,
                    Change::Target { .. } => 1,
                    Change::Tasks { .. } => 2,
                    Change::Placement { .. } => 3,
                    Change::Restart { .. } => 4,
                    Change::Led { .. } => 5,
                    Change::SessionKey(_) => 7,
                    Change::TaskCount { .. } => 6,
                };
                let tombstone = matches!(
                    change,
                    Change::Connector { config: None, .. }
                        | Change::Target { target: None, .. }
                        | Change::Placement { placement: None, .. }
                );
                let first = seen.insert((kind, change.name().cloned()));
                if index >= upto || (first && (!tombstone || index >= read)) {
                    kept.push(change);
                }
            }
            kept.reverse();
            entry.changes = kept;
        }
    }

    // The group.

    pub(super) fn join(&mut self, member: u64, now_ms: u64) {
        let mate = Mate { heard_ms: now_ms, rejoined: true, owned: BTreeSet::new() };
        self.mates.insert(member, mate);
        self.begin_rebalance(Some(member));
    }

    pub(super) fn leave(&mut self, member: u64) {
        if self.mates.remove(&member).is_some() {
            self.begin_rebalance(None);
        }
    }

    fn begin_rebalance(&mut self, joined: Option<u64>) {
        if !std::mem::replace(&mut self.rebalancing, true) {
            for (id, mate) in &mut self.mates {
                mate.rejoined = joined == Some(*id);
            }
        }
    }

    /// False: the group does not know it any more.
    pub(super) fn heartbeat(&mut self, member: u64, now_ms: u64) -> bool {
        let Some(mate) = self.mates.get_mut(&member) else { return false };
        mate.heard_ms = now_ms;
        mate.rejoined = true;
        true
    }

    /// Ends the sessions of the silent, and a rebalance that everybody has come to: then the new seats.
    pub(super) fn turn(&mut self, now_ms: u64) -> Vec<(u64, Seat)> {
        let silent = |mate: &Mate| now_ms >= mate.heard_ms + SESSION_MS;
        if !self.rebalancing && !self.mates.values().any(silent) {
            return Vec::new();
        }
        let gone: Vec<u64> =
            self.mates.iter().filter(|(_, mate)| silent(mate)).map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|member| self.leave(member));
        if !self.rebalancing || !self.mates.values().all(|mate| mate.rejoined) {
            return Vec::new();
        }
        self.rebalancing = false;
        if self.mates.is_empty() {
            return Vec::new();
        }
        self.generation += 1;
        if self.assign() {
            self.begin_rebalance(None);
        }
        let generation = self.generation;
        let seat = |mate: &Mate| Seat { generation, partitions: mate.owned.clone() };
        self.mates.iter().map(|(id, mate)| (*id, seat(mate))).collect()
    }

    /// Sticky and cooperative: what moves is nobody's for one generation, the low ones first. True if
    /// anything does.
    fn assign(&mut self) -> bool {
        let owned: BTreeSet<i32> =
            self.mates.values().flat_map(|mate| mate.owned.iter().copied()).collect();
        let mut free: Vec<i32> = (0..PARTITIONS).filter(|p| !owned.contains(p)).collect();
        // The highest goes to an old member if there is one.
        while let Some(partition) = free.pop() {
            let old = self.mates.values_mut().filter(|mate| !mate.owned.is_empty());
            let least = if partition == PARTITIONS - 1 {
                old.min_by_key(|mate| mate.owned.len())
            } else {
                None
            };
            let mate = match least {
                Some(mate) => Some(mate),
                None => self.mates.values_mut().min_by_key(|mate| mate.owned.len()),
            };
            if let Some(mate) = mate {
                mate.owned.insert(partition);
            }
        }
        let fair = (PARTITIONS as usize).div_ceil(self.mates.len());
        let floor = PARTITIONS as usize / self.mates.len();
        let short: usize =
            self.mates.values().map(|mate| floor.saturating_sub(mate.owned.len())).sum();
        let mut moving = short;
        for mate in self.mates.values_mut() {
            while moving > 0 && mate.owned.len() > floor.max(1) && mate.owned.len() >= fair {
                mate.owned.pop_first();
                moving -= 1;
            }
        }
        moving != short
    }
}
