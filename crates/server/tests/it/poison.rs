//! Records that cannot be stored, in every position of a batch: the good ones are stored, each bad
//! one is reported once, or ends the task where that is asked for.

use crate::harness::{
    PATIENCE, Properties, Route, faults, random_moment, wait_failed, wait_running,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use testkit::{
    Rng, eventually,
    kafka::{self, Record, produce, topic_name},
};

/// Ways to be bad: what the record says, and what is told of it.
struct Kind {
    field: &'static str,
    value: &'static str,
    stage: &'static str,
    sqlstate: Option<&'static str>,
    column: Option<&'static str>,
}

const KINDS: [Kind; 6] = [
    kind("note", r#""far too long for its column""#, "TASK_PUT", Some("22001"), Some("note")),
    kind("note", "null", "TASK_PUT", Some("23502"), Some("note")),
    kind("price", "-1", "TASK_PUT", Some("23514"), Some("price")),
    kind("small", "40000", "TASK_PUT", Some("22003"), Some("small")),
    kind("n", r#""abc""#, "TASK_PUT", Some("22P02"), Some("n")),
    kind("note", "{", "VALUE_CONVERTER", None, None),
];

const fn kind(
    field: &'static str,
    value: &'static str,
    stage: &'static str,
    sqlstate: Option<&'static str>,
    column: Option<&'static str>,
) -> Kind {
    Kind { field, value, stage, sqlstate, column }
}

const TABLE: &str = "DROP TABLE rows; CREATE TABLE rows (part int, n bigint, \
    note varchar(16) NOT NULL, price double precision CHECK (price >= 0), small smallint)";

/// A record; a bad one is of kind `n % 6`.
fn record(part: i32, n: u64, bad: bool) -> Record {
    let kind = bad.then(|| kind_of(n));
    let value = |field: &str, good: String| match kind {
        Some(kind) if kind.field == field => kind.value.to_owned(),
        _ => good,
    };
    let text = format!(
        r#"{{"part":{part},"n":{},"note":{},"price":{},"small":{}}}"#,
        value("n", n.to_string()),
        value("note", format!("\"n{n}\"")),
        value("price", "1.5".to_owned()),
        value("small", "7".to_owned()),
    );
    Record::value(text).key(format!("k{n}")).header("from", "test").partition(part)
}

fn kind_of(n: u64) -> &'static Kind {
    &KINDS[usize::try_from(n).expect("small") % KINDS.len()]
}

fn properties<'a>(route: &'a Route, more: &[(&'a str, &'a str)]) -> Properties<'a> {
    let mut all = vec![
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("value.converter.schemas.enable", "false"),
    ];
    all.extend_from_slice(more);
    route.properties(&all)
}

/// The positions of bad records in a batch of `size`.
fn patterns(size: u64, rng: &mut Rng) -> Vec<BTreeSet<u64>> {
    let mut patterns: Vec<BTreeSet<u64>> = vec![
        BTreeSet::new(),
        [0].into(),
        [size / 2].into(),
        [size - 1].into(),
        [0, size - 1].into(),
        (size / 2..size / 2 + 6).collect(),
    ];
    if size < 100 {
        patterns.push((0..size).collect());
        patterns.push((0..size).step_by(2).collect());
    }
    for k in [2, 5, 11] {
        patterns.push((0..k).map(|_| rng.below(size)).collect());
    }
    patterns
}

/// Every partition is a pattern. B021, B055, reports 1, 17 and 18.
fn every_position(size: u64, name: &str) {
    let mut rng = Rng::seeded(name);
    let patterns = patterns(size, &mut rng);
    let partitions = i32::try_from(patterns.len()).expect("few");
    let route = Route::new(name, partitions);
    route.database.execute(TABLE);
    let records = (0..partitions)
        .zip(&patterns)
        .flat_map(|(part, bad)| (0..size).map(move |n| record(part, n, bad.contains(&n))));
    produce(&route.bootstrap, &route.topic, records);
    let dead = topic_name("dead");
    let more = [
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
        ("errors.deadletterqueue.topic.name", dead.as_str()),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ];
    let setup = crate::harness::worker(&route.bootstrap);
    let worker = setup.connector(route.name(), &properties(&route, &more)).start();
    route.wait_for_no_lag();
    wait_running(&worker, route.name());
    expect_good_rows(&route, &patterns, size);
    expect_letters(&route, &patterns);
    expect_dead_letter_topic(&route, &dead, &patterns);
}

