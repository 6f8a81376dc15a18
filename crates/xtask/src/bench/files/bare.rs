//! What the Kafka client alone takes: librdkafka's producer and consumer with nothing around them, at
//! the settings of the workers.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
    producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer as _},
    types::RDKafkaErrorCode,
};

use super::Bench;
use super::transfer::Figures;
use crate::bench::process::cpu_seconds;

/// Longer than this between two records is a failure.
const PATIENCE: Duration = Duration::from_secs(10);

/// Settings of producers, the same for the workers.
pub(super) const PRODUCER: [(&str, &str); 3] =
    [("compression.type", "lz4"), ("linger.ms", "5"), ("acks", "all")];

pub(super) fn produce(bench: &Bench) -> Result<Figures> {
    let topic = super::transfer::empty(bench);
    let text = fs::read(bench.file())?;
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &bench.bootstrap);
    for (key, value) in PRODUCER {
        config.set(key, value);
    }
    config.set("enable.idempotence", "true");
    config.set("queue.buffering.max.messages", "500000");
    let producer: BaseProducer<DefaultProducerContext> =
        config.create().context("the producer's settings")?;
    // Connects, so that the first line does not wait for it.
    producer.client().fetch_metadata(Some(&topic), PATIENCE)?;
    let cpu = cpu_seconds(std::process::id())?;
    let start = Instant::now();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        loop {
            match producer.send(BaseRecord::<(), [u8]>::to(&topic).payload(line)) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    producer.poll(Duration::from_millis(50));
                }
                Err((error, _)) => bail!("producing to {topic}: {error}"),
            }
        }
        if index % 1000 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    producer.flush(Duration::from_secs(120)).context("the lines are not acknowledged")?;
    let took = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds(std::process::id())? - cpu;
    let end: i64 = testkit::kafka::end_offsets(&bench.bootstrap, &topic).values().sum();
    ensure!(end == i64::try_from(bench.lines)?, "{end} lines arrived");
    testkit::kafka::delete_topic(&bench.bootstrap, &topic);
    Ok(Figures::new(bench.lines, took, cpu, 0.0))
}

pub(super) fn consume(bench: &Bench, topic: &str) -> Result<Figures> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &bench.bootstrap);
    config.set("group.id", "bench-consumer");
    config.set("enable.auto.commit", "false");
    config.set("fetch.queue.backoff.ms", "5");
    config.set("queued.max.messages.kbytes", "65536");
    let consumer: BaseConsumer = config.create().context("the consumer's settings")?;
    consumer.fetch_metadata(Some(topic), PATIENCE)?;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, 0, Offset::Offset(0))?;
    let cpu = cpu_seconds(std::process::id())?;
    let start = Instant::now();
    consumer.assign(&list)?;
    let mut count = 0;
    while count < bench.lines {
        match consumer.poll(PATIENCE) {
            Some(Ok(_)) => count += 1,
            Some(Err(error)) => bail!("reading {topic}: {error}"),
            None => bail!("nothing to read after {count} lines"),
        }
    }
    let took = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds(std::process::id())? - cpu;
    Ok(Figures::new(bench.lines, took, cpu, 0.0))
}
