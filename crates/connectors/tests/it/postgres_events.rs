//! Debezium's change events, and fields that are points in time, against PostgreSQL.

use crate::rig::{Rig, json, texts, typed};
use api::Tolerance;
use data::{Batch, Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;
use testkit::postgres;

const DEBEZIUM: &str = "io.debezium.connector.jdbc.JdbcSinkConnector";
const CONFLUENT: &str = "io.confluent.connect.jdbc.JdbcSinkConnector";
const TOPIC: &str = "server1.public.Orders";

fn plain(kind: Type) -> Arc<Schema> {
    Arc::new(Schema::new(kind))
}

fn optional(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.optional().build().expect("a schema"))
}

fn structure(fields: &[(&str, Arc<Schema>)]) -> SchemaBuilder {
    let add = |builder: SchemaBuilder, (name, schema): &(&str, Arc<Schema>)| {
        builder.field(name, schema.clone())
    };
    fields.iter().fold(SchemaBuilder::structure(), add)
}

fn key_schema() -> Arc<Schema> {
    Arc::new(structure(&[("id", plain(Type::Int32))]).build().expect("a schema"))
}

/// As Debezium's PostgreSQL connector writes them.
fn envelope() -> Arc<Schema> {
    let text = || optional(SchemaBuilder::new(Type::String));
    let row = optional(structure(&[("id", plain(Type::Int32)), ("note", text())]));
    let source = structure(&[
        ("db", plain(Type::String)),
        ("schema", plain(Type::String)),
        ("table", plain(Type::String)),
    ]);
    let value = structure(&[
        ("before", row.clone()),
        ("after", row),
        ("source", Arc::new(source.build().expect("a schema"))),
        ("op", plain(Type::String)),
        ("ts_ms", optional(SchemaBuilder::new(Type::Int64))),
    ]);
    let value = value.name("server1.public.Orders.Envelope");
    Arc::new(value.build().expect("a schema"))
}

/// A key and an event about the row with it.
fn event(op: &str, id: i64, note: Option<&str>) -> (Value, Value) {
    let text = |t: &str| Value::Text(t.to_owned());
    let row = |note: &str| Value::fields(vec![Value::int(id), text(note)]);
    let before = if matches!(op, "u" | "d") { row("before") } else { Value::Null };
    let source = Value::fields(vec![text("shop"), text("public"), text("Orders")]);
    let after = note.map_or(Value::Null, row);
    let key = Value::fields(vec![Value::int(id)]);
    (key, Value::fields(vec![before, after, source, text(op), Value::int(1000)]))
}

fn events(from: i64, records: &[(Value, Value)]) -> Batch {
    typed(TOPIC, from, Some(&key_schema()), &envelope(), records)
}

fn tombstone(id: i64) -> (Value, Value) {
    (Value::fields(vec![Value::int(id)]), Value::Null)
}

fn ignored(rig: &Rig, part: &str) -> u64 {
    rig.told.ignored.iter().filter(|(what, _)| what.contains(part)).map(|(_, count)| count).sum()
}

/// What users of the Debezium sink write, with deletes or without.
fn debezium(deletes: bool) -> Vec<(&'static str, &'static str)> {
    let mut props = vec![
        ("connector.class", DEBEZIUM),
        ("insert.mode", "upsert"),
        ("primary.key.mode", "record_key"),
        ("schema.evolution", "basic"),
    ];
    if deletes {
        props.push(("delete.enabled", "true"));
    }
    props
}

#[test]
fn b070_a_delete_event_deletes_without_a_transform() {
    let db = postgres::database();
    let mut rig = Rig::new(&db.jdbc_url(), &debezium(true), Tolerance::None);
    rig.open(&[TOPIC]);
    rig.store(vec![events(
        0,
        &[
            event("r", 1, Some("snapshot")),
            event("c", 2, Some("new")),
            event("u", 1, Some("changed")),
            event("c", 3, Some("gone")),
        ],
    )]);
    let table = "server1_public_orders";
    let all = format!("SELECT id, note FROM {table} ORDER BY id");
    assert_eq!(texts(&db.query(&all)), [["1", "changed"], ["2", "new"], ["3", "gone"]]);
    let last =
        [event("d", 3, None), tombstone(3), event("d", 1, None), event("c", 1, Some("back"))];
    rig.store(vec![events(4, &last)]);
    assert_eq!(texts(&db.query(&all)), [["1", "back"], ["2", "new"]]);
    let key = "SELECT count(*) FROM pg_index WHERE indisprimary AND indrelid = 'server1_public_orders'::regclass";
    assert_eq!(db.value(key).as_deref(), Some("1"));
}

