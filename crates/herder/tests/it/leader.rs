//! What the leader writes is seen whole or not at all, and only while it belongs to the group.

use crate::support::{DEADLINE, client, open, settings, written};
use api::ErrorKind;
use data::TopicPartition;
use herder::distributed::log::{LeaderError, LeaderWriter, Membership};
use herder::distributed::topics::{ConfigRecord, Properties};
use kafka::{ClientHandle, NoRebalance, PollLimits, Position, SinkConsumer, TransactionalProducer};
use std::time::Duration;
use testkit::kafka::{bootstrap, topic, topic_name};

const LIMITS: PollLimits = PollLimits { rows_max: 100, bytes_max: 1 << 20 };

/// A member of the workers' group, which has joined.
struct Member {
    consumer: SinkConsumer,
    topic: String,
}

impl Member {
    fn join(group: &str, topic: &str) -> Member {
        let settings = client(&bootstrap(), &[("group.id", group), ("session.timeout.ms", "6000")]);
        let mut consumer = SinkConsumer::new(&settings, Box::new(NoRebalance)).unwrap();
        consumer.subscribe(&[topic]).unwrap();
        testkit::eventually(DEADLINE, "the member has joined", || {
            consumer.poll(Duration::from_millis(50), LIMITS).unwrap();
            (!consumer.assignment().is_empty()).then_some(())
        });
        Member { consumer, topic: topic.to_owned() }
    }

    fn membership(&self) -> Membership {
        let handle: &ClientHandle = self.consumer.handle();
        let seat = Position::new(TopicPartition::new(self.topic.as_str(), 1), 0);
        Membership { group: handle.group_metadata().unwrap(), seat }
    }
}

fn claim(id: &str, topic: &str) -> LeaderWriter {
    let settings = client(&bootstrap(), &[("transactional.id", id)]);
    LeaderWriter::claim(&settings, topic, DEADLINE).unwrap()
}

fn tasks(n: usize) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let configs = vec![Properties::default(); n];
    ConfigRecord::tasks("c", &configs).iter().map(ConfigRecord::written).collect()
}

#[test]
fn a_member_writes_and_one_of_a_past_generation_does_not() {
    let (configs, id) = (topic_name("configs"), topic_name("cluster"));
    let (log, seen) = open(settings(&bootstrap(), &configs, 1));
    let (group, members) = (topic_name("members"), topic("members", 2));
    let mut first = Member::join(&group, &members);
    let mut writer = claim(&id, &configs);
    writer.write(&tasks(2), &first.membership(), DEADLINE).unwrap();
    log.read_to_end(DEADLINE).unwrap();
    let keys: Vec<String> = seen.records().into_iter().map(|(key, ..)| key).collect();
    assert_eq!(keys, ["task-c-0", "task-c-1", "commit-c"]);

    // Taken while it was the only member; then another joins.
    let stale = first.membership();
    let joining = std::thread::spawn(move || Member::join(&group, &members));
    testkit::eventually(DEADLINE, "both have a partition", || {
        first.consumer.poll(Duration::from_millis(20), LIMITS).unwrap();
        joining.is_finished().then_some(())
    });
    let refused = writer.write(&tasks(1), &stale, DEADLINE).unwrap_err();
    assert!(matches!(refused, LeaderError::NotMember(_)), "{refused}");
    log.read_to_end(DEADLINE).unwrap();
    assert_eq!(seen.records().len(), 3, "nothing of it is seen");
    testkit::eventually(DEADLINE, "the member is of the new generation", || {
        first.consumer.poll(Duration::from_millis(20), LIMITS).unwrap();
        writer.write(&tasks(1), &first.membership(), DEADLINE).ok()
    });
    log.read_to_end(DEADLINE).unwrap();
    assert_eq!(seen.records().len(), 5);
    joining.join().unwrap();
}

#[test]
fn a_new_leader_fences_the_old_one_for_good() {
    let (configs, id) = (topic_name("configs"), topic_name("cluster"));
    let (log, seen) = open(settings(&bootstrap(), &configs, 1));
    let member = Member::join(&topic_name("members"), &topic("members", 2));
    let mut old = claim(&id, &configs);
    old.write(&tasks(0), &member.membership(), DEADLINE).unwrap();
    let mut new = claim(&id, &configs);
    for _ in 0..2 {
        let refused = old.write(&tasks(1), &member.membership(), DEADLINE).unwrap_err();
        assert!(matches!(refused, LeaderError::Deposed(_)), "{refused}");
    }
    new.write(&tasks(3), &member.membership(), DEADLINE).unwrap();
    log.read_to_end(DEADLINE).unwrap();
    assert_eq!(seen.records().len(), 1 + 4);
}

#[test]
fn reading_to_the_end_waits_for_a_transaction_that_is_open_and_a_claim_ends_it() {
    let (configs, id) = (topic_name("configs"), topic_name("cluster"));
    let (log, seen) = open(settings(&bootstrap(), &configs, 1));
    let dead = client(&bootstrap(), &[("transactional.id", id.as_str())]);
    let dead = TransactionalProducer::new(&dead).unwrap();
    dead.init(DEADLINE).unwrap();
    dead.begin().unwrap();
    let (key, value) = written("connector-c", Some("{}"));
    let record = kafka::ProducerRecord {
        topic: &configs,
        key: Some(&key),
        value: value.as_deref(),
        ..kafka::ProducerRecord::default()
    };
    dead.send(&record).unwrap();
    testkit::eventually(DEADLINE, "the record is in the log", || {
        (dead.poll(Duration::from_millis(50)).len() == 1).then_some(())
    });
    let open = log.read_to_end(Duration::from_millis(300)).unwrap_err();
    assert_eq!(open.kind, ErrorKind::Retriable);
    claim(&id, &configs);
    log.read_to_end(DEADLINE).unwrap();
    assert_eq!(seen.records(), [], "it was aborted");
}
