//! Debezium's types in columns, without a server. What the server makes of them is tested in
//! `tests/it/semantic.rs`.

use super::tests::{built, column, form, plain, settings};
use super::*;
use data::{SchemaBuilder, Type, Value, Width};

fn named(name: &str, kind: Type) -> Option<Arc<Schema>> {
    built(SchemaBuilder::new(kind).name(&format!("io.debezium.{name}")))
}

fn count(name: &str, kind: Type, count: i64, to: &str) -> Result<String, &'static str> {
    form(named(name, kind).as_ref(), &Value::int(count), to, &plain())
}

fn long(name: &str, value: i64, to: &str) -> String {
    count(name, Type::Int64, value, to).unwrap()
}

#[test]
fn times_are_read_by_their_unit() {
    let us = 1_709_294_400_123_456;
    assert_eq!(count("time.Date", Type::Int32, 19_783, "date").unwrap(), "2024-03-01");
    assert_eq!(count("time.Date", Type::Int32, 19_783, "int4").unwrap(), "19783");
    assert_eq!(count("time.Time", Type::Int32, 45_296_789, "time").unwrap(), "12:34:56.789");
    for (name, value, to, wanted) in [
        ("time.MicroTime", 45_296_789_012, "time", "12:34:56.789012"),
        ("time.MicroTime", 86_400_000_000, "time", "24:00:00"),
        ("time.NanoTime", 45_296_789_012_345, "timetz", "12:34:56.789012+00"),
        ("time.MicroTime", 1_000_001, "interval", "00:00:01.000001"),
        ("time.Timestamp", 1_709_294_400_123, "timestamp", "2024-03-01 12:00:00.123"),
        ("time.MicroTimestamp", us, "timestamp", "2024-03-01 12:00:00.123456"),
        ("time.MicroTimestamp", us, "timestamptz", "2024-03-01 12:00:00.123456+00"),
        ("time.MicroTimestamp", us, "date", "2024-03-01"),
        ("time.MicroTimestamp", us, "int8", "1709294400123456"),
        ("time.MicroTimestamp", us, "text", "2024-03-01T12:00:00.123456"),
        ("time.MicroTimestamp", us, "jsonb", "\"2024-03-01T12:00:00.123456\""),
        (
            "time.NanoTimestamp",
            1_709_294_400_123_456_789,
            "timestamp",
            "2024-03-01 12:00:00.123457",
        ),
        ("time.MicroDuration", -3_661_000_001, "interval", "-01:01:01.000001"),
        ("time.MicroDuration", 360_000_000_000_000, "interval", "100000:00:00"),
        ("time.NanoDuration", 1_999, "interval", "00:00:00.000001"),
        ("time.MicroDuration", 5, "int8", "5"),
    ] {
        assert_eq!(long(name, value, to), wanted, "{name} {value} into {to}");
    }
    assert_eq!(count("time.MicroTime", Type::Int64, -1, "time"), Err("22008"));
    assert_eq!(count("time.Timestamp", Type::Int64, i64::MAX, "timestamp"), Err("22008"));
}

#[test]
fn a_wall_clock_is_not_moved_to_the_time_zone() {
    let settings = settings(|s| s.timezone = jiff::tz::TimeZone::get("Asia/Tokyo").unwrap());
    let schema = named("time.MicroTimestamp", Type::Int64);
    let value = Value::int(1_709_294_400_000_000);
    let seen = form(schema.as_ref(), &value, "timestamp", &settings).unwrap();
    assert_eq!(seen, "2024-03-01 12:00:00");
}

// B071
#[test]
fn the_ends_of_time_are_infinity() {
    for (name, last, first) in [
        ("time.Timestamp", 9_223_372_036_825_200, -9_223_372_036_832_400),
        ("time.MicroTimestamp", 9_223_372_036_825_200_000, -9_223_372_036_832_400_000),
        ("time.NanoTimestamp", i64::MAX, i64::MIN),
    ] {
        for to in ["timestamp", "timestamptz", "date"] {
            assert_eq!(long(name, last, to), "infinity", "{name} into {to}");
            assert_eq!(long(name, first, to), "-infinity", "{name} into {to}");
        }
    }
    let zoned = named("time.ZonedTimestamp", Type::String);
    let infinity = Value::Text("infinity".to_owned());
    for to in ["timestamp", "timestamptz", "date"] {
        assert_eq!(form(zoned.as_ref(), &infinity, to, &plain()).unwrap(), "infinity");
    }
}

