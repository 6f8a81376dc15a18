//! The dead-letter topic where Kafka does not take it as it is.

use crate::harness::{PATIENCE, Route, count};
use testkit::{
    eventually, free_port,
    kafka::{self, Record, create_topic_with, topic_name},
};

/// Tolerates everything, and has letters sent to a topic.
fn properties(topic: &str) -> Vec<(&str, &str)> {
    vec![
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
        ("errors.deadletterqueue.topic.name", topic),
    ]
}

fn produce_bad(route: &Route, values: &[&str]) {
    let records = values.iter().map(|value| Record::value((*value).to_owned()).partition(0));
    kafka::produce(&route.bootstrap, &route.topic, records);
}

/// Waits until the table has this many letters, of which some wait to be forwarded.
#[track_caller]
fn wait_for_letters(route: &Route, all: u64, waiting: u64) {
    let url = route.database.url();
    eventually(PATIENCE, "the letters are stored and forwarded", || {
        let letters = "SELECT count(*) FROM copycat_dead_letters";
        let stored = count(&url, letters)?;
        let left = count(&url, &format!("{letters} WHERE forwarded_at IS NULL"))?;
        ((stored, left) == (all, waiting)).then_some(())
    });
}

#[test]
fn a_letter_that_is_too_large_holds_up_no_other() {
    let route = Route::new("large-letter", 1);
    let dead = topic_name("small-letters");
    create_topic_with(&route.bootstrap, &dead, 1, &[("max.message.bytes", "2000")]);
    let mut worker = route.worker(&properties(&dead)).start();
    let large = "x".repeat(5_000);
    produce_bad(&route, &["bad 1", &large, "bad 2"]);
    wait_for_letters(&route, 3, 0);
    produce_bad(&route, &["bad 3"]);
    wait_for_letters(&route, 4, 0);
    let ends = kafka::end_offsets(&route.bootstrap, &dead);
    assert_eq!(ends.values().sum::<i64>(), 3, "all but the large one");
    assert_eq!(worker.terminate().code(), Some(0));
    let log = worker.logs();
    let told = log.lines().filter(|line| line.contains("too large for topic")).count();
    assert_eq!(told, 1, "{log}");
}

/// B020: more replicas than there are brokers are no reason to have no topic.
#[test]
fn a_topic_with_fewer_brokers_than_replicas_is_created_all_the_same() {
    let route = Route::new("replicas", 1);
    let dead = topic_name("replicated-letters");
    let mut more = properties(&dead);
    more.push(("errors.deadletterqueue.topic.replication.factor", "3"));
    let mut worker = route.worker(&more).start();
    produce_bad(&route, &["bad"]);
    wait_for_letters(&route, 1, 0);
    assert_eq!(kafka::end_offsets(&route.bootstrap, &dead).values().sum::<i64>(), 1);
    assert_eq!(worker.terminate().code(), Some(0));
    let log = worker.logs();
    assert!(log.contains("created with the broker's default"), "{log}");
}

/// The letter stays in the table; the next start sends it.
#[test]
fn a_letter_that_cannot_be_sent_does_not_hold_up_the_end() {
    let route = Route::new("unsent", 1);
    let dead = topic_name("unsent-letters");
    let nobody = format!("127.0.0.1:{}", free_port());
    let mut more = properties(&dead);
    more.push(("producer.override.bootstrap.servers", &nobody));
    let mut worker = route.worker(&more).start();
    produce_bad(&route, &["bad"]);
    wait_for_letters(&route, 1, 1);
    eventually(PATIENCE, "sending is tried", || worker.logs().contains(&nobody).then_some(()));
    assert_eq!(worker.terminate().code(), Some(0));
    let log = worker.logs();
    assert!(!log.contains("not everything ended in time"), "{log}");
    wait_for_letters(&route, 1, 1);
}
