//! What a task does when all is well, and when it is not.

use crate::destination::{Failure, MemorySink, Store};
use api::{DeadLetter, Side};
use config::Props;
use data::TopicPartition;
use kafka::{
    ClientSettings, MockBroker, MockFailure, MockRequest, NoRebalance, Position, Producer,
    ProducerRecord, SinkConsumer,
};
use runtime::{
    Chain, DeadLetterSettings, ErrorLog, SinkTaskHandle, SinkTaskSettings, State, StatusCell,
    StopMode, Topics, spawn_sink_task,
};
use std::time::Duration;
use testkit::eventually;

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
const PARTITIONS: usize = 3;

/// A broker with a topic, and what its records are written to.
pub(crate) struct Bench {
    broker: MockBroker,
    pub(crate) store: Store,
    pub(crate) produced: i64,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let broker = MockBroker::start(1, &[("t", PARTITIONS)]).unwrap();
        Bench { broker, store: Store::default(), produced: 0 }
    }

    pub(crate) fn client(&self, pairs: &[(&str, &str)]) -> ClientSettings {
        let bootstrap = self.broker.bootstrap();
        let all = [("bootstrap.servers", bootstrap.as_str())];
        let all = all.iter().chain(pairs);
        all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    /// `rows` records to each partition.
    pub(crate) fn produce(&mut self, rows: i64) {
        let producer = Producer::new(&self.client(&[])).unwrap();
        for i in 0..rows {
            for partition in 0..PARTITIONS as i32 {
                let value = format!("{{\"n\":{i}}}");
                let record = ProducerRecord {
                    topic: "t",
                    partition: Some(partition),
                    value: Some(value.as_bytes()),
                    ..ProducerRecord::default()
                };
                producer.send(&record).unwrap();
            }
        }
        producer.flush(DEADLINE).unwrap();
        self.produced += rows;
    }

    pub(crate) fn start(&self, change: impl FnOnce(&mut SinkTaskSettings)) -> SinkTaskHandle {
        self.start_with(chain(), change)
    }

    pub(crate) fn start_with(
        &self,
        chain: Chain,
        change: impl FnOnce(&mut SinkTaskSettings),
    ) -> SinkTaskHandle {
        let mut settings = SinkTaskSettings {
            connector: "c".to_owned(),
            task: 0,
            group: "g".to_owned(),
            topics: Topics::List(vec!["t".to_owned()]),
            consumer: self.client(&[("group.id", "g"), ("session.timeout.ms", "1000")]),
            seat: None,
            admin: self.client(&[]),
            reset: kafka::settings::Reset::Earliest,
            self_assign: true,
            topic_ids: false,
            batch_rows_max: 50,
            batch_bytes_max: 1 << 20,
            queue_bytes_max: 1 << 20,
            commit_interval: Duration::from_millis(50),
            topics_refresh: Duration::from_secs(1),
            shutdown_timeout: Duration::from_secs(5),
            retry_backoff_max: Duration::from_millis(200),
            tolerance_ratio_max: 0.5,
            error_log: ErrorLog {
                connector: "c".to_owned(),
                task: 0,
                each_record: false,
                coordinates: false,
            },
            dead_letters: None,
            renewal: None,
        };
        change(&mut settings);
        let store = self.store.clone();
        let make = Box::new(move |_: &str| {
            let task: Box<dyn api::SinkTask> = Box::new(MemorySink { store, accepted: Vec::new() });
            Ok(task)
        });
        spawn_sink_task(settings, make, chain, StatusCell::default())
    }

    pub(crate) fn applied(&self) -> usize {
        self.store.lock().unwrap().applied.len()
    }

    pub(crate) fn wait_for_all(&self) {
        let all = self.produced as usize * PARTITIONS;
        eventually(DEADLINE, "every record applied", || (self.applied() >= all).then_some(()));
        let store = self.store.lock().unwrap();
        for partition in 0..PARTITIONS as i32 {
            let offsets = store.applied.iter().filter(|(p, _)| *p == partition);
            let offsets: Vec<i64> = offsets.map(|(_, offset)| *offset).collect();
            let wanted: Vec<i64> = (0..self.produced).collect();
            assert_eq!(offsets, wanted, "each once and in order in partition {partition}");
        }
    }
}

impl Bench {
    /// Waits until the group's offset of every partition is this.
    fn wait_for_mirror(&self, end: i64) -> Vec<Position> {
        let asking = SinkConsumer::new(&self.client(&[("group.id", "g")]), Box::new(NoRebalance));
        let asking = asking.unwrap();
        let partitions = (0..PARTITIONS as i32).map(|p| TopicPartition::new("t", p));
        let partitions: Vec<_> = partitions.collect();
        eventually(DEADLINE, "mirrored offsets", || {
            let offsets = asking.handle().committed(&partitions, DEADLINE).ok()?;
            let offsets: Vec<_> = offsets.into_iter().flatten().collect();
            (offsets.iter().filter(|p| p.offset == end).count() == PARTITIONS).then_some(offsets)
        })
    }
}

