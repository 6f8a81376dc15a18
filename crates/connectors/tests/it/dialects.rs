//! Configurations of other connectors, and options that change the protocol, on real databases.

use crate::rig::{Rig, json, texts, typed};
use api::Tolerance;
use data::{Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;
use testkit::postgres;

fn orders() -> Arc<Schema> {
    let field = |kind| Arc::new(Schema::new(kind));
    let text = SchemaBuilder::new(Type::String).optional().build().expect("a schema");
    let schema = SchemaBuilder::structure()
        .field("Id", field(Type::Int32))
        .field("Note", Arc::new(text))
        .field("Secret", field(Type::Int32));
    Arc::new(schema.build().expect("a schema"))
}

fn order(id: i64) -> (Value, Value) {
    let note = Value::Text(format!("n{id}"));
    (Value::Null, Value::fields(vec![Value::int(id), note, Value::int(7)]))
}

fn columns(db: &postgres::Database, table: &str) -> Vec<String> {
    let rows = db.query(&format!(
        "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' \
         ORDER BY ordinal_position"
    ));
    rows.into_iter().flatten().flatten().collect()
}

#[test]
fn a_debezium_configuration_folds_names_and_evolves() {
    let db = postgres::database();
    let props = [
        ("connector.class", "io.debezium.connector.jdbc.JdbcSinkConnector"),
        ("insert.mode", "upsert"),
        ("primary.key.mode", "record_value"),
        ("primary.key.fields", "Id"),
        ("schema.evolution", "basic"),
        ("field.exclude.list", "server1.public.Orders:Secret"),
    ];
    let topic = "server1.public.Orders";
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&[topic]);
    rig.store(vec![typed(topic, 0, None, &orders(), &[order(1), order(2), order(1)])]);
    assert_eq!(columns(&db, "server1_public_orders"), ["id", "note"]);
    let count = db.value("SELECT count(*) FROM server1_public_orders");
    assert_eq!(count.as_deref(), Some("2"));
}

#[test]
fn an_aiven_configuration_normalises_and_maps_names() {
    let db = postgres::database();
    let props = [
        ("connector.class", "io.aiven.connect.jdbc.JdbcSinkConnector"),
        ("insert.mode", "multi"),
        ("auto.create", "true"),
        ("fields.whitelist", "Id"),
        ("table.name.normalize", "true"),
        ("topics.to.tables.mapping", "b:mapped"),
    ];
    let mut rig = Rig::new(&db.jdbc_url(), &props, Tolerance::None);
    rig.open(&["a-b.c", "b"]);
    rig.store(vec![
        typed("a-b.c", 0, None, &orders(), &[order(1)]),
        typed("b", 0, None, &orders(), &[order(1), order(1)]),
    ]);
    assert_eq!(columns(&db, "a_b_c"), ["Id"]);
    assert_eq!(db.value("SELECT count(*) FROM mapped").as_deref(), Some("2"));
}

#[test]
fn without_exactly_once_there_are_no_positions_but_dead_letters() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v varchar(2))");
    let props = [("exactly.once.sink", "disabled"), ("dead.letters.table", "rejected")];
    let mut rig = Rig::new(&db.url(), &props, Tolerance::All);
    assert_eq!(rig.open(&["t"]), [0]);
    rig.store(vec![json(
        "t",
        0,
        &[
            (None, Some(r#"{"id":1,"v":"a"}"#)),
            (None, Some(r#"{"id":2,"v":"long"}"#)),
            (None, Some(r#"{"id":3,"v":"c"}"#)),
        ],
    )]);
    assert_eq!(texts(&db.query("SELECT id FROM t ORDER BY id")), [["1"], ["3"]]);
    assert_eq!(db.value("SELECT record_offset FROM rejected").as_deref(), Some("1"));
    assert_eq!(db.value("SELECT to_regclass('copycat_offsets')"), None);
    assert_eq!(rig.told.durable.last().map(|(_, at)| *at), Some(3));
}

#[test]
fn transactions_are_no_larger_than_batch_size() {
    let db = postgres::database();
    db.execute("CREATE TABLE t (id int, x xid DEFAULT pg_current_xact_id()::xid)");
    let mut rig = Rig::new(&db.url(), &[("batch.size", "10")], Tolerance::None);
    rig.open(&["t"]);
    let values: Vec<String> = (0..35).map(|n| format!(r#"{{"id":{n}}}"#)).collect();
    let records: Vec<_> = values.iter().map(|v| (None, Some(v.as_str()))).collect();
    rig.store(vec![json("t", 0, &records)]);
    let sizes = db.query("SELECT count(*) FROM t GROUP BY x::text ORDER BY min(id)");
    assert_eq!(texts(&sizes), [["10"], ["10"], ["10"], ["5"]]);
}

#[test]
fn retries_end_only_where_asked() {
    let nobody = "postgresql://127.0.0.1:1/nothing?user=nobody";
    let props = [("max.retries", "2"), ("max.retries.strict", "true")];
    let mut rig = Rig::new(nobody, &props, Tolerance::None);
    let seats = [api::Seat { tp: data::TopicPartition::new("t", 0), topic_id: None }];
    let mut kinds = Vec::new();
    for _ in 0..3 {
        let mut resolver = crate::rig::FromZero;
        let error = rig.task.open(&seats, &mut resolver, &mut rig.told).expect_err("nobody");
        assert!(error.message.contains("127.0.0.1"), "{}", error.message);
        kinds.push(error.kind);
    }
    use api::ErrorKind::{Config, Retriable};
    assert_eq!(kinds, [Retriable, Retriable, Config]);
}
