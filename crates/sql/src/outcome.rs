//! What became of transactions whose outcome is unknown, from positions read under a lock.
//!
//! Pure. The rule: a partition stands where it was durable, or where one of the unknown
//! transactions would have left it, under our epoch; anything else is another owner, a reset or a
//! database that went back in time, and nothing may be written there any more.

use crate::database::Position;
use data::TopicPartition;
use std::collections::BTreeMap;

/// A partition that is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub epoch: i64,
    /// Everything before is durable.
    pub durable: i64,
    /// Everything before has been accepted.
    pub accepted: i64,
}

/// Why a partition is not ours any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub tp: TopicPartition,
    /// Where the database says it stands; -1 for nowhere.
    pub position: i64,
    pub why: String,
}

/// What the positions say.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// So many of the unknown transactions, the oldest, have been committed.
    pub committed: usize,
    pub lost: Vec<Lost>,
}

/// Judges unknown transactions, oldest first, each the positions it would have left behind.
pub(crate) fn judge(
    owned: &BTreeMap<TopicPartition, Owned>,
    read: &[(TopicPartition, Option<Position>)],
    unknown: &[Vec<(TopicPartition, i64)>],
) -> Outcome {
    let mut outcome = Outcome::default();
    for (tp, position) in read {
        let Some(own) = owned.get(tp) else { continue };
        let mut lose = |position: i64, why: String| {
            outcome.lost.push(Lost { tp: tp.clone(), position, why });
        };
        let Some(position) = position else {
            lose(-1, "its row in the offsets table is gone".to_owned());
            continue;
        };
        let at = position.next_offset;
        if position.epoch != own.epoch {
            let (theirs, ours) = (position.epoch, own.epoch);
            lose(at, format!("it has been taken over or reset (epoch {theirs}, ours was {ours})"));
            continue;
        }
        if at == own.durable {
            continue;
        }
        let reached =
            unknown.iter().position(|ends| ends.iter().any(|(other, to)| other == tp && *to == at));
        match reached {
            Some(index) => outcome.committed = outcome.committed.max(index + 1),
            None if at < own.durable => lose(
                at,
                format!("the database went back to {at}, {} was stored before", own.durable),
            ),
            None => lose(at, format!("its position is {at}, where we have never been")),
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tp(partition: i32) -> TopicPartition {
        TopicPartition::new("t", partition)
    }

    fn owned() -> BTreeMap<TopicPartition, Owned> {
        let own = Owned { epoch: 3, durable: 10, accepted: 40 };
        (0..2).map(|partition| (tp(partition), own)).collect()
    }

    fn at(next_offset: i64, epoch: i64) -> Option<Position> {
        Some(Position { next_offset, epoch })
    }

    #[test]
    fn positions_tell_what_was_committed() {
        let unknown = [vec![(tp(0), 20), (tp(1), 15)], vec![(tp(0), 30)]];
        for (first, second, committed) in [(10, 10, 0), (20, 15, 1), (30, 15, 2)] {
            let read = [(tp(0), at(first, 3)), (tp(1), at(second, 3))];
            let outcome = judge(&owned(), &read, &unknown);
            assert_eq!((outcome.committed, outcome.lost.len()), (committed, 0));
        }
    }

    #[test]
    fn anything_else_is_lost() {
        let unknown = [vec![(tp(0), 20)]];
        for (read, why) in [
            (None, "gone"),
            (at(10, 4), "epoch 4, ours was 3"),
            (at(20, 4), "epoch 4"),
            (at(5, 3), "went back to 5"),
            (at(25, 3), "never been"),
        ] {
            let outcome = judge(&owned(), &[(tp(0), read), (tp(1), at(10, 3))], &unknown);
            assert_eq!(outcome.committed, 0);
            let [lost] = outcome.lost.as_slice() else { panic!("{outcome:?}") };
            assert!(lost.why.contains(why), "{}", lost.why);
        }
    }

    #[test]
    fn a_partition_taken_over_does_not_hide_that_the_others_were_committed() {
        let unknown = [vec![(tp(0), 20), (tp(1), 15)]];
        let read = [(tp(0), at(99, 7)), (tp(1), at(15, 3))];
        let outcome = judge(&owned(), &read, &unknown);
        assert_eq!((outcome.committed, outcome.lost.len()), (1, 1));
    }
}