#[test]
fn delete_events_are_counted_and_left_where_deletes_are_off() {
    let db = postgres::database();
    let mut rig = Rig::new(&db.jdbc_url(), &debezium(false), Tolerance::None);
    rig.open(&[TOPIC]);
    rig.store(vec![events(0, &[event("c", 1, Some("a")), event("d", 1, None), tombstone(1)])]);
    let count = db.value("SELECT count(*) FROM server1_public_orders");
    assert_eq!(count.as_deref(), Some("1"));
    assert_eq!(ignored(&rig, "without a value"), 2);
    rig.store(vec![events(3, &[event("m", 1, None), event("c", 2, Some("b"))])]);
    assert_eq!(ignored(&rig, "are messages"), 1);
    assert_eq!(rig.told.durable.last().map(|(_, at)| *at), Some(5));
}

#[test]
fn truncate_events_empty_their_table_where_enabled() {
    let db = postgres::database();
    let table = "server1_public_orders";
    let all = format!("SELECT id, note FROM {table} ORDER BY id");
    let mut rig = Rig::new(&db.jdbc_url(), &debezium(true), Tolerance::None);
    rig.open(&[TOPIC]);
    let truncate = || (Value::Null, event("t", 0, None).1);
    rig.store(vec![events(0, &[truncate(), event("c", 1, Some("a")), truncate()])]);
    assert_eq!(texts(&db.query(&all)), [["1", "a"]]);
    assert_eq!(ignored(&rig, "empty a table"), 2);
    for mode in ["upsert", "insert"] {
        db.execute(&format!("TRUNCATE {table}; INSERT INTO {table} VALUES (1, 'old'), (7, 'old')"));
        db.execute("DROP TABLE copycat_offsets");
        let mut props = debezium(true);
        props.retain(|(key, _)| *key != "insert.mode");
        props.extend([("insert.mode", mode), ("truncate.enabled", "true")]);
        let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
        rig.open(&[TOPIC]);
        let records = [
            event("c", 2, Some("before")),
            event("d", 1, None),
            truncate(),
            event("c", 2, Some("after")),
            event("c", 1, Some("after")),
        ];
        rig.store(vec![events(0, &records)]);
        assert_eq!(texts(&db.query(&all)), [["1", "after"], ["2", "after"]], "{mode}");
        rig.store(vec![events(5, &[event("c", 3, Some("x")), truncate()])]);
        assert_eq!(texts(&db.query(&all)), [[""; 2]; 0], "{mode}");
        assert_eq!(rig.told.stored, 7, "{mode}");
    }
}

#[test]
fn a_table_that_may_not_be_emptied_stops_the_task() {
    let db = postgres::database();
    db.execute(
        "CREATE TABLE server1_public_orders (id int PRIMARY KEY, note text); \
         CREATE TABLE lines (id int REFERENCES server1_public_orders)",
    );
    let mut props = debezium(true);
    props.push(("truncate.enabled", "true"));
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::All);
    rig.open(&[TOPIC]);
    let truncate = (Value::Null, event("t", 0, None).1);
    let error = rig.write(vec![events(0, &[event("c", 1, Some("a")), truncate])]);
    let error = error.expect_err("a foreign key");
    assert!(error.message.contains("foreign key"), "{}", error.message);
    assert_eq!(db.value("SELECT next_offset FROM copycat_offsets").as_deref(), Some("0"));
}

#[test]
fn our_own_class_knows_events_by_their_schemas_name() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, note text)");
    let props = [
        ("insert.mode", "upsert"),
        ("pk.mode", "record_key"),
        ("delete.enabled", "true"),
        ("table.name.format", "t"),
    ];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&[TOPIC]);
    let some = [event("c", 1, Some("a")), event("c", 2, Some("b")), event("d", 1, None)];
    rig.store(vec![events(0, &some)]);
    assert_eq!(texts(&db.query("SELECT * FROM t")), [["2", "b"]]);
    // Whole events can still be kept.
    db.execute("CREATE TABLE log (event jsonb)");
    let props =
        [("change.events", "off"), ("table.name.format", "log"), ("exactly.once.sink", "disabled")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&[TOPIC]);
    rig.store(vec![events(0, &some)]);
    let ops = db.query("SELECT event ->> 'op' FROM log");
    assert_eq!(texts(&ops), [["c"], ["c"], ["d"]]);
}

