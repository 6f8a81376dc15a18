//! The rules of this transform, each as a small case.

use super::*;
use crate::testing::{apply, apply_to, config_error, made, map, map_value, record, text};
use data::{Mask, RawBatchBuilder, Schema, SchemaBuilder, TopicPartition, Type, Value};
use std::sync::Arc;

const CLASS: &str = "ExtractField$Value";

fn nested() -> Arc<Schema> {
    let leaf = SchemaBuilder::new(Type::Int32).optional().default(Value::Int(7, data::Width::W32));
    let leaf = Arc::new(leaf.build().unwrap());
    let inner = SchemaBuilder::structure().field("x.y", leaf).optional().build().unwrap();
    let text = Arc::new(Schema::new(Type::String));
    let outer = SchemaBuilder::structure().field("in", Arc::new(inner)).field("s", text);
    Arc::new(outer.build().unwrap())
}

fn int(value: i64) -> Value {
    Value::Int(value, data::Width::W32)
}

#[test]
fn kafka_7052_a_missing_field_is_an_error_under_a_schema_and_null_without() {
    let uid = SchemaBuilder::structure().field("uid", Arc::new(Schema::new(Type::Int32)));
    let schema = Arc::new(uid.build().unwrap());
    let settings = [("field", "id")];
    for value in [Value::fields(vec![int(1)]), Value::Null] {
        let seen = apply(CLASS, &settings, record(Some(&schema), value));
        assert_eq!(seen, Err("IllegalArgumentException: Unknown field: id".to_owned()));
    }
    assert_eq!(apply(CLASS, &settings, map(&[("uid", int(1))])), Ok((None, Value::Null)));
    assert_eq!(apply_to(CLASS, &settings, Value::Null), Ok(Value::Null));
}

#[test]
fn a_path_goes_through_structs_and_defaults_apply_as_asked() {
    let schema = nested();
    let leaf = schema.fields()[0].schema.fields()[0].schema.clone();
    let path = ("field", "in.`x.y`");
    let of = |inner: Value, replace: &str| {
        let settings =
            [path, ("field.syntax.version", "v2"), ("replace.null.with.default", replace)];
        let value = Value::fields(vec![inner, text("s")]);
        let (seen, value) = apply(CLASS, &settings, record(Some(&schema), value)).unwrap();
        assert_eq!(seen.as_deref(), Some(&*leaf));
        value
    };
    assert_eq!(of(Value::fields(vec![int(1)]), "true"), int(1));
    assert_eq!(of(Value::fields(vec![Value::Null]), "true"), int(7));
    assert_eq!(of(Value::fields(vec![Value::Null]), "false"), Value::Null);
    assert_eq!(of(Value::Null, "true"), Value::Null, "no default where the struct is missing");
}

#[test]
fn paths_that_lead_nowhere_are_told() {
    let schema = nested();
    let value = Value::fields(vec![Value::Null, text("s")]);
    let of = |field: &str| {
        let settings = [("field", field), ("field.syntax.version", "V2")];
        apply(CLASS, &settings, record(Some(&schema), value.clone())).unwrap_err()
    };
    assert_eq!(of("in.zz"), "IllegalArgumentException: Unknown field: in.zz");
    assert_eq!(of(""), "IllegalArgumentException: Unknown field: ");
    assert_eq!(of("s.x"), "DataException: Cannot look up fields on non-struct type");
    let settings = [("field", "a.b"), ("field.syntax.version", "V2")];
    let refused = apply(CLASS, &settings, map(&[("a", int(1))])).unwrap_err();
    assert!(refused.ends_with("for [nested field access], found: java.lang.Integer"), "{refused}");
    assert!(config_error(CLASS, &[("field", "`a"), settings[1]]).contains("Incomplete backtick"));
}

#[test]
fn json_that_nobody_has_read_is_looked_into_only_on_the_way() {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for offset in 0..3 {
        raw.push(offset, 0, data::TimestampType::None, None, Some(b""));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(3)));
    for json in [&br#"{"a":{"b":{"c":1}}}"#[..], br#"{"z":0,"a":{"b":[2]}}"#, b"[1]"] {
        let root = Cell::Json(batch.values.heap.put(json));
        batch.values.push(None, root);
    }
    let mut transform = made(CLASS, &[("field", "a.b"), ("field.syntax.version", "V2")]);
    transform.apply(&mut batch, &Mask::all(3));
    let of = |row: usize| batch.values.value(None, batch.values.root(row));
    assert_eq!(of(0), map_value(&[("c", Value::int(1))]));
    assert_eq!(of(1), Value::List(vec![Value::int(2)]));
    assert_eq!((batch.rejects.len(), batch.rejects[0].row), (1, 2));
    assert!(batch.rejects[0].message.ends_with("[field extraction], found: java.util.ArrayList"));
}

#[test]
fn a_text_moves_without_a_copy() {
    let mut batch = crate::testing::batch(&[map(&[("b", int(0)), ("a", text("x"))])]);
    let Cell::Map(span) = batch.values.root(0) else { panic!() };
    let value = batch.values.cells(span)[3];
    made(CLASS, &[("field", "a")]).apply(&mut batch, &Mask::all(1));
    assert_eq!(batch.values.root(0), value);
}
