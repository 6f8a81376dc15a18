//! Which partitions this consumer has, and where it stands in each.
//!
//! The position kept here is the truth. librdkafka's own runs one too far after an end-of-partition
//! event that was fetched in a batch, and every rebalance pauses and resumes all partitions at that
//! position; so a partition that stands at its end is put back to the position kept here before
//! it is resumed, or the next record would be skipped.

use std::collections::BTreeMap;

use data::TopicPartition;

/// One assigned partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    /// Offset of the next record to deliver; `None` until the start is known.
    pub(super) position: Option<i64>,
    /// The last thing delivered was the end of the partition.
    pub(super) at_end: bool,
    /// Paused by the owner.
    pub(super) paused: bool,
}

#[derive(Default)]
pub(super) struct Seats(BTreeMap<TopicPartition, Seat>);

impl Seats {
    /// Takes the partition in, reading from `position`, or waiting for one.
    pub(super) fn take(&mut self, tp: TopicPartition, position: Option<i64>) {
        self.0.insert(tp, Seat { position, at_end: false, paused: false });
    }

    pub(super) fn get(&self, tp: &TopicPartition) -> Option<Seat> {
        self.0.get(tp).copied()
    }

    pub(super) fn get_mut(&mut self, tp: &TopicPartition) -> Option<&mut Seat> {
        self.0.get_mut(tp)
    }

    pub(super) fn remove(&mut self, tp: &TopicPartition) -> Option<Seat> {
        self.0.remove(tp)
    }

    pub(super) fn clear(&mut self) -> Vec<TopicPartition> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    /// Everything assigned, seated or waiting.
    pub(super) fn all(&self) -> Vec<TopicPartition> {
        self.0.keys().cloned().collect()
    }

    /// The seated partitions with their positions.
    pub(super) fn positions(&self) -> Vec<(TopicPartition, i64)> {
        let seated = self.0.iter().filter_map(|(tp, s)| Some((tp.clone(), s.position?)));
        seated.collect()
    }

    /// The partitions that librdkafka would resume one record too far.
    pub(super) fn at_end(&self) -> Vec<(TopicPartition, i64)> {
        let ends = self.0.iter().filter(|(_, s)| s.at_end);
        ends.filter_map(|(tp, s)| Some((tp.clone(), s.position?))).collect()
    }

    pub(super) fn paused(&self) -> Vec<TopicPartition> {
        self.0.iter().filter(|(_, s)| s.paused).map(|(tp, _)| tp.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_seated_partitions_have_positions() {
        let (a, b) = (TopicPartition::new("t", 0), TopicPartition::new("t", 1));
        let mut seats = Seats::default();
        seats.take(a.clone(), Some(7));
        seats.take(b.clone(), None);
        assert_eq!(seats.positions(), [(a.clone(), 7)]);
        assert_eq!(seats.all().len(), 2);
        assert!(seats.at_end().is_empty());
        seats.get_mut(&a).unwrap().at_end = true;
        seats.get_mut(&b).unwrap().at_end = true;
        assert_eq!(seats.at_end(), [(a.clone(), 7)]);
        assert!(seats.remove(&a).is_some() && seats.get(&a).is_none());
        assert_eq!(seats.clear(), [b]);
    }
}