#[test]
fn tables_are_named_after_the_source_of_an_event() {
    let own = [
        ("insert.mode", "upsert"),
        ("pk.mode", "record_key"),
        ("delete.enabled", "true"),
        ("auto.create", "true"),
        ("quote.identifiers", "never"),
        ("table.name.format", "${source.db}.${source.schema}_${source.table}"),
    ];
    let mut foreign = debezium(true);
    foreign.push(("collection.name.format", "${source.db}.${source.schema}_${source.table}"));
    for props in [&foreign, own.as_slice()] {
        let db = postgres::database();
        db.execute("CREATE SCHEMA shop");
        let mut rig = Rig::new(&db.jdbc_url(), props, Tolerance::None);
        rig.open(&[TOPIC]);
        let records =
            [event("c", 1, Some("a")), event("c", 2, Some("b")), event("d", 1, None), tombstone(1)];
        rig.store(vec![events(0, &records)]);
        let rows = db.query("SELECT id, note FROM shop.public_orders");
        assert_eq!(texts(&rows), [["2", "b"]]);
        assert_eq!(ignored(&rig, "name no table"), 1);
        assert!(rig.told.rejects.is_empty());
    }
}

#[test]
fn keys_from_the_value_are_those_of_the_row() {
    let db = postgres::database();
    let props = [
        ("connector.class", DEBEZIUM),
        ("insert.mode", "upsert"),
        ("primary.key.mode", "record_value"),
        ("primary.key.fields", "id"),
        ("schema.evolution", "basic"),
    ];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&[TOPIC]);
    rig.store(vec![events(0, &[event("c", 1, Some("a")), event("u", 1, Some("b"))])]);
    let rows = db.query("SELECT id, note FROM server1_public_orders");
    assert_eq!(texts(&rows), [["1", "b"]]);
}

#[test]
fn events_that_cannot_be_read_are_dead_letters() {
    let db = postgres::database();
    let mut rig = Rig::new(&db.jdbc_url(), &debezium(true), Tolerance::All);
    rig.open(&[TOPIC]);
    let records = [event("c", 1, Some("a")), event("u", 1, None), event("q", 1, Some("b"))];
    rig.store(vec![events(0, &records)]);
    let rows = db.query("SELECT note FROM server1_public_orders");
    assert_eq!(texts(&rows), [["a"]], "an update without its row deletes nothing");
    let reasons = db.query("SELECT record_offset, reason FROM copycat_dead_letters ORDER BY 1");
    let reasons = texts(&reasons);
    assert_eq!((reasons[0][0], reasons[1][0]), ("1", "2"));
    assert!(reasons[0][1].contains("op u and no after"), "{reasons:?}");
}

