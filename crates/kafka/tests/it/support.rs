//! What the tests share: settings, a producer of numbered records, waiting with a deadline.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data::{RawBatch, TopicPartition};
use kafka::{
    ClientHandle, ClientSettings, PollLimits, Polled, Producer, ProducerRecord, Rebalance,
    SinkConsumer,
};

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
pub(crate) const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 64 << 20 };

pub(crate) fn settings(bootstrap: &str, more: &[(&str, &str)]) -> ClientSettings {
    let all = [("bootstrap.servers", bootstrap)].into_iter().chain(more.iter().copied());
    all.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

pub(crate) fn tp(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

/// Polls until `done` says so about everything polled so far.
pub(crate) fn poll_until(consumer: &mut SinkConsumer, mut done: impl FnMut(Polled) -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        let polled = consumer.poll(Duration::from_millis(100), LIMITS).unwrap();
        if done(polled) {
            return;
        }
    }
    panic!("not reached within {DEADLINE:?}");
}

/// Reads until `n` records have come; their batches in order.
pub(crate) fn read(consumer: &mut SinkConsumer, n: usize) -> Vec<RawBatch> {
    let mut out = Vec::new();
    let mut rows = 0;
    poll_until(consumer, |polled| {
        for trouble in &polled.errors {
            assert!(trouble.error.is_retriable(), "{trouble:?}");
        }
        rows += polled.batches.iter().map(RawBatch::len).sum::<usize>();
        out.extend(polled.batches);
        rows >= n
    });
    assert_eq!(rows, n);
    out
}

/// Values of all records of one partition, in the order they came.
pub(crate) fn values(batches: &[RawBatch], partition: i32) -> Vec<String> {
    let of = batches.iter().filter(|b| b.partition() == partition);
    of.flat_map(|b| (0..b.len()).map(|row| text(b.value(row).as_deref()))).collect()
}

fn text(bytes: Option<impl AsRef<[u8]>>) -> String {
    bytes.map_or_else(|| "(null)".to_owned(), |b| String::from_utf8_lossy(b.as_ref()).into_owned())
}

/// Sends the numbers `range` as values to one partition and waits until they are written.
pub(crate) fn send(producer: &Producer, tp: &TopicPartition, range: std::ops::Range<usize>) {
    for n in range {
        let value = n.to_string();
        let record = ProducerRecord {
            topic: &tp.topic,
            partition: Some(tp.partition),
            value: Some(value.as_bytes()),
            id: n,
            ..ProducerRecord::default()
        };
        while let Err(e) = producer.send(&record) {
            assert!(e.is_retriable(), "{e}");
            check_deliveries(producer, Duration::from_millis(100));
        }
    }
    producer.flush(DEADLINE).unwrap();
    check_deliveries(producer, Duration::ZERO);
}

fn check_deliveries(producer: &Producer, wait: Duration) {
    for delivery in producer.poll(wait) {
        delivery.result.unwrap();
    }
}

/// A rebalance handler that starts each partition where `starts` says (0 by default) and writes down
/// what happens.
#[derive(Clone, Default)]
pub(crate) struct Recorder(pub(crate) Arc<Mutex<Recorded>>);

#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) starts: BTreeMap<TopicPartition, i64>,
    /// Partitions to leave out of the assignment.
    pub(crate) later: Vec<TopicPartition>,
    pub(crate) held: Vec<TopicPartition>,
    pub(crate) calls: usize,
    pub(crate) lost: usize,
}

impl Rebalance for Recorder {
    fn assigned(&mut self, _: &ClientHandle, partitions: &[TopicPartition]) -> Vec<Option<i64>> {
        let mut state = self.0.lock().unwrap();
        state.calls += 1;
        let mut out = Vec::new();
        for tp in partitions {
            assert!(!state.held.contains(tp), "{tp} assigned twice");
            state.held.push(tp.clone());
            let later = state.later.contains(tp);
            out.push((!later).then(|| state.starts.get(tp).copied().unwrap_or(0)));
        }
        out
    }

    fn revoked(&mut self, _: &ClientHandle, partitions: &[TopicPartition], lost: bool) {
        let mut state = self.0.lock().unwrap();
        state.calls += 1;
        state.lost += usize::from(lost);
        for tp in partitions {
            assert!(state.held.contains(tp), "{tp} revoked but not held");
            state.held.retain(|held| held != tp);
        }
    }
}
