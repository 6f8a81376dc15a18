//! The REST interface of clusters: against what a distributed worker of Apache Kafka Connect 4.4
//! answered, and what workers ask of each other.

use crate::harness::member;
use crate::rest::as_recorded;
use std::path::Path;
use testkit::{
    kafka,
    process::{Worker, WorkerSetup},
    replay::replay,
};

/// Requests and answers of a distributed worker, in order.
const DISTRIBUTED: &str = include_str!("../../testdata/rest-distributed.jsonl");

/// Recorded answers that ours differ from, with the reason.
const DIFFERENT: [(&str, &str); 0] = [];

/// A cluster of its own.
fn cluster(name: &str, workers: usize, more: fn(WorkerSetup) -> WorkerSetup) -> Vec<Worker> {
    let group = kafka::topic_name(name);
    let start = |_| more(member(&kafka::bootstrap(), &group)).launch();
    let mut workers: Vec<Worker> = (0..workers).map(start).collect();
    workers.iter_mut().for_each(Worker::wait_healthy);
    workers
}

fn logs(workers: &[Worker]) -> String {
    workers.iter().map(Worker::logs).collect::<Vec<_>>().join("\n-- the next worker\n")
}

/// Asks one worker everything that was recorded.
fn replay_through(workers: &[Worker], asked: usize) {
    let dirs: Vec<&Path> = workers.iter().map(Worker::dir).collect();
    let (count, differences) = replay(DISTRIBUTED, workers[asked].address(), &dirs);
    assert!(count > 250, "only {count} requests");
    as_recorded(&differences, &DIFFERENT, || format!("asked: {asked}\n{}", logs(workers)));
}

fn schemaless(setup: WorkerSetup) -> WorkerSetup {
    setup.worker("value.converter.schemas.enable", "false")
}

#[test]
fn a_cluster_of_one_worker_answers_as_recorded() {
    replay_through(&cluster("recorded-one", 1, schemaless), 0);
}

#[test]
fn each_of_three_workers_answers_as_recorded() {
    let workers = cluster("recorded-three", 3, schemaless);
    for asked in 0..3 {
        replay_through(&workers, asked);
    }
}
