//! One record through one transform, for unit tests.

use api::Transform;
use config::Props;
use data::{
    Batch, Mask, Origin, RawBatchBuilder, Roots, Schema, TimestampType, TopicPartition, Value,
};
use std::sync::Arc;

/// A schema, or none, and a value.
pub(crate) type Pair = (Option<Arc<Schema>>, Value);

/// A record of the topic `t`, partition 3, offset 7.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) key: Pair,
    pub(crate) value: Pair,
    pub(crate) timestamp: Option<i64>,
    pub(crate) origin: Origin,
    pub(crate) partition: i32,
}

/// A record read from Kafka with this value.
pub(crate) fn record(schema: Option<&Arc<Schema>>, value: Value) -> Record {
    Record {
        key: (None, Value::Null),
        value: (schema.cloned(), value),
        timestamp: Some(5),
        origin: Origin::Sink,
        partition: 3,
    }
}

/// A record without a schema: a map of these members.
pub(crate) fn map(members: &[(&str, Value)]) -> Record {
    record(None, map_value(members))
}

pub(crate) fn map_value(members: &[(&str, Value)]) -> Value {
    Value::Map(members.iter().map(|(name, v)| (text(name), v.clone())).collect())
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The transform of this class and configuration.
pub(crate) fn made(class: &str, settings: &[(&str, &str)]) -> Box<dyn Transform> {
    let props: Props = settings.iter().copied().collect();
    (crate::find(class).unwrap().make)(&props).unwrap()
}

/// What is wrong with a configuration, the first message.
pub(crate) fn config_error(class: &str, settings: &[(&str, &str)]) -> String {
    let props: Props = settings.iter().copied().collect();
    let Err(errors) = (crate::find(class).unwrap().make)(&props) else { return String::new() };
    errors.errors[0].message.clone()
}

/// A batch of these records, which share their coordinates.
pub(crate) fn batch(records: &[Record]) -> Batch {
    let first = records.first().unwrap();
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", first.partition));
    for (index, record) in records.iter().enumerate() {
        let (time, kind) = match record.timestamp {
            Some(time) => (time, TimestampType::CreateTime),
            None => (-1, TimestampType::None),
        };
        raw.push(7 + index as i64, time, kind, None, None);
    }
    let mut batch = Batch::new(Arc::new(raw.finish(7 + records.len() as i64)));
    batch.origin = first.origin;
    for record in records {
        for (rows, (schema, value)) in
            [(&mut batch.keys, &record.key), (&mut batch.values, &record.value)]
        {
            let cell = rows.put_value(schema.as_deref(), value);
            rows.push(schema.as_ref(), cell);
        }
    }
    batch
}

/// Applies the transform to every record and gives the values back, or why one was refused, as
/// `ExceptionClass: message`. Over rows that may share cells, over such as are apart, and over such as
/// also have room behind them.
pub(crate) fn apply_all(
    transform: &mut dyn Transform,
    records: &[Record],
) -> Vec<Result<Pair, String>> {
    let mut apart = [0, 1, 2, 6].map(|room| with_room(records, room));
    let mut batch = batch(records);
    let before = batch.values.roots().to_vec();
    let cells: Vec<Value> = values(&batch);
    transform.apply(&mut batch, &Mask::all(records.len()));
    let seen = (0..records.len()).map(|row| outcome(&batch, row)).collect();
    // Rows may share cells, so that none may change in place.
    let mut roots = Roots::default();
    for (record, cell) in records.iter().zip(before) {
        roots.push(record.value.0.as_ref(), cell);
    }
    batch.values.swap_roots(roots).unwrap();
    assert_eq!(values(&batch), cells, "the original changed");
    for apart in &mut apart {
        transform.apply(apart, &Mask::all(records.len()));
        let again: Vec<_> = (0..records.len()).map(|row| outcome(apart, row)).collect();
        assert_eq!(again, seen, "in place");
    }
    seen
}

/// A batch whose rows are apart, with so many cells free behind each.
fn with_room(records: &[Record], room: usize) -> Batch {
    let mut made = batch(records);
    for (rows, is_key) in [(&mut made.keys, true), (&mut made.values, false)] {
        let raw = std::mem::take(rows);
        rows.heap = raw.heap.clone();
        for record in records {
            let (schema, value) = if is_key { &record.key } else { &record.value };
            let cell = rows.put_value(schema.as_deref(), value);
            rows.push(schema.as_ref(), cell);
            rows.leave_room(room);
        }
        rows.set_apart(true);
    }
    made
}

fn values(batch: &Batch) -> Vec<Value> {
    let rows = &batch.values;
    (0..rows.len()).map(|row| rows.value(rows.schema(row), rows.root(row))).collect()
}

fn outcome(batch: &Batch, row: usize) -> Result<Pair, String> {
    if let Some(reject) = batch.rejects.iter().find(|reject| reject.row as usize == row) {
        let class = reject.exception.rsplit('.').next().unwrap_or_default();
        return Err(format!("{class}: {}", reject.message));
    }
    let rows = &batch.values;
    Ok((rows.schema(row).cloned(), rows.value(rows.schema(row), rows.root(row))))
}

/// One record through a transform of this class and configuration.
pub(crate) fn apply(
    class: &str,
    settings: &[(&str, &str)],
    record: Record,
) -> Result<Pair, String> {
    apply_all(made(class, settings).as_mut(), &[record]).remove(0)
}

/// The same where there is no schema.
pub(crate) fn apply_to(
    class: &str,
    settings: &[(&str, &str)],
    value: Value,
) -> Result<Value, String> {
    let (schema, value) = apply(class, settings, record(None, value))?;
    assert_eq!(schema, None);
    Ok(value)
}
