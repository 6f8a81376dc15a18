//! Change events for tests: a row of two fields, its envelope, and batches of both.

use api::Transform;
use config::Props;
use data::{
    Batch, Cell, Mask, RawBatchBuilder, Schema, SchemaBuilder, TimestampType, TopicPartition, Type,
    Value, write_json,
};
use std::sync::Arc;

pub(crate) fn text() -> Arc<Schema> {
    Arc::new(SchemaBuilder::new(Type::String).optional().build().unwrap())
}

/// A row: a required `id`, an optional text `v`.
pub(crate) fn row_schema() -> Arc<Schema> {
    let id = Arc::new(Schema::new(Type::Int32));
    let row = SchemaBuilder::structure().name("s.t.Value").field("id", id).field("v", text());
    Arc::new(row.optional().build().unwrap())
}

pub(crate) fn envelope() -> Arc<Schema> {
    let source = SchemaBuilder::structure().field("table", text()).build().unwrap();
    let envelope = SchemaBuilder::structure()
        .name("s.t.Envelope")
        .field("before", row_schema())
        .field("after", row_schema())
        .field("source", Arc::new(source))
        .field("op", text());
    Arc::new(envelope.build().unwrap())
}

pub(crate) fn row(id: i64, v: &str) -> Value {
    Value::fields(vec![Value::Int(id, data::Width::W32), Value::Text(v.to_owned())])
}

pub(crate) fn event(op: &str, before: Value, after: Value) -> Value {
    let source = Value::fields(vec![Value::Text("tab".to_owned())]);
    Value::fields(vec![before, after, source, Value::Text(op.to_owned())])
}

/// A batch of values under a schema each, topic `s.t`; keys are what is given, without a schema.
pub(crate) fn batch(values: &[(Option<Arc<Schema>>, Value)]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("s.t", 0));
    for offset in 0..values.len() {
        raw.push(offset as i64, 7, TimestampType::CreateTime, Some(b"k"), Some(b"v"));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(values.len() as i64)));
    batch.headers.begin(values.len());
    for (schema, value) in values {
        let cell = batch.values.put_value(schema.as_deref(), value);
        batch.values.push(schema.as_ref(), cell);
        batch.keys.push(None, Cell::Null);
    }
    batch
}

pub(crate) fn props(pairs: &[(&str, &str)]) -> Props {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Applies a transform of this class to the whole batch.
pub(crate) fn apply(class: &str, config: &[(&str, &str)], batch: &mut Batch) {
    let mut transform: Box<dyn Transform> =
        (crate::find(class).unwrap().make)(&props(config)).unwrap();
    let all = Mask::all(batch.len());
    transform.apply(batch, &all);
}

/// A value as JSON; `dropped` or the reason where the record is no more.
pub(crate) fn shown(batch: &Batch, row: usize) -> String {
    if let Some(reject) = batch.rejects.iter().find(|reject| reject.row as usize == row) {
        return reject.message.clone();
    }
    if !batch.alive.is_alive(row) {
        return "dropped".to_owned();
    }
    let mut out = Vec::new();
    let schema = batch.values.schema(row);
    write_json(&batch.values, schema.map(|schema| &**schema), batch.values.root(row), &mut out);
    String::from_utf8(out).unwrap()
}
