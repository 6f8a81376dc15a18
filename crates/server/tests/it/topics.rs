//! What topics can be like: holes, aborted transactions, new ones.

use crate::harness::{PATIENCE, Route, record, wait_running, worker};
use testkit::{
    eventually,
    kafka::{
        self, Producer, Record, add_partitions, create_topic, create_topic_with, produce,
        topic_name,
    },
    postgres::database,
};

/// Report 21: committed and aborted transactions, the last one aborted. Only what was committed is
/// stored, and the lag reaches 0.
#[test]
fn fault_aborted_transactions_leave_no_rows_and_no_lag() {
    let route = Route::new("aborted", 2);
    let _worker = route.worker(&[]).start();
    let producer = Producer::transactional(&route.bootstrap, &topic_name("aborted-id"));
    let mut stored = 0;
    for round in 0..6 {
        producer.begin();
        let commit = round % 2 == 0;
        for n in 0..50 {
            let n = if commit { stored + n } else { 1_000_000 + n };
            for part in 0..route.partitions {
                producer.send(&route.topic, &record(part, n));
            }
        }
        if commit {
            producer.commit();
            stored += 50;
        } else {
            producer.abort();
        }
        // Each time at an end that is a control record, or records nobody may see.
        route.wait_for_no_lag();
    }
    route.expect_exactly(&route.each(stored));
}

/// A compacted topic has holes; its end may be one.
#[test]
fn fault_compacted_topics_reach_lag_0() {
    let route = Route::new("unused", 1);
    let topic = topic_name("compacted");
    let settings = [
        ("cleanup.policy", "compact"),
        ("segment.ms", "100"),
        ("min.cleanable.dirty.ratio", "0.001"),
        ("delete.retention.ms", "0"),
        ("max.compaction.lag.ms", "100"),
    ];
    create_topic_with(&route.bootstrap, &topic, 1, &settings);
    let route = Route { topic, ..route };
    let keyed = |n: u64| record(0, n).key(format!("k{}", n % 5));
    produce(&route.bootstrap, &route.topic, (0..500).map(keyed));
    eventually(PATIENCE, "holes", || {
        // A new segment lets the cleaner have the old ones.
        produce(&route.bootstrap, &route.topic, [keyed(500)]);
        let left = kafka::read(&route.bootstrap, &route.topic);
        (left.len() < 50).then_some(())
    });
    let producer = Producer::transactional(&route.bootstrap, &topic_name("compacted-id"));
    producer.begin();
    producer.send(&route.topic, &Record::tombstone("k1").partition(0));
    producer.abort();
    let _worker = route.worker(&[]).start();
    route.wait_for_no_lag();
    let stored = route.stored();
    assert!((1..500).contains(&stored), "{stored}");
    assert_eq!(route.dead_letters(), 0);
}

/// B025: no topic matches at the start, then new ones do; each has its own table.
#[test]
fn topics_regex_follows_new_topics() {
    let database = database();
    let (bootstrap, prefix) = (kafka::bootstrap(), topic_name("regex"));
    let pattern = format!("{prefix}\\.new.*");
    let properties = [
        ("connector.class", "postgres-sink"),
        ("topics.regex", pattern.as_str()),
        ("connection.url", &database.url()),
        ("table.name.dots", "underscore"),
        ("auto.create", "true"),
        ("consumer.override.metadata.max.age.ms", "300"),
    ];
    let worker = worker(&bootstrap).connector(&prefix, &properties).start();
    wait_running(&worker, &prefix);
    create_topic(&bootstrap, &format!("{prefix}.other"), 1);
    for name in ["new-a", "new-b"] {
        let topic = format!("{prefix}.{name}");
        create_topic(&bootstrap, &topic, 1);
        produce(&bootstrap, &topic, [record(0, 1)]);
        let query = format!("SELECT count(*) FROM \"{prefix}_{name}\"");
        eventually(PATIENCE, "its row is stored", || {
            (crate::harness::count(&database.url(), &query) == Some(1)).then_some(())
        });
    }
    wait_running(&worker, &prefix);
}

/// Partitions that a topic is given later are read from their first record.
#[test]
fn new_partitions_are_picked_up() {
    let route = Route::new("grows", 1);
    let worker = route.worker(&[("consumer.override.metadata.max.age.ms", "300")]).start();
    route.produce(0, 20);
    route.expect_exactly(&route.each(20));
    add_partitions(&route.bootstrap, &route.topic, 3);
    let route = Route { partitions: 3, ..route };
    // A client of its own: the shared one does not know the new partitions yet.
    let producer = Producer::transactional(&route.bootstrap, &topic_name("grows-id"));
    producer.begin();
    for n in 0..20 {
        producer.send(&route.topic, &record(1, n));
        producer.send(&route.topic, &record(2, n));
    }
    producer.commit();
    route.expect_exactly(&route.each(20));
    wait_running(&worker, route.name());
}

/// A broker gives a static member that comes back its old assignment, whatever it subscribes to.
#[test]
fn topics_that_were_changed_are_read_after_a_quick_restart() {
    let route = Route::new("changed", 1);
    let added = topic_name("changed-added");
    create_topic(&route.bootstrap, &added, 1);
    let mut worker = route.worker(&[]).start();
    produce(&route.bootstrap, &route.topic, (0..10).map(|n| record(0, n)));
    eventually(PATIENCE, "the first topic's rows", || (route.stored() == 10).then_some(()));
    worker.kill9();
    let (before, after) = (format!("topics={}", route.topic), format!("topics={added}"));
    let mut changed = 0;
    for entry in std::fs::read_dir(worker.dir()).expect("the worker's folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.lines().any(|line| line == before) {
            let text = text.replace(&before, &after);
            std::fs::write(&path, text).expect("the connector's file is written");
            changed += 1;
        }
    }
    assert_eq!(changed, 1, "one file has the topics");
    produce(&route.bootstrap, &added, (10..20).map(|n| record(0, n)));
    worker.restart();
    eventually(PATIENCE, "the other topic's rows", || (route.stored() == 20).then_some(()));
}
