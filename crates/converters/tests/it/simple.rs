//! Converters of one value: numbers, booleans, and text that says data.

use crate::{batch, converter, json};
use api::{Encoded, Side, Topics};
use data::{
    Cell, RawBatchBuilder, Rows, Schema, Stage, TimestampType, TopicPartition, Type, Value,
};
use std::sync::Arc;

/// A row of one value, encoded.
fn encoded(name: &str, schema: Option<&Arc<Schema>>, value: Value) -> Result<Vec<u8>, String> {
    let mut rows = Rows::default();
    let cell = rows.put_value(schema.map(AsRef::as_ref), &value);
    rows.push(schema, cell);
    let mut out = Encoded::default();
    match converter(name, &[]).encode(Topics::One("t"), &rows, &mut out).unwrap().pop() {
        Some(error) => Err(error.message),
        None => Ok(out.get(0).expect("a value").to_vec()),
    }
}

#[test]
fn numbers_are_read_and_written_big_endian() {
    for (name, bytes, value) in [
        ("Short", &[0xff, 0xfe][..], Value::Int(-2, data::Width::W16)),
        ("Integer", &[1, 2, 3, 4], Value::Int(0x0102_0304, data::Width::W32)),
        ("Long", &[0xff; 8], Value::int(-1)),
        ("Float", &[0x3f, 0xc0, 0, 0], Value::Float32(1.5)),
        ("Double", &[0x7f, 0xf0, 0, 0, 0, 0, 0, 0], Value::Float(f64::INFINITY)),
        ("Boolean", &[1], Value::Bool(true)),
    ] {
        let mut batch = batch(&[Some(bytes), None, Some(b"12345")]);
        converter(name, &[]).decode(Side::Value, &mut batch);
        let rows = &batch.values;
        let schema = rows.schema(0).unwrap();
        assert!(schema.is_optional() && rows.runs().len() == 1);
        assert_eq!(rows.value(Some(schema), rows.root(0)), value, "{name}");
        assert_eq!(rows.root(1), Cell::Null);
        assert_eq!((batch.alive.count(), batch.rejects[0].row), (2, 2));
        let word = name.to_lowercase();
        assert_eq!(batch.rejects[0].message, format!("Failed to deserialize {word}: "));
        let mut out = Encoded::default();
        assert!(converter(name, &[]).encode(Topics::One("t"), rows, &mut out).unwrap().is_empty());
        assert_eq!((out.get(0), out.get(1)), (Some(bytes), None), "{name}");
        assert_eq!(encoded(name, None, value).unwrap(), bytes, "{name}, schemaless");
    }
}

#[test]
fn numbers_are_not_widened() {
    let short = Value::Int(1, data::Width::W16);
    let of = |name, value: &Value| encoded(name, None, value.clone()).unwrap_err();
    assert_eq!(
        of("Integer", &short),
        "Failed to serialize to integer (was class java.lang.Short): "
    );
    assert_eq!(
        of("Float", &Value::Float(1.5)),
        "Failed to serialize to float (was class java.lang.Double): "
    );
    assert_eq!(
        of("Boolean", &short),
        "BooleanConverter is not compatible with objects of type class java.lang.Short"
    );
    let date = encoded("Integer", Some(&Schema::date()), Value::Instant(0)).unwrap_err();
    assert_eq!(date, "Failed to serialize to integer (was class java.util.Date): ");
    // The schema's type is not looked at.
    let text = Schema::required_of(Type::String);
    assert_eq!(encoded("Short", Some(&text), short).unwrap(), [0, 1]);
}

#[test]
fn headers_say_data_and_keep_what_they_do_not_say() {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    let headers: [(&str, Option<&[u8]>); 8] = [
        ("number", Some(b"123")),
        ("text", Some(b"hello")),
        ("list", Some(b"[1, 300]")),
        ("null", Some(b"null")),
        ("absent", None),
        ("invalid", Some(b"12\xff")),
        ("trailing", Some(b"10:30")),
        ("date", Some(b"2019-08-23")),
    ];
    for (name, value) in headers {
        builder.header(name, value);
    }
    builder.push(0, 0, TimestampType::CreateTime, None, None);
    let mut batch = data::Batch::new(Arc::new(builder.finish(1)));
    converter("SimpleHeaderConverter", &[]).decode(Side::Header, &mut batch);
    let seen = batch.headers.of(0).iter().map(|header| {
        let value = batch.headers.values.value(header.schema.as_ref(), header.value);
        (header.schema.as_ref().map(|schema| schema.kind()), value)
    });
    let text = |text: &str| (Some(Type::String), Value::Text(text.to_owned()));
    let short = |value| Value::Int(value, data::Width::W16);
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            (Some(Type::Int8), Value::Int(123, data::Width::W8)),
            text("hello"),
            (Some(Type::Array), Value::List(vec![short(1), short(300)])),
            (None, Value::Null),
            (None, Value::Null),
            text("12\u{fffd}"),
            text("10:30"),
            (Some(Type::Int32), Value::Instant(1_566_518_400_000)),
        ]
    );
}

#[test]
fn a_bad_header_rejects_its_record() {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.header("n", Some(b"1"));
    builder.push(0, 0, TimestampType::CreateTime, None, None);
    let mut batch = data::Batch::new(Arc::new(builder.finish(1)));
    converter("Long", &[]).decode(Side::Header, &mut batch);
    assert_eq!((batch.alive.count(), batch.rejects[0].stage), (0, Stage::HeaderConverter));
}

#[test]
fn header_text_is_what_reading_understands() {
    let list =
        Value::List(vec![Value::Text("a\"b".into()), Value::Null, Value::Bytes(vec![0, 255])]);
    let written = encoded("Simple", None, list).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), r#"["a\"b",null,"AP8="]"#);
    let mut batch = batch(&[Some(b"{\"a\":1}")]);
    converter("Simple", &[]).decode(Side::Value, &mut batch);
    assert_eq!(json(&batch.values, 0), r#"{"a":1}"#);
}
