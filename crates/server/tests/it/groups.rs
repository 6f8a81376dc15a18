//! Brokers that restart, workers that join and leave, a worker that is woken too late.

use crate::harness::{
    ADVANCE, PATIENCE, Route, SESSION_MS, faults, random_moment, task, wait_failed, wait_running,
};
use std::time::Duration;
use testkit::{
    Rng, eventually, holds_for,
    kafka::{Broker, group},
    postgres::{Proxy, database},
    process::Worker,
    soak,
};

/// Report 5: a broker is restarted in order, and killed for longer than the session lasts, while
/// records flow.
#[test]
fn fault_broker_restarts() {
    let mut broker = Broker::start();
    let route = Route::over(&broker.bootstrap(), "broker", 3, database());
    let stream = route.stream();
    let mut worker = route.worker(&[]).start();
    let rounds = if soak() { 20 } else { 2 };
    for round in 0..rounds {
        route.wait_for_more_than(route.stored());
        if round % 2 == 0 {
            broker.kill();
            let longer = Duration::from_millis(SESSION_MS + 500);
            holds_for(longer, "the worker runs", || worker.runs());
            broker.launch();
        } else {
            broker.restart();
        }
    }
    route.wait_for_more_than(route.stored());
    route.expect_exactly(&stream.finish());
    wait_running(&worker, route.name());
}

/// Two workers of one group, each killed, terminated, stopped and resumed at random.
#[test]
fn fault_two_workers_join_and_leave() {
    let mut rng = Rng::seeded("two workers");
    let route = Route::new("two", 4);
    let stream = route.stream();
    let mut workers = [route.worker(&[]).start(), route.worker(&[]).start()];
    let path = format!("/connectors/{}", route.name());
    for _ in 0..faults() {
        route.wait_for_more_than(route.stored());
        let worker = &mut workers[usize::from(rng.chance(50))];
        random_moment(&mut rng, worker);
        match rng.below(3) {
            0 => {
                worker.kill9();
                worker.restart();
            }
            1 => {
                assert_eq!(worker.terminate().code(), Some(0));
                worker.restart();
            }
            _ => {
                assert_eq!(worker.put(&format!("{path}/stop"), None).status, 204);
                random_moment(&mut rng, worker);
                assert_eq!(worker.put(&format!("{path}/resume"), None).status, 202);
            }
        }
    }
    route.expect_exactly(&stream.finish());
}

/// A worker that stood still while another one took its partitions over must not write any more, not
/// even what it had under way: its transaction reaches the server only then.
#[test]
fn fault_a_zombie_worker_writes_nothing_twice() {
    let mut route = Route::new("zombie", 2);
    let heir = route.worker(&[]);
    let proxy = Proxy::start(&route.database.url(), ADVANCE);
    route.url = format!("{}?sslmode=disable", proxy.url(&route.database.url()));
    let zombie = route.worker(&[]).start();
    let stream = route.stream();
    route.wait_for_more_than(0);
    proxy.hang();
    eventually(PATIENCE, "a transaction is under way", || {
        let counts = task(&zombie, route.name())["copycat"].clone();
        (counts["records_read"].as_u64() > counts["records_stored"].as_u64()).then_some(())
    });
    zombie.signal("STOP");
    let _heir = heir.start();
    eventually(PATIENCE, "the second worker has taken over", || {
        let state = route.database.value("SELECT min(epoch) FROM copycat_offsets")?;
        state.parse::<i64>().is_ok_and(|epoch| epoch > 1).then_some(())
    });
    route.wait_for_more_than(route.stored());
    proxy.resume();
    route.wait_for_more_than(route.stored());
    zombie.signal("CONT");
    eventually(PATIENCE, "both are members", || {
        let group = group(&route.bootstrap, &route.group())?;
        (group.state == "Stable" && group.members.len() == 2).then_some(())
    });
    route.wait_for_more_than(route.stored());
    route.expect_exactly(&stream.finish());
}

/// Two workers that call themselves the same fence each other: one goes on, the other says why not.
#[test]
fn of_two_workers_with_one_name_one_goes_on_and_one_says_so() {
    let route = Route::new("namesakes", 2);
    let stream = route.stream();
    let start = || {
        let named = route.worker(&[]).worker("rest.advertised.host.name", "namesake");
        named.worker("rest.advertised.port", "8083").start()
    };
    let workers = [start(), start()];
    let failed = |worker: &Worker| task(worker, route.name())["state"] == "FAILED";
    let loser = eventually(PATIENCE, "one says so", || workers.iter().position(failed));
    let trace = wait_failed(&workers[loser], route.name());
    assert!(trace.contains("another worker has taken this task's seat"), "{trace}");
    assert!(trace.contains("stop the other worker"), "{trace}");
    route.wait_for_more_than(route.stored());
    route.expect_exactly(&stream.finish());
    wait_running(&workers[1 - loser], route.name());
}
