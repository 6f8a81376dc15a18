//! Samples from a topic: what it holds now, read without joining a group.

use super::sample::{Part, Sample};
use super::setup::Setup;
use crate::exit::Failure;
use data::{RawBatch, TopicPartition};
use kafka::settings::{ClientKind, layers_for_connector};
use kafka::{Admin, ClientSettings, ErrorKind, NoRebalance, PollLimits, SinkConsumer};
use std::time::{Duration, Instant};

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// Without a record or an end for so long, the broker is taken for silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const POLL_WAIT: Duration = Duration::from_millis(200);
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Where in a topic samples begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// The oldest records.
    Earliest,
    /// The newest records that are there already.
    Latest,
    /// This offset of each partition.
    Offset(i64),
}

impl std::str::FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<From, String> {
        match text {
            "earliest" => Ok(From::Earliest),
            "latest" => Ok(From::Latest),
            _ => match text.parse() {
                Ok(offset) if offset >= 0 => Ok(From::Offset(offset)),
                _ => Err("earliest, latest or an offset is expected".to_owned()),
            },
        }
    }
}

/// Which samples to take.
pub(super) struct Wanted<'a> {
    pub(super) topic: &'a str,
    pub(super) bootstrap: Option<&'a str>,
    pub(super) from: From,
    pub(super) limit: usize,
}

/// Takes samples, in the order of their timestamps, those of one partition in its order.
///
/// # Errors
/// Settings are wrong, the topic does not exist, no broker answers.
pub(super) fn read(setup: &Setup, wanted: &Wanted<'_>) -> Result<Vec<Sample>, Failure> {
    let mut consumer = client(setup, wanted, ClientKind::Consumer)?;
    consumer.entry("group.id".to_owned()).or_insert("copycat-transform-test".to_owned());
    let admin =
        Admin::new(&client(setup, wanted, ClientKind::Admin)?).map_err(|e| kafka_failure(&e))?;
    let ranges = ranges(&admin, wanted)?;
    let mut taken = Vec::new();
    if !ranges.is_empty() {
        let mut consumer =
            SinkConsumer::new(&consumer, Box::new(NoRebalance)).map_err(|e| kafka_failure(&e))?;
        taken = take(&mut consumer, &ranges, wanted)?;
        consumer.leave();
    }
    let mut taken = merged(taken);
    let surplus = taken.len().saturating_sub(wanted.limit);
    match wanted.from {
        From::Latest => drop(taken.drain(..surplus)),
        From::Earliest | From::Offset(_) => taken.truncate(wanted.limit),
    }
    Ok(taken)
}

/// By timestamp, except that no record comes before an earlier one of its partition.
fn merged(mut taken: Vec<Sample>) -> Vec<Sample> {
    taken.sort_by_key(|sample| (sample.partition, sample.offset));
    let mut latest = (None, None);
    let mut timed: Vec<(Option<i64>, Sample)> = Vec::new();
    for sample in taken {
        let before = if latest.0 == sample.partition { latest.1 } else { None };
        let time = sample.timestamp.max(before);
        latest = (sample.partition, time);
        timed.push((time, sample));
    }
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, sample)| sample).collect()
}

fn client(setup: &Setup, wanted: &Wanted<'_>, kind: ClientKind) -> Result<ClientSettings, Failure> {
    const BOOTSTRAP: &str = "bootstrap.servers";
    let mut worker = setup.worker.clone();
    if let Some(bootstrap) = wanted.bootstrap {
        worker.insert(BOOTSTRAP, bootstrap);
    }
    if !worker.contains(BOOTSTRAP) {
        return Err(Failure::wrong_input("--topic needs a broker")
            .hint("add --bootstrap-servers HOST:PORT, or --worker FILE with bootstrap.servers"));
    }
    let translated = layers_for_connector(&worker, &setup.connector, kind).translate(kind);
    let settings = translated.map_err(|errors| Failure::wrong_input(errors.to_string()))?;
    Ok(settings.librdkafka)
}

fn kafka_failure(error: &kafka::Error) -> Failure {
    match error.kind() {
        ErrorKind::Configuration | ErrorKind::UnknownTopic => {
            Failure::wrong_input(error.to_string())
        }
        _ => Failure::unavailable(error.to_string()),
    }
}

/// The partitions that have anything to read: where to begin and where the end is now.
fn ranges(admin: &Admin, wanted: &Wanted<'_>) -> Result<Vec<(TopicPartition, i64, i64)>, Failure> {
    let topic = admin.topic(wanted.topic, ASK_TIMEOUT).map_err(|error| kafka_failure(&error))?;
    let mut ranges = Vec::new();
    for partition in 0..topic.partitions as i32 {
        let tp = TopicPartition::new(wanted.topic, partition);
        let marks = admin.watermarks(&tp, ASK_TIMEOUT).map_err(|error| kafka_failure(&error))?;
        let start = match wanted.from {
            From::Earliest => marks.low,
            From::Latest => {
                let limit = i64::try_from(wanted.limit).unwrap_or(i64::MAX);
                marks.low.max(marks.high.saturating_sub(limit))
            }
            From::Offset(offset) => offset.max(marks.low),
        };
        if start < marks.high {
            ranges.push((tp, start, marks.high));
        }
    }
    Ok(ranges)
}

