//! Values, columns, names and new tables against PostgreSQL.

use crate::rig::{Rig, json, texts, typed};
use api::{ErrorKind, Tolerance};
use data::{Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;
use testkit::postgres;

fn schema(fields: &[(&str, SchemaBuilder)]) -> Arc<Schema> {
    let mut builder = SchemaBuilder::structure();
    for (name, field) in fields {
        builder = builder.field(name, Arc::new(field.clone().build().expect("a schema")));
    }
    Arc::new(builder.build().expect("a schema"))
}

fn int() -> SchemaBuilder {
    SchemaBuilder::new(Type::Int32)
}

fn text() -> SchemaBuilder {
    SchemaBuilder::new(Type::String).optional()
}

fn record(fields: Vec<Value>) -> (Value, Value) {
    (Value::Null, Value::fields(fields))
}

fn string(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn b059_text_goes_into_columns_of_any_type() {
    let db = postgres::database();
    db.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, \
         ts timestamptz, j jsonb, ip inet, m mood, iv interval, n numeric, a int[])",
    );
    let fields = ["ts", "j", "ip", "m", "iv", "n", "a"].map(|name| (name, text()));
    let all: Vec<_> = std::iter::once(("id", int())).chain(fields).collect();
    let values = schema(&all);
    for (round, mode) in ["insert", "upsert"].into_iter().enumerate() {
        let props = [("insert.mode", mode), ("pk.mode", "record_value"), ("pk.fields", "id")];
        let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
        let from = rig.open(&["t"])[0];
        let texts = [
            "2024-05-01T10:00:00.123456+02:00",
            r#"{"k":[1,2]}"#,
            "10.0.0.1/8",
            "ok",
            "P1DT2H",
            "12.50",
            "{1,2,NULL}",
        ];
        let id = std::iter::once(Value::int(round as i64));
        let one = record(id.chain(texts.map(string)).collect());
        rig.store(vec![typed("t", from, None, &values, &[one])]);
    }
    let row = db.query("SELECT DISTINCT ts AT TIME ZONE 'UTC', j->'k'->>0, ip, m, iv, n, a FROM t");
    assert_eq!(
        texts(&row),
        [[
            "2024-05-01 08:00:00.123456",
            "1",
            "10.0.0.1/8",
            "ok",
            "1 day 02:00:00",
            "12.50",
            "{1,2,NULL}"
        ]]
    );
    assert_eq!(db.value("SELECT count(*) FROM t").as_deref(), Some("2"));
}

#[test]
fn b063_null_is_null_unless_asked_otherwise() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, qty int)");
    let values = schema(&[
        ("id", int()),
        ("qty", int().optional().default(Value::Int(5, data::Width::W32))),
    ]);
    let one = [record(vec![Value::int(1), Value::Null])];
    let mut rig = Rig::new(&db.url(), &[], Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![typed("t", 0, None, &values, &one)]);
    let props = [("replace.null.with.default", "true")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![typed("t", 1, None, &values, &one)]);
    let class = [("connector.class", "JdbcSink")];
    let mut rig = Rig::new(&db.jdbc_url(), &class, Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![typed("t", 2, None, &values, &one)]);
    let rows = db.query("SELECT qty FROM t ORDER BY qty NULLS FIRST");
    assert_eq!(texts(&rows), [["NULL"], ["5"], ["5"]]);
}

#[test]
fn b065_nested_values_go_into_json_columns() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, addr jsonb, tags jsonb)");
    let arc = |b: SchemaBuilder| Arc::new(b.build().expect("a schema"));
    let geo = SchemaBuilder::structure().field("lat", arc(SchemaBuilder::new(Type::Float64)));
    let addr = SchemaBuilder::structure().field("city", arc(text())).field("geo", arc(geo));
    let tag = arc(SchemaBuilder::structure().field("k", arc(text())));
    let values = schema(&[("id", int()), ("addr", addr), ("tags", SchemaBuilder::array(tag))]);
    let one = record(vec![
        Value::int(1),
        Value::fields(vec![string("X"), Value::fields(vec![Value::Float(1.5)])]),
        Value::List(vec![Value::fields(vec![string("a")])]),
    ]);
    let mut rig = Rig::new(&db.url(), &[], Tolerance::None);
    rig.open(&["t"]);
    rig.store(vec![typed("t", 0, None, &values, &[one])]);
    let plain = r#"{"id":2,"addr":{"city":"X","geo":{"lat":1.5}},"tags":[{"k":"a"}]}"#;
    rig.store(vec![json("t", 1, &[(None, Some(plain))])]);
    let rows = db.query("SELECT addr->'geo'->>'lat', tags->0->>'k' FROM t");
    assert_eq!(texts(&rows), [["1.5", "a"], ["1.5", "a"]]);
}

#[test]
fn b068_dots_and_case_in_topic_names() {
    let db = postgres::database();
    let values = schema(&[("id", int())]);
    let one = || [record(vec![Value::int(1)])];
    let base = [("auto.create", "true")];
    let mut rig = Rig::new(&db.url(), &base, Tolerance::None);
    rig.open(&["server1.public.Orders"]);
    rig.store(vec![typed("server1.public.Orders", 0, None, &values, &one())]);
    assert_eq!(db.value("SELECT count(*) FROM public.\"Orders\"").as_deref(), Some("1"));
    rig.open(&["my-topic.v1"]);
    let error = rig.write(vec![typed("my-topic.v1", 0, None, &values, &one())]).expect_err("split");
    assert_eq!(error.kind, ErrorKind::Config, "{}", error.report());
    assert!(error.report().contains("my-topic"), "{}", error.report());
    let props = [("auto.create", "true"), ("table.name.dots", "underscore")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["my-topic.v1"]);
    rig.store(vec![typed("my-topic.v1", 0, None, &values, &one())]);
    assert_eq!(db.value("SELECT count(*) FROM \"my-topic_v1\"").as_deref(), Some("1"));
    let props = [("auto.create", "true"), ("quote.identifiers", "never")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["x.public.Lines"]);
    rig.store(vec![typed("x.public.Lines", 0, None, &values, &one())]);
    assert_eq!(db.value("SELECT count(*) FROM public.lines").as_deref(), Some("1"));
}

