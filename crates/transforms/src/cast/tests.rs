//! The rules of Cast, each on a record of its own.

use super::*;
use crate::testing::{apply, apply_all, apply_to, config_error, made, map_value, record, text};
use data::TIMESTAMP;

const CLASS: &str = "Cast$Value";

fn new(kind: Type) -> Arc<Schema> {
    Schema::required_of(kind)
}

/// Casts a whole value under its schema.
fn whole(schema: &Arc<Schema>, value: Value, target: &str) -> Result<Value, String> {
    apply(CLASS, &[("spec", target)], record(Some(schema), value)).map(|(_, value)| value)
}

fn int(value: i64, width: Width) -> Value {
    Value::Int(value, width)
}

fn decimal(digits: &str, scale: i32) -> Value {
    let unscaled = digits.parse::<num_bigint::BigInt>().unwrap().to_signed_bytes_be();
    Value::Decimal { unscaled, scale }
}

#[test]
fn integers_wrap_and_floats_are_cut() {
    for (value, target, wanted) in [
        (int(300, Width::W16), "int8", int(44, Width::W8)),
        (int(i64::MAX, Width::W64), "int16", int(-1, Width::W16)),
        (int(70_000, Width::W32), "INT8", int(112, Width::W8)),
        (Value::Float(-2.7), "int64", Value::int(-2)),
        (Value::Float(1e20), "int16", int(-1, Width::W16)),
        (Value::Float(1e20), "int32", int(i64::from(i32::MAX), Width::W32)),
        (Value::Float(1e20), "int64", Value::int(i64::MAX)),
        (Value::Float(f64::NAN), "int64", Value::int(0)),
        (Value::Float32(3.99), "int8", int(3, Width::W8)),
        (Value::Bool(true), "float64", Value::Float(1.0)),
        (Value::int(-4_294_967_297), "float32", Value::Float32(-4_294_967_300.0)),
        (Value::Float(0.9), "boolean", Value::Bool(false)),
        (Value::Float(-1.5), "boolean", Value::Bool(true)),
        (Value::int(2), "boolean", Value::Bool(true)),
    ] {
        assert_eq!(apply_to(CLASS, &[("spec", target)], value).unwrap(), wanted, "{target}");
    }
}

#[test]
fn text_has_to_be_a_number_of_the_range() {
    for (value, target, wanted) in [
        ("+5", "int8", Some(int(5, Width::W8))),
        ("\u{ff11}\u{ff12}", "int64", Some(Value::int(12))),
        ("1e3", "float32", Some(Value::Float32(1000.0))),
        (" 1.25f ", "float64", Some(Value::Float(1.25))),
        ("TrUe", "boolean", Some(Value::Bool(true))),
        ("1", "boolean", Some(Value::Bool(false))),
        ("300", "int8", None),
        ("1.0", "int32", None),
        (" 7", "int32", None),
        ("", "float64", None),
        ("x", "float32", None),
    ] {
        let seen = apply_to(CLASS, &[("spec", target)], text(value));
        let refused =
            format!("DataException: Value ({value}) was out of range for requested data type");
        assert_eq!(seen, wanted.ok_or(refused));
    }
}

#[test]
fn everything_has_a_text() {
    let date = Arc::new(SchemaBuilder::date().build().unwrap());
    let time = Arc::new(SchemaBuilder::time().build().unwrap());
    let timestamp = Arc::new(SchemaBuilder::timestamp().build().unwrap());
    let scaled = Arc::new(SchemaBuilder::decimal(9).build().unwrap());
    for (schema, value, wanted) in [
        (new(Type::Int64), Value::int(i64::MIN), "-9223372036854775808"),
        (new(Type::Int8), int(0, Width::W8), "0"),
        (new(Type::Float64), Value::Float(1e20), "1.0E20"),
        (new(Type::Float32), Value::Float32(0.1), "0.1"),
        (new(Type::Boolean), Value::Bool(false), "false"),
        (new(Type::Bytes), Value::Bytes(vec![0, 1, 255]), "AAH/"),
        (scaled, decimal("12", 9), "1.2E-8"),
        (date, Value::Instant(1_728_000_000_000), "2024-10-04"),
        (time, Value::Instant(45_296_789), "12:34:56.789Z"),
        (timestamp.clone(), Value::Instant(1_700_000_000_123), "2023-11-14T22:13:20.123Z"),
        (timestamp.clone(), Value::Instant(-1), "23:59:59.999Z"),
        (timestamp, Value::Instant(259_200_000), "1970-01-04"),
    ] {
        assert_eq!(whole(&schema, value, "string").unwrap(), text(wanted));
    }
}