pub(crate) fn chain() -> Chain {
    let make = |class: &str, side, settings: Props| {
        (converters::find(class).unwrap().make)(&settings, side).unwrap()
    };
    let plain: Props = [("schemas.enable", "false")].iter().copied().collect();
    Chain::new(
        make("ByteArrayConverter", Side::Key, Props::new()),
        make("JsonConverter", Side::Value, plain),
        make("SimpleHeaderConverter", Side::Header, Props::new()),
        Vec::new(),
    )
}

pub(crate) fn stop(handle: &SinkTaskHandle) {
    handle.stop(StopMode::Stay);
    assert!(handle.wait(DEADLINE), "the task ends");
}

#[test]
fn records_arrive_once_in_order_and_the_group_gets_a_mirror() {
    let mut bench = Bench::new();
    bench.produce(200);
    let handle = bench.start(|_| {});
    bench.wait_for_all();
    bench.produce(10);
    bench.wait_for_all();
    stop(&handle);
    assert_eq!(handle.status().state, State::Unassigned);
    let counters = handle.status().counters;
    assert_eq!((counters.records_read, counters.records_stored), (630, 630));
    let committed = bench.wait_for_mirror(210);
    assert!(committed.iter().all(|p| p.metadata.starts_with("copycat:")));
}

/// A group refuses commits while its members change. Nothing arrives afterwards that would make up
/// for it.
#[test]
fn a_mirror_that_the_group_refuses_is_told_again() {
    let mut bench = Bench::new();
    bench.produce(200);
    let refusals = [MockFailure::StaleGeneration; 10];
    bench.broker.fail(MockRequest::OffsetCommit, &refusals).unwrap();
    let handle = bench.start(|_| {});
    bench.wait_for_all();
    bench.wait_for_mirror(200);
    stop(&handle);
}

#[test]
fn a_destination_that_is_down_is_retried_and_the_status_says_so() {
    let mut bench = Bench::new();
    bench.produce(20);
    bench.store.lock().unwrap().failures.extend([Failure::Retriable; 6]);
    let handle = bench.start(|_| {});
    let retrying = eventually(DEADLINE, "RETRYING", || handle.status().retrying);
    assert_eq!(handle.status().state, State::Running);
    assert!(retrying.reason.contains("the store is down"), "{}", retrying.reason);
    bench.wait_for_all();
    eventually(DEADLINE, "no more RETRYING", || handle.status().retrying.is_none().then_some(()));
    stop(&handle);
}

/// An outage may last: what arrives meanwhile waits in Kafka, not in the task.
#[test]
fn no_batches_are_taken_while_something_is_retried() {
    let mut bench = Bench::new();
    bench.produce(200);
    bench.store.lock().unwrap().failures.extend([Failure::Retriable; 12]);
    let handle = bench.start(|settings| settings.batch_rows_max = 5);
    bench.wait_for_all();
    let held = bench.store.lock().unwrap().held_max;
    assert!(held <= PARTITIONS, "{held} batches were held, one a partition is accepted at a time");
    stop(&handle);
}

#[test]
fn after_fencing_positions_are_asked_again_and_nothing_is_doubled() {
    let mut bench = Bench::new();
    bench.produce(300);
    let failures = [Failure::None, Failure::None, Failure::Fenced, Failure::None, Failure::Fenced];
    bench.store.lock().unwrap().failures.extend(failures);
    let handle = bench.start(|settings| settings.batch_rows_max = 10);
    bench.wait_for_all();
    assert!(bench.store.lock().unwrap().opens >= 2, "opened again");
    stop(&handle);
}

#[test]
fn a_configuration_error_fails_the_task_with_the_hint() {
    let mut bench = Bench::new();
    bench.store.lock().unwrap().failures.extend([Failure::Config]);
    bench.produce(5);
    let handle = bench.start(|_| {});
    assert!(handle.wait(DEADLINE), "the task ends by itself");
    let status = handle.status();
    assert_eq!(status.state, State::Failed);
    assert_eq!(status.trace.as_deref(), Some("no such table\n  hint: create it"));
    assert_eq!(bench.applied(), 0);
}

