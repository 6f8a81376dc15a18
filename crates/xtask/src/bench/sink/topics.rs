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

use testkit::avro::Avro;

use crate::bench::say;
use crate::bench::workload::{Generation, Order};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Form {
    Envelope,
    Plain,
    /// Avro behind this id of a schema.
    Avro(i32),
}

/// A topic with the orders `0..records`; it is deleted with this value.
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
        Topic::spread(bootstrap, &[form], generation, records, 1)
    }

    /// The same over some partitions, in these forms in turn.
    pub(in crate::bench) fn spread(
        bootstrap: &str,
        forms: &[Form],
        generation: Generation,
        records: u64,
        partitions: i32,
    ) -> Result<Topic> {
        let form = *forms.first().context("a topic has a form")?;
        let topic = Topic::of(bootstrap, form, records, partitions);
        say(&format!("producing {records} orders ({forms:?}, {generation:?} generation)"));
        let producer = producer(bootstrap, 5)?;
        let mut value = Vec::new();
        for (id, form) in (0..i64::try_from(records)?).zip(forms.iter().cycle()) {
            value.clear();
            write(&Order::new(id, generation), *form, &mut value);
            let partition = i32::try_from(id / forms.len() as i64 % i64::from(partitions))?;
            send(&producer, (&topic.name, partition), id, &value)?;
        }
        producer.flush(Duration::from_secs(120)).context("the orders are not acknowledged")?;
        let ends = testkit::kafka::end_offsets(bootstrap, &topic.name);
        ensure!(ends.values().sum::<i64>() == i64::try_from(records)?, "{ends:?}");
        Ok(topic)
    }

    pub(in crate::bench) fn empty(bootstrap: &str, form: Form, records: u64) -> Topic {
        Topic::of(bootstrap, form, records, 1)
    }

    fn of(bootstrap: &str, form: Form, records: u64, partitions: i32) -> Topic {
        let name = testkit::kafka::topic_name("bench-orders");
        testkit::kafka::create_topic(bootstrap, &name, partitions);
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

pub(in crate::bench) fn write(order: &Order, form: Form, out: &mut Vec<u8>) {
    let mut text = String::new();
    match form {
        Form::Envelope => order.envelope(&mut text),
        Form::Plain => order.plain(&mut text),
        Form::Avro(id) => out.extend_from_slice(&avro(Avro::of(id), order).done()),
    }
    out.extend_from_slice(text.as_bytes());
}

/// The seven fields of an order behind what the message has already.
pub(in crate::bench) fn avro(message: Avro, order: &Order) -> Avro {
    let Order { id, customer, amount, currency, created_ms, note, paid } = order;
    message
        .long(*id)
        .text(customer)
        .fixed(&amount.to_le_bytes())
        .text(currency)
        .long(*created_ms)
        .text(note)
        .fixed(&[u8::from(*paid)])
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
    (topic, partition): (&str, i32),
    id: i64,
    value: &[u8],
) -> Result<()> {
    let key = id.to_be_bytes();
    loop {
        let record = BaseRecord::to(topic).partition(partition).key(key.as_slice()).payload(value);
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
