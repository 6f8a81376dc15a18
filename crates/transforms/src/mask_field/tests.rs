//! The rules of MaskField, each on a record of its own.

use super::*;
use crate::testing::{apply, apply_to, config_error, map_value, record, text};
use data::{SchemaBuilder, Type, Value, Width};

const CLASS: &str = "MaskField$Value";

/// Masks the only field of a struct.
fn in_struct(schema: &Schema, value: Value, replacement: &str) -> Result<Value, String> {
    let schema = Arc::new(schema.clone());
    let of = SchemaBuilder::structure().name("M").optional().field("f", schema).build().unwrap();
    let of = Arc::new(of);
    let mut settings = vec![("fields", "f")];
    settings.extend(Some(("replacement", replacement)).filter(|(_, text)| !text.is_empty()));
    let (seen, value) = apply(CLASS, &settings, record(Some(&of), Value::fields(vec![value])))?;
    assert!(Arc::ptr_eq(&seen.unwrap(), &of), "the schema stays");
    let Value::Struct(mut fields) = value else { panic!("{value:?}") };
    Ok(fields.values.remove(0))
}

/// Masks the only member of a map.
fn in_map(value: Value, replacement: &str) -> Result<Value, String> {
    let mut settings = vec![("fields", "f")];
    settings.extend(Some(("replacement", replacement)).filter(|(_, text)| !text.is_empty()));
    let seen = apply_to(CLASS, &settings, map_value(&[("f", value)]))?;
    let Value::Map(mut members) = seen else { panic!("{seen:?}") };
    Ok(members.remove(0).1)
}

fn decimal(digits: &str, scale: i32) -> Value {
    let unscaled = digits.parse::<num_bigint::BigInt>().unwrap().to_signed_bytes_be();
    Value::Decimal { unscaled, scale }
}

fn built(builder: SchemaBuilder) -> Schema {
    builder.build().unwrap()
}

#[test]
fn every_class_has_an_empty_value() {
    let int = |value, width| Value::Int(value, width);
    for (value, wanted) in [
        (Value::Bool(true), Value::Bool(false)),
        (int(1, Width::W8), int(0, Width::W8)),
        (int(2, Width::W16), int(0, Width::W16)),
        (int(3, Width::W32), int(0, Width::W32)),
        (int(4, Width::W64), int(0, Width::W64)),
        (Value::Float32(1.5), Value::Float32(0.0)),
        (Value::Float(1.5), Value::Float(0.0)),
        (text("x"), text("")),
        (decimal("150", 2), decimal("0", 0)),
        (Value::BigInteger(vec![9; 20]), Value::BigInteger(vec![0])),
        (Value::Instant(9), Value::Instant(0)),
        (Value::List(vec![text("x")]), Value::List(Vec::new())),
        (map_value(&[("a", text("x"))]), map_value(&[])),
        (Value::Null, Value::Null),
    ] {
        assert_eq!(in_map(value, "").unwrap(), wanted);
    }
    assert_eq!(
        in_map(Value::Bytes(vec![1]), "").unwrap_err(),
        "DataException: Cannot mask value of type: class [B"
    );
}

#[test]
fn under_a_schema_the_value_is_of_the_schema() {
    let new = |kind| Schema::new(kind);
    let items = Arc::new(new(Type::Int8));
    for (schema, value, wanted) in [
        (new(Type::Float32), Value::Float32(1.5), Value::Float32(0.0)),
        (new(Type::Int16), Value::Int(5, Width::W16), Value::Int(0, Width::W16)),
        (built(SchemaBuilder::decimal(2)), decimal("150", 2), decimal("0", 2)),
        (built(SchemaBuilder::decimal(-3)), decimal("150", -3), decimal("0", -3)),
        (built(SchemaBuilder::date()), Value::Instant(86_400_000), Value::Instant(0)),
        (built(SchemaBuilder::time()), Value::Instant(5), Value::Instant(0)),
        (built(SchemaBuilder::timestamp()), Value::Instant(5), Value::Instant(0)),
        (
            built(SchemaBuilder::array(items)),
            Value::List(vec![Value::Int(1, Width::W8)]),
            Value::List(Vec::new()),
        ),
        (built(SchemaBuilder::new(Type::String).optional()), Value::Null, Value::Null),
        (
            built(SchemaBuilder::new(Type::String).optional().default(text("dd"))),
            Value::Null,
            text(""),
        ),
    ] {
        assert_eq!(in_struct(&schema, value, "").unwrap(), wanted, "{schema:?}");
    }
    let refused = in_struct(&new(Type::Bytes), Value::Bytes(vec![1]), "").unwrap_err();
    assert!(refused.ends_with("class [B"), "{refused}");
}

