//! What the tests share: logs on a broker, and a reader that writes down what it is given.

use api::Error;
use data::RawBatch;
use herder::distributed::log::{KafkaLog, LogReader, LogSettings};
use herder::distributed::topics::Written;
use kafka::ClientSettings;
use runtime::CompactedTopic;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Key, value, and whether it was news.
pub(crate) type Record = (String, Option<String>, bool);

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) records: Vec<Record>,
    pub(crate) caught_up: usize,
    /// Told troubles, and ends of them.
    pub(crate) troubles: Vec<bool>,
}

/// A reader that remembers.
#[derive(Clone, Default)]
pub(crate) struct Memory(pub(crate) Arc<Mutex<Seen>>);

impl Memory {
    pub(crate) fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap().records.clone()
    }
}

impl LogReader for Memory {
    fn read(&mut self, batch: &RawBatch, live: bool) {
        let mut seen = self.0.lock().unwrap();
        for row in 0..batch.len() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let value = batch.value(row).map(|value| text(&value));
            seen.records.push((text(batch.key(row).unwrap()), value, live));
        }
    }

    fn caught_up(&mut self) {
        self.0.lock().unwrap().caught_up += 1;
    }

    fn trouble(&mut self, trouble: Option<&Error>) {
        self.0.lock().unwrap().troubles.push(trouble.is_some());
    }
}

pub(crate) fn client(bootstrap: &str, more: &[(&str, &str)]) -> ClientSettings {
    let all = [("bootstrap.servers", bootstrap)].into_iter().chain(more.iter().copied());
    all.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

pub(crate) fn settings(bootstrap: &str, topic: &str, partitions: i32) -> LogSettings {
    LogSettings {
        topic: CompactedTopic {
            name: topic.to_owned(),
            partitions,
            replication_factor: 1,
            configs: vec![("segment.bytes".to_owned(), "1048576".to_owned())],
            what: "connector configurations",
            prefix: "config.storage.",
        },
        one_partition: partitions == 1,
        consumer: client(bootstrap, &[("isolation.level", "read_committed")]),
        producer: client(bootstrap, &[]),
        admin: client(bootstrap, &[]),
    }
}

/// Opens a log and waits until it was read.
pub(crate) fn open(settings: LogSettings) -> (KafkaLog, Memory) {
    let memory = Memory::default();
    let log = KafkaLog::open(settings, Box::new(memory.clone()), &|| false).unwrap();
    testkit::eventually(DEADLINE, "the log was read", || {
        (memory.0.lock().unwrap().caught_up == 1).then_some(())
    });
    (log, memory)
}

pub(crate) fn written(key: &str, value: Option<&str>) -> Written {
    (key.into(), value.map(Into::into))
}
