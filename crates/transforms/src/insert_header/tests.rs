//! The rules of this transform, each as a small case.

use crate::testing::{batch, config_error, made, map};
use data::{Batch, Cell, Header, Mask, Type, Value, Width};

const HEADER: (&str, &str) = ("header", "h");

fn inserted(literal: &str) -> Batch {
    let mut batch = batch(&[map(&[]), map(&[])]);
    batch.headers.begin(2);
    batch.headers.push(1, Header { name: "h".into(), schema: None, value: Cell::Null });
    let mut selected = Mask::all(2);
    selected.kill(0);
    let mut transform = made("InsertHeader", &[HEADER, ("value.literal", literal)]);
    assert!(transform.uses_headers());
    transform.apply(&mut batch, &selected);
    batch
}

#[test]
fn the_literal_becomes_what_it_looks_like_and_is_appended() {
    for (literal, kind, value) in [
        ("300", Some(Type::Int16), Value::Int(300, Width::W16)),
        ("true", Some(Type::Boolean), Value::Bool(true)),
        ("hello", Some(Type::String), Value::Text("hello".to_owned())),
        ("10:30", Some(Type::String), Value::Text("10:30".to_owned())),
        ("null", None, Value::Null),
        ("2024-02-29", Some(Type::Int32), Value::Instant(1_709_164_800_000)),
    ] {
        let batch = inserted(literal);
        assert!(batch.headers.of(0).is_empty(), "not selected");
        assert_eq!(batch.headers.of(1).len(), 2);
        let header = batch.headers.last(1, "h").unwrap();
        assert_eq!(header.schema.as_ref().map(|schema| schema.kind()), kind, "{literal}");
        let seen = batch.headers.values.value(header.schema.as_ref(), header.value);
        assert_eq!(seen, value, "{literal}");
    }
}

#[test]
fn both_settings_are_needed() {
    let seen = config_error("InsertHeader", &[HEADER]);
    assert!(seen.contains("\"value.literal\" which has no default"), "{seen}");
}
