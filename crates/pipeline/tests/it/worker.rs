//! One worker and its consumers: what arrives, where it begins, what is told of it.

use crate::bench::{Bench, record};

#[test]
fn records_arrive_once_and_the_positions_with_them() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("orders");
    bench.produce(&topic, 2, 0, 100);
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    bench.wait_for("orders", 200);
    bench.wait_for_state(id, "running");
    worker.stop();
    bench.produce(&topic, 2, 100, 110);
    let worker = bench.worker();
    bench.wait_for("orders", 220);
    assert_eq!(bench.positions(id), [110, 110]);
    worker.stop();
    assert_eq!(bench.database.value("SELECT count(*) FROM pipeline_kafka.workers").unwrap(), "0");
}

#[test]
fn one_topic_goes_to_every_relation_and_a_paused_one_goes_on_where_it_was() {
    let bench = Bench::new();
    let topic = bench.topic(3);
    let ids = ["a", "b", "c"].map(|table| {
        bench.table(table);
        bench.consumer(&topic, table, &[("start", "'earliest'"), ("parallelism", "2")])
    });
    bench.produce(&topic, 3, 0, 50);
    let worker = bench.worker();
    for table in ["a", "b", "c"] {
        bench.wait_for(table, 150);
    }
    bench.alter(ids[1], "enabled = false, state = 'paused'");
    bench.produce(&topic, 3, 50, 60);
    bench.wait_for("a", 180);
    bench.wait_for("c", 180);
    assert_eq!(bench.count("b"), 150);
    bench.alter(ids[1], "enabled = true, state = 'starting'");
    bench.wait_for("b", 180);
    bench.wait_for_state(ids[1], "running");
    worker.stop();
}

/// pipelinedb/pipeline_kafka#57, #70.
#[test]
fn a_start_is_resolved_for_each_partition() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    let records = (0..100).map(|n| record(0, n)).chain((0..5).map(|n| record(1, n)));
    testkit::kafka::produce(&bench.bootstrap, &topic, records);
    let starts = [("last", "-3", 6), ("map", "{\"0\": 98}", 7), ("latest", "latest", 0)];
    for (table, start, _) in starts {
        bench.table(table);
        bench.consumer(&topic, table, &[("start", &format!("'{start}'"))]);
    }
    let worker = bench.worker();
    for (table, _, rows) in starts {
        bench.wait_for(table, rows);
    }
    let started = "SELECT count(*) FROM pipeline_kafka.offsets";
    testkit::eventually(crate::bench::PATIENCE, "every start is stored", || {
        (bench.database.value(started)? == "6").then_some(())
    });
    bench.produce(&topic, 1, 100, 101);
    for (table, _, rows) in starts {
        bench.wait_for(table, rows + 1);
    }
    worker.stop();
}

/// risingwavelabs/risingwave#16046.
#[test]
fn a_start_by_time_takes_the_first_record_at_or_after_it() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let at = |n: i64| record(0, n).timestamp(1_700_000_000_000 + n * 1000);
    testkit::kafka::produce(&bench.bootstrap, &topic, (0..3).map(at));
    for (table, start) in [("before", "1974-01-01T00:00:00Z"), ("at", "2023-11-14T22:13:21Z")] {
        bench.table(table);
        bench.consumer(&topic, table, &[("start", &format!("'{start}'"))]);
    }
    let worker = bench.worker();
    bench.wait_for("before", 3);
    bench.wait_for("at", 2);
    worker.stop();
}

