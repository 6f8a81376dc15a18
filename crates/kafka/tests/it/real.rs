//! Over a real broker: what the in-process one cannot prove.

use std::time::{Duration, Instant};

use kafka::{
    Admin, ErrorKind, NewTopic, NoRebalance, Position, Producer, ProducerRecord, SinkConsumer,
    TransactionalProducer,
};

use crate::support::{DEADLINE, Recorder, poll_until, read, send, settings, tp, values};

fn admin() -> Admin {
    Admin::new(&settings(&testkit::kafka::bootstrap(), &[])).unwrap()
}

fn producer() -> Producer {
    Producer::new(&settings(&testkit::kafka::bootstrap(), &[])).unwrap()
}

fn consumer(more: &[(&str, &str)], recorder: &Recorder) -> SinkConsumer {
    let settings = settings(&testkit::kafka::bootstrap(), more);
    SinkConsumer::new(&settings, Box::new(recorder.clone())).unwrap()
}

fn transactional(id: &str) -> TransactionalProducer {
    let more = [("transactional.id", id)];
    TransactionalProducer::new(&settings(&testkit::kafka::bootstrap(), &more)).unwrap()
}

fn record<'a>(topic: &'a str, value: &'a str) -> ProducerRecord<'a> {
    let value = Some(value.as_bytes());
    ProducerRecord { topic, partition: Some(0), value, ..ProducerRecord::default() }
}

#[test]
fn a_newer_process_with_the_same_instance_id_fences_the_older() {
    let topic = testkit::kafka::topic("fence", 2);
    let group = testkit::kafka::topic_name("fence-group");
    send(&producer(), &tp(&topic, 0), 0..10);
    let more = [("group.id", group.as_str()), ("group.instance.id", "me")];
    let old_recorder = Recorder::default();
    let mut old = consumer(&more, &old_recorder);
    old.subscribe(&[&topic]).unwrap();
    read(&mut old, 10);

    let new_recorder = Recorder::default();
    let mut new = consumer(&more, &new_recorder);
    new.subscribe(&[&topic]).unwrap();
    assert_eq!(values(&read(&mut new, 10), 0).len(), 10);
    poll_until(&mut old, |polled| {
        polled.errors.iter().any(|t| t.error.kind() == ErrorKind::Fenced)
    });
    assert_eq!(old.fatal_error().unwrap().kind(), ErrorKind::Fenced);
    let refused = old.commit_sync(&[Position::new(tp(&topic, 0), 10)], DEADLINE).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Fenced | ErrorKind::Fatal), "{refused:?}");
    old.close();
    let state = old_recorder.0.lock().unwrap();
    assert!(state.held.is_empty() && state.lost > 0, "revoked as lost");
    new.commit_sync(&[Position::new(tp(&topic, 0), 10)], DEADLINE).unwrap();
    new.leave();
}

#[test]
fn a_static_member_that_closes_gets_its_partitions_back_without_a_rebalance() {
    let topic = testkit::kafka::topic("static", 2);
    let group = testkit::kafka::topic_name("static-group");
    let producer = producer();
    send(&producer, &tp(&topic, 0), 0..10);
    send(&producer, &tp(&topic, 1), 0..10);
    let settings = |id| [("group.id", group.as_str()), ("group.instance.id", id)];
    let (a, b) = (Recorder::default(), Recorder::default());
    let mut first = consumer(&settings("a"), &a);
    first.subscribe(&[&topic]).unwrap();
    read(&mut first, 20);
    let mut second = consumer(&settings("b"), &b);
    second.subscribe(&[&topic]).unwrap();
    let deadline = Instant::now() + DEADLINE;
    while second.assignment().len() != 1 || first.assignment().len() != 1 {
        assert!(Instant::now() < deadline, "each has one partition");
        let limits = crate::support::LIMITS;
        first.poll(Duration::from_millis(10), limits).unwrap();
        second.poll(Duration::from_millis(10), limits).unwrap();
    }
    let had = first.assignment();
    let calls = b.0.lock().unwrap().calls;
    first.close();
    let again = Recorder::default();
    let mut first = consumer(&settings("a"), &again);
    first.subscribe(&[&topic]).unwrap();
    read(&mut first, 10);
    assert_eq!(first.assignment(), had);
    second.poll(Duration::from_millis(1), crate::support::LIMITS).unwrap();
    assert_eq!(b.0.lock().unwrap().calls, calls, "nothing moved at the other member");
    first.leave();
    second.leave();
}