fn expect_good_rows(route: &Route, patterns: &[BTreeSet<u64>], size: u64) {
    let rows = route.database.query("SELECT part, n FROM rows ORDER BY part, n");
    let stored: Vec<(String, String)> = rows
        .into_iter()
        .map(|row| {
            let mut row = row.into_iter().flatten();
            (row.next().expect("part"), row.next().expect("n"))
        })
        .collect();
    let good: Vec<(String, String)> = patterns
        .iter()
        .enumerate()
        .flat_map(|(part, bad)| {
            let good = (0..size).filter(|n| !bad.contains(n));
            good.map(move |n| (part.to_string(), n.to_string()))
        })
        .collect();
    let wrong = stored.iter().zip(&good).find(|(stored, good)| stored != good);
    assert_eq!(wrong, None, "the first row that is not as it must be");
    assert_eq!(stored.len(), good.len(), "good rows");
}

fn expect_letters(route: &Route, patterns: &[BTreeSet<u64>]) {
    let letters = route.database.query(
        "SELECT topic, partition, record_offset, stage, sqlstate, column_name, \
         convert_from(key, 'UTF8'), convert_from(value, 'UTF8'), headers::text, reason <> '' \
         FROM copycat_dead_letters ORDER BY partition, record_offset",
    );
    let text = |text: &str| Some(text.to_owned());
    let mut expected = Vec::new();
    for (part, n) in each_bad(patterns) {
        let (kind, bad) = (kind_of(n), record(part, n, true));
        let bytes = |b: Option<Vec<u8>>| b.map(|b| String::from_utf8(b).expect("text"));
        expected.push(vec![
            text(&route.topic),
            text(&part.to_string()),
            text(&n.to_string()),
            text(kind.stage),
            kind.sqlstate.and_then(text),
            kind.column.and_then(text),
            bytes(bad.key),
            bytes(bad.value),
            // In Base64.
            text(r#"[["from", "dGVzdA=="]]"#),
            text("t"),
        ]);
    }
    assert_eq!(letters.len(), expected.len());
    for (letter, expected) in letters.into_iter().zip(expected) {
        assert_eq!(letter, expected);
    }
}

fn each_bad(patterns: &[BTreeSet<u64>]) -> impl Iterator<Item = (i32, u64)> {
    (0..).zip(patterns).flat_map(|(part, bad)| bad.iter().map(move |&n| (part, n)))
}

fn expect_dead_letter_topic(route: &Route, dead: &str, patterns: &[BTreeSet<u64>]) {
    let bad = each_bad(patterns).count();
    eventually(PATIENCE, "all are forwarded", || {
        let left = "SELECT count(*) FROM copycat_dead_letters WHERE forwarded_at IS NULL";
        (route.database.value(left).as_deref() == Some("0")).then_some(())
    });
    let mut seen = BTreeMap::new();
    for letter in kafka::read(&route.bootstrap, dead) {
        let header = |name: &str| letter.header(&format!("__connect.errors.{name}"));
        let number = |name: &str| header(name).expect(name).parse::<i64>().expect("a number");
        let (part, offset) = (number("partition"), number("offset"));
        let part = i32::try_from(part).expect("a partition");
        let n = u64::try_from(offset).expect("an offset");
        let (kind, original) = (kind_of(n), record(part, n, true));
        assert_eq!(header("topic"), Some(route.topic.as_str()));
        assert_eq!(header("connector.name"), Some(route.name()));
        assert_eq!(header("task.id"), Some("0"));
        assert_eq!(header("stage"), Some(kind.stage));
        for name in ["class.name", "exception.class.name", "exception.message"] {
            assert!(header(name).is_some_and(|text| !text.is_empty()), "{name}");
        }
        assert_eq!(letter.header("from"), Some("test"));
        assert_eq!((&letter.key, &letter.value), (&original.key, &original.value));
        *seen.entry((part, n)).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), bad);
    assert!(seen.values().all(|&times| times == 1), "{seen:?}");
}

#[test]
fn fault_poison_in_every_position_of_a_small_batch() {
    every_position(24, "poison-small");
}

#[test]
fn fault_poison_in_every_position_of_a_copied_batch() {
    every_position(2_500, "poison-copied");
}

/// With `errors.tolerance=none` the rows before the record are stored and the status names it.
#[test]
fn fault_poison_ends_the_task_behind_the_good_rows() {
    const SIZE: u64 = 30;
    let places = [0, 1, SIZE / 2, SIZE - 1];
    let routes: Vec<Route> = places.iter().map(|_| Route::new("poison-none", 1)).collect();
    let mut setup = crate::harness::worker(&kafka::bootstrap());
    for (route, &place) in routes.iter().zip(&places) {
        route.database.execute(TABLE);
        let records = (0..SIZE).map(|n| record(0, n, n == place));
        produce(&route.bootstrap, &route.topic, records);
        setup = setup.connector(route.name(), &properties(route, &[]));
    }
    let worker = setup.start();
    for (route, &place) in routes.iter().zip(&places) {
        let trace = wait_failed(&worker, route.name());
        let at = format!("topic {}, partition 0, offset {place}", route.topic);
        assert!(trace.contains(&at), "{trace}");
        assert!(trace.contains("errors.tolerance=all"), "{trace}");
        assert_eq!(route.stored(), place);
        assert_eq!(route.dead_letters(), 0);
    }
}