#[test]
fn a_zoned_timestamp_keeps_its_point_in_time_in_a_column_without_a_zone() {
    let zoned = named("time.ZonedTimestamp", Type::String);
    let value = Value::Text("2024-03-01T01:30:00.5+02:00".to_owned());
    let into = |to: &str| form(zoned.as_ref(), &value, to, &plain()).unwrap();
    assert_eq!(into("timestamp"), "2024-02-29 23:30:00.500");
    assert_eq!(into("date"), "2024-02-29");
    assert_eq!(into("timestamptz"), "2024-03-01T01:30:00.5+02:00", "the server reads the offset");
    assert_eq!(into("text"), "2024-03-01T01:30:00.5+02:00");
}

// B066
#[test]
fn a_decimal_of_any_scale_keeps_every_digit() {
    let scale = Arc::new(Schema::new(Type::Int32));
    let bytes = Arc::new(Schema::new(Type::Bytes));
    let schema = SchemaBuilder::structure()
        .name("io.debezium.data.VariableScaleDecimal")
        .field("scale", scale)
        .field("value", bytes);
    let schema = built(schema);
    let digits = "123456789012345678901234567890.123456789";
    let (unscaled, scale) = data::decimal_from_text(digits).unwrap();
    let scale = Value::Int(i64::from(scale), Width::W32);
    let value = Value::fields(vec![scale, Value::Bytes(unscaled)]);
    let into = |to: &str| form(schema.as_ref(), &value, to, &plain());
    for to in ["numeric", "text", "jsonb"] {
        assert_eq!(into(to).unwrap(), digits, "{to}");
    }
    assert!(into("int8").is_err(), "a fraction is no integer");
    let encoder = Encoder::new(schema.as_ref(), &column("numeric"), &plain());
    assert!(encoder.has_binary() && encoder.accepts().is_ok());
}

#[test]
fn bits_are_written_from_the_highest_down() {
    let bits = |length: Option<&str>| {
        let builder = SchemaBuilder::new(Type::Bytes).name("io.debezium.data.Bits");
        built(length.into_iter().fold(builder, |b, n| b.parameter("length", n)))
    };
    let value = Value::Bytes(vec![0b0000_0011, 0b1]);
    for (length, wanted) in
        [(Some("10"), "0100000011"), (Some("12"), "000100000011"), (None, "0000000100000011")]
    {
        let schema = bits(length);
        assert_eq!(form(schema.as_ref(), &value, "varbit", &plain()).unwrap(), wanted);
    }
    let raw = form(bits(Some("10")).as_ref(), &value, "bytea", &plain()).unwrap();
    assert_eq!(raw, "\\x0301");
}

#[test]
fn a_geometry_brings_its_reference_system() {
    let (bytes, srid) = (Arc::new(Schema::new(Type::Bytes)), Arc::new(Schema::new(Type::Int32)));
    let schema = SchemaBuilder::structure()
        .name("io.debezium.data.geometry.Geometry")
        .field("wkb", bytes)
        .field("srid", srid);
    let value = |srid| Value::fields(vec![Value::Bytes(vec![1, 2]), srid]);
    let schema = built(schema);
    let into = |value: &Value| form(schema.as_ref(), value, "geometry", &plain()).unwrap();
    assert_eq!(into(&value(Value::Int(4326, Width::W32))), "SRID=4326;0102");
    assert_eq!(into(&value(Value::Null)), "0102");
}

#[test]
fn elements_of_arrays_have_their_meaning_too() {
    let items = named("time.Date", Type::Int32).unwrap();
    let schema = built(SchemaBuilder::array(items));
    let value = Value::List(vec![Value::int(19_783), Value::Null]);
    let seen = form(schema.as_ref(), &value, "date[]", &plain()).unwrap();
    assert_eq!(seen, "{\"2024-03-01\",NULL}");
}

#[test]
fn times_under_a_schema_of_integers_are_integers() {
    let odd = built(SchemaBuilder::new(Type::Int32).name(data::TIMESTAMP));
    let text = |schema: Option<&Arc<Schema>>| form(schema, &Value::Instant(5), "int4", &plain());
    assert_eq!(text(odd.as_ref()), Ok("5".to_owned()), "the name contradicts the type");
    assert_eq!(text(None), Err("42804"));
}

