//! Replays by workers and by clients: each range once, beside the live flow.

use crate::bench::{Bench, PATIENCE, record};
use pipeline::replay::client::{self, Connection, Outcome, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::eventually;

fn replay(bench: &Bench, arguments: &str) -> i64 {
    let sql = format!("SELECT pipeline_kafka.replay({arguments})");
    bench.database.value(&sql).unwrap().parse().unwrap()
}

#[track_caller]
fn wait_for_state(bench: &Bench, id: i64, state: &str) -> String {
    eventually(PATIENCE, &format!("replay {state}"), || {
        let sql = format!(
            "SELECT state, coalesce(state_detail, '') FROM pipeline_kafka.replays WHERE id = {id}"
        );
        let row = bench.database.query(&sql).pop()?;
        (row[0].as_deref() == Some(state)).then(|| row[1].clone().unwrap_or_default())
    })
}

fn request(topic: &str, into: Option<&str>) -> Request {
    Request {
        topic: topic.to_owned(),
        relation: "orders".to_owned(),
        start: "earliest".to_owned(),
        end: "latest".to_owned(),
        into: into.map(str::to_owned),
        mode: None,
        force: false,
        partitions: None,
        cluster: None,
    }
}

fn connection(bench: &Bench) -> Connection {
    Connection { database_url: bench.database.url(), pooler: false }
}

#[test]
fn a_range_goes_into_another_table_beside_the_live_flow() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("orders");
    bench.table("again");
    bench.table("few");
    bench.produce(&topic, 2, 0, 100);
    let id = bench.consumer(&topic, "orders", &[("start", "'latest'")]);
    let worker = bench.worker();
    bench.wait_for_state(id, "running");
    let all = replay(&bench, &format!("'{topic}', 'orders', 'earliest', 'latest', 'again'"));
    let map = "'{\"0\": 10, \"1\": 90}', '{\"0\": 20, \"1\": 93}'";
    let few = replay(&bench, &format!("'{topic}', 'orders', {map}, 'few'"));
    for replay in [all, few] {
        wait_for_state(&bench, replay, "done");
    }
    bench.wait_for("again", 200);
    bench.wait_for("few", 13);
    let outside = "SELECT count(*) FROM few WHERE NOT (part = 0 AND n BETWEEN 10 AND 19 \
                   OR part = 1 AND n BETWEEN 90 AND 92)";
    assert_eq!(bench.database.value(outside).unwrap(), "0");
    assert_eq!(bench.count("orders"), 0);
    assert_eq!(bench.positions(id), [100, 100]);
    bench.produce(&topic, 2, 100, 110);
    bench.wait_for("orders", 20);
    worker.stop();
}

#[test]
fn an_end_by_time_takes_the_records_before_it() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let at = |n: i64| record(0, n).timestamp(1_700_000_000_000 + n * 1000);
    testkit::kafka::produce(&bench.bootstrap, &topic, (0..10).map(at));
    bench.table("orders");
    bench.table("again");
    bench.consumer(&topic, "orders", &[("start", "'latest'")]);
    let worker = bench.worker();
    let times = "'2023-11-14 22:13:22Z', '2023-11-14 22:13:26Z'";
    let id = replay(&bench, &format!("'{topic}', 'orders', {times}, 'again'"));
    wait_for_state(&bench, id, "done");
    bench.wait_for("again", 4);
    let found = bench.database.value("SELECT string_agg(n::text, ',' ORDER BY n) FROM again");
    assert_eq!(found.unwrap(), "2,3,4,5");
    worker.stop();
}

#[test]
fn what_the_log_does_not_have_blocks_and_says_where_it_begins() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    bench.table("again");
    bench.produce(&topic, 1, 0, 10);
    bench.consumer(&topic, "orders", &[("start", "'latest'")]);
    let worker = bench.worker();
    let far =
        replay(&bench, &format!("'{topic}', 'orders', '{{\"0\": 0}}', '{{\"0\": 99}}', 'again'"));
    let detail = wait_for_state(&bench, far, "blocked");
    assert!(detail.contains("ends at 10") && detail.contains("replay_cancel"), "{detail}");
    bench.database.execute(&format!("SELECT pipeline_kafka.replay_cancel({far})"));
    assert_eq!(bench.count("again"), 0);
    worker.stop();
}

/// A worker that is told to stop in the middle, and another one that goes on.
#[test]
fn another_worker_goes_on_where_the_first_stopped() {
    let bench = Bench::new();
    let topic = bench.topic(3);
    bench.table("orders");
    bench.table("again");
    bench.produce(&topic, 3, 0, 20_000);
    bench.consumer(&topic, "orders", &[("start", "'latest'"), ("batchsize", "500")]);
    let first = bench.worker();
    let id = replay(&bench, &format!("'{topic}', 'orders', 'earliest', 'latest', 'again'"));
    eventually(PATIENCE, "the replay has begun", || (bench.count("again") > 0).then_some(()));
    first.stop();
    let second = bench.worker();
    wait_for_state(&bench, id, "done");
    bench.wait_for("again", 60_000);
    second.stop();
}

