//! Writes records once, and ends.

use crate::distributed::topics::Written;
use api::{Error, Result};
use kafka::{ClientSettings, ErrorKind, Producer, ProducerRecord, TransactionalProducer};
use runtime::kafka_error;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(30);
const PART: Duration = Duration::from_secs(1);

fn record<'a>(topic: &'a str, id: usize, (key, value): &'a Written) -> ProducerRecord<'a> {
    let (key, value) = (Some(key.as_slice()), value.as_deref());
    ProducerRecord { topic, key, value, id, ..ProducerRecord::default() }
}

/// Writes records in one transaction under the leader's id, which ends whatever a leader has open.
/// `still` is asked once nobody else can write any more: an error of it is what comes of it, and
/// nothing is written.
///
/// # Errors
/// Nothing was written, unless the outcome of the commit is unknown: then it can be done again.
pub fn at_once(
    writer: &ClientSettings,
    topic: &str,
    records: &[Written],
    still: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let id = writer.get("transactional.id").cloned().unwrap_or_default();
    let failed = |error: kafka::Error| match error.kind() {
        ErrorKind::Authorization => Error::config(error.to_string()).hint(format!(
            "grant the worker's principal Write and Describe on TransactionalId {id}, and Write on \
             Topic {topic}"
        )),
        ErrorKind::Fenced => {
            Error::retriable(format!("a worker has taken over meanwhile: {error}"))
        }
        _ => kafka_error(error),
    };
    let producer = TransactionalProducer::new(writer).map_err(failed)?;
    until(|part| producer.init(part)).map_err(failed)?;
    still()?;
    producer.begin().map_err(failed)?;
    let written =
        send(&producer, topic, records).and_then(|()| until(|part| producer.commit(part)));
    if let Err(error) = written {
        if let Err(more) = until(|part| producer.abort(part)) {
            tracing::debug!("a transaction is left to time out: {more}");
        }
        return Err(failed(error));
    }
    Ok(())
}

fn send(producer: &TransactionalProducer, topic: &str, records: &[Written]) -> kafka::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    for (number, one) in records.iter().enumerate() {
        while let Err(error) = producer.send(&record(topic, number, one)) {
            if error.kind() != ErrorKind::QueueFull || Instant::now() > deadline {
                return Err(error);
            }
            refused(producer.poll(PART))?;
        }
    }
    while producer.in_flight() > 0 {
        refused(producer.poll(PART))?;
        if Instant::now() > deadline {
            let text = format!("topic {topic}: records are not acknowledged in time");
            return Err(kafka::Error::new(ErrorKind::TimedOut, text));
        }
    }
    refused(producer.poll(Duration::ZERO))
}

/// Writes records, each by itself, and waits until all are acknowledged.
///
/// # Errors
/// Some may have been written: it can be done again.
pub fn plainly(producer: &ClientSettings, topic: &str, records: &[Written]) -> Result<()> {
    let producer = Producer::new(producer).map_err(kafka_error)?;
    for (number, one) in records.iter().enumerate() {
        producer.send(&record(topic, number, one)).map_err(kafka_error)?;
    }
    producer.flush(TIMEOUT).map_err(kafka_error)?;
    refused(producer.poll(Duration::ZERO)).map_err(kafka_error)
}

fn refused(outcomes: Vec<kafka::Delivery>) -> kafka::Result<()> {
    outcomes.into_iter().find_map(|outcome| outcome.result.err()).map_or(Ok(()), Err)
}

/// Does a step again until its outcome is known or its time is over.
fn until(mut step: impl FnMut(Duration) -> kafka::Result<()>) -> kafka::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match step(PART) {
            Err(error) if error.is_retriable() && Instant::now() < deadline => {}
            done => return done,
        }
    }
}
