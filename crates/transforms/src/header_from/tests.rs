//! The rules of this transform, each as a small case.

use crate::testing::{batch, config_error, made, map, map_value, record, text};
use data::{Batch, Cell, Header, Mask, Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;

const CLASS: &str = "HeaderFrom$Value";

fn settings<'a>(operation: &'a str, fields: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("fields", fields), ("headers", "h,i"), ("operation", operation)]
}

fn through(settings: &[(&str, &str)], given: crate::testing::Record) -> Batch {
    let mut batch = batch(&[given]);
    batch.headers.begin(1);
    batch.headers.push(0, Header { name: "h".into(), schema: None, value: Cell::Bool(true) });
    made(CLASS, settings).apply(&mut batch, &Mask::all(1));
    batch
}

fn headers(batch: &Batch) -> Vec<(&str, Option<Type>, Value)> {
    let of = |header: data::HeaderRef<'_>| {
        batch.headers.values.value(header.schema.as_ref(), header.value)
    };
    let seen = batch.headers.of(0).iter();
    seen.map(|h| (&*h.kind.name, h.schema.as_ref().map(|schema| schema.kind()), of(h))).collect()
}

fn schema() -> Arc<Schema> {
    let defaulted = SchemaBuilder::new(Type::String).optional().default(text("d"));
    let schema = SchemaBuilder::structure()
        .name("N")
        .field("a", Arc::new(Schema::new(Type::String)))
        .field("b", Arc::new(Schema::new(Type::Boolean)))
        .field("c", Arc::new(defaulted.build().unwrap()));
    Arc::new(schema.build().unwrap())
}

#[test]
fn fields_move_or_stay_and_headers_are_appended() {
    let given = Value::fields(vec![text("1"), Value::Bool(false), Value::Null]);
    for (operation, left) in [("move", vec!["b"]), ("copy", vec!["a", "b", "c"])] {
        let batch = through(&settings(operation, "c,a"), record(Some(&schema()), given.clone()));
        assert_eq!(
            headers(&batch),
            [
                ("h", None, Value::Bool(true)),
                ("h", Some(Type::String), text("d")),
                ("i", Some(Type::String), text("1")),
            ]
        );
        let schema = batch.values.schema(0).unwrap();
        let names: Vec<&str> = schema.fields().iter().map(|field| &*field.name).collect();
        assert_eq!((names, schema.name()), (left, Some("N")));
    }
    let mut settings = settings("move", "c,a");
    settings.push(("replace.null.with.default", "false"));
    let batch = through(&settings, record(Some(&schema()), given));
    assert_eq!(headers(&batch)[1], ("h", Some(Type::String), Value::Null));
}

#[test]
fn members_move_or_stay_and_what_is_missing_is_null() {
    let members = [("a", text("1")), ("b", text("2"))];
    let batch = through(&settings("move", "zz,a"), map(&members));
    let wanted = [("h", None, Value::Bool(true)), ("h", None, Value::Null), ("i", None, text("1"))];
    assert_eq!(headers(&batch), wanted);
    let value = |batch: &Batch| batch.values.value(None, batch.values.root(0));
    assert_eq!(value(&batch), map_value(&[("b", text("2"))]));
    let batch = through(&settings("copy", "zz,a"), map(&members));
    assert_eq!(headers(&batch), wanted);
    assert_eq!(value(&batch), map_value(&members));
}

#[test]
fn keys_that_are_no_text_stay() {
    let other = (Value::Bool(true), text("x"));
    let given = Value::Map(vec![(text("a"), text("1")), other.clone()]);
    let batch = through(&settings("move", "a,a"), record(None, given));
    assert_eq!(batch.values.value(None, batch.values.root(0)), Value::Map(vec![other]));
    assert_eq!(headers(&batch)[2], ("i", None, text("1")), "a field can become two headers");
}

#[test]
fn what_has_no_such_field_is_refused() {
    let given = Value::fields(vec![text("1"), Value::Bool(false), Value::Null]);
    for (schema, value, wanted) in [
        (Some(schema()), given, "Unknown field: zz"),
        (
            Some(schema()),
            Value::Null,
            "Only Struct objects supported for [header copy], found: null",
        ),
        (
            None,
            Value::Null,
            "Only Map objects supported in absence of schema for [header copy], found: null",
        ),
    ] {
        let batch = through(&settings("copy", "zz,a"), record(schema.as_ref(), value));
        assert_eq!(batch.rejects[0].message, wanted);
    }
}

#[test]
fn as_many_headers_as_fields_are_needed() {
    let wanted = "'fields' config must have the same number of elements as 'headers' config.";
    assert_eq!(config_error(CLASS, &settings("move", "a")), wanted);
    let wanted =
        "Invalid value MOVE for configuration operation: String must be one of: move, copy";
    assert_eq!(config_error(CLASS, &settings("MOVE", "a,b")), wanted);
}