/// pipelinedb/pipeline_kafka#67: nothing told of a misspelt property.
#[test]
fn an_unknown_property_or_topic_blocks_and_is_named() {
    let bench = Bench::new();
    bench.set_cluster("{\"security.protocl\": \"SSL\"}");
    let topic = bench.topic(1);
    bench.table("orders");
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    let detail = bench.wait_for_state(id, "blocked");
    assert!(detail.contains("security.protocl"), "{detail}");
    bench.set_cluster("{}");
    bench.wait_for_state(id, "running");
    bench.table("others");
    let misspelt = format!("{topic}x");
    let other = bench.consumer(&misspelt, "others", &[("start", "'earliest'")]);
    let detail = bench.wait_for_state(other, "blocked");
    assert!(detail.contains("unknown topic") && detail.contains(&topic), "{detail}");
    // Of the others everything is heard meanwhile.
    testkit::eventually(crate::bench::PATIENCE, "the end is known for the first time", || {
        let known = "SELECT count(*) FROM pipeline_kafka.partitions";
        (bench.database.value(known)? == "1").then_some(())
    });
    bench.database.execute("UPDATE pipeline_kafka.partitions SET high = 77");
    testkit::eventually(crate::bench::PATIENCE, "the end of the topic that is there", || {
        (bench.database.value("SELECT high FROM pipeline_kafka.partitions")? == "0").then_some(())
    });
    testkit::kafka::create_topic(&bench.bootstrap, &misspelt, 1);
    bench.produce(&misspelt, 1, 0, 3);
    bench.wait_for("others", 3);
    worker.stop();
}

/// confluentinc/librdkafka#3917, fede1024/rust-rdkafka#227.
#[test]
fn positions_pass_transaction_markers() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    let producer = testkit::kafka::Producer::transactional(&bench.bootstrap, &topic);
    producer.begin();
    producer.send(&topic, &record(0, 1));
    producer.commit();
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    bench.wait_for("orders", 1);
    testkit::eventually(crate::bench::PATIENCE, "the position passes the marker", || {
        (bench.positions(id) == [2]).then_some(())
    });
    worker.stop();
}

/// A consumer that begins far behind reads by itself and holds nobody up; then one fetch feeds both.
#[test]
fn who_is_far_behind_catches_up_beside_the_others() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("now");
    bench.table("all_of_it");
    bench.produce(&topic, 2, 0, 15_000);
    let now = bench.consumer(&topic, "now", &[("start", "'latest'")]);
    let worker = bench.worker();
    bench.wait_for_state(now, "running");
    let all = bench.consumer(&topic, "all_of_it", &[("start", "'earliest'")]);
    bench.produce(&topic, 2, 15_000, 15_010);
    bench.wait_for("now", 20);
    bench.wait_for("all_of_it", 30_020);
    bench.wait_for_state(all, "running");
    bench.produce(&topic, 2, 15_010, 15_020);
    bench.wait_for("all_of_it", 30_040);
    bench.wait_for("now", 40);
    worker.stop();
}

/// pipelinedb/pipeline_kafka#60, #8, #40: what came while nobody worked is read, each partition from its
/// own position.
#[test]
fn what_came_meanwhile_is_read_from_each_partitions_own_position() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("orders");
    let records = (0..5).map(|n| record(0, n)).chain((0..9).map(|n| record(1, n)));
    testkit::kafka::produce(&bench.bootstrap, &topic, records);
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    bench.wait_for("orders", 14);
    worker.stop();
    assert_eq!(bench.positions(id), [5, 9]);
    let records = (5..12).map(|n| record(0, n)).chain((9..12).map(|n| record(1, n)));
    testkit::kafka::produce(&bench.bootstrap, &topic, records);
    bench.database.query("SELECT * FROM pipeline_kafka.consume_end()");
    bench.database.query("SELECT * FROM pipeline_kafka.consume_begin()");
    let worker = bench.worker();
    bench.wait_for("orders", 24);
    worker.stop();
    assert_eq!(bench.positions(id), [12, 12]);
}

/// confluentinc/librdkafka#1863; adjust/kafka_fdw#53: the limits of a batch are no waits.
#[test]
fn a_single_record_does_not_wait_for_a_batch_to_fill() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    let id = bench.consumer(&topic, "orders", &[("timeout", "3600000"), ("batchsize", "100000")]);
    let worker = bench.worker();
    bench.wait_for_state(id, "running");
    for n in 0..3 {
        bench.produce(&topic, 1, n, n + 1);
        bench.wait_for("orders", n + 1);
    }
    worker.stop();
}
