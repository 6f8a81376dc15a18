//! From the start and end of a replay to offsets, one range a partition.
//!
//! Place in the data path: once, before the first record of a replay is read.

use crate::control::{Replay, Start};
use crate::worker::starts::resolve;
use api::Error;
use data::TopicPartition;
use kafka::{ClientHandle, Watermarks};
use runtime::kafka_error;
use std::collections::BTreeMap;
use std::time::Duration;

const ASK_TIMEOUT: Duration = Duration::from_secs(10);

/// `start..end` of a partition, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) partition: i32,
    pub(super) start: i64,
    pub(super) next: i64,
    pub(super) end: i64,
}

/// The ranges of a replay of a topic with so many partitions.
///
/// # Errors
/// `Config`: the log does not have what is asked for.
pub(super) fn ranges(
    replay: &Replay,
    client: &ClientHandle,
    topic: &str,
    partitions: usize,
) -> Result<Vec<Range>, Error> {
    let chosen = chosen(replay, topic, partitions)?;
    let all: Vec<TopicPartition> =
        chosen.iter().map(|partition| TopicPartition::new(topic, *partition)).collect();
    let starts = resolve(&replay.start_at, client, &all)?;
    let ends = resolve(&replay.end_at, client, &all)?;
    let mut ranges = Vec::with_capacity(all.len());
    for ((tp, start), end) in all.iter().zip(starts).zip(ends) {
        let marks = client.watermarks(tp, ASK_TIMEOUT).map_err(kafka_error)?;
        ranges.push(checked(replay, tp, (start, end), marks)?);
    }
    Ok(ranges)
}

/// The partitions that take part: those that were named, everywhere that partitions are named.
fn chosen(replay: &Replay, topic: &str, partitions: usize) -> Result<Vec<i32>, Error> {
    let map = |start: &Start| match start {
        Start::Offsets(map) => Some(map.clone()),
        _ => None,
    };
    let named: BTreeMap<i32, i64> =
        map(&replay.start_at).or_else(|| map(&replay.end_at)).unwrap_or_default();
    let by_number = i32::try_from(partitions).unwrap_or(i32::MAX);
    let mut chosen: Vec<i32> = match &replay.only_partitions {
        Some(only) => only.clone(),
        None if !named.is_empty() => named.keys().copied().collect(),
        None => (0..by_number).collect(),
    };
    chosen.retain(|partition| named.is_empty() || named.contains_key(partition));
    chosen.sort_unstable();
    chosen.dedup();
    match chosen.iter().find(|partition| !(0..by_number).contains(*partition)) {
        Some(unknown) => Err(Error::config(format!(
            "the topic {topic} has no partition {unknown}: it has {partitions}"
        ))
        .hint(again(replay))),
        None => Ok(chosen),
    }
}

fn checked(
    replay: &Replay,
    tp: &TopicPartition,
    (start, end): (i64, i64),
    Watermarks { low, high }: Watermarks,
) -> Result<Range, Error> {
    let TopicPartition { topic, partition } = tp;
    if start < low && end > start {
        return Err(Error::config(format!(
            "partition {partition} of {topic} begins at {low}: what lies between {start} and there \
             is not in the log any more"
        ))
        .hint(again(replay)));
    }
    if end > high {
        return Err(Error::config(format!(
            "partition {partition} of {topic} ends at {high}, before the end of the replay, {end}"
        ))
        .hint(again(replay)));
    }
    Ok(Range { partition: *partition, start, next: start, end: end.max(start) })
}

pub(super) fn again(replay: &Replay) -> String {
    format!(
        "SELECT pipeline_kafka.replay_cancel({}); and call replay again with another range",
        replay.id
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Mode;

    fn replay(start_at: Start, end_at: Start, only: Option<Vec<i32>>) -> Replay {
        Replay {
            id: 7,
            consumer_id: 1,
            owner: "o".to_owned(),
            owner_reachable: true,
            owner_superuser: false,
            start_at,
            end_at,
            into: None,
            mode: Mode::Append,
            only_partitions: only,
            started: false,
            in_client: false,
            is_retry: false,
            config_version: 1,
        }
    }

    #[test]
    fn partitions_that_are_named_take_part() {
        let map = || Start::Offsets(BTreeMap::from([(0, 5), (2, 7)]));
        let asked = |start, end, only| chosen(&replay(start, end, only), "t", 3);
        assert_eq!(asked(Start::Earliest, Start::Latest, None).unwrap(), [0, 1, 2]);
        assert_eq!(asked(map(), Start::Latest, None).unwrap(), [0, 2]);
        assert_eq!(asked(Start::Earliest, map(), None).unwrap(), [0, 2]);
        assert_eq!(asked(map(), map(), Some(vec![2, 1, 2])).unwrap(), [2]);
        let error = asked(Start::Earliest, Start::Latest, Some(vec![3])).unwrap_err();
        assert!(error.message.contains("no partition 3"), "{}", error.message);
    }

    #[test]
    fn a_range_lies_within_the_log() {
        let replay = replay(Start::Earliest, Start::Latest, None);
        let tp = TopicPartition::new("t", 0);
        let ends = Watermarks { low: 10, high: 20 };
        let range = |start, end| checked(&replay, &tp, (start, end), ends);
        assert_eq!(range(10, 20).map(|r| (r.start, r.end)).unwrap(), (10, 20));
        assert_eq!(range(15, 12).map(|r| (r.start, r.end)).unwrap(), (15, 15), "nothing to read");
        assert!(range(9, 20).unwrap_err().message.contains("begins at 10"));
        assert!(range(10, 21).unwrap_err().message.contains("ends at 20"));
    }
}