fn logical(name: &str, kind: Type) -> Option<Arc<Schema>> {
    built(SchemaBuilder::new(kind).parameter(data::AVRO_LOGICAL_TYPE, name))
}

#[test]
fn logical_types_of_avro_are_read_as_what_they_are() {
    let us = 1_709_294_400_123_456;
    for (name, value, to, wanted) in [
        ("timestamp-micros", us, "timestamptz", "2024-03-01 12:00:00.123456+00"),
        ("timestamp-micros", us, "timestamp", "2024-03-01 12:00:00.123456"),
        ("timestamp-micros", us, "int8", "1709294400123456"),
        ("timestamp-micros", us, "text", "2024-03-01T12:00:00.123456Z"),
        ("timestamp-micros", -1, "jsonb", "\"1969-12-31T23:59:59.999999Z\""),
        (
            "timestamp-nanos",
            1_709_294_400_123_456_789,
            "timestamptz",
            "2024-03-01 12:00:00.123457+00",
        ),
        ("local-timestamp-millis", 1_709_294_400_123, "timestamp", "2024-03-01 12:00:00.123"),
        ("local-timestamp-micros", us, "timestamp", "2024-03-01 12:00:00.123456"),
        ("time-micros", 45_296_789_012, "time", "12:34:56.789012"),
    ] {
        let schema = logical(name, Type::Int64);
        let seen = form(schema.as_ref(), &Value::int(value), to, &plain()).unwrap();
        assert_eq!(seen, wanted, "{name} {value} into {to}");
    }
    let uuid = logical("uuid", Type::String);
    let text = Value::Text("00000000-0000-0000-0000-000000000007".to_owned());
    let seen = form(uuid.as_ref(), &text, "uuid", &plain()).unwrap();
    assert_eq!(seen, "00000000-0000-0000-0000-000000000007");
}

/// A point in time is one wherever the database is; in a column without a time zone it is its clock.
#[test]
fn only_points_in_time_are_moved_to_the_time_zone() {
    let settings = settings(|s| s.timezone = jiff::tz::TimeZone::get("Asia/Tokyo").unwrap());
    let at = |name| {
        let value = Value::int(1_709_294_400_000_001);
        form(logical(name, Type::Int64).as_ref(), &value, "timestamp", &settings).unwrap()
    };
    assert_eq!(at("timestamp-micros"), "2024-03-01 21:00:00.000001");
    assert_eq!(at("local-timestamp-micros"), "2024-03-01 12:00:00.000001");
}

#[test]
fn a_duration_is_an_interval_of_months_days_and_milliseconds() {
    let schema = logical("duration", Type::Bytes);
    let bytes = |parts: [u32; 3]| Value::Bytes(parts.map(u32::to_le_bytes).concat());
    let to = |value: Value, to| form(schema.as_ref(), &value, to, &plain());
    assert_eq!(to(bytes([14, 3, 5_007]), "interval").unwrap(), "P14M3DT5.007S");
    assert_eq!(to(bytes([0, 0, 0]), "text").unwrap(), "P0M0DT0S");
    assert_eq!(to(Value::Bytes(vec![1, 2]), "interval"), Err("42804"));
    assert_eq!(to(bytes([1, 0, 0]), "bytea").unwrap(), "\\x010000000000000000000000");
}

#[test]
fn a_column_gets_the_branch_of_a_union_that_has_a_value() {
    let optional = |kind| Arc::new(SchemaBuilder::new(kind).optional().build().unwrap());
    let union = |name: &str| {
        let builder = SchemaBuilder::structure().name(name).optional();
        let builder = builder.field("int", optional(Type::Int32));
        built(builder.field("string", optional(Type::String)))
    };
    let number = || Value::fields(vec![Value::Int(7, Width::W32), Value::Null]);
    let text = || Value::fields(vec![Value::Null, Value::Text("9".to_owned())]);
    for name in [
        "io.confluent.connect.avro.Union",
        "io.confluent.connect.json.OneOf",
        "io.confluent.connect.protobuf.Union.kind",
    ] {
        let schema = union(name);
        let to = |value: &Value, to| form(schema.as_ref(), value, to, &plain());
        assert_eq!(to(&number(), "int4").unwrap(), "7");
        assert_eq!(to(&text(), "int4").unwrap(), "9");
        assert_eq!(to(&number(), "jsonb").unwrap(), "7");
        assert_eq!(to(&number(), "text").unwrap(), "7");
        let none = Value::fields(vec![Value::Null, Value::Null]);
        assert_eq!(to(&none, "int4").unwrap(), "");
        assert_eq!(to(&text(), "jsonb").unwrap(), "\"9\"");
    }
    assert_eq!(form(union("a.Record").as_ref(), &number(), "int4", &plain()), Err("42804"));
    let builder = SchemaBuilder::structure().name("io.confluent.connect.avro.Union").optional();
    let schema = built(builder.field("bytes", optional(Type::Bytes)));
    let to =
        |to| form(schema.as_ref(), &Value::fields(vec![Value::Bytes(vec![1, 255])]), to, &plain());
    assert_eq!(to("bytea").unwrap(), "\\x01ff");
    assert_eq!(to("jsonb").unwrap(), "\"Af8=\"", "as bytes in objects are");
}