#[test]
fn logical_types_are_cast_by_their_encoding() {
    let scaled = |scale| Arc::new(SchemaBuilder::decimal(scale).build().unwrap());
    let date = Arc::new(SchemaBuilder::date().build().unwrap());
    let big = "1000000000000000000000000";
    for (schema, value, target, wanted) in [
        (scaled(2), decimal("-12345", 2), "int16", int(-123, Width::W16)),
        (scaled(2), decimal("-12345", 2), "float64", Value::Float(-123.45)),
        (scaled(0), decimal(big, 0), "int64", Value::int(2_003_764_205_206_896_640)),
        (scaled(-3), decimal("12", -3), "float32", Value::Float32(12_000.0)),
        (scaled(1), decimal("9", 1), "boolean", Value::Bool(false)),
        (scaled(30), decimal("15", 30), "float64", Value::Float(1.5e-29)),
        (date, Value::Instant(1_728_000_000_000), "int8", int(32, Width::W8)),
    ] {
        assert_eq!(whole(&schema, value, target).unwrap(), wanted, "{target}");
    }
}

#[test]
fn a_whole_value_keeps_the_name_of_its_schema() {
    let schema = SchemaBuilder::timestamp().doc("d").parameter("k", "v").optional();
    let schema = Arc::new(schema.build().unwrap());
    let spec = [("spec", "int64")];
    let (seen, value) = apply(CLASS, &spec, record(Some(&schema), Value::Instant(7))).unwrap();
    assert_eq!(seen.as_ref(), Some(&schema));
    assert_eq!(value, Value::int(7), "a plain integer, whatever the name says");
    let spec = [("spec", "string")];
    let (seen, value) = apply(CLASS, &spec, record(seen.as_ref(), value)).unwrap();
    let seen = seen.unwrap();
    assert_eq!((seen.kind(), seen.name(), seen.doc()), (Type::String, Some(TIMESTAMP), Some("d")));
    assert_eq!((seen.is_optional(), value), (true, text("7")));
    let schema = SchemaBuilder::new(Type::Int32).default(int(3, Width::W32)).build().unwrap();
    let schema = Arc::new(schema);
    let (seen, _) = apply(CLASS, &spec, record(Some(&schema), int(1, Width::W32))).unwrap();
    assert_eq!(seen.unwrap().default(), Some(&text("3")));
}

#[test]
fn fields_get_plain_schemas_and_defaults_are_cast_too() {
    let a = SchemaBuilder::new(Type::Int32).name("N").optional().default(int(9, Width::W32));
    let builder = |a: SchemaBuilder| {
        SchemaBuilder::structure()
            .name("R")
            .optional()
            .field("a", Arc::new(a.build().unwrap()))
            .field("b", Schema::required_of(Type::String))
    };
    let schema = builder(a).default(Value::fields(vec![int(7, Width::W32), text("x")]));
    let schema = Arc::new(schema.build().unwrap());
    let value = Value::fields(vec![Value::Null, text("5")]);
    let spec = [("spec", "a:string,zz:int8")];
    let (seen, value_seen) = apply(CLASS, &spec, record(Some(&schema), value.clone())).unwrap();
    let cast = SchemaBuilder::new(Type::String).optional().default(text("9"));
    let wanted = builder(cast).default(Value::fields(vec![text("7"), text("x")]));
    assert_eq!(*seen.unwrap(), wanted.build().unwrap());
    let Value::Struct(fields) = value_seen else { panic!() };
    assert_eq!(fields.values, [text("9"), text("5")]);
    let keep = [("spec", "a:string"), ("replace.null.with.default", "false")];
    let (_, seen) = apply(CLASS, &keep, record(Some(&schema), value)).unwrap();
    let Value::Struct(fields) = seen else { panic!() };
    assert_eq!(fields.values, [Value::Null, text("5")]);
}

