//! Converters that need something from outside, such as a registry of schemas, while it is away.

use crate::sink::{Bench, DEADLINE, chain, stop};
use api::{
    Converter, EncodeError, Encoded, Error, PollLimits, Polled, Result, Side, SourceBatch,
    SourceMap, SourceOffsets, SourceTask, StoredOffsets, Topics,
};
use data::{Arena, Batch, Cell, RawBatch, Rows, Schema, TopicPartition, Type};
use kafka::{NoRebalance, SinkConsumer};
use runtime::source::offsets::{OffsetFile, OffsetStore};
use runtime::source::{
    Delivered, SourceChain, SourceTaskHandle, SourceTaskSettings, spawn_source_task,
};
use runtime::{ErrorLog, State, StatusCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::eventually;

/// What lies outside: it answers, or says why not.
#[derive(Clone, Default)]
struct Outside {
    fault: Arc<Mutex<Option<Error>>>,
    asked: Arc<AtomicUsize>,
}

impl Outside {
    fn away() -> Outside {
        let outside = Outside::default();
        outside.answer(Some(Error::retriable("the registry does not answer")));
        outside
    }

    fn answer(&self, fault: Option<Error>) {
        *self.fault.lock().unwrap() = fault;
    }

    fn ask(&self) -> Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match &*self.fault.lock().unwrap() {
            Some(fault) => Err(Error::new(fault.kind, fault.message.clone())
                .hint(fault.hint.clone().unwrap_or_default())),
            None => Ok(()),
        }
    }
}

/// JSON that asks outside before each batch.
struct Asking {
    outside: Outside,
    inner: Box<dyn Converter>,
}

impl Converter for Asking {
    fn class(&self) -> &'static str {
        self.inner.class()
    }

    fn prepare(&mut self, _: Side, _: &RawBatch) -> Result<()> {
        self.outside.ask()
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        self.inner.decode(side, batch);
    }

    fn encode(
        &mut self,
        topics: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        let mut errors = self.inner.encode(topics, rows, out)?;
        self.outside.ask()?;
        // One record has no form, whenever it is asked.
        errors.push(EncodeError { row: 1, message: "no form".to_owned() });
        Ok(errors)
    }
}

fn asking(outside: &Outside) -> runtime::Chain {
    let mut chain = chain();
    chain.value = Box::new(Asking { outside: outside.clone(), inner: chain.value });
    chain
}

#[test]
fn a_sink_waits_for_a_registry_with_the_batch_in_hand() {
    let mut bench = Bench::new();
    bench.produce(20);
    let outside = Outside::away();
    let handle = bench.start_with(asking(&outside), |_| {});
    let retrying = eventually(DEADLINE, "RETRYING", || {
        handle.status().retrying.filter(|retrying| retrying.attempts >= 3)
    });
    assert_eq!(handle.status().state, State::Running);
    assert!(retrying.reason.contains("the registry does not answer"), "{}", retrying.reason);
    assert_eq!((bench.applied(), handle.status().counters.records_reported), (0, 0));
    // What arrives meanwhile waits its turn, partitions that are opened are opened.
    bench.produce(20);
    outside.answer(None);
    bench.wait_for_all();
    eventually(DEADLINE, "no more RETRYING", || handle.status().retrying.is_none().then_some(()));
    stop(&handle);
    assert_eq!(bench.store.lock().unwrap().opens, 1, "no position was asked for again");
}

#[test]
fn a_sink_that_waits_for_a_registry_stops_at_once() {
    let mut bench = Bench::new();
    bench.produce(5);
    let outside = Outside::away();
    // The next try is far away.
    let handle = bench.start_with(asking(&outside), |settings| {
        settings.retry_backoff_max = Duration::from_secs(3600);
        settings.shutdown_timeout = Duration::from_secs(3600);
    });
    eventually(DEADLINE, "RETRYING", || handle.status().retrying);
    stop(&handle);
    assert_eq!(handle.status().state, State::Unassigned);
    assert_eq!(bench.applied(), 0);
    // Nothing is lost: who comes next reads it.
    outside.answer(None);
    let handle = bench.start_with(asking(&outside), |_| {});
    bench.wait_for_all();
    stop(&handle);
}

#[test]
fn a_registry_that_refuses_us_fails_the_task_with_the_hint() {
    let mut bench = Bench::new();
    bench.produce(5);
    let outside = Outside::default();
    let fault = Error::config("the registry refuses the credentials (401)");
    outside.answer(Some(fault.hint("correct basic.auth.user.info")));
    let handle = bench.start_with(asking(&outside), |_| {});
    assert!(handle.wait(DEADLINE), "the task ends by itself");
    let status = handle.status();
    assert_eq!(status.state, State::Failed);
    let trace = status.trace.unwrap();
    assert!(trace.contains("401") && trace.contains("basic.auth.user.info"), "{trace}");
    assert_eq!(bench.applied(), 0);
}

