//! Where a partition starts, and the situations in which nobody may guess.

use crate::harness::{PATIENCE, Route, wait_failed, wait_running};
use testkit::{
    eventually,
    kafka::{commit_group_offsets, create_topic, delete_topic, end_offsets},
};

/// The group remembers positions that the database has lost: going on could skip rows, starting again
/// could double them.
#[test]
fn a_replaced_database_is_noticed_and_both_ways_on_are_named() {
    let route = Route::new("replaced", 2);
    route.produce(0, 50);
    let mut worker = route.worker(&[]).start();
    route.expect_exactly(&route.each(50));
    assert_eq!(worker.terminate().code(), Some(0));
    route.database.execute("DROP TABLE copycat_offsets, copycat_dead_letters; TRUNCATE rows");
    worker.restart();
    let trace = wait_failed(&worker, route.name());
    for part in ["replaced or restored", "--to-current", "--delete-offsets", &route.group(), "50"] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    assert_eq!(route.stored(), 0);
}

/// The name is the same and the offsets mean other records.
#[test]
fn a_recreated_topic_is_noticed_and_both_ways_on_are_named() {
    let route = Route::new("recreated", 1);
    route.produce(0, 50);
    let mut worker = route.worker(&[]).start();
    route.expect_exactly(&route.each(50));
    assert_eq!(worker.terminate().code(), Some(0));
    delete_topic(&route.bootstrap, &route.topic);
    create_topic(&route.bootstrap, &route.topic, 1);
    route.produce(100, 80);
    worker.restart();
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains(&route.topic), "{trace}");
    for part in ["next_offset", "topic_id"] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    assert_eq!(route.stored(), 50);
}

/// A JVM connector of the same group stopped here; its offsets are where we start, once.
#[test]
fn a_jvm_groups_offsets_are_taken_over() {
    let route = Route::new("taken-over", 2);
    route.produce(0, 50);
    commit_group_offsets(&route.bootstrap, &route.group(), &route.topic, &[(0, 30), (1, 45)]);
    let mut worker = route.worker(&[]).start();
    route.wait_for_no_lag();
    let first = "SELECT min(n) FROM rows WHERE part =";
    assert_eq!(route.stored(), 25);
    for (part, offset) in [(0, "30"), (1, "45")] {
        let found = route.database.value(&format!("{first} {part}"));
        assert_eq!(found.as_deref(), Some(offset));
    }
    // B072: from then on the database's positions win, whatever is done to the group's.
    assert_eq!(worker.put(&format!("/connectors/{}/stop", route.name()), None).status, 204);
    route.wait_for_no_members();
    assert_eq!(worker.terminate().code(), Some(0));
    commit_group_offsets(&route.bootstrap, &route.group(), &route.topic, &[(0, 0), (1, 0)]);
    worker.restart();
    route.wait_for_no_lag();
    assert_eq!(route.stored(), 25);
}

/// `latest` starts behind what was there when the partition was first assigned, and remembers that.
#[test]
fn auto_offset_reset_latest_is_resolved_once() {
    let route = Route::new("latest", 1);
    route.produce(0, 50);
    let latest = [("consumer.override.auto.offset.reset", "latest")];
    let mut worker = route.worker(&latest).start();
    eventually(PATIENCE, "the start is stored", || {
        let sql = "SELECT next_offset FROM copycat_offsets";
        (crate::harness::count(&route.database.url(), sql) == Some(50)).then_some(())
    });
    worker.kill9();
    // Nobody reads these as they arrive; they are behind the start all the same.
    route.produce(50, 20);
    worker.restart();
    route.wait_for_no_lag();
    assert_eq!(route.stored(), 20);
    let first = route.database.value("SELECT min(n) FROM rows");
    assert_eq!(first.as_deref(), Some("50"));
}

/// `none` without a position fails and names the ways out; given a group offset it runs.
#[test]
fn auto_offset_reset_none_fails_without_a_position() {
    let route = Route::new("none", 1);
    route.produce(0, 50);
    let none = [("consumer.override.auto.offset.reset", "none")];
    let mut worker = route.worker(&none).start();
    let trace = wait_failed(&worker, route.name());
    for part in ["auto.offset.reset", "earliest", "latest", &route.topic] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    route.wait_for_no_members();
    assert_eq!(worker.terminate().code(), Some(0));
    commit_group_offsets(&route.bootstrap, &route.group(), &route.topic, &[(0, 20)]);
    worker.restart();
    wait_running(&worker, route.name());
    route.wait_for_no_lag();
    assert_eq!(route.stored(), 30);
}

