//! The members of a set: consumers of one topic whose records one task writes, in one transaction.
//!
//! Place in the data path: each member has a position of its own in each partition. Inside of a task
//! positions go by keys: the partition itself for the first member, and for the others the partition
//! under a name that no topic can have. Nothing else knows these names.

use data::TopicPartition;

/// No topic's name has a blank.
const MARK: &str = " #";

/// The key of a member's position in a partition.
pub(crate) fn key(tp: &TopicPartition, member: usize) -> TopicPartition {
    match member {
        0 => tp.clone(),
        _ => TopicPartition::new(format!("{}{MARK}{member}", tp.topic), tp.partition),
    }
}

/// The member that a key is of.
pub(crate) fn member_of(key: &TopicPartition) -> usize {
    let number = key.topic.rsplit_once(MARK).and_then(|(_, number)| number.parse().ok());
    number.unwrap_or(0)
}

/// The partition that a key is of.
pub(crate) fn partition_of(key: &TopicPartition) -> TopicPartition {
    match key.topic.rsplit_once(MARK) {
        Some((topic, _)) => TopicPartition::new(topic, key.partition),
        None => key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leads_back_to_member_and_partition() {
        let tp = TopicPartition::new("orders.2", 7);
        assert_eq!(key(&tp, 0), tp);
        for member in [0, 1, 12] {
            let key = key(&tp, member);
            assert_eq!((member_of(&key), partition_of(&key)), (member, tp.clone()));
        }
    }
}
