//! A topic's records from the first to the last.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
    message::Headers as _,
};

use super::{PATIENCE, client, topic::led_partitions};

/// One record as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The partition it was in.
    pub partition: i32,
    /// Its offset there.
    pub offset: i64,
    /// The key; `None` is Kafka's null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is Kafka's null.
    pub value: Option<Vec<u8>>,
    /// Headers in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Milliseconds since 1970, if it has one.
    pub timestamp: Option<i64>,
}

impl Read {
    /// The value as text.
    ///
    /// # Panics
    ///
    /// When it is null or not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.value.as_deref().expect("a value")).expect("text in UTF-8")
    }

    /// The value of the first header of that name as text; `None` where it is missing or null.
    ///
    /// # Panics
    ///
    /// When it is not UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(header, _)| header == name)?;
        value.as_deref().map(|value| std::str::from_utf8(value).expect("text in UTF-8"))
    }
}

/// Everything in a topic at this moment, committed transactions only, by partition and offset.
///
/// # Panics
///
/// When the topic does not exist or its end is not reached in time.
pub fn read(bootstrap: &str, topic: &str) -> Vec<Read> {
    read_with(bootstrap, topic, "read_committed")
}

/// The same at the isolation level given (`read_committed` or `read_uncommitted`).
pub fn read_with(bootstrap: &str, topic: &str, isolation: &str) -> Vec<Read> {
    let mut config = client(bootstrap);
    config.set("group.id", "unused-by-reading");
    config.set("enable.auto.commit", "false");
    config.set("enable.partition.eof", "true");
    config.set("isolation.level", isolation);
    config.set("fetch.message.max.bytes", "70000000");
    config.set("fetch.wait.max.ms", "50");
    let consumer: BaseConsumer = config.create().expect("the settings are valid");
    let partitions = led_partitions(&consumer, topic);
    assert!(partitions > 0, "there is no topic {topic}");
    // A client that has seen the topic's leaders reads at once; others look again after 500 ms.
    consumer.fetch_metadata(Some(topic), PATIENCE).expect("the broker answers");
    let mut wanted = TopicPartitionList::new();
    for partition in 0..partitions {
        wanted
            .add_partition_offset(topic, partition, Offset::Beginning)
            .expect("the beginning is an offset");
    }
    consumer.assign(&wanted).expect("partitions can be assigned");
    let mut records = drain(&consumer, topic, partitions);
    records.sort_by_key(|record| (record.partition, record.offset));
    records
}

fn drain(consumer: &BaseConsumer, topic: &str, partitions: i32) -> Vec<Read> {
    let mut open: BTreeSet<i32> = (0..partitions).collect();
    let mut records = Vec::new();
    let mut heard = Instant::now();
    while !open.is_empty() {
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                heard = Instant::now();
                records.push(Read {
                    partition: message.partition(),
                    offset: message.offset(),
                    key: message.key().map(<[u8]>::to_vec),
                    value: message.payload().map(<[u8]>::to_vec),
                    headers: message.headers().map_or_else(Vec::new, |headers| {
                        let headers = headers.iter();
                        headers.map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec))).collect()
                    }),
                    timestamp: message.timestamp().to_millis(),
                });
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                open.remove(&partition);
            }
            // Other errors are passing ones: a broker that is being restarted.
            Some(Err(_)) | None => assert!(
                heard.elapsed() < PATIENCE,
                "the end of {topic} was not reached; open partitions: {open:?}"
            ),
        }
    }
    records
}
