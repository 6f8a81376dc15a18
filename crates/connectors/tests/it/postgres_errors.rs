//! Bad rows, outages and changed tables against PostgreSQL.

use crate::rig::{Record, Rig, json, texts};
use api::{ErrorKind, Tolerance};
use data::Batch;
use std::time::Duration;
use testkit::postgres;

fn rows(from: i64, many: i64) -> Vec<String> {
    (from..from + many).map(|n| format!(r#"{{"id":{n},"name":"x"}}"#)).collect()
}

fn batch(topic: &str, from: i64, values: &[String]) -> Batch {
    let records: Vec<Record<'_>> =
        values.iter().map(|value| (None, Some(value.as_str()))).collect();
    json(topic, from, &records)
}

#[test]
fn b055_only_the_bad_rows_are_reported_each_with_its_reason() {
    let bad = [
        (17, r#"{"id":5000,"name":"toolong"}"#, "22001"),
        (500, r#"{"id":5001,"name":null}"#, "23502"),
        (1002, r#"{"id":"abc","name":"x"}"#, "22P02"),
    ];
    for (mode, key) in [("insert", "none"), ("upsert", "record_value")] {
        let db = postgres::database();
        db.execute("CREATE TABLE t (id int PRIMARY KEY, name varchar(3) NOT NULL)");
        let props = [("insert.mode", mode), ("pk.mode", key), ("pk.fields", "id")];
        let mut rig = Rig::new(&db.url(), &props, Tolerance::All);
        rig.open(&["t"]);
        let mut values = rows(0, 1000);
        for (at, text, _) in bad {
            values.insert(at, text.to_owned());
        }
        rig.store(vec![batch("t", 0, &values)]);
        assert_eq!(db.value("SELECT count(*) FROM t").as_deref(), Some("1000"), "{mode}");
        let letters = db.query(
            "SELECT topic, partition, record_offset, coalesce(sqlstate, '-'), \
             convert_from(value, 'UTF8'), target_table \
             FROM copycat_dead_letters ORDER BY record_offset",
        );
        let letters = texts(&letters);
        assert_eq!(letters.len(), 3, "{mode}: {letters:?}");
        for ((at, text, state), letter) in bad.iter().zip(&letters) {
            let [topic, partition, offset, found, value, table] = letter.as_slice() else {
                panic!("{letter:?}");
            };
            assert_eq!((*topic, *partition, *value), ("t", "0", *text));
            assert_eq!(*offset, at.to_string());
            // A value that never had a form in its column was not sent, so no server refused it.
            assert!(*found == *state || *found == "-", "{mode}: {letter:?}");
            assert!(table.ends_with('t'), "{table}");
        }
        let position = db.value("SELECT next_offset FROM copycat_offsets");
        assert_eq!(position.as_deref(), Some("1003"));
        assert_eq!((rig.told.stored, rig.told.rejects.len()), (1000, 3), "{mode}");
    }
}

#[test]
fn a_task_that_tolerates_none_stores_what_comes_before() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, name varchar(3))");
    let mut rig = Rig::new(&db.url(), &[], Tolerance::None);
    rig.open(&["t"]);
    let mut values = rows(0, 20);
    values.insert(12, r#"{"id":99,"name":"toolong"}"#.to_owned());
    let error = rig.write(vec![batch("t", 0, &values)]).expect_err("a bad row");
    assert_eq!(error.kind, ErrorKind::Data);
    assert_eq!(
        error.record.as_ref().map(|(tp, offset)| (tp.to_string(), *offset)),
        Some(("t-0".to_owned(), 12))
    );
    assert_eq!(db.value("SELECT count(*) FROM t").as_deref(), Some("12"));
    assert_eq!(db.value("SELECT next_offset FROM copycat_offsets").as_deref(), Some("12"));
    assert_eq!(db.value("SELECT count(*) FROM copycat_dead_letters").as_deref(), Some("0"));
}

#[test]
fn b056_a_server_that_refuses_writes_is_waited_for() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, name text)");
    let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
    rig.open(&["t"]);
    rig.store(vec![batch("t", 0, &rows(0, 10))]);
    let name = db.name();
    let mut admin = db.client();
    admin.execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    terminate(&mut admin);
    for attempt in 0..3 {
        let error = if attempt == 0 {
            rig.write(vec![batch("t", 10, &rows(10, 1000))])
        } else {
            rig.task.flush(&mut rig.told)
        };
        let error = error.expect_err("read-only");
        assert_eq!(error.kind, ErrorKind::Retriable, "{}", error.report());
    }
    admin.execute("SET default_transaction_read_only = off");
    admin.execute(&format!("ALTER DATABASE {name} RESET default_transaction_read_only"));
    terminate(&mut admin);
    testkit::eventually(Duration::from_secs(30), "the rows are stored", || {
        rig.task.flush(&mut rig.told).ok()
    });
    let count = db.value("SELECT count(*) || ',' || count(DISTINCT id) FROM t");
    assert_eq!(count.as_deref(), Some("1010,1010"));
    assert_eq!(db.value("SELECT count(*) FROM copycat_dead_letters").as_deref(), Some("0"));
}

fn terminate(admin: &mut postgres::Client) {
    admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
}

#[test]
fn b058_a_bad_record_of_one_topic_does_not_touch_another() {
    let db = postgres::database();
    db.execute("CREATE TABLE a (id int, name text); CREATE TABLE b (id int, name varchar(1))");
    let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
    rig.open(&["a", "b"]);
    let mut bad = rows(0, 10);
    bad[4] = r#"{"id":4,"name":"long"}"#.to_owned();
    rig.store(vec![batch("a", 0, &rows(0, 10)), batch("b", 0, &bad)]);
    let counts = db.query("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)");
    assert_eq!(texts(&counts), [["10", "9"]]);
    assert_eq!(rig.told.rejects.len(), 1);
}

#[test]
fn b058_a_missing_table_stops_the_task_and_duplicates_nothing() {
    let db = postgres::database();
    db.execute("CREATE TABLE a (id int, name text)");
    for attempt in 0..3 {
        let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
        let at = rig.open(&["a", "b"]);
        let mut batches = vec![batch("b", 0, &rows(0, 10))];
        if at[0] == 0 {
            batches.push(batch("a", 0, &rows(0, 10)));
        }
        let error = rig.write(batches).expect_err("no table b");
        assert_eq!(error.kind, ErrorKind::Config, "{attempt}");
        let report = error.report();
        assert!(
            report.contains("table b does not exist") && report.contains("CREATE TABLE"),
            "{report}"
        );
    }
    let count: i64 = db.value("SELECT count(*) FROM a").and_then(|n| n.parse().ok()).expect("n");
    assert!(count <= 10);
    db.execute("CREATE TABLE b (id int, name text)");
    let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
    let at = rig.open(&["a", "b"]);
    let mut batches = vec![batch("b", 0, &rows(0, 10))];
    if at[0] == 0 {
        batches.push(batch("a", 0, &rows(0, 10)));
    }
    rig.store(batches);
    let counts = db.query("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)");
    assert_eq!(texts(&counts), [["10", "10"]]);
}

#[test]
fn b061_tables_may_change_while_the_task_runs() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, a int)");
    let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
    rig.open(&["t"]);
    let mut offset = 0;
    let mut put = |value: &str| {
        rig.store(vec![json("t", offset, &[(None, Some(value))])]);
        offset += 1;
    };
    put(r#"{"id":1,"a":1}"#);
    db.execute("ALTER TABLE t ADD b int");
    put(r#"{"id":2,"a":1,"b":2}"#);
    db.execute("ALTER TABLE t ALTER a TYPE bigint");
    put(r#"{"id":3,"a":5000000000,"b":3}"#);
    db.execute("ALTER TABLE t ALTER a TYPE double precision");
    put(r#"{"id":4,"a":1.5,"b":3}"#);
    db.execute("ALTER TABLE t DROP COLUMN b");
    put(r#"{"id":5,"a":1,"b":3}"#);
    assert_eq!(
        texts(&db.query("SELECT id, a FROM t ORDER BY id")),
        [["1", "1"], ["2", "1"], ["3", "5000000000"], ["4", "1.5"], ["5", "1"]]
    );
    assert!(rig.told.rejects.is_empty());
}

#[test]
fn b061_a_column_added_meanwhile_is_seen_in_time() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int)");
    let mut rig = Rig::new(&db.url(), &[("table.metadata.max.age.ms", "1")], Tolerance::All);
    rig.open(&["t"]);
    rig.store(vec![json("t", 0, &[(None, Some(r#"{"id":1,"b":2}"#))])]);
    db.execute("ALTER TABLE t ADD b int");
    rig.store(vec![json("t", 1, &[(None, Some(r#"{"id":2,"b":2}"#))])]);
    assert_eq!(texts(&db.query("SELECT id, b FROM t ORDER BY id")), [["1", "NULL"], ["2", "2"]]);
}

#[test]
fn b062_lost_connections_are_opened_again() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, name text)");
    let mut rig = Rig::new(&db.url(), &[], Tolerance::None);
    rig.open(&["t"]);
    let mut admin = db.client();
    for round in 0..10 {
        let result =
            rig.task.put(vec![batch("t", round * 100, &rows(round * 100, 100))], &mut rig.told);
        terminate(&mut admin);
        if let Err(error) = result {
            assert_eq!(error.kind, ErrorKind::Retriable, "{}", error.report());
        }
        testkit::eventually(Duration::from_secs(30), "the rows are stored", || {
            match rig.task.flush(&mut rig.told) {
                Ok(()) => Some(()),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Retriable, "{}", error.report());
                    None
                }
            }
        });
    }
    let count = db.value("SELECT count(*) || ',' || count(DISTINCT id) FROM t");
    assert_eq!(count.as_deref(), Some("1000,1000"));
}

#[test]
fn b072_a_task_that_dies_anywhere_stores_each_record_once() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, name text)");
    let mut round: i64 = 0;
    loop {
        // Each task is dropped with whatever it has under way.
        let mut rig = Rig::new(&db.url(), &[], Tolerance::None);
        let mut at = rig.open(&["t"])[0];
        if at >= 3000 {
            break;
        }
        round += 1;
        assert!(round < 100, "no progress");
        for step in 0..(round % 4) + 1 {
            let many = (37 * (step + round) % 200 + 1).min(3000 - at);
            rig.task.put(vec![batch("t", at, &rows(at, many))], &mut rig.told).expect("accepted");
            at += many;
        }
    }
    let count = db.value("SELECT count(*) || ',' || count(DISTINCT id) FROM t");
    assert_eq!(count.as_deref(), Some("3000,3000"));
}

#[test]
fn a_second_owner_fences_the_first() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, name text)");
    let mut first = Rig::new(&db.url(), &[], Tolerance::None);
    first.open(&["t"]);
    first.store(vec![batch("t", 0, &rows(0, 10))]);
    let mut second = Rig::new(&db.url(), &[], Tolerance::None);
    assert_eq!(second.open(&["t"]), [10]);
    let error = first.write(vec![batch("t", 10, &rows(10, 10))]).expect_err("fenced");
    assert_eq!(error.kind, ErrorKind::Fenced, "{}", error.report());
    second.store(vec![batch("t", 10, &rows(10, 10))]);
    assert_eq!(first.open(&["t"]), [20]);
    assert_eq!(db.value("SELECT count(*) FROM t").as_deref(), Some("20"));
}
