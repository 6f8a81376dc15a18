//! Keys, updates and deletes against PostgreSQL; names of tests are those of public bug reports.

use crate::rig::{Rig, json, texts};
use api::{ErrorKind, Tolerance};
use testkit::postgres;

const UPSERT: [(&str, &str); 3] =
    [("insert.mode", "upsert"), ("pk.mode", "record_key"), ("pk.fields", "id")];

fn upsert_with(extra: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    UPSERT.iter().chain(extra).copied().collect()
}

#[test]
fn b046_two_records_with_one_key_in_a_batch() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
    let mut rig = Rig::new(&db.jdbc_url(), &UPSERT, Tolerance::None);
    assert_eq!(rig.open(&["t"]), [0]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (Some("1"), Some(r#"{"id":1,"v":"a"}"#)),
            (Some("2"), Some(r#"{"id":2,"v":"b"}"#)),
            (Some("1"), Some(r#"{"id":1,"v":"c"}"#)),
        ],
    )]);
    assert_eq!(texts(&db.query("SELECT * FROM t ORDER BY id")), [["1", "c"], ["2", "b"]]);
    assert_eq!(rig.told.stored, 3);
}

#[test]
fn b047_upserts_and_deletes_of_one_batch_keep_their_order() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
    let props = upsert_with(&[("delete.enabled", "true")]);
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (Some("1"), Some(r#"{"v":"data1"}"#)),
            (Some("1"), None),
            (Some("1"), Some(r#"{"v":"data2"}"#)),
            (Some("2"), Some(r#"{"v":"x"}"#)),
            (Some("2"), None),
        ],
    )]);
    assert_eq!(texts(&db.query("SELECT * FROM t")), [["1", "data2"]]);
}

#[test]
fn b048_alternating_deletes_and_upserts() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
    db.execute("INSERT INTO t SELECT n, 'old' FROM generate_series(1, 250) n");
    let props = upsert_with(&[("delete.enabled", "true")]);
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    let keys: Vec<String> =
        (1..=250).flat_map(|n| [n.to_string(), (n + 1000).to_string()]).collect();
    let records: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| (Some(key.as_str()), (i % 2 == 1).then_some(r#"{"v":"new"}"#)))
        .collect();
    rig.store(vec![json("t", 0, &records)]);
    let row = db.query("SELECT count(*), min(id), max(id) FROM t");
    assert_eq!(texts(&row), [["250", "1001", "1250"]]);
}

#[test]
fn b051_an_upsert_without_a_matching_index_fails_at_once_and_says_which() {
    for ddl in [
        "CREATE TABLE t (id int, v text)",
        "CREATE TABLE t (id int, v text); CREATE UNIQUE INDEX ON t (id) WHERE v IS NOT NULL",
        "CREATE TABLE t (id int, v text); CREATE UNIQUE INDEX ON t (abs(id))",
    ] {
        let db = postgres::database();
        db.execute(ddl);
        let mut rig = Rig::new(&db.url(), &UPSERT, Tolerance::All);
        rig.open(&["t"]);
        let error = rig.write(vec![json("t", 0, &[(Some("1"), Some(r#"{"v":"a"}"#))])]);
        let error = error.expect_err("no index");
        assert_eq!(error.kind, ErrorKind::Config);
        let report = error.report();
        assert!(report.contains("needs a unique index on (id)"), "{report}");
        let hint = error.hint.expect("the statement");
        assert!(hint.starts_with("CREATE UNIQUE INDEX ON ") && hint.ends_with("t (id)"), "{hint}");
        assert_eq!(db.value("SELECT count(*) FROM copycat_dead_letters").as_deref(), Some("0"));
    }
}

#[test]
fn b052_insert_ignore_leaves_what_is_there() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, status text)");
    db.execute("INSERT INTO t VALUES (1, 'processed')");
    let props =
        [("insert.mode", "insert-ignore"), ("pk.mode", "record_value"), ("pk.fields", "id")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (None, Some(r#"{"id":1,"status":"pending"}"#)),
            (None, Some(r#"{"id":2,"status":"pending"}"#)),
        ],
    )]);
    let rows = db.query("SELECT * FROM t ORDER BY id");
    assert_eq!(texts(&rows), [["1", "processed"], ["2", "pending"]]);
}

#[test]
fn b070_tombstones_and_delete_markers_delete() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
    db.execute("INSERT INTO t SELECT n, 'old' FROM generate_series(1, 4) n");
    let props = [
        ("insert.mode", "upsert"),
        ("pk.mode", "record_key"),
        ("delete.enabled", "true"),
        ("delete.marker.field", "__deleted"),
    ];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (Some(r#"{"id":1}"#), None),
            (Some(r#"{"id":2}"#), Some(r#"{"id":2,"v":"x","__deleted":"true"}"#)),
            (Some(r#"{"id":3}"#), Some(r#"{"id":3,"v":"x","__deleted":true}"#)),
            (Some(r#"{"id":4}"#), Some(r#"{"id":4,"v":"new","__deleted":"false"}"#)),
        ],
    )]);
    assert_eq!(texts(&db.query("SELECT * FROM t")), [["4", "new"]]);
}

#[test]
fn null_values_are_counted_and_left_unless_deletes_are_enabled() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
    let mut rig = Rig::new(&db.url(), &UPSERT, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json("t", 0, &[(Some("1"), Some(r#"{"v":"a"}"#)), (Some("1"), None)])]);
    assert_eq!(texts(&db.query("SELECT * FROM t")), [["1", "a"]]);
    assert!(rig.told.ignored.iter().any(|(what, n)| what.contains("without a value") && *n == 1));
    let props = upsert_with(&[("behavior.on.null.values", "fail")]);
    let mut rig = Rig::new(&db.url(), &props, Tolerance::All);
    assert_eq!(rig.open(&["t"]), [2]);
    rig.store(vec![json("t", 2, &[(Some("1"), None)])]);
    assert_eq!(rig.told.rejects.len(), 1);
}

#[test]
fn keys_come_from_coordinates_and_headers() {
    let db = postgres::database();
    db.execute(
        "CREATE TABLE k (__connect_topic text, __connect_partition int, __connect_offset bigint, \
         v text, PRIMARY KEY (__connect_topic, __connect_partition, __connect_offset)); \
         CREATE TABLE t (h text PRIMARY KEY, v text)",
    );
    let props = [("insert.mode", "upsert"), ("pk.mode", "kafka")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["k"]);
    rig.store(vec![json("k", 0, &[(None, Some(r#"{"v":"a"}"#)), (None, Some(r#"{"v":"b"}"#))])]);
    let rows = db.query("SELECT * FROM k ORDER BY 3");
    assert_eq!(texts(&rows), [["k", "0", "0", "a"], ["k", "0", "1", "b"]]);
    let props = [("insert.mode", "upsert"), ("pk.mode", "record_header"), ("pk.fields", "h")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json("t", 0, &[(None, Some(r#"{"v":"a"}"#))])]);
    assert_eq!(texts(&db.query("SELECT * FROM t")), [["h0", "a"]]);
}

#[test]
fn members_that_only_some_records_have_leave_the_others_untouched() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT 7, b int)");
    let mut rig = Rig::new(&db.url(), &UPSERT, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (Some("1"), Some(r#"{"a":1,"b":1}"#)),
            (Some("1"), Some(r#"{"b":2}"#)),
            (Some("2"), Some(r#"{"b":5,"unknown":true}"#)),
        ],
    )]);
    let rows = db.query("SELECT * FROM t ORDER BY id");
    assert_eq!(texts(&rows), [["1", "1", "2"], ["2", "7", "5"]]);
    assert!(rig.told.ignored.iter().any(|(what, _)| what.contains("unknown")));
}