#[test]
fn leaving_empties_the_group_and_its_offsets_can_be_changed() {
    let topic = testkit::kafka::topic("leave", 1);
    let group = testkit::kafka::topic_name("leave-group");
    let admin = admin();
    send(&producer(), &tp(&topic, 0), 0..10);
    assert_eq!(admin.group(&group, DEADLINE).unwrap(), None);
    let more = [("group.id", group.as_str()), ("group.instance.id", "me")];
    let mut member = consumer(&more, &Recorder::default());
    member.subscribe(&[&topic]).unwrap();
    read(&mut member, 10);
    member.commit_sync(&[Position::new(tp(&topic, 0), 7).with_metadata("n")], DEADLINE).unwrap();
    let wanted = [Position::new(tp(&topic, 0), 3).with_metadata("moved")];
    let refused = admin.alter_group_offsets(&group, &wanted, DEADLINE).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::GroupNotEmpty, "{refused}");
    let before = admin.group_offsets(&group, DEADLINE).unwrap();
    assert_eq!(before, [Position::new(tp(&topic, 0), 7).with_metadata("n")]);

    member.leave();
    let deadline = Instant::now() + Duration::from_secs(5);
    while admin.group(&group, DEADLINE).unwrap().is_some_and(|g| g.members > 0) {
        assert!(Instant::now() < deadline, "left long before the session ends");
    }
    assert_eq!(admin.group(&group, DEADLINE).unwrap().unwrap().state, "Empty");
    admin.alter_group_offsets(&group, &wanted, DEADLINE).unwrap();
    assert_eq!(admin.group_offsets(&group, DEADLINE).unwrap(), wanted);
    admin.delete_group_offsets(&group, &[tp(&topic, 0)], DEADLINE).unwrap();
    assert_eq!(admin.group_offsets(&group, DEADLINE).unwrap(), []);
    admin.alter_group_offsets(&group, &wanted, DEADLINE).unwrap();
    admin.delete_group(&group, DEADLINE).unwrap();
    assert_eq!(admin.group(&group, DEADLINE).unwrap(), None);
}

#[test]
fn aborted_records_are_not_read_and_the_end_lies_past_the_markers() {
    let topic = testkit::kafka::topic("aborted", 1);
    let producer = transactional(&topic);
    producer.init(DEADLINE).unwrap();
    for (commit, values) in [(true, ["a", "b"]), (false, ["x", "y"]), (true, ["c", "d"])] {
        producer.begin().unwrap();
        for value in values {
            producer.send(&record(&topic, value)).unwrap();
        }
        // Written before the end is decided.
        let deadline = Instant::now() + DEADLINE;
        let mut written = 0;
        while written < values.len() {
            assert!(Instant::now() < deadline);
            written += producer.poll(Duration::from_millis(100)).len();
        }
        if commit { producer.commit(DEADLINE).unwrap() } else { producer.abort(DEADLINE).unwrap() }
    }
    // And one aborted transaction at the very end: 6 records + 3 markers, 1 record + 1 marker.
    producer.begin().unwrap();
    producer.send(&record(&topic, "z")).unwrap();
    while producer.poll(Duration::from_millis(100)).is_empty() {}
    producer.abort(DEADLINE).unwrap();

    let more = [("group.id", topic.as_str())];
    let mut consumer = consumer(&more, &Recorder::default());
    consumer.assign_manually(&[(tp(&topic, 0), 0)]).unwrap();
    let mut batches = Vec::new();
    poll_until(&mut consumer, |polled| {
        batches.extend(polled.batches);
        polled.ends.contains(&(tp(&topic, 0), 11))
    });
    assert_eq!(values(&batches, 0), ["a", "b", "c", "d"]);
    assert_eq!(consumer.position(&tp(&topic, 0)), Some(11));
    assert_eq!(consumer.handle().watermarks(&tp(&topic, 0), DEADLINE).unwrap().high, 11);
}

