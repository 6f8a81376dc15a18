//! What reading alone takes: librdkafka's consumer with nothing behind it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
};

use super::Bench;
use crate::bench::{
    process::cpu_seconds,
    table::{Section, Series, thousands},
};

/// Longer than this between two records is a failure.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let (mut rates, mut per_cpu_s) = (Series::default(), Series::default());
    for _ in 0..bench.runs {
        let cpu = cpu_seconds(std::process::id())?;
        let start = Instant::now();
        read(bench)?;
        rates.push(bench.records as f64 / start.elapsed().as_secs_f64());
        let cpu = cpu_seconds(std::process::id())? - cpu;
        per_cpu_s.push(bench.records as f64 / cpu.max(0.01));
    }
    let mut section = Section::new("Reading alone", &["case", "records/s", "records per CPU-s"]);
    section.row([
        "librdkafka's consumer, each record looked at, nothing done".to_owned(),
        rates.spread(thousands),
        per_cpu_s.spread(thousands),
    ]);
    Ok(section)
}

fn read(bench: &Bench) -> Result<()> {
    let topic = bench.envelope()?;
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &bench.bootstrap);
    config.set("group.id", "bench-consumer");
    config.set("enable.auto.commit", "false");
    config.set("fetch.queue.backoff.ms", "5");
    config.set("queued.max.messages.kbytes", "65536");
    let consumer: BaseConsumer = config.create().context("the consumer's settings")?;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&topic.name, 0, Offset::Offset(0))?;
    consumer.assign(&list)?;
    let mut count = 0;
    while count < topic.records {
        match consumer.poll(PATIENCE) {
            Some(Ok(_)) => count += 1,
            Some(Err(error)) => bail!("reading {}: {error}", topic.name),
            None => bail!("nothing to read after {count} records"),
        }
    }
    Ok(())
}
