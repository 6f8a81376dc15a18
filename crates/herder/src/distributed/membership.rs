//! Who is there: from the claims of the workers, without a clock.
//!
//! The membership group gives its partitions to the workers that are alive; each worker claims the
//! partitions that it was given, under the generation of the group. A view of a generation is whole
//! when all partitions are claimed under it: then who claims none is dead, however little time has
//! passed, and who claims one is alive, however long it has been silent.
//!
//! Invariant: from a view that is not whole nobody is called dead.

use super::cluster::{Cluster, Stance, WorkerId};
use std::collections::BTreeSet;

/// What a worker owns in the membership group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    pub generation: i32,
    pub partitions: BTreeSet<i32>,
}

impl Seat {
    /// The owner of the highest partition leads: assignors give the low ones to newcomers first, so
    /// that leadership stays where it is.
    pub fn leads(&self, partitions: i32) -> bool {
        self.partitions.contains(&(partitions - 1))
    }
}

/// The workers of one generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// All partitions were claimed.
    whole: bool,
    alive: BTreeSet<WorkerId>,
}

impl View {
    /// The view of a generation of a group with so many partitions.
    pub fn of(cluster: &Cluster, generation: i32, partitions: i32) -> View {
        let claims = cluster.claims.values().filter(|claim| claim.generation == generation);
        let mut claimed = BTreeSet::new();
        let mut alive = BTreeSet::new();
        for claim in claims {
            claimed.extend(claim.partitions.iter().copied());
            if !claim.partitions.is_empty() && !has_left(claim.stance) {
                alive.insert(claim.worker.clone());
            }
        }
        View { whole: claimed.len() >= partitions as usize, alive }
    }

    /// Whether it is known of everybody whether he is there.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The workers that are known to be there.
    pub fn alive(&self) -> &BTreeSet<WorkerId> {
        &self.alive
    }

    /// Whether the worker is certainly gone: it has said so, or everything is claimed by others.
    pub fn is_gone(&self, cluster: &Cluster, worker: &WorkerId) -> bool {
        let left = cluster.claims.get(worker).is_some_and(|claim| has_left(claim.stance));
        left || self.is_dead(worker)
    }

    /// Whether everything is claimed by others.
    pub fn is_dead(&self, worker: &WorkerId) -> bool {
        self.whole && !self.alive.contains(worker)
    }

    /// The workers that may be given tasks.
    pub fn takers(&self, cluster: &Cluster) -> Vec<WorkerId> {
        let takes = |worker: &&WorkerId| {
            let claim = cluster.claims.get(worker);
            claim.is_some_and(|claim| claim.stance == Stance::Active)
        };
        self.alive.iter().filter(takes).cloned().collect()
    }
}

/// It ends, and has no task any more.
pub fn has_left(stance: Stance) -> bool {
    matches!(stance, Stance::Restarting | Stance::Left)
}

#[cfg(test)]
mod tests {
    use super::super::cluster::Claim;
    use super::*;

    fn claim(run: u64, generation: i32, partitions: &[i32], stance: Stance) -> Claim {
        Claim {
            worker: worker(run),
            generation,
            partitions: partitions.iter().copied().collect(),
            applied: 0,
            lingering: BTreeSet::new(),
            stance,
        }
    }

    fn worker(run: u64) -> WorkerId {
        WorkerId { name: "w:1".into(), run }
    }

    fn cluster(claims: Vec<Claim>) -> Cluster {
        let mut cluster = Cluster::default();
        claims.into_iter().for_each(|claim| cluster.claim(claim.worker.clone(), Some(claim)));
        cluster
    }

    #[test]
    fn nobody_is_dead_before_all_partitions_are_claimed() {
        let old = claim(1, 4, &[0, 1], Stance::Active);
        let part = cluster(vec![old.clone(), claim(2, 5, &[1], Stance::Active)]);
        let view = View::of(&part, 5, 2);
        assert!(!view.is_gone(&part, &worker(1)) && !view.is_gone(&part, &worker(9)));
        let all = cluster(vec![old, claim(2, 5, &[0, 1], Stance::Active)]);
        let view = View::of(&all, 5, 2);
        assert!(view.is_gone(&all, &worker(1)) && view.is_gone(&all, &worker(9)));
        assert!(!view.is_gone(&all, &worker(2)));
    }

    #[test]
    fn who_has_stopped_everything_is_gone_at_once_and_who_drains_takes_nothing() {
        let said = cluster(vec![
            claim(1, 5, &[0], Stance::Restarting),
            claim(2, 5, &[], Stance::Active),
            claim(3, 5, &[1], Stance::Draining),
            claim(4, 5, &[2], Stance::Active),
        ]);
        let view = View::of(&said, 5, 9);
        assert!(view.is_gone(&said, &worker(1)));
        assert!(!view.is_gone(&said, &worker(3)));
        assert_eq!(view.takers(&said), [worker(4)]);
    }

    #[test]
    fn the_highest_partition_leads() {
        let seat = |partitions: &[i32]| Seat {
            generation: 1,
            partitions: partitions.iter().copied().collect(),
        };
        assert!(seat(&[3, 7]).leads(8) && !seat(&[0, 6]).leads(8));
    }
}