#[test]
fn the_last_init_of_a_transactional_id_wins() {
    let topic = testkit::kafka::topic("fenced", 1);
    let old = transactional(&topic);
    old.init(DEADLINE).unwrap();
    old.begin().unwrap();
    old.send(&record(&topic, "old")).unwrap();
    old.commit(DEADLINE).unwrap();
    let new = transactional(&topic);
    new.init(DEADLINE).unwrap();
    old.begin().unwrap();
    old.send(&record(&topic, "deposed")).unwrap();
    let refused = old.commit(DEADLINE).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Fenced, "{refused:?}");
    assert_eq!(old.fatal_error().unwrap().kind(), ErrorKind::Fenced);
    new.begin().unwrap();
    new.send(&record(&topic, "new")).unwrap();
    new.commit(DEADLINE).unwrap();
    drop(old);

    let more = [("group.id", topic.as_str())];
    let mut consumer = consumer(&more, &Recorder::default());
    consumer.assign_manually(&[(tp(&topic, 0), 0)]).unwrap();
    assert_eq!(values(&read(&mut consumer, 2), 0), ["old", "new"]);
}

#[test]
fn offsets_in_a_transaction_prove_membership() {
    let topic = testkit::kafka::topic("member", 1);
    let producer = transactional(&topic);
    producer.init(DEADLINE).unwrap();
    send(&self::producer(), &tp(&topic, 0), 0..1);
    let more = [("group.id", topic.as_str())];
    let mut member = consumer(&more, &Recorder::default());
    member.subscribe(&[&topic]).unwrap();
    read(&mut member, 1);
    let generation = member.handle().group_metadata().unwrap();
    let positions = [Position::new(tp(&topic, 0), 1)];
    producer.begin().unwrap();
    producer.send(&record(&topic, "v")).unwrap();
    producer.send_offsets(&positions, &generation, DEADLINE).unwrap();
    producer.commit(DEADLINE).unwrap();
    let committed = member.handle().committed(&[tp(&topic, 0)], DEADLINE).unwrap();
    assert_eq!(committed, [Some(positions[0].clone())]);

    member.leave();
    producer.begin().unwrap();
    producer.send(&record(&topic, "w")).unwrap();
    let refused = producer.send_offsets(&positions, &generation, DEADLINE).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Abortable, "{refused:?}");
    producer.abort(DEADLINE).unwrap();
    producer.begin().unwrap();
    producer.send(&record(&topic, "x")).unwrap();
    producer.commit(DEADLINE).unwrap();
}

