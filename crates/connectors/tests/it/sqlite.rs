//! The SQLite sink, through its plugin.

use crate::rig::{Rig, json};
use api::{ErrorKind, Tolerance};
use tempfile::TempDir;

struct File {
    directory: TempDir,
}

impl File {
    fn new(sql: &str) -> File {
        let file = File { directory: tempfile::tempdir().expect("a directory") };
        file.connection().execute_batch(sql).expect("the statements run");
        file
    }

    fn path(&self) -> String {
        self.directory.path().join("t.db").display().to_string()
    }

    fn url(&self) -> String {
        format!("jdbc:sqlite:{}", self.path())
    }

    fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).expect("the file opens")
    }

    fn value(&self, sql: &str) -> String {
        let value = self.connection().query_row(sql, [], |row| row.get(0));
        value.expect("one value of text")
    }
}

const UPSERT: [(&str, &str); 4] = [
    ("insert.mode", "upsert"),
    ("pk.mode", "record_key"),
    ("pk.fields", "id"),
    ("delete.enabled", "true"),
];

#[test]
fn b046_b047_one_key_many_operations() {
    let file = File::new("CREATE TABLE t (id integer PRIMARY KEY, v text)");
    let mut rig = Rig::new(&file.url(), &UPSERT, Tolerance::None);
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
            (Some("3"), Some(r#"{"v":"a"}"#)),
            (Some("3"), Some(r#"{"v":"b"}"#)),
        ],
    )]);
    assert_eq!(file.value("SELECT group_concat(id || v, ',') FROM t"), "1data2,3b");
}

#[test]
fn b051_an_upsert_without_a_matching_index_says_which() {
    let file = File::new("CREATE TABLE t (id integer, v text)");
    let mut rig = Rig::new(&file.url(), &UPSERT, Tolerance::None);
    rig.open(&["t"]);
    let error = rig.write(vec![json("t", 0, &[(Some("1"), Some(r#"{"v":"a"}"#))])]);
    let error = error.expect_err("no index");
    assert_eq!(error.kind, ErrorKind::Config);
    let hint = error.hint.expect("the statement");
    // The statement that is proposed is one that works.
    file.connection().execute_batch(&hint).expect("the hint runs");
    let mut rig = Rig::new(&file.url(), &UPSERT, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json("t", 0, &[(Some("1"), Some(r#"{"v":"a"}"#))])]);
}

#[test]
fn b055_only_the_bad_rows_are_reported() {
    let file = File::new("CREATE TABLE t (id integer PRIMARY KEY, v text NOT NULL)");
    let mut rig = Rig::new(&file.url(), &[], Tolerance::All);
    rig.open(&["t"]);
    let values: Vec<String> = (0..500)
        .map(|n| match n {
            77 => r#"{"id":77,"v":null}"#.to_owned(),
            300 => r#"{"id":3,"v":"again"}"#.to_owned(),
            _ => format!(r#"{{"id":{n},"v":"x"}}"#),
        })
        .collect();
    let records: Vec<_> = values.iter().map(|v| (None, Some(v.as_str()))).collect();
    rig.store(vec![json("t", 0, &records)]);
    assert_eq!(file.value("SELECT cast(count(*) AS text) FROM t"), "498");
    let letters = "SELECT group_concat(record_offset, ',') FROM copycat_dead_letters";
    assert_eq!(file.value(letters), "77,300");
    let letters = rig.task.outbox(10).expect("letters");
    assert_eq!(letters.iter().map(|l| l.offset).collect::<Vec<_>>(), [77, 300]);
    let ids: Vec<i64> = letters.iter().map(|l| l.id).collect();
    rig.task.forwarded(&ids).expect("marked");
    assert!(rig.task.outbox(10).expect("letters").is_empty());
}

#[test]
fn b072_a_task_that_dies_anywhere_stores_each_record_once() {
    let file = File::new("CREATE TABLE t (id integer)");
    let mut at = 0;
    for round in 0..20 {
        let mut rig = Rig::new(&file.url(), &[], Tolerance::None);
        at = rig.open(&["t"])[0];
        let values: Vec<String> = (at..at + 50).map(|n| format!(r#"{{"id":{n}}}"#)).collect();
        let records: Vec<_> = values.iter().map(|v| (None, Some(v.as_str()))).collect();
        rig.task.put(vec![json("t", at, &records)], &mut rig.told).expect("accepted");
        if round % 3 == 0 {
            rig.task.flush(&mut rig.told).expect("stored");
        }
    }
    assert!(at > 0);
    let tally = "SELECT (count(*) = count(DISTINCT id)) || ',' || \
                 (count(*) = (SELECT next_offset FROM copycat_offsets)) FROM t";
    assert_eq!(file.value(tally), "1,1");
}

#[test]
fn tables_are_created_from_a_foreign_configuration() {
    use data::{Schema, SchemaBuilder, Type, Value};
    use std::sync::Arc;
    let file = File::new("");
    let props = [("connector.class", "JdbcSink"), ("auto.create", "true")];
    let mut rig = Rig::new(&file.url(), &props, Tolerance::None);
    rig.open(&["shop.orders"]);
    let values = SchemaBuilder::structure()
        .field("id", Arc::new(Schema::new(Type::Int32)))
        .build()
        .expect("a schema");
    let one = [(Value::Null, Value::fields(vec![Value::int(1)]))];
    rig.store(vec![crate::rig::typed("shop.orders", 0, None, &Arc::new(values), &one)]);
    assert_eq!(file.value("SELECT cast(count(*) AS text) FROM shop_orders"), "1");
}

#[test]
fn b070_change_events_are_opened() {
    let file = File::new(
        "CREATE TABLE t (id integer PRIMARY KEY, v text); INSERT INTO t VALUES (9, 'old')",
    );
    let mut props = UPSERT.to_vec();
    props.extend([("change.events", "any"), ("truncate.enabled", "true")]);
    let mut rig = Rig::new(&file.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (Some("1"), Some(r#"{"op":"c","source":{},"after":{"v":"lost"}}"#)),
            (None, Some(r#"{"op":"t","source":{},"after":null}"#)),
            (Some("2"), Some(r#"{"op":"c","source":{},"after":{"v":"a"}}"#)),
            (Some("3"), Some(r#"{"op":"c","source":{},"after":{"v":"b"}}"#)),
            (Some("2"), Some(r#"{"op":"d","source":{},"after":null}"#)),
        ],
    )]);
    assert_eq!(file.value("SELECT group_concat(id || v) FROM t"), "3b");
}

#[test]
fn listed_fields_are_points_in_time() {
    let file = File::new("CREATE TABLE t (id integer, a text, b numeric, c timestamp)");
    let props = [("timestamp.fields.list", "a,b,c")];
    let mut rig = Rig::new(&file.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    let at = 1_709_294_400_123_456_i64;
    let value = format!(r#"{{"id":1,"a":{at},"b":"{at}","c":{at}}}"#);
    rig.store(vec![json("t", 0, &[(None, Some(&value))])]);
    let text = file.value("SELECT a || ' ' || b || ' ' || c FROM t");
    let noon = "2024-03-01 12:00:00.123456";
    assert_eq!(text, format!("{noon} 1709294400123 {noon}"));
}
