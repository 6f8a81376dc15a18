//! Records of the notation as batches, and the rows of a batch as records again.
//!
//! A batch has one topic, partition and origin; records that differ in these go into batches of
//! their own. What a batch does not carry (a source's position) is taken from the record that the
//! row was made of.

use crate::notation::{Header, Kind, Pair, Record};
use data::{Batch, Origin, RawBatchBuilder, Rows, TopicPartition};
use std::sync::Arc;

/// A partition that is not chosen yet.
const NO_PARTITION: i32 = -1;

/// How many of the records, from the first on, one batch can hold.
pub fn run_length(records: &[Record]) -> usize {
    let Some(first) = records.first() else { return 0 };
    let same = |record: &&Record| place(record) == place(first);
    records.iter().take_while(same).count()
}

fn place(record: &Record) -> (bool, &str, i32) {
    match &record.kind {
        Kind::Sink { original_topic, original_partition, .. } => {
            (true, original_topic.as_deref().unwrap_or_default(), *original_partition)
        }
        Kind::Source { .. } => {
            let partition = record.partition.unwrap_or(NO_PARTITION);
            (false, record.topic.as_deref().unwrap_or_default(), partition)
        }
    }
}

/// A batch of these records, decoded: keys, values and headers. They must be of one place, see
/// [`run_length`].
pub fn of_records(records: &[Record]) -> Batch {
    let (sink, topic, partition) = records.first().map_or((true, "", 0), place);
    let mut builder = RawBatchBuilder::new(TopicPartition::new(topic, partition));
    let mut next_offset = 0;
    for record in records {
        for header in &record.headers {
            builder.header(&header.key, presence(&header.pair));
        }
        let (offset, timestamp_type) = match &record.kind {
            Kind::Sink { offset, timestamp_type, .. } => (*offset, *timestamp_type),
            Kind::Source { .. } => (0, data::TimestampType::None),
        };
        let timestamp = record.timestamp.unwrap_or(-1);
        let (key, value) = (presence(&record.key), presence(&record.value));
        builder.push(offset, timestamp, timestamp_type, key, value);
        next_offset = offset.saturating_add(1);
    }
    let mut batch = Batch::new(Arc::new(builder.finish(next_offset)));
    batch.origin = if sink { Origin::Sink } else { Origin::Source };
    batch.headers.begin(records.len());
    for (row, record) in records.iter().enumerate() {
        push(&mut batch.keys, &record.key);
        push(&mut batch.values, &record.value);
        for header in &record.headers {
            let schema = header.pair.schema.clone();
            let value = batch.headers.values.put_value(schema.as_deref(), &header.pair.value);
            batch
                .headers
                .push(row, data::Header { name: header.key.as_str().into(), schema, value });
        }
        if record.timestamp == Some(-1) {
            batch.set_timestamp(row, Some(-1));
        }
        if let Some(current) = record.topic.as_deref().filter(|current| *current != topic) {
            batch.set_topic(row, current);
        }
        if record.partition.is_some_and(|current| current != partition) {
            batch.set_partition(row, record.partition);
        }
    }
    // As a converter says of what it has made.
    batch.keys.set_apart(true);
    batch.values.set_apart(true);
    batch
}

/// The bytes of a part that nobody reads: only whether it is a null matters.
fn presence(pair: &Pair) -> Option<&'static [u8]> {
    (!pair.value.is_null()).then_some(b"")
}

fn push(rows: &mut Rows, pair: &Pair) {
    let cell = rows.put_value(pair.schema.as_deref(), &pair.value);
    rows.push(pair.schema.as_ref(), cell);
}

/// A row as a record; `from` is the record that it was made of.
pub fn record(batch: &Batch, row: usize, from: &Record) -> Record {
    let pair = |rows: &Rows| {
        let schema = rows.schema(row).cloned();
        let value = rows.value(schema.as_ref(), rows.root(row));
        Pair { schema, value }
    };
    let headers = batch.headers.of(row).iter().map(|header| Header {
        key: header.name.to_string(),
        pair: Pair {
            schema: header.schema.clone(),
            value: batch.headers.values.value(header.schema.as_ref(), header.value),
        },
    });
    Record {
        kind: kind(batch, row, &from.kind),
        topic: Some(batch.topic(row).to_string()).filter(|t| from.topic.is_some() || !t.is_empty()),
        partition: batch.partition(row),
        key: pair(&batch.keys),
        value: pair(&batch.values),
        timestamp: batch.timestamp(row),
        headers: headers.collect(),
    }
}

fn kind(batch: &Batch, row: usize, from: &Kind) -> Kind {
    match from {
        Kind::Source { .. } => from.clone(),
        Kind::Sink { original_topic, .. } => {
            let raw = batch.raw.records().get(row);
            let offset = batch.offset(row).unwrap_or_default();
            let topic = batch.raw.topic().to_string();
            Kind::Sink {
                timestamp_type: raw.map(|raw| raw.timestamp_type).unwrap_or_default(),
                offset,
                original_topic: Some(topic).filter(|t| original_topic.is_some() || !t.is_empty()),
                original_partition: batch.raw.partition(),
                original_offset: offset,
            }
        }
    }
}