#[test]
fn what_is_not_json_is_rejected_and_the_rest_goes_on() {
    let mut bench = Bench::new();
    let producer = Producer::new(&bench.client(&[])).unwrap();
    for (value, partition) in [(&b"{"[..], 0), (b"{}", 0), (b"nonsense", 0)] {
        let value = Some(value);
        let record =
            ProducerRecord { topic: "t", partition: Some(partition), value, ..Default::default() };
        producer.send(&record).unwrap();
    }
    producer.flush(DEADLINE).unwrap();
    bench.produced = 1;
    let handle = bench.start(|_| {});
    eventually(DEADLINE, "one stored, two rejected", || {
        let store = bench.store.lock().unwrap();
        (store.applied == [(0, 1)] && store.rejected == [(0, 0), (0, 2)]).then_some(())
    });
    eventually(DEADLINE, "counted", || {
        (handle.status().counters.records_reported == 2).then_some(())
    });
    stop(&handle);
}

#[test]
fn too_many_rejects_trip_the_breaker() {
    let bench = Bench::new();
    let producer = Producer::new(&bench.client(&[])).unwrap();
    for _ in 0..150 {
        let value = Some(&b"nonsense"[..]);
        let record = ProducerRecord { topic: "t", partition: Some(0), value, ..Default::default() };
        producer.send(&record).unwrap();
    }
    producer.flush(DEADLINE).unwrap();
    let handle = bench.start(|settings| settings.batch_rows_max = 1_000);
    assert!(handle.wait(DEADLINE), "the task ends by itself");
    let trace = handle.status().trace.unwrap();
    assert!(trace.contains("cannot be stored") && trace.contains("max.ratio"), "{trace}");
}

#[test]
fn a_group_member_takes_over_where_the_last_one_left_off() {
    let mut bench = Bench::new();
    bench.produce(40);
    let group = |settings: &mut SinkTaskSettings| settings.self_assign = false;
    let first = bench.start(group);
    bench.wait_for_all();
    first.stop(StopMode::Leave);
    assert!(first.wait(DEADLINE));
    let closed: Vec<_> = bench.store.lock().unwrap().closes.clone();
    assert!(closed.contains(&(0, false)), "given back in an orderly way: {closed:?}");
    bench.produce(5);
    let second = bench.start(group);
    bench.wait_for_all();
    stop(&second);
}

/// A task that dies may leave letters in the outbox; nothing needs to be reported for them to go.
#[test]
fn letters_that_the_last_owner_left_behind_are_forwarded() {
    let bench = Bench::new();
    bench.broker.create_topic("dead", 1).unwrap();
    let handle = bench.start(|settings| {
        settings.self_assign = false;
        settings.consumer.insert("heartbeat.interval.ms".to_owned(), "100".to_owned());
        settings.dead_letters = Some(DeadLetterSettings {
            topic: "dead".to_owned(),
            replication_factor: None,
            context_headers: false,
            producer: bench.client(&[]),
        });
    });
    let opened_and_looked = |opens: usize| {
        let store = bench.store.lock().unwrap();
        (store.opens > opens && store.no_letters > 0).then_some(store.opens)
    };
    let opens = eventually(DEADLINE, "looked when it began", || opened_and_looked(0));
    bench.store.lock().unwrap().letters.push(DeadLetter {
        id: 7,
        topic: "t".to_owned(),
        partition: 0,
        offset: 3,
        timestamp: -1,
        key: None,
        value: Some(b"bad".to_vec()),
        headers: Vec::new(),
        stage: "VALUE_CONVERTER".to_owned(),
        class: "C".to_owned(),
        exception: "E".to_owned(),
        message: "bad".to_owned(),
    });
    bench.broker.fail(MockRequest::Heartbeat, &[MockFailure::FencedInstance]).unwrap();
    eventually(DEADLINE, "opened again", || opened_and_looked(opens));
    eventually(DEADLINE, "forwarded", || {
        bench.store.lock().unwrap().letters.is_empty().then_some(())
    });
    stop(&handle);
}

/// A member that was cut off for longer than its session may be fenced by what it had sent before: it
/// joins anew. Where that happens again at once it has a rival, and the task says so.
#[test]
fn a_member_that_is_fenced_joins_anew_once() {
    let mut bench = Bench::new();
    let fence = |bench: &Bench| {
        bench.broker.fail(MockRequest::Heartbeat, &[MockFailure::FencedInstance]).unwrap();
    };
    bench.produce(100);
    let handle = bench.start(|settings| {
        settings.self_assign = false;
        settings.consumer.insert("heartbeat.interval.ms".to_owned(), "100".to_owned());
    });
    bench.wait_for_all();
    let opens = bench.store.lock().unwrap().opens;
    fence(&bench);
    eventually(DEADLINE, "opened again", || {
        (bench.store.lock().unwrap().opens > opens).then_some(())
    });
    bench.produce(100);
    bench.wait_for_all();
    assert_eq!(handle.status().state, State::Running);
    fence(&bench);
    let trace = eventually(DEADLINE, "failed", || handle.status().trace);
    assert_eq!(handle.status().state, State::Failed);
    assert!(trace.contains("another worker has taken this task's seat"), "{trace}");
    assert!(handle.wait(DEADLINE));
}
