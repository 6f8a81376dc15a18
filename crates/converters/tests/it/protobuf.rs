//! ProtobufConverter against a real registry.

use crate::{converter, json};
use api::{Encoded, Side, Topics};
use data::{Batch, RawBatchBuilder, Rows, Schema, SchemaBuilder, TimestampType, TopicPartition};
use data::{Type, Value, Width};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const LINE: &str =
    r#"syntax = "proto3"; package shop; message Line { string sku = 1; int32 n = 2; }"#;

const ORDER: &str = r#"syntax = "proto3"; package shop; import "line.proto";
    import "google/protobuf/timestamp.proto";
    message Other { message Deep { bool yes = 1; } }
    message Order { int32 id = 1; repeated Line lines = 2; google.protobuf.Timestamp at = 3; }"#;

fn topic(name: &str) -> String {
    format!("protobuf-{name}-{}", std::process::id())
}

fn post(subject: &str, body: &Json) -> i32 {
    let path = format!("/subjects/{subject}/versions");
    let (status, answer) =
        testkit::registry::call(testkit::registry::url(), "POST", &path, Some(body));
    let id = answer.get("id").and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
    id.unwrap_or_else(|| panic!("{subject} is refused with {status}: {answer}"))
}

fn framed(id: i32, rest: &[u8]) -> Vec<u8> {
    [&[0], &id.to_be_bytes()[..], rest].concat()
}

fn decoded(topic: &str, values: &[Vec<u8>]) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new(topic, 0));
    for (offset, value) in (0..).zip(values) {
        builder.push(offset, 0, TimestampType::CreateTime, None, Some(value));
    }
    let mut batch = Batch::new(Arc::new(builder.finish(values.len() as i64)));
    let mut converter = converter("Protobuf", &[("schema.registry.url", testkit::registry::url())]);
    converter.prepare(Side::Value, &batch.raw).unwrap();
    converter.decode(Side::Value, &mut batch);
    batch
}

#[test]
fn records_of_registered_messages_are_read_with_imports_and_indexes() {
    let topic = topic("read");
    let lines = format!("{topic}-lines");
    post(&lines, &json!({"schema": LINE, "schemaType": "PROTOBUF"}));
    let references = json!([{"name": "line.proto", "subject": lines, "version": 1}]);
    let body = json!({"schema": ORDER, "schemaType": "PROTOBUF", "references": references});
    let id = post(&format!("{topic}-value"), &body);
    let order = b"\x02\x02\x08\x07\x12\x05\x0a\x01a\x10\x02\x1a\x02\x08\x01";
    let values = [
        framed(id, order),
        framed(id, b"\x02\x02\x08\x07\x12\x05\x0a\x01a"),
        framed(id, b"\x04\x00\x00\x08\x01"),
        framed(id, b"\x00"),
        framed(id, b"\x02\x09"),
    ];
    let batch = decoded(&topic, &values);
    assert_eq!(
        json(&batch.values, 0),
        r#"{"id":7,"lines":[{"sku":"a","n":2}],"at":"1970-01-01T00:00:01.000Z"}"#
    );
    assert_eq!(json(&batch.values, 2), r#"{"yes":true}"#);
    assert_eq!(json(&batch.values, 3), "{}");
    assert_eq!(batch.values.schema(0).unwrap().name(), Some("Order"));
    let [cut, none] = &batch.rejects[..] else { panic!("two rejects: {:?}", batch.rejects) };
    assert_eq!((cut.row, cut.column.as_deref()), (1, Some("lines")));
    assert!(cut.message.contains("a length of 5"), "{}", cut.message);
    assert!(cut.message.contains(&format!("schema id {id}")), "{}", cut.message);
    assert!(
        none.message.contains("no message at index [-5]") || none.message.contains("out of range"),
        "{}",
        none.message
    );
}

#[test]
fn rows_are_written_under_a_schema_that_is_registered_and_read_back() {
    let topic = topic("write");
    let built = |builder: SchemaBuilder| Arc::new(builder.build().unwrap());
    let inner =
        SchemaBuilder::structure().name("Inner").field("x", built(SchemaBuilder::new(Type::Int8)));
    let schema = SchemaBuilder::structure()
        .name("shop.Sale")
        .field("id", built(SchemaBuilder::new(Type::Int64)))
        .field("price", built(SchemaBuilder::decimal(2)))
        .field("day", built(SchemaBuilder::date()))
        .field("inner", built(inner.optional()));
    let schema: Arc<Schema> = built(schema);
    let value = Value::fields(vec![
        Value::int(5),
        Value::Decimal { unscaled: vec![1, 0], scale: 2 },
        Value::Instant(86_400_000),
        Value::fields(vec![Value::Int(-1, Width::W8)]),
    ]);
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(&schema), &value);
    rows.push(Some(&schema), cell);
    rows.push(Some(&schema), data::Cell::Null);
    let mut writer = converter("Protobuf", &[("schema.registry.url", testkit::registry::url())]);
    let mut out = Encoded::default();
    let errors = writer.encode(Topics::One(&topic), &rows, &mut out).unwrap();
    assert_eq!(errors, []);
    let written = out.get(0).unwrap().to_vec();
    assert_eq!(
        (written[0], written[5]),
        (0, 0),
        "magic byte, and the short form of the first message"
    );
    assert_eq!(out.get(1), None, "a null is a tombstone");
    let again = decoded(&topic, &[written]);
    assert_eq!(json(&again.values, 0), json(&rows, 0));
    assert_eq!(again.values.schema(0).unwrap().version(), Some(1));
}

