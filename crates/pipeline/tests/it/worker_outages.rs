//! Workers that share the work, and servers that go away.

use crate::bench::{Bench, PATIENCE};
use testkit::eventually;
use testkit::kafka::{self, Broker};
use testkit::postgres::{Bouncer, Client, Server, Stop};

#[test]
fn two_workers_share_the_partitions_and_one_takes_over_what_the_other_leaves() {
    let bench = Bench::new();
    let topic = bench.topic(4);
    for table in ["a", "b"] {
        bench.table(table);
    }
    let id = bench.consumer(&topic, "a", &[("start", "'earliest'")]);
    bench.consumer(&topic, "b", &[("start", "'earliest'")]);
    let first = bench.worker();
    bench.wait_for_state(id, "running");
    let second = bench.worker();
    let owners = "SELECT count(DISTINCT owner_worker) FROM pipeline_kafka.offsets \
                  WHERE consumer_id = 1";
    eventually(PATIENCE, "two owners", || (bench.database.value(owners)? == "2").then_some(()));
    bench.produce(&topic, 4, 0, 50);
    bench.wait_for("a", 200);
    first.stop();
    bench.produce(&topic, 4, 50, 100);
    bench.wait_for("a", 400);
    bench.wait_for("b", 400);
    eventually(PATIENCE, "one owner", || (bench.database.value(owners)? == "1").then_some(()));
    second.stop();
}

/// pipelinedb/pipeline_kafka#4; confluentinc/kafka-connect-jdbc#964.
#[test]
fn consuming_goes_on_by_itself_after_the_database_has_restarted() {
    let mut server = Server::start();
    let bench = Bench::on(&kafka::bootstrap(), testkit::postgres::Database::create(&server.url()));
    let topic = bench.topic(2);
    bench.table("orders");
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    bench.produce(&topic, 2, 0, 50);
    bench.wait_for("orders", 100);
    for (round, how) in [(1, Stop::Fast), (2, Stop::Immediate)] {
        server.stop(how);
        bench.produce(&topic, 2, round * 50, round * 50 + 50);
        server.launch();
        bench.wait_for("orders", 100 + round * 100);
        bench.wait_for_state(id, "running");
    }
    worker.stop();
}

/// pipelinedb/pipeline_kafka#23.
#[test]
fn consuming_goes_on_by_itself_after_the_brokers_were_away() {
    let mut broker = Broker::start();
    let bench = Bench::over(&broker.bootstrap());
    let topic = bench.topic(2);
    bench.table("orders");
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    bench.produce(&topic, 2, 0, 50);
    bench.wait_for("orders", 100);
    broker.stop();
    let detail = bench.wait_for_state(id, "backing_off");
    assert!(!detail.is_empty());
    broker.launch();
    bench.produce(&topic, 2, 50, 100);
    bench.wait_for("orders", 200);
    bench.wait_for_state(id, "running");
    worker.stop();
}

/// pipelinedb/pipeline_kafka#66: the seventh consumer found no place.
#[test]
fn many_consumers_share_few_connections() {
    let bench = Bench::new();
    let topics: Vec<String> = (0..12).map(|_| bench.topic(1)).collect();
    for (n, topic) in topics.iter().enumerate() {
        bench.table(&format!("t{n}"));
        bench.consumer(topic, &format!("t{n}"), &[("start", "'earliest'")]);
    }
    let worker = bench.worker_with(|options| options.connections_max = 4);
    for topic in &topics {
        bench.produce(topic, 1, 0, 20);
    }
    for n in 0..topics.len() {
        bench.wait_for(&format!("t{n}"), 20);
    }
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND application_name LIKE 'copycat%'";
    let open: u32 = bench.database.value(connections).expect("a count").parse().expect("a number");
    assert!(open <= 4, "{open} connections");
    worker.stop();
}

/// Where notifications do not arrive and no session is one's own.
#[test]
fn a_worker_behind_a_transaction_pooler_follows_changes() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    let bouncer = Bouncer::start(&bench.database.url(), 3);
    let url = bouncer.url(&bench.database.url());
    // Nobody says that it is there.
    let worker = bench.worker_with(|options| options.database_url = url.clone());
    for table in ["a", "b"] {
        bench.table(table);
        let id = bench.consumer(&topic, table, &[("start", "'earliest'")]);
        bench.wait_for_state(id, "running");
    }
    bench.produce(&topic, 2, 0, 100);
    bench.wait_for("a", 200);
    bench.wait_for("b", 200);
    // Whoever else gets these sessions finds them as they were.
    let left = "SELECT current_setting('statement_timeout') || ' ' || (SELECT count(*) \
                FROM pg_prepared_statements) || ' ' || (SELECT count(*) FROM pg_listening_channels())";
    let mut others: Vec<_> = (0..3).map(|_| Client::connect(&url)).collect();
    for other in &mut others {
        other.execute("BEGIN");
        assert_eq!(other.value(left).as_deref(), Some("0 0 0"));
    }
    worker.stop();
}
