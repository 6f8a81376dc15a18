//! The rules of InsertField, each on a record of its own.

use super::*;
use crate::testing::{
    apply, apply_all, apply_to, config_error, made, map, map_value, record, text,
};
use data::Value;

const CLASS: &str = "InsertField$Value";

fn structure() -> SchemaBuilder {
    let defaulted = SchemaBuilder::new(Type::String).optional().default(text("dd")).build();
    SchemaBuilder::structure()
        .name("I")
        .version(1)
        .field("x", Arc::new(Schema::new(Type::Int32)))
        .field("d", Arc::new(defaulted.unwrap()))
}

fn value() -> Value {
    Value::fields(vec![Value::Int(5, Width::W32), Value::Null])
}

#[test]
fn every_attribute_follows_the_fields_in_its_order() {
    let schema = Arc::new(structure().optional().build().unwrap());
    let settings = [
        ("topic.field", "t"),
        ("partition.field", "p!"),
        ("offset.field", "o?"),
        ("timestamp.field", "ts!"),
        ("static.field", "s"),
        ("static.value", "v"),
    ];
    let (seen_schema, seen) = apply(CLASS, &settings, record(Some(&schema), value())).unwrap();
    let optional = |kind| Arc::new(SchemaBuilder::new(kind).optional().build().unwrap());
    let wanted = structure()
        .field("t", optional(Type::String))
        .field("p", Arc::new(Schema::new(Type::Int32)))
        .field("o", optional(Type::Int64))
        .field("ts", Arc::new(SchemaBuilder::timestamp().build().unwrap()))
        .field("s", optional(Type::String));
    assert_eq!(*seen_schema.unwrap(), wanted.build().unwrap(), "the optional flag goes");
    let Value::Struct(fields) = seen else { panic!("{seen:?}") };
    assert_eq!(
        fields.values,
        [
            Value::Int(5, Width::W32),
            text("dd"),
            text("t"),
            Value::Int(3, Width::W32),
            Value::int(7),
            Value::Instant(5),
            text("v"),
        ]
    );
}

#[test]
fn a_map_gets_members_or_new_values_for_them() {
    let settings = [("topic.field", "x"), ("timestamp.field", "ts"), ("partition.field", "x!")];
    let seen = apply_to(CLASS, &settings, map_value(&[("x", Value::Null), ("y", text("z"))]));
    let three = Value::Int(3, Width::W32);
    assert_eq!(seen.unwrap(), map_value(&[("x", three), ("y", text("z")), ("ts", Value::int(5))]));
}

#[test]
fn what_a_record_does_not_know_is_left_out() {
    let settings = [("partition.field", "p!"), ("timestamp.field", "ts")];
    let mut source = map(&[]);
    (source.origin, source.partition, source.timestamp) = (Origin::Source, -1, None);
    assert_eq!(apply(CLASS, &settings, source.clone()).unwrap().1, map_value(&[]));
    source.value = (Some(Arc::new(structure().build().unwrap())), value());
    let (_, seen) = apply(CLASS, &settings, source.clone()).unwrap();
    let Value::Struct(fields) = seen else { panic!() };
    assert_eq!(fields.values[2..], [Value::Null, Value::Null]);
    let refused = apply(CLASS, &[("timestamp.field", "ts!")], source.clone()).unwrap_err();
    assert!(refused.starts_with("DataException") && refused.ends_with(": ts"), "{refused}");
    let refused = apply(CLASS, &[("offset.field", "o")], source).unwrap_err();
    assert_eq!(
        refused,
        "DataException: Only SinkRecord supported for [field insertion], found: \
         org.apache.kafka.connect.source.SourceRecord"
    );
}

#[test]
fn tombstones_pass_and_what_has_no_fields_is_refused() {
    let settings = [("topic.field", "t")];
    assert_eq!(apply_to(CLASS, &settings, Value::Null).unwrap(), Value::Null);
    let int = Arc::new(Schema::new(Type::Int32));
    let refused = apply(CLASS, &settings, record(Some(&int), Value::Int(1, Width::W32)));
    assert_eq!(
        refused.unwrap_err(),
        "DataException: Only Struct objects supported for [field insertion], found: java.lang.Integer"
    );
    assert!(apply_to(CLASS, &settings, text("x")).unwrap_err().contains("java.lang.String"));
}

#[test]
fn a_field_that_is_there_already_is_refused() {
    let schema = Arc::new(structure().build().unwrap());
    for (name, wanted) in
        [("x", "Cannot create field because of field name duplication x"), ("!", "fieldName")]
    {
        let refused = apply(CLASS, &[("topic.field", name)], record(Some(&schema), value()));
        let refused = refused.unwrap_err();
        assert!(refused.starts_with("SchemaBuilderException: "), "{refused}");
        assert!(refused.contains(wanted), "{refused}");
    }
}

#[test]
fn a_null_stays_one_without_replacement_and_equal_schemas_share_a_run() {
    let settings = [("topic.field", "t"), ("replace.null.with.default", "false")];
    let schemas = [0, 1].map(|_| Arc::new(structure().build().unwrap()));
    let records = schemas.map(|schema| record(Some(&schema), value()));
    let seen = apply_all(made(CLASS, &settings).as_mut(), &records);
    let [Ok((Some(first), Value::Struct(fields))), Ok((Some(second), _))] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(fields.values, [Value::Int(5, Width::W32), Value::Null, text("t")]);
    assert!(Arc::ptr_eq(first, second));
}

#[test]
fn a_configuration_without_a_field_or_its_value_is_refused() {
    assert_eq!(config_error(CLASS, &[]), "No field insertion configured");
    assert_eq!(config_error(CLASS, &[("static.value", "v")]), "No field insertion configured");
    assert_eq!(
        config_error(CLASS, &[("static.field", "s")]),
        "Invalid value null for configuration static.value: No value specified for static field: s"
    );
}
