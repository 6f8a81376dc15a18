//! Everything at once: two workers, poison, a database that restarts and breaks connections around
//! COMMIT. Whatever happens, each record is stored once or reported once.

use crate::harness::{ADVANCE, PATIENCE, Route, faults, random_moment};
use serde_json::json;
use std::collections::BTreeSet;
use testkit::{
    Rng,
    kafka::{self, Record, produce, topic_name},
    postgres::{Database, Fault, Point, Proxy, Server, Stop},
    process::Worker,
    progress,
};

const PARTITIONS: i32 = 3;
/// Records to each partition before a fault.
const AT_ONCE: u64 = 300;

/// One record in 40 is too long for its column.
fn chaos_record(part: i32, n: u64, bad: bool) -> Record {
    let note = if bad { "far too long for its column" } else { "short" };
    Record::value(json!({ "part": part, "n": n, "note": note }).to_string()).partition(part)
}

fn disturb(
    rng: &mut Rng,
    workers: &mut [Worker; 2],
    server: &mut Server,
    proxy: &Proxy,
    name: &str,
) {
    let worker = &mut workers[usize::from(rng.chance(50))];
    match rng.below(8) {
        0 | 1 => {
            worker.kill9();
            worker.restart();
        }
        2 => {
            assert_eq!(worker.terminate().code(), Some(0));
            worker.restart();
        }
        3 => {
            let path = format!("/connectors/{name}");
            assert_eq!(worker.put(&format!("{path}/stop"), None).status, 204);
            random_moment(rng, worker);
            assert_eq!(worker.put(&format!("{path}/resume"), None).status, 202);
        }
        4 => server.restart(if rng.chance(50) { Stop::Fast } else { Stop::Immediate }),
        5 => {
            server.terminate_backends();
        }
        _ => {
            let points = [Point::BeforeCommit, Point::AtCommit, Point::AfterCommit];
            proxy.arm(*rng.pick(&points), Fault::Cut, rng.below(3));
        }
    }
}

#[test]
fn fault_everything_at_once() {
    let mut rng = Rng::seeded("everything");
    let mut server = Server::start();
    let database = Database::create(&server.url());
    let proxy = Proxy::start(&server.url(), ADVANCE);
    let mut route = Route::over(&kafka::bootstrap(), "everything", PARTITIONS, database);
    route.database.execute("ALTER TABLE rows ALTER note TYPE varchar(10)");
    route.url = format!("{}?sslmode=disable", proxy.url(&route.database.url()));
    let dead = topic_name("everything-dead");
    let more = [
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("value.converter.schemas.enable", "false"),
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", dead.as_str()),
        ("errors.deadletterqueue.context.headers.enable", "true"),
        ("consumer.override.max.poll.records", "100"),
    ];
    let mut workers = [route.worker(&more).start(), route.worker(&more).start()];
    let mut bad = BTreeSet::new();
    for round in 0..faults() {
        for part in 0..PARTITIONS {
            let numbers = round * AT_ONCE..(round + 1) * AT_ONCE;
            bad.extend(numbers.clone().filter(|_| rng.chance(2)).map(|n| (part, n)));
            let records = numbers.map(|n| chaos_record(part, n, bad.contains(&(part, n))));
            produce(&route.bootstrap, &route.topic, records);
        }
        disturb(&mut rng, &mut workers, &mut server, &proxy, &route.topic);
    }
    let produced = faults() * AT_ONCE * PARTITIONS.unsigned_abs() as u64;
    let good = produced - bad.len() as u64;
    route.wait_for_all(good);
    route.wait_for_no_lag();
    let tally = "SELECT count(*), count(DISTINCT (part, n)), count(*) FILTER (WHERE note <> 'short') \
                 FROM rows";
    let tally: Vec<_> = route.database.query(tally).remove(0).into_iter().flatten().collect();
    assert_eq!(tally, [good.to_string(), good.to_string(), "0".to_owned()]);
    expect_reported(&route, &dead, &bad);
}

fn expect_reported(route: &Route, dead: &str, bad: &BTreeSet<(i32, u64)>) {
    let letters = route
        .database
        .query("SELECT partition, record_offset FROM copycat_dead_letters ORDER BY 1, 2");
    let expected: Vec<Vec<Option<String>>> =
        bad.iter().map(|(part, n)| vec![Some(part.to_string()), Some(n.to_string())]).collect();
    assert_eq!(letters, expected, "each bad record is reported once");
    progress(PATIENCE, "all are forwarded", || {
        let left = "SELECT count(*) FROM copycat_dead_letters WHERE forwarded_at IS NULL";
        let left = route.database.value(left);
        if left.as_deref() == Some("0") { Ok(()) } else { Err(left) }
    });
    // To the topic at least once.
    let forwarded: BTreeSet<(i32, u64)> = kafka::read(&route.bootstrap, dead)
        .iter()
        .map(|letter| {
            let header = |name: &str| letter.header(&format!("__connect.errors.{name}"));
            let part = header("partition").and_then(|text| text.parse().ok());
            let offset = header("offset").and_then(|text| text.parse().ok());
            (part.expect("a partition"), offset.expect("an offset"))
        })
        .collect();
    assert_eq!(&forwarded, bad);
}
