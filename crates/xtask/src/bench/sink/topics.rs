//! Topics full of orders, made once a run and removed with it.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rdkafka::{
    ClientConfig, ClientContext,
    error::KafkaError,
    message::DeliveryResult,
    producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext},
    types::RDKafkaErrorCode,
};

use crate::bench::say;
use crate::bench::workload::{Generation, Order};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Form {
    Envelope,
    Plain,
}

/// A topic of one partition with the orders `0..records`; it is deleted with this value.
pub(in crate::bench) struct Topic {
    bootstrap: String,
    pub(in crate::bench) name: String,
    pub(in crate::bench) form: Form,
    pub(in crate::bench) records: u64,
}

impl Topic {
    pub(in crate::bench) fn filled(
        bootstrap: &str,
        form: Form,
        generation: Generation,
        records: u64,
    ) -> Result<Topic> {
        let topic = Topic::empty(bootstrap, form, records);
        say(&format!("producing {records} orders ({form:?}, {generation:?} generation)"));
        let producer = producer(bootstrap, 5)?;
        let mut value = String::new();
        for id in 0..i64::try_from(records)? {
            value.clear();
            write(&Order::new(id, generation), form, &mut value);
            send(&producer, &topic.name, id, value.as_bytes())?;
        }
        producer.flush(Duration::from_secs(120)).context("the orders are not acknowledged")?;
        let ends = testkit::kafka::end_offsets(bootstrap, &topic.name);
        ensure!(ends.values().sum::<i64>() == i64::try_from(records)?, "{ends:?}");
        Ok(topic)
    }

    pub(in crate::bench) fn empty(bootstrap: &str, form: Form, records: u64) -> Topic {
        let name = testkit::kafka::topic_name("bench-orders");
        testkit::kafka::create_topic(bootstrap, &name, 1);
        Topic { bootstrap: bootstrap.to_owned(), name, form, records }
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            testkit::kafka::delete_topic(&self.bootstrap, &self.name);
        }
    }
}

pub(in crate::bench) fn write(order: &Order, form: Form, out: &mut String) {
    match form {
        Form::Envelope => order.envelope(out),
        Form::Plain => order.plain(out),
    }
}

/// A refused record must not pass as one that was never slow.
pub(in crate::bench) struct Outcomes;

impl ClientContext for Outcomes {}

impl ProducerContext for Outcomes {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            say(&format!("a record was refused: {error}"));
        }
    }
}

/// Batches of 64 KiB with lz4, as the workload is defined.
pub(in crate::bench) fn producer(
    bootstrap: &str,
    linger_ms: u32,
) -> Result<BaseProducer<Outcomes>> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    config.set("compression.type", "lz4");
    config.set("linger.ms", linger_ms.to_string());
    config.set("batch.size", "65536");
    config.set("queue.buffering.max.messages", "500000");
    config.set("enable.idempotence", "true");
    config.create_with_context(Outcomes).context("the producer's settings")
}

pub(in crate::bench) fn send(
    producer: &BaseProducer<Outcomes>,
    topic: &str,
    id: i64,
    value: &[u8],
) -> Result<()> {
    let key = id.to_be_bytes();
    loop {
        let record = BaseRecord::to(topic).partition(0).key(key.as_slice()).payload(value);
        match producer.send(record) {
            Ok(()) => break,
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                producer.poll(Duration::from_millis(50));
            }
            Err((error, _)) => bail!("producing to {topic}: {error}"),
        }
    }
    if id % 1000 == 0 {
        producer.poll(Duration::ZERO);
    }
    Ok(())
}