#[test]
fn a_default_that_cannot_be_cast_refuses_every_record() {
    let field = SchemaBuilder::new(Type::String).default(text("x")).build().unwrap();
    let schema = SchemaBuilder::structure().field("a", Arc::new(field)).build().unwrap();
    let one = record(Some(&Arc::new(schema)), Value::fields(vec![text("1")]));
    let mut transform = made(CLASS, &[("spec", "a:int8")]);
    for seen in apply_all(transform.as_mut(), &[one.clone(), one]) {
        assert!(seen.unwrap_err().contains("Value (x) was out of range"));
    }
}

#[test]
fn members_are_cast_and_missing_ones_are_nulls() {
    let value = map_value(&[("a", Value::int(5)), ("b", text("7")), ("c", Value::Null)]);
    let spec = [("spec", "b:int64,zz:int8,c:string,a:float32")];
    assert_eq!(
        apply_to(CLASS, &spec, value).unwrap(),
        map_value(&[
            ("a", Value::Float32(5.0)),
            ("b", Value::int(7)),
            ("c", Value::Null),
            ("zz", Value::Null),
        ])
    );
}

#[test]
fn nulls_pass_unchanged() {
    let optional = Schema::optional_of(Type::Int32);
    let spec = [("spec", "string")];
    let (seen, value) = apply(CLASS, &spec, record(Some(&optional), Value::Null)).unwrap();
    assert_eq!((seen, value), (Some(optional), Value::Null));
    assert_eq!(apply_to(CLASS, &[("spec", "a:int8")], Value::Null).unwrap(), Value::Null);
}

#[test]
fn what_is_not_cast_is_named() {
    let list = Value::List(vec![Value::int(1)]);
    let items = Arc::new(SchemaBuilder::array(new(Type::Int64)).build().unwrap());
    let unsupported = "DataException: Cast transformation does not support casting from ARRAY; \
                       supported types are [INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, \
                       STRING, BYTES]";
    assert_eq!(whole(&items, list.clone(), "int8").unwrap_err(), unsupported);
    assert_eq!(apply_to(CLASS, &[("spec", "int8")], list).unwrap_err(), unsupported);
    for (value, wanted) in [
        (Value::Bytes(vec![1]), "Unexpected type in Cast transformation: class [B"),
        (
            decimal("1", 0),
            "Cast transformation was passed a value of type class java.math.BigDecimal which is \
             not supported by Connect's data API",
        ),
        (map_value(&[]), "Cast transformation does not support casting from MAP; "),
    ] {
        let refused = apply_to(CLASS, &[("spec", "int8")], value).unwrap_err();
        assert!(refused.contains(wanted), "{refused}");
    }
    let refused = apply_to(CLASS, &[("spec", "a:int8")], text("x")).unwrap_err();
    assert!(refused.contains("[cast types], found: java.lang.String"), "{refused}");
    let refused =
        apply(CLASS, &[("spec", "a:int8")], record(Some(&new(Type::Int8)), int(1, Width::W8)));
    assert!(refused.unwrap_err().contains("[cast types], found: java.lang.Byte"));
}

#[test]
fn an_empty_spec_is_a_configuration_error() {
    assert_eq!(config_error(CLASS, &[("spec", "")]), "Must specify at least one field to cast.");
    assert_eq!(
        config_error(CLASS, &[]),
        "Missing required configuration \"spec\" which has no default value."
    );
    assert_eq!(
        config_error(CLASS, &[("spec", "a:b")]),
        "Invalid value a:b for configuration spec: Invalid type found in casting spec: b"
    );
}