/// Gives one batch of three records, once a session.
struct Three {
    started: Arc<AtomicUsize>,
    given: bool,
}

impl SourceTask for Three {
    fn start(&mut self, _: &dyn StoredOffsets) -> Result<()> {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.given = false;
        Ok(())
    }

    fn poll(&mut self, _: &PollLimits) -> Result<Polled> {
        if std::mem::replace(&mut self.given, true) {
            return Ok(Polled::default());
        }
        let raw = RawBatch::made(Arc::from("t"), Arena::default(), 3, 0);
        let mut records = Batch::made(raw);
        let schema = Arc::new(Schema::new(Type::Int64));
        for number in 0..3 {
            records.keys.push(None, Cell::Null);
            records.values.push(Some(&schema), Cell::int(number));
        }
        let offsets = SourceOffsets::Number { name: Arc::from("position"), after: vec![1, 2, 3] };
        let batch = SourceBatch { records, partition: Arc::new(SourceMap::new()), offsets };
        Ok(Polled { batches: vec![batch], ..Polled::default() })
    }
}

fn source(bench: &Bench, outside: &Outside, started: &Arc<AtomicUsize>) -> SourceTaskHandle {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn OffsetStore> =
        Arc::new(OffsetFile::open(dir.path().join("offsets")).unwrap());
    let settings = SourceTaskSettings {
        connector: "s".to_owned(),
        task: 0,
        producer: bench.client(&[]),
        admin: bench.client(&[]),
        delivered: Delivered::AtLeastOnce,
        confirm: None,
        store,
        topic_groups: None,
        batch_rows_max: 100,
        batch_bytes_max: 1 << 20,
        flush_interval: Duration::from_secs(60),
        shutdown_timeout: Duration::from_secs(10),
        retry_backoff_max: Duration::from_millis(50),
        tolerance: api::Tolerance::All,
        tolerance_ratio_max: 1.0,
        error_log: ErrorLog {
            connector: "s".to_owned(),
            task: 0,
            each_record: false,
            coordinates: false,
        },
        dead_letters: None,
    };
    let runtime::Chain { key, value, header, steps, .. } = asking(outside);
    let task = Box::new(Three { started: started.clone(), given: false });
    spawn_source_task(
        settings,
        task,
        SourceChain { steps, key, value, header },
        StatusCell::default(),
    )
}

fn values(bench: &Bench) -> Vec<Vec<u8>> {
    let settings = bench.client(&[("group.id", "look"), ("auto.offset.reset", "earliest")]);
    let mut consumer = SinkConsumer::new(&settings, Box::new(NoRebalance)).unwrap();
    let all: Vec<_> = (0..3).map(|p| (TopicPartition::new("t", p), 0)).collect();
    consumer.assign_manually(&all).unwrap();
    let limits = kafka::PollLimits { rows_max: 100, bytes_max: 1 << 20 };
    let mut out = Vec::new();
    eventually(DEADLINE, "both records", || {
        for batch in consumer.poll(Duration::from_millis(100), limits).unwrap().batches {
            out.extend((0..batch.len()).map(|row| batch.value(row).unwrap().to_vec()));
        }
        (out.len() >= 2).then_some(())
    });
    out.sort();
    out
}

#[test]
fn a_source_waits_for_a_registry_with_the_batch_in_hand() {
    let bench = Bench::new();
    let (outside, started) = (Outside::away(), Arc::default());
    let handle = source(&bench, &outside, &started);
    let retrying = eventually(DEADLINE, "RETRYING", || {
        handle.status().retrying.filter(|retrying| retrying.attempts >= 3)
    });
    assert_eq!(handle.status().state, State::Running);
    assert!(retrying.reason.contains("the registry does not answer"), "{}", retrying.reason);
    outside.answer(None);
    assert_eq!(values(&bench), [b"0".to_vec(), b"2".to_vec()]);
    eventually(DEADLINE, "no more RETRYING", || handle.status().retrying.is_none().then_some(()));
    let counters = handle.status().counters;
    assert_eq!((counters.records_read, counters.records_reported), (3, 1), "each counted once");
    assert_eq!(started.load(Ordering::Relaxed), 1, "the source was not read again");
    handle.stop();
    assert!(handle.wait(DEADLINE), "the task ends");
}

#[test]
fn a_source_that_waits_for_a_registry_stops_at_once() {
    let bench = Bench::new();
    let (outside, started) = (Outside::away(), Arc::default());
    let handle = source(&bench, &outside, &started);
    eventually(DEADLINE, "RETRYING", || handle.status().retrying);
    handle.stop();
    assert!(handle.wait(DEADLINE), "the task ends");
    assert_eq!(handle.status().state, State::Unassigned);
}