#[test]
fn members_of_composites_keep_their_meaning() {
    let long = |name: &str| {
        let builder = SchemaBuilder::new(Type::Int64).parameter(data::AVRO_LOGICAL_TYPE, name);
        built(builder).unwrap()
    };
    let schema = built(
        SchemaBuilder::structure()
            .field("at", long("timestamp-micros"))
            .field("clock", long("time-micros")),
    );
    let mut composite = ColumnType::scalar(90_001, "visit", 'c');
    composite.attributes =
        vec![("clock".into(), column("time")), ("at".into(), column("timestamptz"))];
    let mut rows = Rows::default();
    let value = Value::fields(vec![Value::int(1_709_294_400_123_456), Value::int(1_000_001)]);
    let cell = rows.put_value(None, &value);
    let mut out = Vec::new();
    Encoder::new(schema.as_ref(), &composite, &plain()).text(cell, &rows, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "(\"00:00:01.000001\",\"2024-03-01 12:00:00.123456+00\")");
}

fn protobuf(name: &str) -> Option<Arc<Schema>> {
    built(SchemaBuilder::new(Type::Int64).parameter(data::PROTOBUF_TYPE, name))
}

/// Bug: numbers without a sign beyond 2^63 were negative.
#[test]
fn numbers_without_a_sign_are_exact_or_refused() {
    let (schema, value) = (protobuf("uint64"), Value::int(-1));
    let to = |to| form(schema.as_ref(), &value, to, &plain());
    for target in ["numeric", "jsonb", "text"] {
        assert_eq!(to(target).unwrap(), "18446744073709551615", "{target}");
    }
    assert_eq!(to("int8"), Err("22003"));
    assert_eq!(form(schema.as_ref(), &Value::int(7), "int8", &plain()).unwrap(), "7");
    let foreign = settings(|s| s.types = TypeDialect::CJdbc);
    assert_eq!(form(schema.as_ref(), &value, "int8", &foreign).unwrap(), "-1", "as it was there");
    let (mut rows, mut out) = (Rows::default(), Vec::new());
    let cell = rows.put_value(schema.as_deref(), &value);
    let copied = Encoder::new(schema.as_ref(), &column("int8"), &plain());
    assert!(copied.copy_binary(cell, &rows, &mut out).is_err() && out.is_empty());
}

#[test]
fn a_duration_of_protobuf_is_an_interval_and_readable_text() {
    let schema = protobuf("google.protobuf.Duration");
    let to = |us, to| form(schema.as_ref(), &Value::int(us), to, &plain()).unwrap();
    assert_eq!(to(-3_661_000_001, "interval"), "-01:01:01.000001");
    assert_eq!(to(1_500_000, "text"), "PT1.5S");
    assert_eq!(to(-90, "jsonb"), "\"PT-0.00009S\"");
}

/// Bug: in a union a time was the bare number of its type.
#[test]
fn a_branch_of_a_union_keeps_its_meaning() {
    let micros =
        SchemaBuilder::new(Type::Int64).parameter(data::AVRO_LOGICAL_TYPE, "timestamp-micros");
    let union = SchemaBuilder::structure().name("io.confluent.connect.avro.Union").optional();
    let union = built(union.field("long", built(micros.optional()).unwrap()));
    let to = |to| form(union.as_ref(), &Value::fields(vec![Value::int(1)]), to, &plain()).unwrap();
    assert_eq!(to("timestamptz"), "1970-01-01 00:00:00.000001+00");
    assert_eq!(to("jsonb"), "\"1970-01-01T00:00:00.000001Z\"");
    assert_eq!(to("int8"), "1");
}