/// Kills while batches are narrowed down: still each good row once and each bad one once.
#[test]
fn fault_kill9_while_poison_is_found() {
    const SIZE: u64 = 4_000;
    let mut rng = Rng::seeded("poison and kills");
    let route = Route::new("poison-kills", 2);
    route.database.execute(TABLE);
    let chosen = |rng: &mut Rng| (0..SIZE).filter(|_| rng.chance(3)).collect();
    let bad: Vec<BTreeSet<u64>> = vec![chosen(&mut rng), chosen(&mut rng)];
    let more = [
        ("errors.tolerance", "all"),
        ("consumer.override.max.poll.records", "400"),
        ("batch.size", "400"),
    ];
    let setup = crate::harness::worker(&route.bootstrap);
    let mut worker = setup.connector(route.name(), &properties(&route, &more)).start();
    let steps = faults();
    for step in 0..steps {
        let (from, to) = (SIZE * step / steps, SIZE * (step + 1) / steps);
        let records = (0..2)
            .zip(&bad)
            .flat_map(|(part, bad)| (from..to).map(move |n| record(part, n, bad.contains(&n))));
        produce(&route.bootstrap, &route.topic, records);
        random_moment(&mut rng, &mut worker);
        worker.kill9();
        worker.restart();
    }
    route.wait_for_no_lag();
    expect_good_rows(&route, &bad, SIZE);
    expect_letters(&route, &bad);
}

/// When most records fail the definition is wrong: the topic is not drained into the dead letters.
#[test]
fn the_breaker_stops_a_task_whose_records_all_fail() {
    let route = Route::new("breaker", 1);
    route.database.execute(TABLE);
    let row = json!({ "part": 0, "n": "not a number", "note": "x" }).to_string();
    produce(&route.bootstrap, &route.topic, (0..3_000).map(|_| Record::value(row.as_str())));
    let more = [("errors.tolerance", "all"), ("consumer.override.max.poll.records", "200")];
    let setup = crate::harness::worker(&route.bootstrap);
    let worker = setup.connector(route.name(), &properties(&route, &more)).start();
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("the definition must be wrong"), "{trace}");
    assert!(trace.contains("errors.tolerance.max.ratio"), "{trace}");
    assert_eq!(route.stored(), 0);
    assert!(route.dead_letters() < 1_000, "{}", route.dead_letters());
}

/// Each record counts once however often it was tried: a share below the limit never trips the
/// breaker, whatever the order of the records, and one above it does even where the database finds
/// the bad rows one by one.
#[test]
fn the_breaker_counts_records_not_attempts() {
    let run = |name: &str, bad: fn(u64) -> bool, records: u64| {
        let route = Route::new(name, 1);
        route.database.execute(TABLE);
        produce(&route.bootstrap, &route.topic, (0..records).map(|n| poisoned(n, bad(n))));
        let setup = crate::harness::worker(&route.bootstrap);
        let more = [("errors.tolerance", "all")];
        let worker = setup.connector(route.name(), &properties(&route, &more)).start();
        (route, worker)
    };
    let is_bad: [fn(u64) -> bool; 4] = [|n| n >= 1_000, |n| n < 20, |_| true, |n| n % 20 < 9];
    let tolerated =
        [("late", 1_014, 14), ("early", 100, 20), ("few", 50, 50), ("45-percent", 1_000, 450)];
    for ((name, records, failed), bad) in tolerated.into_iter().zip(is_bad) {
        let (route, worker) = run(&format!("breaker-{name}"), bad, records);
        route.wait_for_no_lag();
        assert_eq!((route.stored(), route.dead_letters()), (records - failed, failed), "{name}");
        wait_running(&worker, route.name());
    }
    let (route, worker) = run("breaker-60-percent", |n| n % 5 < 3, 2_000);
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("the definition must be wrong"), "{trace}");
    assert!(route.stored() > 0 && route.dead_letters() < 600, "{}", route.dead_letters());
}

/// A record whose `n` only the database can refuse, where it is bad.
fn poisoned(n: u64, bad: bool) -> Record {
    let n = if bad { json!("not a number") } else { json!(n) };
    Record::value(json!({ "part": 0, "n": n, "note": "x", "price": 1, "ok": true }).to_string())
}