#[test]
fn topics_are_created_described_and_recreated_under_another_id() {
    let admin = admin();
    assert!(admin.cluster_id(DEADLINE).is_some());
    let name = testkit::kafka::topic_name("described");
    let new = NewTopic::new(&name, 3).config("cleanup.policy", "compact");
    let too_many = NewTopic { replication: 99, ..NewTopic::new(format!("{name}-x"), 1) };
    let outcomes = admin.create_topics(&[new.clone(), too_many], DEADLINE).unwrap();
    assert!(outcomes[0].is_ok());
    assert_eq!(outcomes[1].as_ref().unwrap_err().kind(), ErrorKind::Configuration);
    let again = admin.create_topics(std::slice::from_ref(&new), DEADLINE).unwrap();
    assert_eq!(again[0].as_ref().unwrap_err().kind(), ErrorKind::TopicExists);

    let describe = || admin.describe_topics(&[&name, "no-such-topic"], DEADLINE).unwrap();
    let found =
        testkit::eventually(DEADLINE, "the topic is described", || describe().swap_remove(0).ok());
    assert_eq!((found.name.as_str(), found.partitions), (name.as_str(), 3));
    let id = found.id.expect("this broker has topic ids");
    assert_eq!(describe()[1].as_ref().unwrap_err().kind(), ErrorKind::UnknownTopic);
    assert!(admin.list_topics(DEADLINE).unwrap().iter().any(|t| t.name == name));
    let missing = admin.topic("no-such-topic", DEADLINE).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::UnknownTopic);

    assert!(admin.delete_topics(&[&name], DEADLINE).unwrap()[0].is_ok());
    testkit::eventually(DEADLINE, "the topic can be created again", || {
        admin.create_topics(std::slice::from_ref(&new), DEADLINE).unwrap()[0].is_ok().then_some(())
    });
    let other = testkit::eventually(DEADLINE, "the new topic is described", || {
        describe().swap_remove(0).ok()?.id
    });
    assert_ne!(other, id);
}

#[test]
fn offsets_are_found_by_time() {
    let topic = testkit::kafka::topic("times", 2);
    let producer = producer();
    for (n, at) in [(0, 1_000), (1, 2_000), (2, 3_000)] {
        let at = Some(1_700_000_000_000 + at);
        producer.send(&ProducerRecord { timestamp: at, id: n, ..record(&topic, "v") }).unwrap();
    }
    producer.flush(DEADLINE).unwrap();
    let asked = [
        (tp(&topic, 1), 0),
        (tp(&topic, 0), 1_700_000_001_500),
        (tp(&topic, 0), 1_700_000_009_000),
    ];
    let admin = admin();
    assert_eq!(admin.offsets_for_times(&asked[..2], DEADLINE).unwrap(), [None, Some(1)]);
    assert_eq!(admin.offsets_for_times(&asked[2..], DEADLINE).unwrap(), [None]);
    let bounds = admin.watermarks(&tp(&topic, 0), DEADLINE).unwrap();
    assert_eq!((bounds.low, bounds.high), (0, 3));
}

#[test]
fn a_missing_topic_is_reported_while_others_are_read() {
    let topic = testkit::kafka::topic("there", 1);
    let missing = testkit::kafka::topic_name("missing");
    send(&producer(), &tp(&topic, 0), 0..3);
    let more = [("group.id", topic.as_str())];
    let mut consumer = consumer(&more, &Recorder::default());
    consumer.subscribe(&[&topic, &missing]).unwrap();
    let (mut named, mut rows) = (false, 0);
    poll_until(&mut consumer, |polled| {
        named |= polled.errors.iter().any(|t| {
            t.error.kind() == ErrorKind::UnknownTopic && t.error.to_string().contains(&missing)
        });
        rows += polled.batches.iter().map(|b| b.len()).sum::<usize>();
        named && rows == 3
    });
    consumer.leave();
    let nobody = settings(&testkit::kafka::bootstrap(), &[("group.id", "")]);
    assert!(SinkConsumer::new(&nobody, Box::new(NoRebalance)).is_err());
}

#[test]
fn the_newer_group_protocol_is_served_by_the_same_handler() {
    let topic = testkit::kafka::topic("kip848", 3);
    send(&producer(), &tp(&topic, 1), 0..10);
    let more = [("group.id", topic.as_str()), ("group.protocol", "consumer")];
    let recorder = Recorder::default();
    let mut consumer = consumer(&more, &recorder);
    consumer.subscribe(&[&topic]).unwrap();
    assert_eq!(read(&mut consumer, 10).iter().map(|b| b.len()).sum::<usize>(), 10);
    assert_eq!(consumer.assignment().len(), 3);
    consumer.leave();
    assert!(recorder.0.lock().unwrap().held.is_empty());
}