fn take(
    consumer: &mut SinkConsumer,
    ranges: &[(TopicPartition, i64, i64)],
    wanted: &Wanted<'_>,
) -> Result<Vec<Sample>, Failure> {
    let starts: Vec<_> = ranges.iter().map(|(tp, start, _)| (tp.clone(), *start)).collect();
    consumer.assign_manually(&starts).map_err(|error| kafka_failure(&error))?;
    let mut open: Vec<&TopicPartition> = ranges.iter().map(|(tp, ..)| tp).collect();
    let mut taken = Vec::new();
    let mut heard = Instant::now();
    let mut trouble = None;
    while !open.is_empty() {
        let limits = PollLimits { rows_max: 1_000, bytes_max: BATCH_BYTES_MAX };
        let polled = consumer.poll(POLL_WAIT, limits).map_err(|error| kafka_failure(&error))?;
        if !polled.batches.is_empty() || !polled.ends.is_empty() {
            heard = Instant::now();
        }
        for batch in &polled.batches {
            samples(batch, ranges, wanted.limit, &mut taken);
        }
        let ended = |tp: &TopicPartition| {
            let at_end = polled.ends.iter().any(|(end, _)| end == tp);
            let past = ranges.iter().any(|(range, _, end)| {
                range == tp && consumer.position(tp).is_some_and(|position| position >= *end)
            });
            let of_partition = |sample: &&Sample| sample.partition == Some(tp.partition);
            at_end || past || taken.iter().filter(of_partition).count() >= wanted.limit
        };
        open.retain(|tp| !ended(tp));
        trouble = polled.errors.into_iter().map(|trouble| trouble.error).last().or(trouble);
        if heard.elapsed() > SILENCE_MAX {
            let topic = wanted.topic;
            let reason = trouble.map_or_else(String::new, |error| format!(": {error}"));
            return Err(Failure::unavailable(format!("topic {topic} is not answered for{reason}")));
        }
    }
    Ok(taken)
}

/// The records of a batch before the end as it was when reading began.
fn samples(
    batch: &RawBatch,
    ranges: &[(TopicPartition, i64, i64)],
    limit: usize,
    taken: &mut Vec<Sample>,
) {
    let Some((.., end)) = ranges.iter().find(|(tp, ..)| tp == batch.tp()) else { return };
    let of_partition = |sample: &&Sample| sample.partition == Some(batch.partition());
    let room = limit.saturating_sub(taken.iter().filter(of_partition).count());
    let wire = |bytes: Option<&[u8]>| bytes.map_or(Part::Null, |b| Part::Wire(b.to_vec()));
    let records = batch.records().iter().enumerate();
    for (row, record) in records.filter(|(_, record)| record.offset < *end).take(room) {
        let headers = batch.headers(row).map(|(name, value)| (name.to_owned(), wire(value)));
        taken.push(Sample {
            topic: batch.topic().to_string(),
            partition: Some(batch.partition()),
            offset: record.offset,
            timestamp: Some(record.timestamp).filter(|time| *time != -1),
            timestamp_type: record.timestamp_type,
            key: wire(batch.key(row)),
            value: wire(batch.value(row).as_deref()),
            headers: headers.collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::TimestampType;

    #[test]
    fn partitions_are_merged_by_time_and_keep_their_own_order() {
        let sample = |partition, offset, timestamp| Sample {
            topic: "t".to_owned(),
            partition: Some(partition),
            offset,
            timestamp: Some(timestamp),
            timestamp_type: TimestampType::CreateTime,
            key: Part::Null,
            value: Part::Null,
            headers: Vec::new(),
        };
        let taken = vec![
            sample(1, 0, 4),
            sample(1, 1, 9),
            sample(0, 0, 5),
            sample(0, 1, 3),
            sample(0, 2, 6),
        ];
        let order: Vec<_> =
            merged(taken).iter().map(|s| (s.partition.unwrap(), s.offset)).collect();
        assert_eq!(order, [(1, 0), (0, 0), (0, 1), (0, 2), (1, 1)]);
    }

    #[test]
    fn a_beginning_is_a_name_or_an_offset() {
        let read = |text: &str| text.parse::<From>();
        assert_eq!(read("latest"), Ok(From::Latest));
        assert_eq!(read("17"), Ok(From::Offset(17)));
        assert!(read("-1").is_err() && read("now").is_err());
    }
}
