//! What users of other programs have reported, each with the least input that shows it.

use crate::bench::{Bench, PATIENCE};
use testkit::eventually;
use testkit::kafka::{self, Record};

/// pipelinedb/pipeline_kafka#40 and #8: positions of several partitions, moved by one transaction
/// again and again, were refused or mixed up.
#[test]
fn one_transaction_moves_the_positions_of_all_partitions() {
    let bench = Bench::new();
    let topic = bench.topic(4);
    bench.table("orders");
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'"), ("parallelism", "1")]);
    let mut worker = bench.worker();
    let mut rows = 0;
    for round in 0..4_i64 {
        // Each partition has its own number of records.
        for part in 0..4 {
            let records = (0..=i64::from(part)).map(|n| crate::bench::record(part, round * 10 + n));
            kafka::produce(&bench.bootstrap, &topic, records);
            rows += i64::from(part) + 1;
        }
        bench.wait_for("orders", rows);
        if round == 1 {
            worker.stop();
            worker = bench.worker();
        }
    }
    eventually(PATIENCE, "positions", || (bench.positions(id) == [4, 8, 12, 16]).then_some(()));
    worker.stop();
}

/// confluentinc/kafka-connect-jdbc#385 and #1076: upserts of the same keys in another order, by two
/// workers, ended in deadlocks.
#[test]
fn two_workers_upsert_the_same_keys_without_a_deadlock() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.database.execute("CREATE TABLE state (k int PRIMARY KEY, n int)");
    let upsert = [("start", "'earliest'"), ("mode", "'upsert'"), ("batchsize", "200")];
    let id = bench.consumer(&topic, "state", &upsert);
    let (one, two) = (bench.worker(), bench.worker());
    let owners = "SELECT count(DISTINCT owner_worker) FROM pipeline_kafka.offsets";
    eventually(PATIENCE, "two owners", || (bench.database.value(owners)? == "2").then_some(()));
    let upwards = (0..8000).map(|n| (0, n % 400, n));
    let downwards = (0..8000).map(|n| (1, 399 - n % 400, n));
    let records = upwards
        .chain(downwards)
        .map(|(part, k, n)| Record::value(format!("{{\"k\":{k},\"n\":{n}}}")).partition(part));
    kafka::produce(&bench.bootstrap, &topic, records);
    eventually(PATIENCE, "positions", || (bench.positions(id) == [8000, 8000]).then_some(()));
    let rows = "SELECT count(*) || ' ' || bool_and(n >= 7600) FROM state";
    assert_eq!(bench.database.value(rows).as_deref(), Some("400 true"));
    one.stop();
    two.stop();
    // Sessions have ended and told what they met.
    let met = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(bench.database.value(met).as_deref(), Some("0"));
}

/// confluentinc/confluent-kafka-python#1669, fede1024/rust-rdkafka#363: with one way of sharing out
/// partitions nothing was read.
#[test]
fn every_way_of_sharing_out_partitions_reads_them_all() {
    for properties in [
        "{\"partition.assignment.strategy\": \"range\"}",
        "{\"partition.assignment.strategy\": \"cooperative-sticky\"}",
        "{\"group.protocol\": \"consumer\"}",
    ] {
        let bench = Bench::new();
        bench.set_cluster(properties);
        let topic = bench.topic(3);
        bench.table("orders");
        bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
        bench.produce(&topic, 3, 0, 20);
        let first = bench.worker();
        bench.wait_for("orders", 60);
        let second = bench.worker();
        let owners = "SELECT count(DISTINCT owner_worker) FROM pipeline_kafka.offsets";
        eventually(PATIENCE, &format!("two owners with {properties}"), || {
            (bench.database.value(owners)? == "2").then_some(())
        });
        bench.produce(&topic, 3, 20, 40);
        bench.wait_for("orders", 120);
        first.stop();
        bench.produce(&topic, 3, 40, 60);
        bench.wait_for("orders", 180);
        second.stop();
    }
}
