//! Records and batches that a broker refuses, and transactions that it ends: what a source does then.

use crate::harness::{PATIENCE, task, wait_failed, wait_retrying};
use crate::sources::{Route, expect_once, line, open};
use std::io::Write;
use std::time::Duration;
use testkit::{
    eventually, holds_for,
    kafka::{self, Broker, topic_name},
};

/// More than a topic of these tests takes, and less than the producer does.
const LONG_LINE: usize = 20_000;

fn small_topic(name: &str) -> Route {
    let mut route = Route::new(name);
    route.topic = topic_name(name);
    let small = [("max.message.bytes", "10000")];
    kafka::create_topic_with(&route.bootstrap, &route.topic, 1, &small);
    route
}

fn write_with_a_long_line(route: &Route) {
    let text: String = (0..300).map(line).collect();
    let more: String = (300..600).map(line).collect();
    let long = "x".repeat(LONG_LINE);
    open(&route.file()).write_all(format!("{text}{long}\n{more}").as_bytes()).expect("room");
}

/// A producer makes batches that are larger than the topic takes: that is no fault of the records.
#[test]
fn batches_larger_than_the_topic_takes_are_made_smaller() {
    for exactly_once in [false, true] {
        let route = small_topic("file-small");
        route.write(0..3000);
        let setup = if exactly_once { route.exactly_once(&[]) } else { route.worker(&[]) };
        let worker = setup.start();
        route.wait_for_last(3000);
        expect_once(&route.read(), 3000);
        assert_eq!(task(&worker, &route.topic)["state"], "RUNNING");
    }
}

/// The one record that is too large for the topic fails the task by name; those before it are there.
#[test]
fn a_record_too_large_for_the_topic_is_named() {
    let route = small_topic("file-long");
    write_with_a_long_line(&route);
    let worker = route.worker(&[]).start();
    let told = wait_failed(&worker, &route.topic);
    assert!(told.contains("record 300 of its poll"), "{told}");
    assert!(told.contains("max.message.bytes"), "{told}");
    expect_once(&route.read(), 300);
}

/// With errors tolerated it is a dead letter with its contents, and the others are there once.
#[test]
fn a_record_too_large_for_the_topic_is_a_dead_letter() {
    for exactly_once in [false, true] {
        let route = small_topic("file-long-letter");
        write_with_a_long_line(&route);
        let letters = topic_name("file-long-dlq");
        let more =
            [("errors.tolerance", "all"), ("errors.deadletterqueue.topic.name", letters.as_str())];
        let setup = if exactly_once { route.exactly_once(&more) } else { route.worker(&more) };
        let worker = setup.start();
        route.wait_for_last(600);
        expect_once(&route.read(), 600);
        let letters = kafka::read(&route.bootstrap, &letters);
        let lengths: Vec<usize> = letters.iter().map(|letter| letter.text().len()).collect();
        assert_eq!(lengths, [LONG_LINE]);
        assert_eq!(task(&worker, &route.topic)["copycat"]["records_reported"], 1);
    }
}

/// A topic that nobody creates is named, with the settings that create it; with them the task works.
#[test]
fn a_topic_that_the_broker_does_not_create_is_named() {
    let broker = Broker::start_with(&[("auto.create.topics.enable", "false")]);
    for exactly_once in [false, true] {
        let mut route = Route::over(&broker.bootstrap(), "file-nowhere");
        route.topic = topic_name("file-nowhere");
        route.write(0..10);
        let setup = |more: &[(&str, &str)]| match exactly_once {
            true => route.exactly_once(more),
            false => route.worker(more),
        };
        let worker = setup(&[]).start();
        let told = wait_failed(&worker, &route.topic);
        assert!(told.contains(&route.topic), "{told}");
        assert!(told.contains("topic.creation.default.partitions"), "{told}");
        drop(worker);
        let rules = [
            ("topic.creation.default.partitions", "1"),
            ("topic.creation.default.replication.factor", "1"),
        ];
        let worker = setup(&rules).start();
        route.wait_for_last(10);
        expect_once(&route.read(), 10);
        drop(worker);
    }
}

/// A broker that is not there is waited for, and the status says which one.
#[test]
fn what_a_source_waits_for_is_in_its_status() {
    for exactly_once in [false, true] {
        let mut route = Route::new("file-away");
        route.bootstrap = format!("127.0.0.1:{}", testkit::free_port());
        route.write(0..10);
        let setup = if exactly_once { route.exactly_once(&[]) } else { route.worker(&[]) };
        let worker = setup.start();
        eventually(PATIENCE, "the reason", || {
            let told = wait_retrying(&worker, &route.topic);
            let reason = told["reason"].as_str().expect("a reason");
            reason.contains(&route.bootstrap).then_some(())
        });
    }
}

/// A worker that stood still for longer than a transaction may last finds its own transaction ended by
/// the broker. Nobody else has taken it over, so it goes on.
#[test]
fn fault_a_transaction_that_the_broker_ended_begins_anew() {
    let often = [("transaction.abort.timed.out.transaction.cleanup.interval.ms", "500")];
    let broker = Broker::start_with(&often);
    let route = Route::over(&broker.bootstrap(), "file-outlived");
    let boundary = [
        ("transaction.boundary", "interval"),
        ("transaction.boundary.interval.ms", "60000"),
        ("producer.override.transaction.timeout.ms", "4000"),
    ];
    let worker = route.exactly_once(&boundary).start();
    for round in 0..3 {
        route.write(round * 100..round * 100 + 100);
        eventually(PATIENCE, "an open transaction", || {
            let read = task(&worker, &route.topic)["copycat"]["records_read"].as_u64();
            (read >= Some((round + 1) * 100)).then_some(())
        });
        worker.signal("STOP");
        holds_for(Duration::from_secs(7), "the worker stands still", || true);
        worker.signal("CONT");
        route.wait_for_last((round + 1) * 100);
    }
    expect_once(&route.read(), 300);
    assert_eq!(task(&worker, &route.topic)["state"], "RUNNING");
}
