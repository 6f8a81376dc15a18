//! Debezium's types on a real server: the text form and the binary form store the same, and what was
//! meant.

use crate::value::{Case, Kind, built, check, connection, settings};
use data::{Schema, SchemaBuilder, Type, Value, Width};
use std::sync::Arc;

fn named(name: &str, kind: Type) -> Kind {
    built(SchemaBuilder::new(kind).name(&format!("io.debezium.{name}")))
}

fn all(cases: &[(Kind, Value, &str, &str)]) {
    let (_database, mut c) = connection();
    c.execute("SET intervalstyle = 'postgres'", crate::wire::patience()).expect("a setting");
    let settings = settings(false);
    for (schema, value, sql_type, expect) in cases {
        let case = Case { schema, value: value.clone(), sql_type, expect: Some(expect) };
        check(&mut c, &settings, &case);
    }
}

#[test]
fn times_are_stored_by_their_unit() {
    let us = || Value::int(1_709_294_400_123_456);
    let micro = || named("time.MicroTimestamp", Type::Int64);
    let nano = || named("time.NanoTimestamp", Type::Int64);
    let zoned = || named("time.ZonedTimestamp", Type::String);
    let text = |text: &str| Value::Text(text.to_owned());
    all(&[
        (named("time.Date", Type::Int32), Value::int(19_783), "date", "2024-03-01"),
        (named("time.Time", Type::Int32), Value::int(45_296_789), "time", "12:34:56.789"),
        (named("time.MicroTime", Type::Int64), Value::int(86_400_000_000), "time", "24:00:00"),
        (
            named("time.NanoTime", Type::Int64),
            Value::int(1_002_000),
            "timetz",
            "00:00:00.001002+00",
        ),
        (micro(), us(), "timestamp", "2024-03-01 12:00:00.123456"),
        (micro(), us(), "timestamp(3)", "2024-03-01 12:00:00.123"),
        (micro(), us(), "date", "2024-03-01"),
        (micro(), us(), "int8", "1709294400123456"),
        (nano(), Value::int(1_709_294_400_123_456_500), "timestamp", "2024-03-01 12:00:00.123457"),
        (zoned(), text("2024-03-01T01:30:00+02:00"), "timestamp", "2024-02-29 23:30:00"),
        (zoned(), text("2024-03-01T01:30:00+02:00"), "date", "2024-02-29"),
        (named("time.ZonedTime", Type::String), text("12:34:56Z"), "timetz", "12:34:56+00"),
        (
            named("time.MicroDuration", Type::Int64),
            Value::int(-1_500_001),
            "interval",
            "-00:00:01.500001",
        ),
        (
            named("time.Interval", Type::String),
            text("P1Y2M3DT4H5M6.78S"),
            "interval",
            "1 year 2 mons 3 days 04:05:06.78",
        ),
        (named("time.IsoDate", Type::String), text("2024-03-01Z"), "date", "2024-03-01"),
    ]);
}

// B071
#[test]
fn the_ends_of_time_are_infinity() {
    let of =
        |name: &str, count, to, shown| (named(name, Type::Int64), Value::int(count), to, shown);
    all(&[
        of("time.MicroTimestamp", 9_223_372_036_825_200_000, "timestamp", "infinity"),
        of("time.MicroTimestamp", -9_223_372_036_832_400_000, "timestamptz", "-infinity"),
        of("time.MicroTimestamp", 9_223_372_036_825_200_000, "date", "infinity"),
        of("time.Timestamp", 9_223_372_036_825_200, "timestamp", "infinity"),
        of("time.NanoTimestamp", i64::MAX, "timestamp", "infinity"),
        of("time.NanoTimestamp", i64::MIN, "date", "-infinity"),
    ]);
}

// B066
#[test]
fn decimals_of_any_scale_are_equal_digit_by_digit() {
    let schema = built(
        SchemaBuilder::structure()
            .name("io.debezium.data.VariableScaleDecimal")
            .field("scale", Arc::new(Schema::new(Type::Int32)))
            .field("value", Arc::new(Schema::new(Type::Bytes))),
    );
    let value = |digits: &str| {
        let (unscaled, scale) = data::decimal_from_text(digits).expect("a decimal");
        Value::fields(vec![Value::Int(i64::from(scale), Width::W32), Value::Bytes(unscaled)])
    };
    let cases =
        ["123456789012345678901234567890.123456789", "0.00000000000000000001", "0.00", "-5"]
            .map(|digits| (schema.clone(), value(digits), "numeric", digits));
    all(&cases);
}

#[test]
fn text_types_go_through_the_columns_own_input() {
    let text = |text: &str| Value::Text(text.to_owned());
    let bits = SchemaBuilder::new(Type::Bytes).name("io.debezium.data.Bits");
    let bits = built(bits.parameter("length", "10"));
    let uuid = "6f8a3c1e-0b57-4f3e-9d0a-1c2b3a4d5e6f";
    all(&[
        (named("data.Json", Type::String), text("{\"a\": 1}"), "jsonb", "{\"a\": 1}"),
        (named("data.Xml", Type::String), text("<a/>"), "xml", "<a/>"),
        (named("data.Uuid", Type::String), text(uuid), "uuid", uuid),
        (named("data.Enum", Type::String), text("x"), "text", "x"),
        (bits.clone(), Value::Bytes(vec![3, 1]), "bit(10)", "0100000011"),
        (bits, Value::Bytes(vec![3, 1]), "bit varying", "0100000011"),
    ]);
}
