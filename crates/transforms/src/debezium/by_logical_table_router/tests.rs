//! The router on events of our own. What Debezium itself makes of many more is recorded in the
//! testdata of crate `golden`.

use super::CLASS;
use crate::debezium::testing::{apply, batch, envelope, event, row, shown};
use data::{Batch, Cell, Schema, SchemaBuilder, Type, Value, Width};
use std::sync::Arc;

const CONFIG: [(&str, &str); 2] = [("topic.regex", "s\\.(.*)"), ("topic.replacement", "all_$1")];

fn routed(more: &[(&str, &str)]) -> Batch {
    let mut batch =
        batch(&[(Some(envelope()), event("c", Value::Null, row(1, "a"))), (None, Value::Null)]);
    batch.keys.take_roots();
    let key = SchemaBuilder::structure().field("id", Arc::new(Schema::new(Type::Int32)));
    let key = Arc::new(key.build().unwrap());
    for _ in 0..2 {
        let cell = batch.keys.put_value(None, &Value::fields(vec![Value::Int(7, Width::W32)]));
        batch.keys.push(Some(&key), cell);
    }
    apply(CLASS, &[&CONFIG, more].concat(), &mut batch);
    batch
}

fn mark(batch: &Batch, row: usize) -> String {
    match batch.keys.fields(batch.keys.root(row)).last() {
        Some(Cell::Text(span)) => batch.keys.text(*span).to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn records_go_to_the_logical_table_and_keys_say_where_they_are_from() {
    let batch = routed(&[]);
    for row in [0, 1] {
        assert_eq!((&**batch.topic(row), mark(&batch, row).as_str()), ("all_t", "s.t"));
    }
    let key = batch.keys.schema(0).unwrap();
    assert_eq!((key.name(), key.fields().len()), (Some("all_t.Key"), 2));
    let value = batch.values.schema(0).unwrap();
    assert_eq!(value.name(), Some("all_t.Envelope"));
    assert_eq!(value.fields()[1].schema.name(), Some("all_t.Value"));
    assert!(shown(&batch, 0).contains(r#""after":{"id":1,"v":"a"}"#));
}

#[test]
fn the_mark_is_left_out_or_made_by_a_pattern() {
    let batch = routed(&[("key.enforce.uniqueness", "false")]);
    assert_eq!(batch.keys.fields(batch.keys.root(0)).len(), 1);
    let pattern = [("key.field.regex", "s\\.(.*)"), ("key.field.replacement", "from $1")];
    assert_eq!(mark(&routed(&pattern), 0), "from t");
    let props = crate::debezium::testing::props(&[&CONFIG[..], &pattern[..1]].concat());
    assert!((super::PLUGIN.make)(&props).is_err());
}

#[test]
fn other_topics_stay_and_keys_must_be_structs() {
    let batch = routed(&[("topic.regex", "x.*")]);
    assert_eq!((&**batch.topic(0), batch.keys.fields(batch.keys.root(0)).len()), ("s.t", 1));
    let mut batch = crate::debezium::testing::batch(&[(None, Value::Null)]);
    batch.keys.take_roots();
    let cell = batch.keys.put_value(None, &Value::Text("k".to_owned()));
    batch.keys.push(None, cell);
    apply(CLASS, &CONFIG, &mut batch);
    assert!(shown(&batch, 0).starts_with("Only Struct objects supported for [Updating schema]"));
}
