//! The predicates' own rules.

use crate::testing::{batch, map, record};
use config::Props;
use data::{Batch, Cell, Header, Mask, Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;

fn selected(name: &str, settings: &[(&str, &str)], batch: &Batch) -> Vec<bool> {
    let props: Props = settings.iter().copied().collect();
    let mut predicate = (crate::find_predicate(name).unwrap().make)(&props).unwrap();
    let mut mask = Mask::all(batch.len());
    predicate.select(batch, &mut mask);
    (0..batch.len()).map(|row| mask.is_alive(row)).collect()
}

fn error(name: &str, settings: &[(&str, &str)]) -> String {
    let props: Props = settings.iter().copied().collect();
    (crate::find_predicate(name).unwrap().make)(&props).err().unwrap().errors[0].message.clone()
}

#[test]
fn a_header_is_looked_for_by_its_exact_name() {
    let mut batch = batch(&vec![map(&[]); 3]);
    batch.headers.begin(3);
    for (row, name) in [(0, "H"), (2, "a"), (2, "h"), (2, "b")] {
        batch.headers.push(row, Header { name: name.into(), schema: None, value: Cell::Null });
    }
    assert_eq!(selected("HasHeaderKey", &[("name", "h")], &batch), [false, false, true]);
    let seen = error("HasHeaderKey", &[("name", " ")]);
    assert_eq!(seen, "Invalid value  for configuration name: String must be non-empty");
}

#[test]
fn a_tombstone_is_a_null_value_whatever_its_schema() {
    let schema = Arc::new(SchemaBuilder::new(Type::Int8).optional().build().unwrap());
    let text: Arc<Schema> = Arc::new(Schema::new(Type::String));
    let batch = batch(&[
        record(None, Value::Null),
        record(Some(&schema), Value::Null),
        record(Some(&text), Value::Text(String::new())),
        map(&[]),
    ]);
    assert_eq!(selected("RecordIsTombstone", &[], &batch), [true, true, false, false]);
}

#[test]
fn a_topic_matches_as_a_whole_and_as_transforms_left_it() {
    let mut batch = batch(&vec![map(&[]); 4]);
    batch.set_topic(1, "orders-1");
    batch.set_topic(3, "orders-x");
    let settings = [("pattern", "t|orders-\\d")];
    assert_eq!(selected("TopicNameMatches", &settings, &batch), [true, true, true, false]);
    assert!(error("TopicNameMatches", &[("pattern", "(")]).contains("Unclosed group"));
    assert!(error("TopicNameMatches", &[("pattern", "")]).contains("must be non-empty"));
}
