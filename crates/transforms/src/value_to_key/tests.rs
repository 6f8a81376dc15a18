//! The rules of this transform, each as a small case.

use crate::testing::{config_error, made, map, map_value, record, text};
use data::{Batch, Mask, Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;

const CLASS: &str = "ValueToKey";

fn schema() -> Arc<Schema> {
    let string = || SchemaBuilder::new(Type::String);
    let built = |builder: SchemaBuilder| Arc::new(builder.build().unwrap());
    let inner = SchemaBuilder::structure().field("x", built(string())).optional();
    let outer = SchemaBuilder::structure()
        .field("a", built(string()))
        .field("d", built(string().optional().default(text("d"))))
        .field("in", built(inner));
    built(outer)
}

fn keyed(settings: &[(&str, &str)], given: crate::testing::Record) -> Batch {
    let mut batch = crate::testing::batch(&[given]);
    made(CLASS, settings).apply(&mut batch, &Mask::all(1));
    batch
}

fn key(batch: &Batch) -> (Option<&Arc<Schema>>, Value) {
    let schema = batch.keys.schema(0);
    (schema, batch.keys.value(schema, batch.keys.root(0)))
}

#[test]
fn the_key_is_a_struct_of_the_fields_in_the_order_asked_for() {
    let inner = Value::fields(vec![text("x")]);
    let given = record(Some(&schema()), Value::fields(vec![text("1"), Value::Null, inner]));
    for (replace, wanted) in [("true", text("d")), ("false", Value::Null)] {
        let settings = [
            ("fields", "in.x,d,a,d"),
            ("field.syntax.version", "V2"),
            ("replace.null.with.default", replace),
        ];
        let batch = keyed(&settings, given.clone());
        let (schema, value) = key(&batch);
        let schema = schema.unwrap();
        let names: Vec<&str> = schema.fields().iter().map(|field| &*field.name).collect();
        assert_eq!((names, schema.name()), (vec!["in.x", "d", "a"], None));
        let Value::Struct(fields) = value else { panic!() };
        assert_eq!(fields.values, [text("x"), wanted, text("1")]);
    }
}

#[test]
fn the_key_of_a_map_is_a_map_where_what_is_missing_is_null() {
    let given = map(&[("a.b", text("1")), ("in", map_value(&[("x", text("2"))]))]);
    let batch = keyed(&[("fields", "zz,a.b,in")], given.clone());
    let wanted = [("zz", Value::Null), ("a.b", text("1")), ("in", map_value(&[("x", text("2"))]))];
    assert_eq!(key(&batch), (None, map_value(&wanted)));
    let settings = [("fields", "in.x,`a.b`,in.y"), ("field.syntax.version", "v2")];
    let wanted = [("in.x", text("2")), ("`a.b`", text("1")), ("in.y", Value::Null)];
    assert_eq!(key(&keyed(&settings, given)), (None, map_value(&wanted)));
}

/// B040.
#[test]
fn kafka_7052_a_field_that_the_schema_lacks_is_an_error() {
    let inner = Value::fields(vec![text("x")]);
    let given = record(Some(&schema()), Value::fields(vec![text("1"), Value::Null, inner]));
    for (field, wanted) in
        [("zz", "Field does not exist: zz"), ("in.x", "Field does not exist: in.x")]
    {
        let batch = keyed(&[("fields", field)], given.clone());
        assert_eq!(batch.rejects[0].message, wanted);
        assert_eq!(batch.rejects[0].exception, "org.apache.kafka.connect.errors.DataException");
    }
}

#[test]
fn a_required_field_below_a_struct_that_is_null_is_an_error() {
    let value = Value::fields(vec![text("1"), Value::Null, Value::Null]);
    let settings = [("fields", "a,in.x"), ("field.syntax.version", "V2")];
    let batch = keyed(&settings, record(Some(&schema()), value));
    assert!(batch.rejects[0].message.starts_with("Invalid value: null used for required field"));
}

#[test]
fn a_tombstone_has_no_fields() {
    for schema in [None, Some(&schema())] {
        let batch = keyed(&[("fields", "a")], record(schema, Value::Null));
        let message = &batch.rejects[0].message;
        assert!(message.ends_with("[copying fields from value to key], found: null"), "{message}");
    }
    assert!(config_error(CLASS, &[("fields", "")]).contains("'fields' must not be empty"));
}
