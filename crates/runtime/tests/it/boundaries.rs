//! Transactions whose ends a task says itself, over a real broker: the in-process one shows what is not
//! committed.

use crate::sink::{DEADLINE, chain};
use api::{
    Boundary, PollLimits, Polled, Result, SourceBatch, SourceMap, SourceOffsets, SourceTask,
    StoredOffsets,
};
use config::source::TransactionBoundary;
use data::{Arena, Batch, Cell, RawBatch, Schema, Type};
use runtime::source::offsets::{OffsetTopic, OffsetTopicSettings};
use runtime::source::{
    Delivered, SourceChain, SourceTaskHandle, SourceTaskSettings, spawn_source_task,
};
use runtime::{CompactedTopic, ErrorLog, State, StatusCell};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::{
    eventually,
    kafka::{self, topic_name},
};

/// What the task gives next: so many records, and what it says of its transaction.
type Script = Arc<Mutex<VecDeque<(i64, Option<Boundary>)>>>;

/// Gives the numbers from where it stood.
struct Numbers {
    topic: String,
    script: Script,
    next: i64,
}

impl SourceTask for Numbers {
    fn start(&mut self, stored: &dyn StoredOffsets) -> Result<()> {
        let offset = stored.offset(&SourceMap::new())?;
        self.next = offset.map_or(0, |offset| offset["position"].as_i64().unwrap());
        Ok(())
    }

    fn poll(&mut self, _: &PollLimits) -> Result<Polled> {
        let Some((rows, boundary)) = self.script.lock().unwrap().pop_front() else {
            return Ok(Polled::default());
        };
        let raw = RawBatch::made(self.topic.as_str().into(), Arena::default(), rows as usize, 0);
        let mut records = Batch::made(raw);
        let schema = Arc::new(Schema::new(Type::Int64));
        let numbers = self.next..self.next + rows;
        for number in numbers.clone() {
            records.keys.push(None, Cell::Null);
            records.values.push(Some(&schema), Cell::int(number));
        }
        self.next += rows;
        let after = numbers.map(|number| number + 1).collect();
        let offsets = SourceOffsets::Number { name: Arc::from("position"), after };
        let batch = SourceBatch { records, partition: Arc::new(SourceMap::new()), offsets };
        Ok(Polled { batches: vec![batch], boundary, ..Polled::default() })
    }
}

struct Rig {
    bootstrap: String,
    topic: String,
    script: Script,
}

impl Rig {
    fn new() -> Rig {
        let bootstrap = kafka::bootstrap();
        let topic = topic_name("boundaries");
        kafka::create_topic(&bootstrap, &topic, 1);
        let compact = [("cleanup.policy", "compact")];
        kafka::create_topic_with(&bootstrap, &format!("{topic}-offsets"), 1, &compact);
        Rig { bootstrap, topic, script: Script::default() }
    }

    fn client(&self, more: &[(&str, &str)]) -> ::kafka::ClientSettings {
        let all = [("bootstrap.servers", self.bootstrap.as_str())];
        all.iter().chain(more).map(|(key, v)| ((*key).to_owned(), (*v).to_owned())).collect()
    }

    fn start(&self, boundary: TransactionBoundary) -> SourceTaskHandle {
        let consumer = [("group.id", "boundaries"), ("isolation.level", "read_committed")];
        let topic = CompactedTopic {
            name: format!("{}-offsets", self.topic),
            partitions: 1,
            replication_factor: 1,
            configs: Vec::new(),
            what: "source offsets",
            prefix: "offset.storage.",
        };
        let offsets = Arc::new(OffsetTopic::new(OffsetTopicSettings {
            topic,
            consumer: self.client(&consumer),
            producer: self.client(&[]),
            admin: self.client(&[]),
        }));
        // No interval comes to its end here.
        let interval = Duration::from_secs(3600);
        let settings = SourceTaskSettings {
            connector: "s".to_owned(),
            task: 0,
            producer: self.client(&[("transactional.id", &self.topic)]),
            admin: self.client(&[]),
            delivered: Delivered::ExactlyOnce { boundary, interval, offsets: offsets.clone() },
            confirm: None,
            store: offsets,
            topic_groups: None,
            batch_rows_max: 100,
            batch_bytes_max: 1 << 20,
            flush_interval: interval,
            shutdown_timeout: Duration::from_secs(10),
            retry_backoff_max: Duration::from_millis(50),
            tolerance: api::Tolerance::None,
            tolerance_ratio_max: 1.0,
            error_log: ErrorLog {
                connector: "s".to_owned(),
                task: 0,
                each_record: false,
                coordinates: false,
            },
            dead_letters: None,
        };
        let runtime::Chain { key, value, header, steps, .. } = chain();
        let (topic, script) = (self.topic.clone(), self.script.clone());
        let task = Box::new(Numbers { topic, script, next: 0 });
        let chain = SourceChain { steps, key, value, header };
        spawn_source_task(settings, task, chain, StatusCell::default())
    }

