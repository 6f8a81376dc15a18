//! Kills and broken connections at random moments and around COMMIT, while rows are appended to a
//! table without a key: at the end there are exactly the records produced, each once.

use crate::harness::{ADVANCE, PATIENCE, Route, faults, random_moment};
use testkit::{
    Rng, eventually, kafka,
    postgres::{Database, Fault, Point, Proxy, Server, Stop},
};

const POINTS: [Point; 3] = [Point::BeforeCommit, Point::AtCommit, Point::AfterCommit];

/// B072, and report 14: kill -9 at any moment, also right after a commit.
#[test]
fn fault_kill9_append_without_key() {
    let mut rng = Rng::seeded("kill9");
    let route = Route::new("kill9", 4);
    let stream = route.stream();
    let mut worker = route.worker(&[("tasks.max", "2")]).start();
    for _ in 0..faults() {
        // Sometimes before it has read anything.
        if rng.chance(80) {
            route.wait_for_more_than(route.stored());
        }
        random_moment(&mut rng, &mut worker);
        worker.kill9();
        worker.restart();
    }
    route.expect_exactly(&stream.finish());
}

/// The connection breaks before the commit is sent, at it, and after it was done; or the worker dies
/// there.
#[test]
fn fault_commit_cut_or_killed_on_either_side() {
    let mut rng = Rng::seeded("commit");
    let mut route = Route::new("commit", 3);
    let proxy = Proxy::start(&route.database.url(), ADVANCE);
    route.url = format!("{}?sslmode=disable", proxy.url(&route.database.url()));
    let stream = route.stream();
    let mut worker = route.worker(&[]).start();
    for round in 0..faults() {
        let point = POINTS[usize::try_from(round % 3).expect("below 3")];
        let kill = rng.chance(50);
        let hits = proxy.hits();
        let fault = if kill { Fault::Hold } else { Fault::Cut };
        proxy.arm(point, fault, rng.below(4));
        eventually(PATIENCE, "the fault", || (proxy.hits() > hits).then_some(()));
        if kill {
            worker.kill9();
            worker.restart();
        }
        let before = route.stored();
        route.wait_for_more_than(before);
    }
    route.expect_exactly(&stream.finish());
}

/// Reports 7, 16 and 23, B062: restarts of the server and ended sessions under load.
#[test]
fn fault_postgres_restarts_and_ended_sessions() {
    let mut rng = Rng::seeded("restarts");
    let mut server = Server::start();
    let database = Database::create(&server.url());
    let route = Route::over(&kafka::bootstrap(), "restarts", 2, database);
    let stream = route.stream();
    let worker = route.worker(&[]).start();
    for round in 0..faults() {
        route.wait_for_more_than(route.stored());
        match round % 5 {
            0 => server.restart(Stop::Fast),
            1 => server.restart(Stop::Immediate),
            _ => {
                // Several times in a row, to meet different moments of transactions.
                for _ in 0..rng.range(1, 6) {
                    server.terminate_backends();
                }
            }
        }
    }
    route.expect_exactly(&stream.finish());
    assert_eq!(crate::harness::task(&worker, route.name())["state"], "RUNNING");
    drop(worker);
}
