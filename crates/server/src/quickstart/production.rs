//! Produces the orders, beside the worker that reads them.

use super::orders::Orders;
use crate::exit::Failure;

use kafka::{ClientSettings, Producer, ProducerRecord};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Orders handed to the client at a time.
const CHUNK: u64 = 500;
const TICK: Duration = Duration::from_millis(2);
const FLUSH_WITHIN: Duration = Duration::from_secs(30);

/// How far production may go. Shared with the thread that produces.
struct Gate {
    /// Orders up to this number may be sent.
    open_to: AtomicU64,
    stopped: AtomicBool,
}

/// A thread that produces; it ends with this value.
pub(super) struct Production {
    gate: Arc<Gate>,
    result: Receiver<Result<u64, Failure>>,
    acknowledged: Arc<AtomicU64>,
}

impl Production {
    pub(super) fn start(
        orders: Orders,
        topic: &str,
        partitions: i32,
        settings: ClientSettings,
    ) -> Result<Production, Failure> {
        let gate = Arc::new(Gate { open_to: AtomicU64::new(0), stopped: AtomicBool::new(false) });
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (send, result) = sync_channel(1);
        let run = Run {
            orders,
            topic: topic.to_owned(),
            partitions,
            gate: gate.clone(),
            acknowledged: acknowledged.clone(),
        };
        let body = move || {
            // The receiver may have gone: the command is ending.
            let _gone = send.send(run.produce(&settings));
        };
        std::thread::Builder::new().name("orders".into()).spawn(body).map_err(|error| Failure {
            code: 1,
            message: format!("a thread cannot be started: {error}"),
            hint: None,
        })?;
        Ok(Production { gate, result, acknowledged })
    }

    /// Lets it go on up to this many orders.
    pub(super) fn open_to(&self, orders: u64) {
        self.gate.open_to.fetch_max(orders, Ordering::Relaxed);
    }

    /// Orders that the broker has.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Why it has ended before its time, if it did.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.result.try_recv() {
            Ok(Err(failure)) => Err(failure),
            _ => Ok(()),
        }
    }
}

impl Drop for Production {
    fn drop(&mut self) {
        self.gate.stopped.store(true, Ordering::Relaxed);
    }
}

struct Run {
    orders: Orders,
    topic: String,
    partitions: i32,
    gate: Arc<Gate>,
    acknowledged: Arc<AtomicU64>,
}

impl Run {
    /// Sends every order once, and counts those that the broker has acknowledged.
    fn produce(&self, settings: &ClientSettings) -> Result<u64, Failure> {
        let producer = Producer::new(settings).map_err(|e| refused(&e))?;
        let mut chunk = Chunk::default();
        let mut next = 0;
        while next < self.orders.records {
            let open_to = self.gate.open_to.load(Ordering::Relaxed).min(self.orders.records);
            if self.gate.stopped.load(Ordering::Relaxed) {
                return Ok(next);
            }
            if next >= open_to {
                self.collect(&producer, TICK)?;
                continue;
            }
            let end = open_to.min(next + CHUNK);
            chunk.fill(self.orders, next..end);
            self.send(&producer, &chunk)?;
            next = end;
            self.collect(&producer, Duration::ZERO)?;
        }
        while self.acknowledged.load(Ordering::Relaxed) < self.orders.records {
            if self.gate.stopped.load(Ordering::Relaxed) {
                break;
            }
            producer.flush(FLUSH_WITHIN).map_err(|e| refused(&e))?;
            self.collect(&producer, Duration::ZERO)?;
        }
        Ok(next)
    }

    fn send(&self, producer: &Producer, chunk: &Chunk) -> Result<(), Failure> {
        let records = chunk.records(&self.topic, self.partitions);
        let mut left = records.as_slice();
        loop {
            let taken = producer.send_batch(left).map_err(|e| refused(&e))?;
            left = left.get(taken..).unwrap_or_default();
            if left.is_empty() || self.gate.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.collect(producer, TICK)?;
        }
    }

    /// Takes the acknowledgements that have come in.
    fn collect(&self, producer: &Producer, max_wait: Duration) -> Result<(), Failure> {
        let deliveries = producer.poll(max_wait);
        let count = deliveries.len() as u64;
        for delivery in deliveries {
            delivery.result.map_err(|e| refused(&e))?;
        }
        self.acknowledged.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

fn refused(error: &kafka::Error) -> Failure {
    Failure::unavailable(format!("the orders could not be produced: {error}"))
        .hint(error.hint().unwrap_or("look at the broker's log"))
}

/// Some orders as bytes, one behind the other.
#[derive(Default)]
struct Chunk {
    first: u64,
    bytes: Vec<u8>,
    /// Key and value of each order, as places in `bytes`.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Chunk {
    fn fill(&mut self, orders: Orders, ids: Range<u64>) {
        self.first = ids.start;
        self.bytes.clear();
        self.places.clear();
        for id in ids {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(id.to_string().as_bytes());
            let middle = self.bytes.len();
            orders.write(id, &mut self.bytes);
            self.places.push((start..middle, middle..self.bytes.len()));
        }
    }

    fn records<'a>(&'a self, topic: &'a str, partitions: i32) -> Vec<ProducerRecord<'a>> {
        let records = self.places.iter().zip(self.first..).map(|((key, value), id)| {
            let partition = id % u64::from(partitions.unsigned_abs().max(1));
            ProducerRecord {
                topic,
                partition: i32::try_from(partition).ok(),
                key: self.bytes.get(key.clone()),
                value: self.bytes.get(value.clone()),
                id: usize::try_from(id).unwrap_or_default(),
                ..ProducerRecord::default()
            }
        });
        records.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_keeps_key_and_value_apart() {
        let orders = Orders { records: 1000 };
        let mut chunk = Chunk::default();
        chunk.fill(orders, 3..5);
        chunk.fill(orders, 10..12);
        let records = chunk.records("t", 4);
        assert_eq!(records.len(), 2);
        let second = records.last().unwrap();
        assert_eq!((second.key, second.partition, second.id), (Some(&b"11"[..]), Some(3), 11));
        assert!(second.value.unwrap().starts_with(br#"{"id":11,"#));
    }

    #[test]
    fn production_waits_at_the_gate_and_counts_what_the_broker_has() {
        let broker = kafka::MockBroker::start(1, &[("orders", 1)]).unwrap();
        let settings = [
            ("bootstrap.servers".to_owned(), broker.bootstrap()),
            ("enable.idempotence".to_owned(), "false".to_owned()),
        ];
        let orders = Orders { records: 1_234 };
        let settings = settings.into_iter().collect();
        let production = Production::start(orders, "orders", 1, settings).unwrap();
        let wait_for = |count| {
            testkit::eventually(Duration::from_secs(30), "orders are acknowledged", || {
                production.check().unwrap();
                (production.acknowledged() == count).then_some(())
            });
        };
        production.open_to(700);
        wait_for(700);
        testkit::holds_for(Duration::from_millis(50), "the gate holds", || {
            production.acknowledged() == 700
        });
        production.open_to(u64::MAX);
        wait_for(1_234);
    }
}