#[test]
fn a_schema_given_in_place_of_a_registry_is_of_bare_messages() {
    let props = config::Props::new();
    let inline = |text: &str| converters::inline(registry::Kind::Protobuf, text, &props);
    let mut converter = inline("syntax = \"proto3\"; message A { string a = 1; }").unwrap();
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for (offset, value) in (0..).zip([&b"\x0a\x01x"[..], b"", b"\x0a\x05x"]) {
        builder.push(offset, 0, TimestampType::CreateTime, None, Some(value));
    }
    let mut batch = Batch::new(Arc::new(builder.finish(3)));
    converter.decode(Side::Value, &mut batch);
    assert_eq!([0, 1].map(|row| json(&batch.values, row)), [r#"{"a":"x"}"#, r#"{"a":""}"#]);
    assert_eq!(batch.rejects.len(), 1);
    let mut out = Encoded::default();
    converter.encode(Topics::One("t"), &batch.values, &mut out).unwrap();
    assert_eq!(out.get(0), Some(&b"\x0a\x01x"[..]));
    let refused = inline("message {").err().unwrap();
    assert!(refused.to_string().contains("Protobuf"), "{refused}");
}

#[test]
fn protobuf_allocates_nothing_per_record() {
    const TEXT: &str = r#"syntax = "proto3"; message M { int64 id = 1; string name = 2; E e = 3;
        repeated int32 l = 4; map<string, int32> m = 5; N n = 6; repeated N k = 7; oneof u { bool b = 8; }
        enum E { ZERO = 0; ONE = 1; } message N { double d = 1; } }"#;
    let record: &[u8] =
        b"\x08\x05\x12\x04name\x18\x01\x22\x03\x01\x02\x03\x2a\x05\x0a\x01k\x10\x07\
        \x32\x09\x09\0\0\0\0\0\0\xf0\x3f\x3a\0\x3a\x09\x09\0\0\0\0\0\0\xf0\x3f\x40\x01";
    let batch = |rows: usize| {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for row in 0..rows {
            builder.push(row as i64, 0, TimestampType::CreateTime, None, Some(record));
        }
        Batch::new(Arc::new(builder.finish(rows as i64)))
    };
    let props = config::Props::new();
    let mut converter = converters::inline(registry::Kind::Protobuf, TEXT, &props).unwrap();
    let mut decode = |rows: usize| {
        let mut batch = batch(rows);
        let counted = allocation_counter::measure(|| converter.decode(Side::Value, &mut batch));
        assert_eq!(batch.rejects, []);
        (counted.count_total, batch)
    };
    decode(500);
    let ((small, _), (large, read)) = (decode(500), decode(1000));
    // One more where no earlier batch has left its cells' memory.
    assert!(large <= small + 1, "{small} {large}");
    let mut out = Encoded::default();
    converter.encode(Topics::One("t"), &read.values, &mut out).unwrap();
    out.clear();
    let counted = allocation_counter::measure(|| {
        assert!(converter.encode(Topics::One("t"), &read.values, &mut out).unwrap().is_empty());
    });
    assert_eq!((counted.count_total, out.spans.len()), (0, 1000));
    assert_eq!(out.get(999).map(<[u8]>::len), Some(record.len()));
}
