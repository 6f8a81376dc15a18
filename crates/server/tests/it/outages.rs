//! Outages of the database: nothing is blamed on a record, the status says what is wrong, and a
//! connector can be stopped and a worker ended meanwhile.

use crate::harness::{ADVANCE, PATIENCE, Route, task, wait_retrying, wait_running};
use serde_json::Value;
use std::time::Duration;
use testkit::{
    eventually, holds_for,
    kafka::{self, group},
    postgres::{Client, Database, Fault, Point, Proxy, Server, Stop},
};

const TOLERANT: [(&str, &str); 1] = [("errors.tolerance", "all")];

/// B056, B062: a stopped server, one that takes no writes, one without free connections. None of
/// them puts a good record into the dead letters.
#[test]
fn fault_an_outage_is_never_a_records_fault() {
    let mut server =
        Server::start_with(&["max_connections=12", "superuser_reserved_connections=2"]);
    let database = Database::create(&server.url());
    let route = Route::over(&kafka::bootstrap(), "outage", 2, database);
    server.client().execute("CREATE ROLE plain LOGIN SUPERUSER");
    let worker = route.worker(&TOLERANT).start();
    let mut produced = 0;
    let mut step = |fail: &mut dyn FnMut(), repair: &mut dyn FnMut(), sqlstate: Option<&str>| {
        route.produce(produced, 100);
        produced += 100;
        let all = produced * 2;
        eventually(PATIENCE, "stored before", || (route.stored() == all).then_some(()));
        wait_running(&worker, route.name());
        fail();
        route.produce(produced, 100);
        produced += 100;
        let told = wait_retrying(&worker, route.name());
        assert!(told["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{told}");
        assert!(told["next_attempt_ms"].is_u64() && told["since_ms"].is_u64(), "{told}");
        if let Some(sqlstate) = sqlstate {
            assert_eq!(told["sqlstate"], sqlstate, "{told}");
        }
        repair();
        wait_running(&worker, route.name());
        route.expect_exactly(&route.each(produced));
    };
    let server = std::cell::RefCell::new(&mut server);
    step(&mut || server.borrow_mut().stop(Stop::Fast), &mut || server.borrow_mut().launch(), None);
    let read_only = |on: &str| {
        let mut client = server.borrow().client();
        client.execute(&format!("ALTER SYSTEM SET default_transaction_read_only = {on}"));
        client.execute("SELECT pg_reload_conf()");
        // A session that began afterwards sees it; those before have been told by then.
        eventually(PATIENCE, "the setting is read", || {
            let shown = server.borrow().client().value("SHOW default_transaction_read_only")?;
            (shown == on).then_some(())
        });
    };
    step(&mut || read_only("on"), &mut || read_only("off"), Some("25006"));
    let taken = std::cell::RefCell::new(Vec::new());
    step(
        &mut || {
            let url = server.borrow().url();
            server.borrow().terminate_backends();
            while let Ok(client) = Client::try_connect(&url) {
                taken.borrow_mut().push(client);
            }
        },
        &mut || taken.borrow_mut().clear(),
        Some("53300"),
    );
}

/// A stopped connector lets its group go although the database hangs; resumed, it goes on.
#[test]
fn fault_a_stopped_connector_leaves_its_group_while_the_database_hangs() {
    let mut route = Route::new("hanging", 2);
    let proxy = Proxy::start(&route.database.url(), ADVANCE);
    route.url = format!("{}?sslmode=disable", proxy.url(&route.database.url()));
    let stream = route.stream();
    let worker = route.worker(&[]).start();
    route.wait_for_more_than(0);
    // In the middle of a transaction, and no way to another connection.
    proxy.arm(Point::BeforeCommit, Fault::Hold, 0);
    eventually(PATIENCE, "the database hangs", || (proxy.hits() == 1).then_some(()));
    proxy.hang();
    let path = format!("/connectors/{}", route.name());
    assert_eq!(worker.put(&format!("{path}/stop"), None).status, 204);
    // Two seconds, and what it takes to ask.
    eventually(Duration::from_secs(3), "the group is let go", || {
        let left = group(&route.bootstrap, &route.group());
        left.is_none_or(|group| group.members.is_empty()).then_some(())
    });
    let status: Value =
        serde_json::from_str(&worker.get(&format!("{path}/status")).body).expect("JSON");
    assert_eq!(status["connector"]["state"], "STOPPED");
    proxy.resume();
    assert_eq!(worker.put(&format!("{path}/resume"), None).status, 202);
    route.wait_for_more_than(route.stored());
    route.expect_exactly(&stream.finish());
    assert_eq!(task(&worker, route.name())["state"], "RUNNING");
}

/// The first SIGTERM writes what was read and tells the group; the worker ends with 0.
#[test]
fn sigterm_drains_and_commits() {
    let route = Route::new("drain", 2);
    let stream = route.stream();
    let mut worker = route.worker(&[]).start();
    for _ in 0..3 {
        route.wait_for_more_than(route.stored());
        assert_eq!(worker.terminate().code(), Some(0));
        let sum = "SELECT sum(next_offset) FROM copycat_offsets";
        let sum: u64 = route.database.value(sum).expect("rows").parse().expect("a number");
        assert_eq!(route.stored(), sum);
        let offsets = kafka::group_offsets(&route.bootstrap, &route.group(), &route.topic);
        assert_eq!(offsets.values().sum::<i64>().cast_unsigned(), sum, "{offsets:?}");
        worker.restart();
    }
    route.expect_exactly(&stream.finish());
}

/// The second SIGTERM does not wait for a database that hangs.
#[test]
fn a_second_sigterm_leaves_at_once() {
    let mut route = Route::new("leaves", 1);
    let proxy = Proxy::start(&route.database.url(), ADVANCE);
    route.url = format!("{}?sslmode=disable", proxy.url(&route.database.url()));
    let stream = route.stream();
    // Long enough that the first signal alone would not do.
    let setup = route.worker(&[]).worker("task.shutdown.graceful.timeout.ms", "600000");
    let mut worker = setup.start();
    route.wait_for_more_than(0);
    proxy.arm(Point::AtCommit, Fault::Hold, 0);
    eventually(PATIENCE, "the database hangs", || (proxy.hits() == 1).then_some(()));
    worker.signal("TERM");
    let heard = "SIGTERM: writing what was read";
    eventually(PATIENCE, "the first is heard", || worker.logs().contains(heard).then_some(()));
    // One that comes together with the first counts as the same.
    let together = Duration::from_secs(1);
    holds_for(together, "the worker waits for the database", || worker.runs());
    worker.signal("TERM");
    assert_eq!(worker.wait_exit(Duration::from_secs(10)).code(), Some(143));
    worker.restart();
    route.wait_for_more_than(route.stored());
    route.expect_exactly(&stream.finish());
}