/// Partitions have lanes of their own: one that waits for a lock holds up no other, and each keeps its order.
#[test]
fn the_partitions_of_a_replay_go_on_by_themselves() {
    let bench = Bench::new();
    let topic = bench.topic(3);
    bench.table("orders");
    bench.table("again");
    bench.database.execute("ALTER TABLE again ADD seq bigserial");
    bench.produce(&topic, 3, 0, 5_000);
    bench.consumer(&topic, "orders", &[("start", "'latest'"), ("batchsize", "10")]);
    let worker = bench.worker();
    let id = replay(&bench, &format!("'{topic}', 'orders', 'earliest', 'latest', 'again'"));
    let of_replay = format!("FROM pipeline_kafka.replay_offsets WHERE replay_id = {id}");
    let count = |more: &str| bench.database.value(&format!("SELECT count(*) {of_replay} {more}"));
    eventually(PATIENCE, "the range", || (count("")? == "3").then_some(()));
    let mut holder = bench.database.client();
    let hold = format!("BEGIN; SELECT {of_replay} AND partition = 0 FOR UPDATE");
    holder.execute(&hold);
    eventually(PATIENCE, "the other partitions are done", || {
        (count("AND next_offset = end_offset AND partition > 0")? == "2").then_some(())
    });
    assert_eq!(count("AND next_offset < end_offset"), Some("1".to_owned()));
    holder.execute("COMMIT");
    wait_for_state(&bench, id, "done");
    bench.wait_for("again", 15_000);
    let disorder = "SELECT count(*) FROM (SELECT n - lag(n) OVER (PARTITION BY part ORDER BY seq) AS step \
                    FROM again) AS steps WHERE step <> 1";
    assert_eq!(bench.database.value(disorder), Some("0".to_owned()));
    worker.stop();
}

#[test]
fn a_cancelled_replay_writes_no_more_and_two_workers_run_one_once() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    bench.table("again");
    bench.table("never");
    bench.produce(&topic, 1, 0, 30_000);
    bench.consumer(&topic, "orders", &[("start", "'latest'"), ("batchsize", "100")]);
    let workers = [bench.worker(), bench.worker()];
    // The table is held, so that the replay cannot end before it is cancelled.
    let mut holder = bench.database.client();
    holder.execute("BEGIN; LOCK TABLE never IN EXCLUSIVE MODE");
    let cancelled = replay(&bench, &format!("'{topic}', 'orders', 'earliest', 'latest', 'never'"));
    let id = replay(&bench, &format!("'{topic}', 'orders', 'earliest', 'latest', 'again'"));
    wait_for_state(&bench, cancelled, "running");
    bench.database.execute(&format!("SELECT pipeline_kafka.replay_cancel({cancelled})"));
    holder.execute("ROLLBACK");
    wait_for_state(&bench, id, "done");
    bench.wait_for("again", 30_000);
    for worker in workers {
        worker.stop();
    }
    assert_eq!(bench.count("never"), 0);
}

#[test]
fn a_client_runs_a_replay_stops_and_goes_on() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("orders");
    bench.table("again");
    bench.produce(&topic, 2, 0, 10_000);
    bench.consumer(&topic, "orders", &[("start", "'latest'"), ("batchsize", "200")]);
    // So slow that it cannot be over before somebody has heard how far it is.
    bench.database.execute(
        "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END'",
    );
    bench.database.execute(
        "CREATE TRIGGER slowly AFTER INSERT ON again FOR EACH STATEMENT EXECUTE FUNCTION slowly()",
    );
    let worker = bench.worker();
    let connection = connection(&bench);
    let id = client::ask(&connection, &request(&topic, Some("again")), true).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let outcome = client::run(&connection, id, &|| stop.load(Ordering::Acquire), &mut |progress| {
        told.store(progress.done > 0, Ordering::Release);
    });
    let Ok(Outcome::Stopped(progress)) = outcome else { panic!("{outcome:?}") };
    assert!(progress.done > 0 && progress.all == 20_000, "{progress:?}");
    // Nobody else goes on with it.
    let outcome = client::run(&connection, id, &|| false, &mut |_| {});
    assert!(matches!(outcome, Ok(Outcome::Done(_))), "{outcome:?}");
    bench.wait_for("again", 20_000);
    let over = client::run(&connection, id, &|| false, &mut |_| {}).unwrap_err();
    assert!(over.message.contains("no replay"), "{over}");
    let refused = client::ask(&connection, &request(&topic, None), true).unwrap_err();
    assert_eq!(refused.sqlstate.as_deref(), Some("55000"), "{refused}");
    worker.stop();
}

#[test]
fn a_client_leaves_a_replay_to_the_workers() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    bench.table("again");
    bench.produce(&topic, 1, 0, 50);
    bench.consumer(&topic, "orders", &[("start", "'latest'")]);
    let worker = bench.worker();
    let connection = connection(&bench);
    let id = client::ask(&connection, &request(&topic, Some("again")), true).unwrap();
    client::hand_over(&connection, id).unwrap();
    wait_for_state(&bench, id, "done");
    bench.wait_for("again", 50);
    assert!(client::hand_over(&connection, id).is_err());
    worker.stop();
}
