//! Topics and offsets as the brokers report them; shared by consumers and the admin client.

use std::time::{Duration, Instant};

use data::TopicPartition;
use rdkafka::client::{Client, ClientContext};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use crate::error::{Error, Result};
use crate::{ffi, lists};

/// A topic's name and its number of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    pub partitions: usize,
}

/// The cluster's id; `None` if no broker tells it in time.
pub(crate) fn cluster_id<C: ClientContext>(
    client: &Client<C>,
    timeout: Duration,
) -> Option<String> {
    // The library's wait can miss the answer and then sits out its whole timeout.
    const SLICE: Duration = Duration::from_millis(50);
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let id = client.fetch_cluster_id(left.min(SLICE)).filter(|id| !id.is_empty());
        if id.is_some() || left.is_zero() {
            return id;
        }
    }
}

pub(crate) fn list_topics<C: ClientContext>(
    client: &Client<C>,
    timeout: Duration,
) -> Result<Vec<Topic>> {
    let all = client
        .fetch_metadata(None, timeout)
        .map_err(|e| Error::from_kafka(&e, "list the cluster's topics"))?;
    // A topic with an error is being deleted or not to be seen: as good as absent.
    let usable = all.topics().iter().filter(|t| error_of(t).is_none());
    Ok(usable.map(describe).collect())
}

pub(crate) fn topic<C: ClientContext>(
    client: &Client<C>,
    name: &str,
    timeout: Duration,
) -> Result<Topic> {
    let what = format!("read topic '{name}'");
    let unknown = || {
        Error::from_code(
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART as i32,
            &what,
            None,
        )
    };
    let answer =
        client.fetch_metadata(Some(name), timeout).map_err(|e| Error::from_kafka(&e, &what))?;
    let topic = answer.topics().iter().find(|t| t.name() == name).ok_or_else(unknown)?;
    match error_of(topic) {
        Some(code) => Err(Error::from_code(code, &what, None)),
        None if topic.partitions().is_empty() => Err(unknown()),
        None => Ok(describe(topic)),
    }
}

fn error_of(topic: &MetadataTopic) -> Option<i32> {
    topic.error().map(|e| e as i32).filter(|code| *code != 0)
}

fn describe(topic: &MetadataTopic) -> Topic {
    Topic { name: topic.name().to_owned(), partitions: topic.partitions().len() }
}

/// The first offset at or after each timestamp, in the order asked.
pub(crate) fn offsets_for_times<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    times: &[(TopicPartition, i64)],
    timeout: Duration,
) -> Result<Vec<Option<i64>>> {
    let list = lists::with_offsets(times.iter().map(|(tp, at)| (tp, *at)))?;
    let partitions = times.iter().map(|(tp, _)| tp);
    look_up(client, list, partitions, timeout)
}

/// The offset behind the last record of each partition, in the order asked.
pub(crate) fn ends<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    partitions: &[TopicPartition],
    timeout: Duration,
) -> Result<Vec<Option<i64>>> {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for tp in partitions {
        // In the place of a time the protocol takes this for the latest offset. Fails for names with a
        // NUL only, which no topic has.
        let _ = list.add_partition_offset(&tp.topic, tp.partition, Offset::End);
    }
    look_up(client, list, partitions.iter(), timeout)
}

fn look_up<'a, C: ConsumerContext>(
    client: &BaseConsumer<C>,
    list: TopicPartitionList,
    partitions: impl Iterator<Item = &'a TopicPartition>,
    timeout: Duration,
) -> Result<Vec<Option<i64>>> {
    const WHAT: &str = "look up offsets";
    let answer =
        client.offsets_for_times(list, timeout).map_err(|e| Error::from_kafka(&e, WHAT))?;
    let answer = ffi::entries(&answer);
    let of = |tp: &TopicPartition| match answer.iter().find(|e| e.tp == *tp) {
        Some(e) if e.code != 0 => Err(Error::from_code(e.code, WHAT, None).about(tp)),
        Some(e) => match Offset::from_raw(e.offset) {
            Offset::Offset(offset) => Ok(Some(offset)),
            _ => Ok(None),
        },
        None => Ok(None),
    };
    partitions.map(of).collect()
}
