//! The rules of SetSchemaMetadata, each on a record of its own.

use super::*;
use crate::testing::{apply, apply_to, config_error, map_value, record, text};
use data::{TIMESTAMP, Value};

const CLASS: &str = "SetSchemaMetadata$Value";

fn structure(name: &str, version: i32) -> SchemaBuilder {
    let defaulted = SchemaBuilder::new(Type::String).optional().default(text("db")).build();
    SchemaBuilder::structure()
        .name(name)
        .version(version)
        .doc("x")
        .parameter("p", "q")
        .optional()
        .field("a", Arc::new(Schema::new(Type::Int32)))
        .field("b", Arc::new(defaulted.unwrap()))
}

#[test]
fn name_and_version_change_and_all_else_stays() {
    let default = Value::fields(vec![Value::Int(0, Width::W32), Value::Null]);
    let old = Arc::new(structure("R", 1).default(default.clone()).build().unwrap());
    let value = Value::fields(vec![Value::Int(1, Width::W32), Value::Null]);
    for (settings, name, version) in [
        (&[("schema.name", "N")][..], "N", 1),
        (&[("schema.version", "-7")], "R", -7),
        (&[("schema.name", ""), ("schema.version", "0")], "", 0),
    ] {
        let (schema, seen) = apply(CLASS, settings, record(Some(&old), value.clone())).unwrap();
        let wanted = structure(name, version).default(default.clone()).build().unwrap();
        assert_eq!(*schema.unwrap(), wanted);
        let Value::Struct(fields) = seen else { panic!() };
        assert_eq!(fields.values[1], text("db"));
        let (schema, seen) = apply(CLASS, settings, record(Some(&old), Value::Null)).unwrap();
        assert_eq!((schema.unwrap().name(), seen), (Some(name), Value::Null));
    }
    let keep = [("schema.name", "N"), ("replace.null.with.default", "false")];
    let (_, seen) = apply(CLASS, &keep, record(Some(&old), value)).unwrap();
    let Value::Struct(fields) = seen else { panic!() };
    assert_eq!(fields.values[1], Value::Null);
}

#[test]
fn schemas_that_are_no_structs_are_renamed_too() {
    let items = Arc::new(Schema::new(Type::Int32));
    let list = Arc::new(SchemaBuilder::array(items.clone()).build().unwrap());
    let value = Value::List(vec![Value::Int(1, Width::W32)]);
    let settings = [("schema.name", "N"), ("schema.version", "2")];
    let (schema, seen) = apply(CLASS, &settings, record(Some(&list), value.clone())).unwrap();
    let wanted = SchemaBuilder::array(items).name("N").version(2).build().unwrap();
    assert_eq!((&*schema.unwrap(), seen), (&wanted, value));
}

#[test]
fn a_logical_name_that_goes_or_comes_leaves_the_encoding() {
    let instant = SchemaBuilder::timestamp().default(Value::Instant(9)).build().unwrap();
    let instant = Arc::new(instant);
    let renamed = apply(CLASS, &[("schema.name", "N")], record(Some(&instant), Value::Instant(5)));
    let (schema, seen) = renamed.unwrap();
    let schema = schema.unwrap();
    assert_eq!((schema.default(), seen), (Some(&Value::int(9)), Value::int(5)));
    let settings = [("schema.name", TIMESTAMP)];
    let (_, seen) = apply(CLASS, &settings, record(Some(&schema), Value::int(6))).unwrap();
    assert_eq!(seen, Value::Instant(6));
    let decimal = Arc::new(SchemaBuilder::decimal(2).build().unwrap());
    let value = Value::Decimal { unscaled: vec![1, 2], scale: 2 };
    let (schema, seen) =
        apply(CLASS, &[("schema.name", "N")], record(Some(&decimal), value.clone())).unwrap();
    assert_eq!(seen, Value::Bytes(vec![1, 2]));
    let back = [("schema.name", data::DECIMAL)];
    assert_eq!(apply(CLASS, &back, record(schema.as_ref(), seen)).unwrap().1, value);
}

#[test]
fn without_a_schema_only_a_tombstone_passes() {
    let settings = [("schema.name", "N")];
    assert_eq!(apply_to(CLASS, &settings, Value::Null).unwrap(), Value::Null);
    assert_eq!(
        apply_to(CLASS, &settings, map_value(&[])).unwrap_err(),
        "DataException: Schema required for [updating schema metadata]"
    );
}

#[test]
fn nothing_to_set_is_a_configuration_error() {
    assert_eq!(config_error(CLASS, &[]), "Neither schema name nor version configured");
    assert_eq!(
        config_error(CLASS, &[("schema.version", "3000000000")]),
        "Invalid value 3000000000 for configuration schema.version: Not a number of type INT"
    );
}
