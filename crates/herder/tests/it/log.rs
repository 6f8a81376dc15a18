//! A log is made, checked, read, followed and written.

use crate::support::{DEADLINE, Memory, client, open, settings, written};
use api::ErrorKind;
use herder::distributed::log::KafkaLog;
use kafka::Admin;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use testkit::kafka::{Broker, bootstrap, create_topic_with, topic_name};

#[test]
fn what_one_worker_writes_every_worker_reads_and_a_later_one_as_history() {
    let (broker, topic) = (bootstrap(), topic_name("log"));
    let (first, seen) = open(settings(&broker, &topic, 3));
    let admin = Admin::new(&client(&broker, &[])).unwrap();
    let made = admin.topic_settings(&topic, DEADLINE).unwrap();
    let of = |key: &str| made.iter().find(|(name, _)| name == key).unwrap().1.clone().unwrap();
    assert_eq!((of("cleanup.policy"), of("segment.bytes")), ("compact".into(), "1048576".into()));
    assert_eq!(first.partitions(), 3);

    let records: Vec<_> = (0..100).map(|n| written(&format!("k{n}"), Some("{}"))).collect();
    first.write_and_wait(records).unwrap();
    first.write_and_wait(vec![written("k0", None)]).unwrap();
    first.read_to_end(DEADLINE).unwrap();
    assert_eq!(seen.records().len(), 101);
    assert!(seen.records().iter().all(|(_, _, live)| *live), "written after the start");

    let (second, history) = open(settings(&broker, &topic, 3));
    second.read_to_end(DEADLINE).unwrap();
    assert_eq!(history.records().len(), 101);
    assert!(history.records().iter().all(|(_, _, live)| !live));
    let of_key: Vec<_> = history.records().into_iter().filter(|(key, ..)| key == "k0").collect();
    assert_eq!(of_key[1].1, None, "records of a key keep their order");
    first.write_and_wait(vec![written("news", Some("1"))]).unwrap();
    second.read_to_end(DEADLINE).unwrap();
    assert_eq!(history.records().last().unwrap(), &("news".into(), Some("1".into()), true));
}

#[test]
fn a_topic_that_would_lose_records_or_their_order_is_refused_with_the_way_out() {
    let broker = bootstrap();
    for (partitions, policy, wanted) in [
        (1, "delete", "--add-config cleanup.policy=compact"),
        (1, "compact,delete", "--add-config cleanup.policy=compact"),
        (2, "compact", "--partitions 1"),
    ] {
        let topic = topic_name("unfit");
        create_topic_with(&broker, &topic, partitions, &[("cleanup.policy", policy)]);
        let opened =
            KafkaLog::open(settings(&broker, &topic, 1), Box::new(Memory::default()), &|| false);
        let error = opened.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Config);
        assert!(error.message.contains(&topic), "{}", error.message);
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains(wanted)), "{error:?}");
    }
    let mut many = settings(&broker, &topic_name("copies"), 1);
    many.topic.replication_factor = 3;
    let error = KafkaLog::open(many, Box::new(Memory::default()), &|| false).err().unwrap();
    let hint = error.hint.unwrap();
    assert!(hint.contains("config.storage.replication.factor (3)"), "{hint}");
}

#[test]
fn an_outage_ends_nothing_and_whoever_waits_is_answered_at_the_deadline() {
    let mut own = Broker::start();
    let (log, seen) = open(settings(&own.bootstrap(), "configs", 1));
    log.write_and_wait(vec![written("a", Some("1"))]).unwrap();
    log.read_to_end(DEADLINE).unwrap();
    own.kill();
    let late = log.read_to_end(Duration::from_millis(200)).unwrap_err();
    assert_eq!(late.kind, ErrorKind::Retriable);
    // Neither call waits for the broker.
    let (told, answer) = sync_channel(2);
    let tell = told.clone();
    log.write(
        vec![written("b", Some("2"))],
        Box::new(move |outcome| tell.send(outcome.is_ok()).unwrap()),
    );
    let end = Instant::now() + DEADLINE;
    log.at_end(end, Box::new(move |outcome| told.send(outcome.is_ok()).unwrap()));
    own.launch();
    assert!(answer.recv_timeout(DEADLINE).unwrap() && answer.recv_timeout(DEADLINE).unwrap());
    log.read_to_end(DEADLINE).unwrap();
    let seen = seen.0.lock().unwrap();
    let keys: Vec<&str> = seen.records.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["a", "b"], "read once, in order");
    assert_eq!(seen.caught_up, 1);
    assert!(!seen.troubles.last().is_some_and(|is_trouble| *is_trouble), "told that it is over");
}

#[test]
fn a_log_that_waits_for_a_broker_can_be_given_up() {
    let nobody = format!("127.0.0.1:{}", testkit::free_port());
    let looked = std::cell::Cell::new(0);
    let stopped = || {
        looked.set(looked.get() + 1);
        looked.get() > 2
    };
    let settings = settings(&nobody, "configs", 1);
    let opened = KafkaLog::open(settings, Box::new(Memory::default()), &stopped);
    assert_eq!(opened.err().unwrap().kind, ErrorKind::Cancelled);
}
