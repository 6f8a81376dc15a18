//! JsonSchemaConverter against a real registry.

use crate::{converter, json};
use api::{Encoded, Side, Topics};
use data::{Batch, RawBatchBuilder, TimestampType, TopicPartition};
use std::sync::Arc;

const SCHEMA: &str = r##"{"type":"object","title":"Order","required":["id"],"properties":{
    "id":{"type":"integer","connect.type":"int32","connect.index":0},
    "who":{"oneOf":[{"type":"null"},{"type":"string"}],"connect.index":1},
    "lines":{"type":"array","connect.index":2,"items":{"$ref":"#/definitions/line"}}},
    "definitions":{"line":{"type":"object","properties":{"sku":{"type":"string"},"n":{"type":"integer"}}}}}"##;

fn topic(name: &str) -> String {
    format!("json-schema-{name}-{}", std::process::id())
}

fn framed(id: i32, payload: &str) -> Vec<u8> {
    [&[0], &id.to_be_bytes()[..], payload.as_bytes()].concat()
}

fn decoded(topic: &str, values: &[Vec<u8>]) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new(topic, 0));
    for (offset, value) in (0..).zip(values) {
        builder.push(offset, 0, TimestampType::CreateTime, None, Some(value));
    }
    let mut batch = Batch::new(Arc::new(builder.finish(values.len() as i64)));
    let mut converter =
        converter("JsonSchema", &[("schema.registry.url", testkit::registry::url())]);
    converter.prepare(Side::Value, &batch.raw).unwrap();
    converter.decode(Side::Value, &mut batch);
    batch
}

#[test]
fn records_of_a_registered_json_schema_are_read_and_bad_ones_told_apart() {
    let topic = topic("read");
    let id = testkit::registry::register(&format!("{topic}-value"), "JSON", SCHEMA);
    let good = r#"{"id":1,"who":"x","lines":[{"sku":"a","n":2}]}"#;
    let bad = r#"{"id":1,"who":"x","lines":[{"sku":"a","n":"2"}]}"#;
    let values = [framed(id, good), framed(id, bad), framed(id, r#"{"id":2,"lines":[]}"#)];
    let batch = decoded(&topic, &values);
    assert_eq!(json(&batch.values, 0), good);
    assert_eq!(json(&batch.values, 2), r#"{"id":2,"who":null,"lines":[]}"#);
    assert_eq!(batch.values.schema(0).unwrap().name(), Some("Order"));
    let [reject] = &batch.rejects[..] else { panic!("one reject: {:?}", batch.rejects) };
    assert_eq!((reject.row, reject.column.as_deref()), (1, Some("lines[0].n")));
    assert!(reject.message.contains("found JSON STRING"), "{}", reject.message);
    assert!(reject.message.contains(&format!("schema id {id}")), "{}", reject.message);
}

#[test]
fn rows_are_written_under_a_schema_that_is_registered_and_read_back() {
    let topic = topic("write");
    let source = topic.replace("write", "source");
    let id = testkit::registry::register(&format!("{source}-value"), "JSON", SCHEMA);
    let payloads =
        [r#"{"id":1,"who":null,"lines":[]}"#, r#"{"id":2,"who":"é","lines":[{"sku":"a","n":1}]}"#];
    let read = decoded(&source, &payloads.map(|payload| framed(id, payload)));
    let mut writer = converter("JsonSchema", &[("schema.registry.url", testkit::registry::url())]);
    let mut out = Encoded::default();
    let errors = writer.encode(Topics::One(&topic), &read.values, &mut out).unwrap();
    assert_eq!(errors, []);
    let written: Vec<Vec<u8>> = (0..2).map(|row| out.get(row).unwrap().to_vec()).collect();
    for (value, payload) in written.iter().zip(payloads) {
        assert_eq!(&value[5..], payload.as_bytes());
    }
    let again = decoded(&topic, &written);
    assert_eq!(
        again.values.schema(0).map(|s| s.fields()),
        read.values.schema(0).map(|s| s.fields())
    );
    assert_eq!([0, 1].map(|row| json(&again.values, row)), payloads.map(str::to_owned));
}
