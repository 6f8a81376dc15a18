//! Values of every kind as JSON.

use super::*;
use crate::builder::SchemaBuilder;
use crate::cell::Width;
use crate::value::Value;
use std::sync::Arc;

#[test]
fn nested_values_keep_digits_and_dates() {
    let decimal = Arc::new(SchemaBuilder::decimal(2).build().unwrap());
    let at = Arc::new(SchemaBuilder::timestamp().build().unwrap());
    let bytes = Arc::new(Schema::new(Type::Bytes));
    let schema = SchemaBuilder::structure()
        .field("d", decimal)
        .field("t", at)
        .field("b", bytes)
        .build()
        .unwrap();
    let mut rows = Rows::default();
    let cell = rows.put_value(
        Some(&schema),
        &Value::fields(vec![
            Value::Decimal { unscaled: vec![0x04, 0xe2], scale: 2 },
            Value::Instant(-1),
            Value::Bytes(vec![1, 2]),
        ]),
    );
    let mut out = Vec::new();
    write_json(&rows, Some(&schema), cell, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, r#"{"d":12.50,"t":"1969-12-31T23:59:59.999Z","b":"AQI="}"#);
}

#[test]
fn schemaless_maps_and_odd_floats() {
    let mut rows = Rows::default();
    let cell = rows.put_value(
        None,
        &Value::Map(vec![
            (Value::Text("a\"\u{1}".to_owned()), Value::Float(f64::NAN)),
            (Value::int(7), Value::List(vec![Value::Null, Value::Bool(true)])),
        ]),
    );
    let mut out = Vec::new();
    write_json(&rows, None, cell, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, r#"{"a\"\u0001":"NaN","7":[null,true]}"#);
    let mut day = Vec::new();
    let date = SchemaBuilder::date().build().unwrap();
    write_json(&rows, Some(&date), Cell::Int(19_783, Width::W32), &mut day);
    assert_eq!(day, b"\"2024-03-01\"");
}

fn marked(kind: Type, name: &str) -> Arc<Schema> {
    let builder = SchemaBuilder::new(kind).optional();
    let builder = match name.split_once(':') {
        Some((parameter, value)) => builder.parameter(parameter, value),
        None => builder.name(name),
    };
    Arc::new(builder.build().unwrap())
}

/// The JSON of a value in a record, in an array and in a map, which must be the same.
fn nested(item: &Arc<Schema>, value: &Value) -> String {
    let built = |builder: SchemaBuilder| Arc::new(builder.build().unwrap());
    let text = Arc::new(Schema::new(Type::String));
    let schema = built(
        SchemaBuilder::structure()
            .field("v", item.clone())
            .field("l", built(SchemaBuilder::array(item.clone())))
            .field("m", built(SchemaBuilder::map(text, item.clone()))),
    );
    let mut rows = Rows::default();
    let cell = rows.put_value(
        Some(&schema),
        &Value::fields(vec![
            value.clone(),
            Value::List(vec![value.clone()]),
            Value::Map(vec![(Value::Text("v".to_owned()), value.clone())]),
        ]),
    );
    let mut out = Vec::new();
    write_plain_json(&rows, Some(&schema), cell, &mut out);
    let all = String::from_utf8(out).unwrap();
    let one = all.strip_prefix("{\"v\":").and_then(|all| all.split_once(",\"l\":")).unwrap().0;
    assert_eq!(all, format!(r#"{{"v":{one},"l":[{one}],"m":{{"v":{one}}}}}"#));
    one.to_owned()
}

/// Bug: what only Avro, Debezium or Protobuf know were bare numbers in nested values.
#[test]
fn nested_values_are_readable_whoever_knows_their_type() {
    let us = 1_709_294_400_123_456;
    let (long, int) = (Type::Int64, Type::Int32);
    for (kind, name, value, wanted) in [
        (long, "avro.logicalType:timestamp-micros", us, "\"2024-03-01T12:00:00.123456Z\""),
        (long, "avro.logicalType:timestamp-micros", -1, "\"1969-12-31T23:59:59.999999Z\""),
        (long, "avro.logicalType:timestamp-nanos", us * 1000, "\"2024-03-01T12:00:00.123456Z\""),
        (long, "avro.logicalType:local-timestamp-micros", us, "\"2024-03-01T12:00:00.123456\""),
        (long, "avro.logicalType:local-timestamp-millis", 1500, "\"1970-01-01T00:00:01.500\""),
        (long, "avro.logicalType:time-micros", 45_296_789_012, "\"12:34:56.789012\""),
        (long, "avro.logicalType:time-micros", -5, "-5"),
        (int, "io.debezium.time.Date", 19_783, "\"2024-03-01\""),
        (int, "io.debezium.time.Time", 1000, "\"00:00:01\""),
        (long, "io.debezium.time.MicroTime", 86_400_000_000, "\"24:00:00\""),
        (long, "io.debezium.time.NanoTime", 1_500, "\"00:00:00.000002\""),
        (long, "io.debezium.time.Timestamp", 0, "\"1970-01-01T00:00:00\""),
        (long, "io.debezium.time.MicroTimestamp", us, "\"2024-03-01T12:00:00.123456\""),
        (long, "io.debezium.time.MicroTimestamp", 9_223_372_036_825_200_000, "\"infinity\""),
        (long, "io.debezium.time.NanoTimestamp", i64::MIN, "\"-infinity\""),
        (long, "io.debezium.time.MicroDuration", 5, "5"),
        (long, "io.confluent.connect.protobuf.Type:uint64", -1, "18446744073709551615"),
        (long, "io.confluent.connect.protobuf.Type:sint64", -1, "-1"),
        (
            long,
            "io.confluent.connect.protobuf.Type:google.protobuf.Duration",
            -90,
            "\"PT-0.00009S\"",
        ),
        (
            long,
            "io.confluent.connect.protobuf.Type:google.protobuf.Duration",
            3_000_000,
            "\"PT3S\"",
        ),
        (int, crate::DATE, 19_783, "\"2024-03-01\""),
    ] {
        assert_eq!(nested(&marked(kind, name), &Value::int(value)), wanted, "{name} {value}");
    }
    let period = Value::Bytes([14u32, 3, 5_007].map(u32::to_le_bytes).concat());
    let duration = marked(Type::Bytes, "avro.logicalType:duration");
    assert_eq!(nested(&duration, &period), "\"P14M3DT5.007S\"");
    let uuid = Value::Text("00000000-0000-0000-0000-000000000007".to_owned());
    let found = nested(&marked(Type::String, "io.debezium.data.Uuid"), &uuid);
    assert_eq!(found, "\"00000000-0000-0000-0000-000000000007\"");
    let decimal = SchemaBuilder::structure().name("io.debezium.data.VariableScaleDecimal");
    let decimal = decimal.field("scale", Arc::new(Schema::new(int)));
    let decimal = Arc::new(decimal.field("value", marked(Type::Bytes, "b")).build().unwrap());
    let value = Value::fields(vec![Value::Int(2, Width::W32), Value::Bytes(vec![0x04, 0xe2])]);
    assert_eq!(nested(&decimal, &value), "12.50");
}

/// Bug: a union in a map or an array kept its branches.
#[test]
fn a_nested_union_is_the_value_that_is_there() {
    let optional = |kind| Arc::new(SchemaBuilder::new(kind).optional().build().unwrap());
    let micros = marked(Type::Int64, "avro.logicalType:timestamp-micros");
    let union = SchemaBuilder::structure().name("io.confluent.connect.avro.Union").optional();
    let union = union.field("string", optional(Type::String)).field("long", micros);
    let union = Arc::new(union.build().unwrap());
    let text = Value::fields(vec![Value::Text("a".to_owned()), Value::Null]);
    assert_eq!(nested(&union, &text), "\"a\"");
    let time = Value::fields(vec![Value::Null, Value::int(1)]);
    assert_eq!(nested(&union, &time), "\"1970-01-01T00:00:00.000001Z\"");
    assert_eq!(nested(&union, &Value::fields(vec![Value::Null, Value::Null])), "null");
    let (mut rows, mut out) = (Rows::default(), Vec::new());
    let cell = rows.put_value(Some(&union), &text);
    write_json(&rows, Some(&union), cell, &mut out);
    assert_eq!(out, br#"{"string":"a","long":null}"#, "as transforms see it");
}

#[test]
fn keys_of_maps_are_text_once() {
    let day = Arc::new(SchemaBuilder::date().build().unwrap());
    let schema = SchemaBuilder::map(day, Arc::new(Schema::new(Type::Int32))).build().unwrap();
    let (mut rows, mut out) = (Rows::default(), Vec::new());
    let entry = (Value::Int(0, Width::W32), Value::Int(1, Width::W32));
    let cell = rows.put_value(Some(&schema), &Value::Map(vec![entry]));
    write_json(&rows, Some(&schema), cell, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), r#"{"1970-01-01":1}"#);
}
