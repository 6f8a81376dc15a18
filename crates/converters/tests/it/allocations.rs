//! In steady state nothing is allocated for a record: twice as many rows cost as many allocations.

use crate::{JSON, converter};
use allocation_counter::measure;
use api::{Converter, Encoded, Side, Topics};
use data::{Batch, RawBatchBuilder, TimestampType, TopicPartition};
use std::sync::Arc;

const SCHEMA: &str = r#"{"type":"struct","fields":[{"type":"int64","field":"id"},{"type":"string","optional":true,"field":"name"},{"type":"double","field":"amount"},{"type":"boolean","field":"paid"}]}"#;
const PLAIN: &[(&str, &str)] = &[("schemas.enable", "false")];

fn batch(rows: usize, value: impl Fn(usize) -> String) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for row in 0..rows {
        let value = value(row);
        builder.push(row as i64, 0, TimestampType::CreateTime, None, Some(value.as_bytes()));
    }
    Batch::new(Arc::new(builder.finish(rows as i64)))
}

/// The members of a record, the first `turn` of them last.
fn payload(row: usize, turn: usize) -> String {
    let mut members = [
        format!(r#""id":{row}"#),
        format!(r#""name":"name of {row}""#),
        format!(r#""amount":{row}.25"#),
        r#""paid":true"#.to_owned(),
    ];
    members.rotate_left(turn);
    format!("{{{}}}", members.join(","))
}

fn decode(converter: &mut dyn Converter, mut batch: Batch) -> (u64, Batch) {
    let counted = measure(|| converter.decode(Side::Value, &mut batch));
    assert_eq!(batch.alive.count(), batch.len());
    (counted.count_total, batch)
}

/// What the second and a third, twice as large batch of a kind cost, decoded and encoded.
fn check(settings: &[(&str, &str)], value: impl Fn(usize) -> String) {
    let mut converter = converter(JSON, settings);
    decode(&mut *converter, batch(500, &value));
    let (small, _) = decode(&mut *converter, batch(500, &value));
    let (large, rows) = decode(&mut *converter, batch(1000, &value));
    // One more where no earlier batch has left its cells' memory.
    assert!(large <= small + 1, "{small} {large} {}", value(1));
    let mut out = Encoded::default();
    converter.encode(Topics::One("t"), &rows.values, &mut out).unwrap();
    out.clear();
    let counted = measure(|| {
        assert!(converter.encode(Topics::One("t"), &rows.values, &mut out).unwrap().is_empty());
    });
    assert_eq!((counted.count_total, out.spans.len()), (0, 1000), "{}", value(1));
}

#[test]
fn json_with_a_schema_allocates_nothing_per_record() {
    let envelope = |payload: String| format!(r#"{{"schema":{SCHEMA},"payload":{payload}}}"#);
    check(&[], |row| envelope(payload(row, 0)));
    check(&[], |row| envelope(payload(row, row % 4)));
    check(&[], |row| format!(r#"{{"payload":{},"schema":{SCHEMA}}}"#, payload(row, 0)));
    check(&[], |row| envelope(payload(row, 0).replace(',', " ,\n ")));
}

#[test]
fn plain_json_allocates_nothing_per_record() {
    check(PLAIN, |row| payload(row, 0));
    check(PLAIN, |row| payload(row, row % 4));
    check(PLAIN, |row| payload(row, 0).replace(',', ", "));
}
