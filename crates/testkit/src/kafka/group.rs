//! Consumer groups: who is in them and what they have committed.

use std::collections::BTreeMap;

use rdkafka::{
    Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
};

use super::{PATIENCE, client, topic::partition_count};

/// A group as the broker sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// `Stable`, `Empty`, `Dead`, `PreparingRebalance` or `CompletingRebalance`.
    pub state: String,
    /// The client ids of its members.
    pub members: Vec<String>,
}

/// A group, or `None` where the broker knows none of that name.
pub fn group(bootstrap: &str, group: &str) -> Option<Group> {
    let list = consumer(bootstrap, group)
        .fetch_group_list(Some(group), PATIENCE)
        .expect("the broker answers");
    let found = list.groups().iter().find(|g| g.name() == group && g.state() != "Dead")?;
    let members = found.members().iter().map(|member| member.client_id().to_owned()).collect();
    Some(Group { state: found.state().to_owned(), members })
}

/// What a group has committed for a topic; partitions without an offset are left out.
pub fn group_offsets(bootstrap: &str, group: &str, topic: &str) -> BTreeMap<i32, i64> {
    let mut wanted = TopicPartitionList::new();
    for partition in 0..partition_count(bootstrap, topic) {
        wanted.add_partition(topic, partition);
    }
    let committed =
        consumer(bootstrap, group).committed_offsets(wanted, PATIENCE).expect("the broker answers");
    let elements = committed.elements();
    elements
        .iter()
        .filter_map(|element| match element.offset() {
            Offset::Offset(offset) => Some((element.partition(), offset)),
            _ => None,
        })
        .collect()
}

/// Commits offsets for a group without members.
///
/// # Panics
///
/// When the broker refuses, for example because the group has members.
pub fn commit_group_offsets(bootstrap: &str, group: &str, topic: &str, offsets: &[(i32, i64)]) {
    let mut wanted = TopicPartitionList::new();
    for &(partition, offset) in offsets {
        wanted
            .add_partition_offset(topic, partition, Offset::Offset(offset))
            .expect("a number is an offset");
    }
    consumer(bootstrap, group)
        .commit(&wanted, CommitMode::Sync)
        .unwrap_or_else(|error| panic!("offsets of group {group}: {error}"));
}

fn consumer(bootstrap: &str, group: &str) -> BaseConsumer {
    let mut config = client(bootstrap);
    config.set("group.id", group);
    config.set("enable.auto.commit", "false");
    config.create().expect("the settings are valid")
}
