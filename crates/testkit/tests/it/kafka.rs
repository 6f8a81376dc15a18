//! Topics, records, transactions, groups and private brokers.

use testkit::kafka::{
    Broker, Producer, Record, add_partitions, bootstrap, commit_group_offsets, delete_topic,
    end_offsets, group, group_offsets, partition_count, produce, read, read_with, topic,
    topic_exists, topic_name,
};

#[test]
fn records_come_back_as_sent() {
    let topic = topic("kit-records", 3);
    let full = Record::value("v").key("k").partition(1).header("h", "x").timestamp(1_234);
    let counts = produce(&bootstrap(), &topic, [full, Record::tombstone("gone").partition(2)]);
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(1, 1), (2, 1)]);
    let records = read(&bootstrap(), &topic);
    let [full, tombstone] = records.as_slice() else { panic!("two records, not {records:?}") };
    assert_eq!((full.partition, full.offset, full.text()), (1, 0, "v"));
    assert_eq!((full.header("h"), full.timestamp), (Some("x"), Some(1_234)));
    assert_eq!((tombstone.key.as_deref(), &tombstone.value), (Some(&b"gone"[..]), &None));
    assert_eq!(end_offsets(&bootstrap(), &topic).values().sum::<i64>(), 2);
}

#[test]
fn topics_grow_and_go() {
    let topic = topic("kit-topic", 1);
    add_partitions(&bootstrap(), &topic, 4);
    assert_eq!(partition_count(&bootstrap(), &topic), 4);
    delete_topic(&bootstrap(), &topic);
    assert!(!topic_exists(&bootstrap(), &topic));
}

#[test]
fn aborted_records_are_only_seen_uncommitted() {
    let topic = topic("kit-transaction", 1);
    let producer = Producer::transactional(&bootstrap(), &topic_name("kit-id"));
    producer.begin();
    producer.send(&topic, &Record::value("aborted"));
    producer.abort();
    producer.begin();
    producer.send(&topic, &Record::value("committed"));
    producer.commit();
    let committed = read(&bootstrap(), &topic);
    assert_eq!(committed.iter().map(|r| r.text()).collect::<Vec<_>>(), ["committed"]);
    assert_eq!(read_with(&bootstrap(), &topic, "read_uncommitted").len(), 2);
}

#[test]
fn group_offsets_are_kept_without_members() {
    let (topic, name) = (topic("kit-offsets", 2), topic_name("kit-group"));
    produce(&bootstrap(), &topic, (0..9).map(|_| Record::value("v").partition(1)));
    commit_group_offsets(&bootstrap(), &name, &topic, &[(1, 7)]);
    let offsets = group_offsets(&bootstrap(), &name, &topic);
    assert_eq!(offsets.into_iter().collect::<Vec<_>>(), [(1, 7)]);
    let group = group(&bootstrap(), &name).expect("a group with offsets is known");
    assert!(group.members.is_empty());
}

#[test]
fn a_private_broker_keeps_its_port_and_records_over_a_kill() {
    let mut broker = Broker::start();
    let bootstrap = broker.bootstrap();
    produce(&bootstrap, "kept", [Record::value("one")]);
    broker.kill();
    broker.launch();
    assert_eq!(broker.bootstrap(), bootstrap);
    produce(&bootstrap, "kept", [Record::value("two")]);
    let texts: Vec<_> = read(&bootstrap, "kept").iter().map(|r| r.text().to_owned()).collect();
    assert_eq!(texts, ["one", "two"]);
    broker.restart();
    assert_eq!(read(&bootstrap, "kept").len(), 2);
}
