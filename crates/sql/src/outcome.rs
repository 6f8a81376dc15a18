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
///
/// A transaction moved all of its partitions or none. Where one stands after it and another before,
/// the former was moved by somebody else (a database that went back in time gives epochs out again).
pub(crate) fn judge(
    owned: &BTreeMap<TopicPartition, Owned>,
    read: &[(TopicPartition, Option<Position>)],
    unknown: &[Vec<(TopicPartition, i64)>],
) -> Outcome {
    let mut outcome = Outcome::default();
    // Partitions that are still ours, and where they stand.
    let mut standing: BTreeMap<&TopicPartition, i64> = BTreeMap::new();
    for (tp, position) in read {
        let Some(own) = owned.get(tp) else { continue };
        match where_it_stands(tp, own, *position, unknown) {
            Ok(at) => drop(standing.insert(tp, at)),
            Err((position, why)) => outcome.lost.push(Lost { tp: tp.clone(), position, why }),
        }
    }
    let mut index = 0;
    while let Some(ends) = unknown.get(index) {
        let known = || ends.iter().filter_map(|(tp, to)| Some((tp, *to, *standing.get(tp)?)));
        let reached: Vec<_> = known().filter(|(_, to, at)| at >= to).collect();
        let all = reached.len() == known().count();
        let committed = all && !reached.is_empty() && outcome.committed == index;
        if committed {
            outcome.committed = index + 1;
        } else if !reached.is_empty() {
            for (tp, at) in
                reached.into_iter().map(|(tp, _, at)| (tp.clone(), at)).collect::<Vec<_>>()
            {
                standing.remove(&tp);
                let why = format!("its position {at} is not the work of our transactions");
                outcome.lost.push(Lost { tp, position: at, why });
            }
            // What was judged before may have leant on them.
            (index, outcome.committed) = (0, 0);
            continue;
        }
        index += 1;
    }
    outcome
}

/// The position of a partition that can be ours, else the position and why it cannot.
fn where_it_stands(
    tp: &TopicPartition,
    own: &Owned,
    position: Option<Position>,
    unknown: &[Vec<(TopicPartition, i64)>],
) -> Result<i64, (i64, String)> {
    let Some(position) = position else {
        return Err((-1, "its row in the offsets table is gone".to_owned()));
    };
    let at = position.next_offset;
    if position.epoch != own.epoch {
        let (theirs, ours) = (position.epoch, own.epoch);
        return Err((
            at,
            format!("it has been taken over or reset (epoch {theirs}, ours was {ours})"),
        ));
    }
    let possible = unknown.iter().flatten().any(|(other, to)| other == tp && *to == at);
    if at == own.durable || possible {
        Ok(at)
    } else if at < own.durable {
        let stored = own.durable;
        Err((at, format!("the database went back to {at}, {stored} was stored before")))
    } else {
        Err((at, format!("its position is {at}, where we have never been")))
    }
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
    fn a_transaction_moved_all_of_its_partitions_or_none() {
        let unknown = [vec![(tp(0), 20), (tp(1), 15)], vec![(tp(0), 30)]];
        let read = [(tp(0), at(30, 3)), (tp(1), at(10, 3))];
        let outcome = judge(&owned(), &read, &unknown);
        assert_eq!((outcome.committed, outcome.lost.len()), (0, 1));
        assert_eq!(outcome.lost[0].tp, tp(0));
    }

    #[test]
    fn a_partition_taken_over_does_not_hide_that_the_others_were_committed() {
        let unknown = [vec![(tp(0), 20), (tp(1), 15)]];
        let read = [(tp(0), at(99, 7)), (tp(1), at(15, 3))];
        let outcome = judge(&owned(), &read, &unknown);
        assert_eq!((outcome.committed, outcome.lost.len()), (1, 1));
    }
}
