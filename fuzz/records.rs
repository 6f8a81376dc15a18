//! What the targets share: records out of a fuzzer's bytes, and batches through a converter.
//!
//! A target checks more than the absence of a panic: whatever a converter has seen before, it reads a
//! record as a new one would, and what was read survives being written and read again.

use std::sync::Arc;

use api::{Converter, Encoded, Side, Topics};
use config::Props;
use data::{Batch, RawBatchBuilder, TimestampType, TopicPartition};

/// Between the parts of an input; no byte of any JSON text.
pub const SEPARATOR: u8 = 0x1e;

/// A converter with these settings, for values.
///
/// # Errors
/// What is wrong with the settings.
pub fn converter(name: &str, settings: &[(&str, &str)]) -> api::Result<Box<dyn Converter>> {
    let props: Props = settings.iter().copied().collect();
    let plugin = converters::find(name).expect("a built-in converter");
    (plugin.make)(&props, Side::Value)
}

/// A batch of these values, which are kept without `prefix` where they begin with it.
pub fn batch<'a>(values: impl IntoIterator<Item = &'a [u8]>, prefix: Option<Arc<[u8]>>) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.share_prefix(prefix);
    let mut next = 0;
    for value in values {
        builder.push(next, 0, TimestampType::CreateTime, None, Some(value));
        next += 1;
    }
    Batch::new(Arc::new(builder.finish(next)))
}

/// The batch, decoded.
pub fn decoded(converter: &mut dyn Converter, mut batch: Batch) -> Batch {
    converter.decode(Side::Value, &mut batch);
    assert_eq!(batch.values.len(), batch.len(), "one row a record");
    assert_eq!(batch.alive.count() + batch.rejects.len(), batch.len(), "read or rejected");
    batch
}

/// A row of a decoded batch as JSON text.
pub fn json(batch: &Batch, row: usize) -> String {
    let mut out = Vec::new();
    let schema = batch.values.schema(row).map(AsRef::as_ref);
    data::write_json(&batch.values, schema, batch.values.root(row), &mut out);
    String::from_utf8(out).expect("JSON text is UTF-8")
}

/// Demands that a row is the same in two batches: its value, its schema, or why there is none.
pub fn assert_same_row(one: (&Batch, usize), other: (&Batch, usize)) {
    let ((a, row_a), (b, row_b)) = (one, other);
    let alive = a.alive.is_alive(row_a);
    assert_eq!(alive, b.alive.is_alive(row_b));
    if alive {
        assert_eq!(json(a, row_a), json(b, row_b));
        assert_eq!(a.values.schema(row_a), b.values.schema(row_b));
        return;
    }
    let message = |batch: &Batch, row: usize| {
        let mut of_row = batch.rejects.iter().filter(|reject| reject.row as usize == row);
        of_row.next().map(|reject| (reject.message.clone(), reject.column.clone()))
    };
    assert_eq!(message(a, row_a), message(b, row_b));
}

/// Writes the rows that are alive and reads them again, which must give the same.
pub fn assert_survives(writer: &mut dyn Converter, reader: &mut dyn Converter, batch: &Batch) {
    let mut encoded = Encoded::default();
    let errors = writer.encode(Topics::One("t"), &batch.values, &mut encoded).unwrap();
    let written = |row: &usize| {
        batch.alive.is_alive(*row) && !errors.iter().any(|error| error.row as usize == *row)
    };
    let rows: Vec<usize> =
        (0..batch.len()).filter(written).filter(|row| encoded.get(*row).is_some()).collect();
    let values = rows.iter().filter_map(|row| encoded.get(*row));
    let again = decoded(reader, self::batch(values, None));
    for (place, row) in rows.into_iter().enumerate() {
        assert_same_row((batch, row), (&again, place));
    }
}