#[test]
fn tables_are_created_and_extended() {
    let db = postgres::database();
    let keys = Arc::new(Schema::new(Type::Int64));
    let props = [
        ("insert.mode", "upsert"),
        ("pk.mode", "record_key"),
        ("pk.fields", "id"),
        ("auto.create", "true"),
        ("auto.evolve", "true"),
    ];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::None);
    rig.open(&["t"]);
    let first = schema(&[("name", text()), ("at", SchemaBuilder::timestamp().optional())]);
    let one = (Value::int(1), Value::fields(vec![string("a"), Value::int(0)]));
    rig.store(vec![typed("t", 0, Some(&keys), &first, &[one])]);
    let second = schema(&[("name", text()), ("qty", int())]);
    let two = (Value::int(1), Value::fields(vec![string("b"), Value::int(7)]));
    rig.store(vec![typed("t", 1, Some(&keys), &second, &[two])]);
    let columns = db.query(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns \
         WHERE table_name = 't' ORDER BY ordinal_position",
    );
    assert_eq!(
        texts(&columns),
        [
            ["id", "bigint", "NO"],
            ["name", "text", "YES"],
            ["at", "timestamp with time zone", "YES"],
            ["qty", "integer", "YES"],
        ]
    );
    assert_eq!(texts(&db.query("SELECT id, name, qty FROM t")), [["1", "b", "7"]]);
}

#[test]
fn a_foreign_class_creates_its_own_types() {
    let db = postgres::database();
    let props = [("connector.class", "JdbcSink"), ("auto.create", "true")];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&["t"]);
    let values = schema(&[("at", SchemaBuilder::timestamp())]);
    rig.store(vec![typed("t", 0, None, &values, &[record(vec![Value::int(0)])])]);
    let kind = db.value("SELECT data_type FROM information_schema.columns WHERE table_name = 't'");
    assert_eq!(kind.as_deref(), Some("timestamp without time zone"));
}

#[test]
fn a_field_without_a_column_is_an_error_of_its_records() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int)");
    let known = schema(&[("id", int())]);
    let more = schema(&[("id", int()), ("extra", text())]);
    let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
    rig.open(&["t"]);
    rig.store(vec![typed("t", 0, None, &more, &[record(vec![Value::int(1), string("x")])])]);
    rig.store(vec![typed("t", 1, None, &known, &[record(vec![Value::int(2)])])]);
    assert_eq!(texts(&db.query("SELECT id FROM t")), [["2"]]);
    let [reject] = rig.told.rejects.as_slice() else { panic!("{:?}", rig.told.rejects) };
    for part in ["no column for field extra", "ALTER TABLE", "ADD COLUMN \"extra\" text"] {
        assert!(reject.message.contains(part), "{part}: {}", reject.message);
    }
    db.execute("ALTER TABLE t ADD extra text");
    rig.store(vec![typed("t", 2, None, &more, &[record(vec![Value::int(3), string("x")])])]);
    assert_eq!(db.value("SELECT extra FROM t WHERE id = 3").as_deref(), Some("x"));
}

#[test]
fn single_values_go_into_the_only_column() {
    let db = postgres::database();
    db.execute(
        "CREATE TABLE t (line text); CREATE TABLE j (doc jsonb); CREATE TABLE w (a int, b int)",
    );
    let mut rig = Rig::new(&db.url(), &[], Tolerance::All);
    rig.open(&["t", "j", "w"]);
    rig.store(vec![
        json("t", 0, &[(None, Some("\"hello\"")), (None, Some("5"))]),
        json("j", 0, &[(None, Some(r#"{"a":{"b":1}}"#)), (None, Some("[1,2]"))]),
        json("w", 0, &[(None, Some("\"hello\"")), (None, Some(r#"{"a":1}"#))]),
    ]);
    assert_eq!(texts(&db.query("SELECT line FROM t")), [["hello"], ["5"]]);
    assert_eq!(texts(&db.query("SELECT doc FROM j")), [["{\"a\": {\"b\": 1}}"], ["[1, 2]"]]);
    assert_eq!(texts(&db.query("SELECT a, b FROM w")), [["1", "NULL"]]);
    assert_eq!(rig.told.rejects.len(), 1);
}

#[test]
fn tables_can_follow_from_the_record() {
    let db = postgres::database();
    db.execute("CREATE TABLE a_h0 (v text); CREATE TABLE b_h1 (v text)");
    let props = [("table.name.format", "${value.kind}_${header.h}")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::All);
    rig.open(&["t"]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (None, Some(r#"{"kind":"a","v":"1"}"#)),
            (None, Some(r#"{"kind":"b","v":"2"}"#)),
            (None, Some(r#"{"v":"3"}"#)),
        ],
    )]);
    let rows = db.query("SELECT v FROM a_h0 UNION ALL SELECT v FROM b_h1");
    assert_eq!(texts(&rows), [["1"], ["2"]]);
    assert!(rig.told.rejects.iter().any(|r| r.message.contains("no field kind")));
}