#[test]
fn events_without_a_schema_are_opened_for_the_debezium_class() {
    let db = postgres::database();
    db.execute("CREATE TABLE orders (id int PRIMARY KEY, note text, detail jsonb, price numeric)");
    let props = [
        ("connector.class", DEBEZIUM),
        ("insert.mode", "upsert"),
        ("primary.key.mode", "record_key"),
        ("delete.enabled", "true"),
        ("collection.name.format", "${source.table}"),
    ];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&["t"]);
    let event = |op: &str, after: &str| {
        format!(r#"{{"before":null,"after":{after},"source":{{"table":"orders"}},"op":"{op}"}}"#)
    };
    let first = event("c", r#"{"id":1,"note":"a \"b\"","detail":{"x":[1,2]},"price":1.25}"#);
    let second = event("c", r#"{"id":2,"note":null,"detail":null,"price":null}"#);
    let delete = event("d", "null");
    let key = |id: i64| format!(r#"{{"id":{id}}}"#);
    let (one, two) = (key(1), key(2));
    rig.store(vec![json(
        "t",
        0,
        &[
            (Some(&one), Some(&first)),
            (Some(&two), Some(&second)),
            (Some(&two), Some(&delete)),
            (Some(&two), None),
        ],
    )]);
    let rows = db.query("SELECT id, note, detail, price FROM orders");
    assert_eq!(texts(&rows), [["1", "a \"b\"", r#"{"x": [1, 2]}"#, "1.25"]]);
}

/// 2024-03-01 12:00:00.123456 UTC.
const MICROS: i64 = 1_709_294_400_123_456;

fn times() -> Arc<Schema> {
    let schema = structure(&[
        ("id", plain(Type::Int32)),
        ("at", optional(SchemaBuilder::new(Type::Int64))),
        ("seen", optional(SchemaBuilder::new(Type::String))),
    ]);
    Arc::new(schema.build().expect("a schema"))
}

fn time(id: i64, at: i64, seen: &str) -> (Value, Value) {
    let seen = Value::Text(seen.to_owned());
    (Value::Null, Value::fields(vec![Value::int(id), Value::int(at), seen]))
}

#[test]
fn listed_fields_are_points_in_time() {
    let db = postgres::database();
    let props = [
        ("connector.class", CONFLUENT),
        ("auto.create", "true"),
        ("timestamp.fields.list", "at,seen"),
        ("db.timezone", "Europe/Berlin"),
    ];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&["made"]);
    let null = (Value::Null, Value::fields(vec![Value::int(3), Value::Null, Value::Null]));
    let words = "2024-03-01 00:00:00";
    let records = [time(1, MICROS, &MICROS.to_string()), time(2, -1, words), null];
    rig.store(vec![typed("made", 0, None, &times(), &records)]);
    let types = db.query(
        "SELECT data_type FROM information_schema.columns WHERE table_name = 'made' \
         AND column_name IN ('at', 'seen')",
    );
    assert_eq!(texts(&types), [["timestamp without time zone"]; 2]);
    let rows = db.query("SELECT id, at, seen FROM made ORDER BY id");
    let noon = "2024-03-01 13:00:00.123456";
    assert_eq!(
        texts(&rows),
        [["1", noon, noon], ["2", "1970-01-01 00:59:59.999999", words], ["3", "NULL", "NULL"],]
    );
}

#[test]
fn listed_fields_of_nanoseconds_go_into_existing_columns() {
    let db = postgres::database();
    db.execute(
        "SET timezone = 'UTC'; CREATE TABLE t (id int PRIMARY KEY, at timestamptz, seen date); \
         CREATE TABLE raw (id int, at bigint, seen text)",
    );
    let props = [
        ("connector.class", CONFLUENT),
        ("insert.mode", "upsert"),
        ("pk.mode", "record_value"),
        ("pk.fields", "id"),
        ("timestamp.fields.list", "at,t:seen"),
        ("timestamp.precision.mode", "nanoseconds"),
    ];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&["t"]);
    let nanos = MICROS * 1000 + 600;
    let records = [time(1, nanos, &nanos.to_string())];
    rig.store(vec![typed("t", 0, None, &times(), &records)]);
    let value = format!("{{\"id\":2,\"at\":{nanos},\"seen\":\"{nanos}\"}}");
    rig.store(vec![json("t", 1, &[(None, Some(&value))])]);
    let rows = db.query("SELECT id, at AT TIME ZONE 'UTC', seen FROM t ORDER BY id");
    let at = "2024-03-01 12:00:00.123457";
    assert_eq!(texts(&rows), [["1", at, "2024-03-01"], ["2", at, "2024-03-01"]]);
    // Columns of other types take the number itself.
    let props = [("timestamp.fields.list", "at,seen"), ("connector.class", CONFLUENT)];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&["raw"]);
    rig.store(vec![typed("raw", 0, None, &times(), &[time(1, MICROS, "7")])]);
    let rows = db.query("SELECT at, seen FROM raw");
    assert_eq!(texts(&rows), [[MICROS.to_string().as_str(), "7"]]);
}

#[test]
fn messages_about_records_name_the_users_keys() {
    let db = postgres::database();
    let records = [event("c", 1, Some("a"))];
    let mut props = debezium(false);
    props.retain(|(key, _)| *key != "schema.evolution");
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&[TOPIC]);
    let error = rig.write(vec![events(0, &records)]).expect_err("no table");
    assert!(error.message.contains("schema.evolution is none"), "{}", error.message);
    db.execute("CREATE TABLE server1_public_orders (id int PRIMARY KEY)");
    props.push(("schema.evolution", "validate-only"));
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::All);
    rig.open(&[TOPIC]);
    rig.store(vec![events(0, &records)]);
    let message = &rig.told.rejects[0].message;
    assert!(message.contains("field note; schema.evolution is validate-only"), "{message}");
    // Our own names, where the user wrote them.
    props.retain(|(key, _)| *key != "schema.evolution");
    props.extend([("auto.evolve", "false"), ("primary.key.fields", "nope")]);
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::All);
    rig.open(&[TOPIC]);
    rig.store(vec![events(1, &records)]);
    let message = &rig.told.rejects[0].message;
    assert!(message.contains("which primary.key.fields names"), "{message}");
}