#[test]
fn numbers_and_texts_take_a_replacement() {
    for (value, replacement, wanted) in [
        (Value::Int(1, Width::W8), "300", Value::Int(44, Width::W8)),
        (Value::Int(1, Width::W16), "-1.9", Value::Int(-1, Width::W16)),
        (Value::Int(1, Width::W32), "1e3", Value::Int(1000, Width::W32)),
        (Value::int(1), "18446744073709551617", Value::int(1)),
        (Value::Float32(1.0), "0.1", Value::Float32(0.1)),
        (Value::Float(1.0), "1e400", Value::Float(f64::INFINITY)),
        (text("x"), "***", text("***")),
        (decimal("150", 2), "1.500", decimal("1500", 3)),
        (Value::BigInteger(vec![9; 20]), "-007", Value::BigInteger(vec![0xf9])),
    ] {
        assert_eq!(in_map(value, replacement).unwrap(), wanted, "{replacement}");
    }
    let seen = in_struct(&Schema::new(Type::Float32), Value::Float32(1.0), "0.1").unwrap();
    assert_eq!(seen, Value::Float32(0.1));
}

#[test]
fn a_decimal_gets_the_replacement_at_its_schemas_scale() {
    let schema = built(SchemaBuilder::decimal(2));
    for (replacement, wanted) in [("1.5", "150"), ("2", "200"), ("1.500", "150"), ("1e1", "1000")] {
        let seen = in_struct(&schema, decimal("7", 2), replacement).unwrap();
        assert_eq!(seen, decimal(wanted, 2), "{replacement}");
    }
    for replacement in ["1.555", "1e999999"] {
        let refused = in_struct(&schema, decimal("7", 2), replacement).unwrap_err();
        assert!(refused.starts_with("DataException: ") && refused.contains("scale 2"), "{refused}");
    }
}

#[test]
fn a_replacement_of_another_class_is_refused() {
    for (value, replacement, wanted) in [
        (Value::int(1), "x", "Unable to convert x (class java.lang.String) to a number"),
        (Value::Float(1.0), "NaN", "Unable to convert NaN (class java.lang.String) to a number"),
        (decimal("1", 0), "x", "Unable to convert x (class java.lang.String) to number"),
        (
            Value::BigInteger(vec![9; 20]),
            "1.5",
            "Unable to convert 1.5 (class java.lang.String) to number",
        ),
        (
            Value::Bool(true),
            "1",
            "Cannot mask value of type class java.lang.Boolean with custom replacement.",
        ),
        (
            Value::Instant(1),
            "1",
            "Cannot mask value of type class java.util.Date with custom replacement.",
        ),
        (
            Value::List(Vec::new()),
            "1",
            "Cannot mask value of type class java.util.ArrayList with custom replacement.",
        ),
    ] {
        let refused = in_map(value, replacement).unwrap_err();
        assert_eq!(refused, format!("DataException: {wanted}"));
    }
}

#[test]
fn fields_that_are_not_there_become_nulls_of_a_map_and_nothing_of_a_struct() {
    let seen = apply_to(CLASS, &[("fields", "zz,a")], map_value(&[("a", text("x"))])).unwrap();
    assert_eq!(seen, map_value(&[("a", text("")), ("zz", Value::Null)]));
    let schema =
        Arc::new(built(SchemaBuilder::structure().field("a", Arc::new(Schema::new(Type::Int8)))));
    let value = Value::fields(vec![Value::Int(1, Width::W8)]);
    let (_, seen) =
        apply(CLASS, &[("fields", "zz")], record(Some(&schema), value.clone())).unwrap();
    let Value::Struct(fields) = seen else { panic!() };
    assert_eq!(Value::fields(fields.values), value);
}

#[test]
fn a_null_record_is_refused() {
    assert_eq!(
        apply_to(CLASS, &[("fields", "a")], Value::Null).unwrap_err(),
        "DataException: Only Map objects supported in absence of schema for [mask fields], found: null"
    );
    let schema = Arc::new(built(SchemaBuilder::structure().optional()));
    assert_eq!(
        apply(CLASS, &[("fields", "a")], record(Some(&schema), Value::Null)).unwrap_err(),
        "DataException: Only Struct objects supported for [mask fields], found: null"
    );
}

#[test]
fn no_fields_and_an_empty_replacement_are_configuration_errors() {
    assert_eq!(
        config_error(CLASS, &[("fields", "")]),
        "Configuration 'fields' must not be empty. Valid values include: any non-empty value"
    );
    assert_eq!(
        config_error(CLASS, &[("fields", "a"), ("replacement", " ")]),
        "Invalid value  for configuration replacement: String must be non-empty"
    );
}