    fn give(&self, rows: i64, boundary: Option<Boundary>) {
        self.script.lock().unwrap().push_back((rows, boundary));
    }

    fn seen(&self, isolation: &str) -> Vec<i64> {
        let records = kafka::read_with(&self.bootstrap, &self.topic, isolation);
        records.iter().map(|record| record.text().parse().unwrap()).collect()
    }

    /// Waits until so many records were sent, committed or not.
    fn wait_sent(&self, count: usize) {
        eventually(DEADLINE, "records on their way", || {
            (self.seen("read_uncommitted").len() == count).then_some(())
        });
    }

    fn wait_offset(&self, position: i64) {
        let wanted = format!(r#"{{"position":{position}}}"#);
        eventually(DEADLINE, &wanted, || {
            let topic = format!("{}-offsets", self.topic);
            let last = kafka::read(&self.bootstrap, &topic).pop()?;
            (last.text() == wanted).then_some(())
        });
    }
}

fn stop(handle: &SourceTaskHandle) {
    handle.stop();
    assert!(handle.wait(DEADLINE), "the task ends");
    assert_eq!(handle.status().state, State::Unassigned);
}

/// Nothing is visible before the task says so; what it takes back never is, and is not read again.
#[test]
fn a_task_ends_its_transactions_itself() {
    let rig = Rig::new();
    let handle = rig.start(TransactionBoundary::Connector);
    rig.give(3, None);
    rig.wait_sent(3);
    assert!(rig.seen("read_committed").is_empty(), "the transaction is open");
    let stored = || handle.status().counters.records_stored;
    assert_eq!(stored(), 0, "what is not committed is not stored");
    rig.give(2, Some(Boundary::Commit));
    rig.wait_offset(5);
    assert_eq!(rig.seen("read_committed"), [0, 1, 2, 3, 4]);
    eventually(DEADLINE, "they are counted", || (stored() == 5).then_some(()));
    rig.give(2, None);
    rig.give(1, Some(Boundary::Abort));
    rig.wait_offset(8);
    assert_eq!(rig.seen("read_committed"), [0, 1, 2, 3, 4]);
    rig.give(1, Some(Boundary::Commit));
    rig.wait_offset(9);
    assert_eq!(rig.seen("read_committed"), [0, 1, 2, 3, 4, 8]);
    eventually(DEADLINE, "it is counted", || (stored() == 6).then_some(()));
    // What has no end when the task is stopped is dropped, and given again by the next one.
    rig.give(2, None);
    rig.wait_sent(11);
    stop(&handle);
    assert_eq!(rig.seen("read_committed"), [0, 1, 2, 3, 4, 8]);
    let handle = rig.start(TransactionBoundary::Connector);
    rig.give(3, Some(Boundary::Commit));
    rig.wait_offset(12);
    assert_eq!(rig.seen("read_committed"), [0, 1, 2, 3, 4, 8, 9, 10, 11]);
    stop(&handle);
}

/// Where the connector was not asked, what its task says of transactions is not heard; a stop commits.
#[test]
fn what_a_task_says_counts_only_where_it_was_asked() {
    let rig = Rig::new();
    let handle = rig.start(TransactionBoundary::Poll);
    rig.give(2, Some(Boundary::Abort));
    rig.wait_offset(2);
    assert_eq!(rig.seen("read_committed"), [0, 1]);
    stop(&handle);
    let handle = rig.start(TransactionBoundary::Interval);
    rig.give(2, Some(Boundary::Abort));
    rig.wait_sent(4);
    rig.give(1, Some(Boundary::Commit));
    rig.wait_sent(5);
    assert_eq!(rig.seen("read_committed"), [0, 1]);
    stop(&handle);
    assert_eq!(rig.seen("read_committed"), [0, 1, 2, 3, 4]);
}
