//! Dead letters that are tried again after a fix.

use crate::bench::{Bench, PATIENCE};
use testkit::eventually;
use testkit::kafka::Record;

fn unresolved(bench: &Bench, id: i32) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM pipeline_kafka.errors WHERE consumer_id = {id} AND NOT resolved"
    );
    bench.database.value(&sql).unwrap().parse().unwrap()
}

#[track_caller]
fn wait_for_letters(bench: &Bench, id: i32, letters: i64) {
    eventually(PATIENCE, &format!("{letters} unresolved letters"), || {
        (unresolved(bench, id) == letters).then_some(())
    });
}

#[track_caller]
fn retry(bench: &Bench, topic: &str, more: &str) {
    let sql = format!("SELECT pipeline_kafka.retry_errors('{topic}', 'orders'{more})");
    bench.database.execute(&sql);
    eventually(PATIENCE, "the retry is over", || {
        let sql = "SELECT count(*) FROM pipeline_kafka.errors WHERE retry_queued_at IS NOT NULL \
                   OR retry_id IS NOT NULL";
        (bench.database.value(sql)? == "0").then_some(())
    });
}

/// ClickHouse/ClickHouse#10647: what was left out is counted, and can be had later.
#[test]
fn letters_become_rows_after_the_table_was_changed() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("orders");
    bench.produce(&topic, 2, 0, 50);
    let bad = |part: i32, n: i64| {
        Record::value(format!("{{\"part\":{part},\"n\":\"n{n}\"}}"))
            .partition(part)
            .key(format!("k{n}"))
            .header("h", "v")
    };
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'"), ("error_limit", "1")]);
    let records = (50..60).map(|n| bad((n % 2) as i32, n));
    testkit::kafka::produce(&bench.bootstrap, &topic, records);
    let worker = bench.worker();
    wait_for_letters(&bench, id, 10);
    bench.wait_for("orders", 100);
    retry(&bench, &topic, "");
    assert_eq!(unresolved(&bench, id), 10, "nothing has changed");
    let told = "SELECT count(*) FROM pipeline_kafka.errors WHERE retried_at IS NOT NULL \
                AND sqlstate = '22P02' AND replay_id IS NULL";
    assert_eq!(bench.database.value(told).unwrap(), "10");
    bench.database.execute("ALTER TABLE orders ALTER n TYPE text");
    retry(&bench, &topic, ", '{\"partition\": 1}'");
    wait_for_letters(&bench, id, 5);
    retry(&bench, &topic, "");
    wait_for_letters(&bench, id, 0);
    bench.wait_for("orders", 110);
    let left = "SELECT count(*) FROM pipeline_kafka.replays";
    assert_eq!(bench.database.value(left).unwrap(), "0");
    assert_eq!(bench.positions(id), [55, 55]);
    worker.stop();
}

#[test]
fn letters_of_a_replay_go_where_the_replay_went() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    bench.database.execute("CREATE TABLE again (part int, n bigint CHECK (n <> 3))");
    bench.produce(&topic, 1, 0, 5);
    let id = bench.consumer(&topic, "orders", &[("start", "'latest'"), ("error_limit", "1")]);
    let worker = bench.worker();
    let replay =
        format!("SELECT pipeline_kafka.replay('{topic}', 'orders', 'earliest', 'latest', 'again')");
    bench.database.execute(&replay);
    wait_for_letters(&bench, id, 1);
    bench.wait_for("again", 4);
    bench.database.execute("ALTER TABLE again DROP CONSTRAINT again_n_check");
    retry(&bench, &topic, "");
    wait_for_letters(&bench, id, 0);
    bench.wait_for("again", 5);
    assert_eq!(bench.count("orders"), 0);
    worker.stop();
}
