//! Writing: several rows at a time, and rows that cannot be written among those that can.

use crate::{JSON, batch, converter};
use api::{Encoded, Side, Topics};
use data::{Cell, Rows, Schema, SchemaBuilder, Type, Width};
use std::sync::Arc;

const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
const BYTES: &str = "org.apache.kafka.connect.converters.ByteArrayConverter";

fn texts(out: &Encoded) -> Vec<Option<&str>> {
    (0..out.spans.len()).map(|row| out.get(row).map(|b| std::str::from_utf8(b).unwrap())).collect()
}

#[test]
fn row_that_cannot_be_written_leaves_its_neighbours_whole() {
    let small = Arc::new(Schema::new(Type::Int8));
    let mut rows = Rows::default();
    let text = Cell::Text(rows.heap.put(b"x"));
    rows.push(Some(&small), Cell::Int(1, Width::W8));
    rows.push(Some(&small), Cell::Int(1000, Width::W32));
    rows.push(Some(&small), text);
    rows.push(None, Cell::Null);
    rows.push(None, text);
    rows.push(Some(&small), Cell::Int(2, Width::W8));
    let mut out = Encoded::default();
    let errors = converter(JSON, &[]).encode(Topics::One("t"), &rows, &mut out).unwrap();
    let envelope =
        |n| format!("{{\"schema\":{{\"type\":\"int8\",\"optional\":false}},\"payload\":{n}}}");
    let (one, two) = (envelope(1), envelope(2));
    let plain = "{\"schema\":null,\"payload\":\"x\"}";
    assert_eq!(texts(&out), [Some(&*one), None, None, None, Some(plain), Some(&*two)]);
    let errors: Vec<_> = errors.iter().map(|e| (e.row, e.message.as_str())).collect();
    assert_eq!(
        errors,
        [
            (1, "Invalid type for INT8: class java.lang.Integer"),
            (2, "Invalid type for INT8: class java.lang.String"),
        ]
    );
}

#[test]
fn schema_whose_default_does_not_fit_fails_every_row() {
    // A date is a whole day.
    let schema = SchemaBuilder::date().default(data::Value::Instant(1000)).build().unwrap();
    let schema = Arc::new(schema);
    let mut rows = Rows::default();
    rows.push(Some(&schema), Cell::Int(1, Width::W32));
    rows.push(Some(&schema), Cell::Int(2, Width::W32));
    let mut out = Encoded::default();
    let errors = converter(JSON, &[]).encode(Topics::One("t"), &rows, &mut out).unwrap();
    assert_eq!((errors.len(), texts(&out)), (2, vec![None, None]));
}

#[test]
fn schemaless_rows_are_written_as_they_were_read() {
    let text = r#"{"a":1,"b":[1.50,{"c":"\u00e9"}],"n":123456789012345678901234567890}"#;
    let settings = [("schemas.enable", "false")];
    let mut converter = converter(JSON, &settings);
    let mut batch = batch(&[Some(text.as_bytes()), None]);
    converter.decode(Side::Value, &mut batch);
    let mut out = Encoded::default();
    assert!(converter.encode(Topics::One("t"), &batch.values, &mut out).unwrap().is_empty());
    assert_eq!(texts(&out), [Some(text), None]);
}

#[test]
fn strings_and_bytes_pass_through_uncopied_under_one_schema() {
    for name in [STRING, BYTES] {
        let mut batch = batch(&[Some("é".as_bytes()), None, Some(b""), Some(b"abc")]);
        let mut converter = converter(name, &[]);
        converter.decode(Side::Value, &mut batch);
        assert_eq!(batch.values.runs().len(), 1, "nulls are rows of the same schema");
        assert!(batch.values.schema(0).unwrap().is_optional());
        let (Cell::Text(span) | Cell::Bytes(span)) = batch.values.root(3) else { panic!("{name}") };
        let arena = batch.raw.arena().as_ptr_range();
        assert!(arena.contains(&batch.values.bytes(span).as_ptr()));
        let mut out = Encoded::default();
        assert!(converter.encode(Topics::One("t"), &batch.values, &mut out).unwrap().is_empty());
        assert_eq!(texts(&out), [Some("é"), None, Some(""), Some("abc")]);
    }
}

#[test]
fn broken_text_is_replaced_and_bytes_have_no_text() {
    let mut batch = batch(&[Some(b"a\xffb")]);
    let mut text = converter(STRING, &[]);
    text.decode(Side::Key, &mut batch);
    let Cell::Text(span) = batch.keys.root(0) else { panic!("no text") };
    assert_eq!(batch.keys.text(span), "a\u{fffd}b");
    let bytes = Arc::new(Schema::new(Type::Bytes));
    let items = Arc::new(SchemaBuilder::array(Arc::clone(&bytes)).build().unwrap());
    let mut rows = Rows::default();
    let item = Cell::Bytes(rows.heap.put(b"x"));
    let list = Cell::List(rows.alloc_from(&[item]));
    rows.push(Some(&items), list);
    rows.push(Some(&bytes), item);
    let mut out = Encoded::default();
    assert_eq!(text.encode(Topics::One("t"), &rows, &mut out).unwrap().len(), 2);
    assert_eq!(texts(&out), [None, None]);
}
