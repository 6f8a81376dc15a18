//! Positions on their way to the group, which mirrors them for lag tools.
//!
//! Place in the data path: after the destination. The fetch thread brings what has become durable here
//! and carries out what is due.
//!
//! A group refuses commits while its members change, and connections break. Where nothing arrives
//! afterwards no later position would make up for it, and the lag would stay for ever; so a position
//! is kept until the group has it.
//!
//! Invariants: only partitions that are open are told to the group; of each, one commit at a time is
//! under way, so that none overtakes a later one and puts the group back.

use data::TopicPartition;
use std::collections::BTreeMap;

/// What one group is told of the partitions that are read for it.
#[derive(Default)]
pub struct Mirror(BTreeMap<TopicPartition, Place>);

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Everything before is durable.
    durable: i64,
    /// What the group was asked to keep and has not answered to.
    asked: Option<i64>,
    /// What the group is known to keep.
    kept: Option<i64>,
}

impl Mirror {
    /// A partition is read, from `start`. The group hears of it too: where nothing arrives after a
    /// crash, its offsets would else stay behind.
    pub fn opened(&mut self, tp: TopicPartition, start: i64) {
        self.0.insert(tp, Place { durable: start, asked: None, kept: None });
    }

    /// Positions only ascend while a partition is open; those of others are the next owner's to tell.
    pub fn moved(&mut self, durable: Vec<(TopicPartition, i64)>) {
        for (tp, position) in durable {
            if let Some(place) = self.0.get_mut(&tp) {
                place.durable = place.durable.max(position);
            }
        }
    }

    /// What the group shall be asked to keep now; it is under way from here on.
    pub fn take_due(&mut self) -> Vec<(TopicPartition, i64)> {
        let mut due = Vec::new();
        for (tp, place) in &mut self.0 {
            if place.asked.is_none() && place.kept != Some(place.durable) {
                place.asked = Some(place.durable);
                due.push((tp.clone(), place.durable));
            }
        }
        due
    }

    /// The group's answer to what was under way; what it has not kept is due again. Answers from
    /// before a partition was opened anew say nothing.
    pub fn answered(&mut self, tp: &TopicPartition, position: i64, kept: bool) {
        let asked = |place: &&mut Place| place.asked == Some(position);
        if let Some(place) = self.0.get_mut(tp).filter(asked) {
            place.asked = None;
            if kept {
                place.kept = Some(position);
            }
        }
    }

    /// Forgets partitions that are given back. Returns those whose position the group is not known
    /// to keep.
    pub fn let_go(&mut self, partitions: &[TopicPartition]) -> Vec<(TopicPartition, i64)> {
        let gone = partitions.iter().filter_map(|tp| self.0.remove_entry(tp));
        let untold = gone.filter(|(_, place)| place.kept != Some(place.durable));
        untold.map(|(tp, place)| (tp, place.durable)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tp(partition: i32) -> TopicPartition {
        TopicPartition::new("t", partition)
    }

    fn opened(starts: &[i64]) -> Mirror {
        let mut mirror = Mirror::default();
        for (partition, start) in (0..).zip(starts) {
            mirror.opened(tp(partition), *start);
        }
        mirror
    }

    /// Where nothing arrives afterwards, nothing else would tell the group.
    #[test]
    fn a_refused_position_is_due_again_until_the_group_keeps_it() {
        let mut mirror = opened(&[0, 7]);
        assert_eq!(mirror.take_due(), [(tp(0), 0), (tp(1), 7)]);
        mirror.answered(&tp(0), 0, true);
        mirror.answered(&tp(1), 7, false);
        assert_eq!(mirror.take_due(), [(tp(1), 7)]);
        mirror.answered(&tp(1), 7, false);
        mirror.moved(vec![(tp(1), 9)]);
        assert_eq!(mirror.take_due(), [(tp(1), 9)]);
        mirror.answered(&tp(1), 9, true);
        assert_eq!(mirror.take_due(), []);
    }

    /// A commit that the client sends again by itself may arrive after a later one.
    #[test]
    fn one_commit_of_a_partition_is_under_way_at_a_time() {
        let mut mirror = opened(&[0]);
        mirror.take_due();
        mirror.moved(vec![(tp(0), 5)]);
        assert_eq!(mirror.take_due(), []);
        mirror.answered(&tp(0), 0, true);
        assert_eq!(mirror.take_due(), [(tp(0), 5)]);
    }

    #[test]
    fn what_is_given_back_goes_with_its_position_unless_the_group_keeps_it() {
        let mut mirror = opened(&[1, 2, 3]);
        mirror.take_due();
        mirror.answered(&tp(0), 1, true);
        mirror.answered(&tp(2), 3, false);
        assert_eq!(mirror.let_go(&[tp(0), tp(1), tp(2)]), [(tp(1), 2), (tp(2), 3)]);
        mirror.moved(vec![(tp(1), 8)]);
        mirror.answered(&tp(1), 2, false);
        assert_eq!(mirror.take_due(), []);
    }

    #[test]
    fn answers_from_before_a_partition_was_opened_anew_say_nothing() {
        let mut mirror = opened(&[50]);
        mirror.take_due();
        mirror.opened(tp(0), 10);
        assert_eq!(mirror.take_due(), [(tp(0), 10)]);
        mirror.answered(&tp(0), 50, true);
        assert_eq!(mirror.take_due(), []);
        mirror.answered(&tp(0), 10, false);
        assert_eq!(mirror.take_due(), [(tp(0), 10)]);
    }
}