/// Positions that only the group keeps are found there again after a restart.
#[test]
fn without_exactly_once_the_groups_offsets_are_the_start() {
    let route = Route::new("at-least-once", 2);
    let off = [("exactly.once.sink", "disabled")];
    let mut worker = route.worker(&off).start();
    for round in 0..3 {
        route.produce(round * 50, 50);
        route.wait_for_no_lag();
        assert_eq!(worker.terminate().code(), Some(0));
        worker.restart();
    }
    route.expect_exactly(&route.each(150));
    wait_running(&worker, route.name());
    let ends: i64 = end_offsets(&route.bootstrap, &route.topic).values().sum();
    assert_eq!(ends, 300);
}

/// A position behind the end means that records were lost in Kafka: nobody jumps.
#[test]
fn a_position_behind_the_end_of_the_log_fails() {
    let route = Route::new("behind", 1);
    route.produce(0, 50);
    let mut worker = route.worker(&[]).start();
    route.expect_exactly(&route.each(50));
    assert_eq!(worker.terminate().code(), Some(0));
    route.database.execute("UPDATE copycat_offsets SET next_offset = 70");
    worker.restart();
    let trace = wait_failed(&worker, route.name());
    for part in ["70", &route.topic, "hint"] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    route.produce(50, 10);
    assert_eq!(route.stored(), 50);
}

/// A position that is moved by hand, with its epoch, holds at once; one moved back doubles on demand.
#[test]
fn a_position_that_is_set_by_hand_is_followed_while_running() {
    let route = Route::new("by-hand", 1);
    route.produce(0, 50);
    let worker = route.worker(&[]).start();
    route.expect_exactly(&route.each(50));
    let set = "UPDATE copycat_offsets SET next_offset = 40, epoch = epoch + 1";
    route.database.execute(set);
    route.produce(50, 10);
    eventually(PATIENCE, "read again from there", || (route.stored() >= 70).then_some(()));
    route.wait_for_no_lag();
    let doubled = "SELECT min(n), max(n), count(*) FROM (SELECT n FROM rows GROUP BY n \
                   HAVING count(*) = 2) AS twice";
    let doubled: Vec<_> = route.database.query(doubled).remove(0).into_iter().flatten().collect();
    assert_eq!(doubled, ["40", "49", "10"]);
    assert_eq!(route.stored(), 70);
    wait_running(&worker, route.name());
}

/// The ways of docs/operating.md: while the connector is stopped, a row is set to an offset, or to
/// none. Then the group's offset counts, but not as long as it is our own mirror.
#[test]
fn positions_are_set_while_the_connector_is_stopped() {
    let route = Route::new("set-stopped", 1);
    route.produce(0, 50);
    let worker = route.worker(&[]).start();
    route.expect_exactly(&route.each(50));
    let path = format!("/connectors/{}", route.name());
    let around = |change: &dyn Fn()| {
        assert_eq!(worker.put(&format!("{path}/stop"), None).status, 204);
        route.wait_for_no_members();
        change();
        assert_eq!(worker.put(&format!("{path}/resume"), None).status, 202);
    };
    let set = |offset: &str| {
        let set = format!("UPDATE copycat_offsets SET next_offset = {offset}, epoch = epoch + 1");
        route.database.execute(&set);
    };
    let stored = |rows: u64| {
        eventually(PATIENCE, "read again", || (route.stored() >= rows).then_some(()));
        route.wait_for_no_lag();
        assert_eq!(route.stored(), rows);
    };
    around(&|| set("0"));
    stored(100);
    around(&|| set("NULL"));
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("--delete-offsets") && trace.contains("--to-current"), "{trace}");
    around(&|| commit_group_offsets(&route.bootstrap, &route.group(), &route.topic, &[(0, 45)]));
    stored(105);
    wait_running(&worker, route.name());
}
