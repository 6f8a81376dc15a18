//! Records that are kept without the head of their envelope read like whole ones.

use crate::{JSON, converter, json};
use api::{Converter, Side};
use data::{ArenaPool, Batch, RawBatchBuilder, TimestampType, TopicPartition};
use proptest::prelude::*;
use std::sync::Arc;

const A: &str = r#"{"schema":{"type":"struct","optional":false,"fields":[{"field":"id","type":"int64","optional":false},{"field":"t","type":"string","optional":true}]},"payload":"#;
const B: &str = r#"{ "schema" : {"type":"struct","fields":[{"field":"t","type":"string","optional":true},{"field":"id","type":"int64"}]}, "payl\u006fad" : "#;
const NONE: &str = r#"{"schema":null                          ,"payload":"#;
const HEADS: [&str; 3] = [A, B, NONE];

const PAYLOADS: [&str; 9] = [
    r#"{"id":1,"t":"a"}"#,
    r#"{"t":"\u00e9\n","id":-5}"#,
    r#" {"id":7} "#,
    r#"{"id":"text"}"#,
    r#"{"id":3,"t":"zß"}"#,
    "null",
    "[1,2]",
    r#"{"id":1,"t":"a"},"schema":null"#,
    "",
];

fn batch(values: &[Vec<u8>], prefix: Option<Arc<[u8]>>) -> Batch {
    let pool = ArenaPool::new(1 << 20);
    let mut builder = RawBatchBuilder::pooled(TopicPartition::new("t", 0), &pool, 1, 10);
    builder.share_prefix(prefix);
    for (offset, value) in values.iter().enumerate() {
        builder.push(offset as i64, 0, TimestampType::CreateTime, None, Some(value));
    }
    Batch::new(Arc::new(builder.finish(values.len() as i64)))
}

fn decoded(converter: &mut dyn Converter, mut batch: Batch) -> Batch {
    converter.decode(Side::Value, &mut batch);
    batch
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    let parts = (0..HEADS.len(), 0..PAYLOADS.len(), prop::option::weighted(0.2, 0.0..1.0f64));
    let whole = parts.prop_map(|(head, payload, cut)| {
        let mut record = format!("{}{}}}", HEADS[head], PAYLOADS[payload]).into_bytes();
        if let Some(cut) = cut {
            let len = record.len() as f64;
            record.truncate((len * cut) as usize);
        }
        record
    });
    let last = r#"{"payload":{"id":9},"schema":{"type":"struct","fields":[]}}"#;
    prop_oneof![20 => whole, 1 => Just(last.into()), 1 => Just(b"\xef\xbb\xbf{}".to_vec())]
}

proptest! {
    #[test]
    fn with_and_without_the_shared_head_the_rows_are_equal(
        batches in prop::collection::vec(prop::collection::vec(record(), 0..12), 1..8),
        late in prop::collection::vec(any::<bool>(), 8),
    ) {
        let mut plain = converter(JSON, &[]);
        let mut sharing = converter(JSON, &[]);
        let mut prefix = None;
        for (values, late) in batches.iter().zip(late) {
            // A batch may have been fetched with the head of some time ago.
            if !late {
                prefix = sharing.value_prefix();
            }
            let expect = decoded(&mut *plain, batch(values, None));
            let got = decoded(&mut *sharing, batch(values, prefix.clone()));
            prop_assert_eq!(&got.rejects, &expect.rejects);
            for (row, value) in values.iter().enumerate() {
                let kept = got.raw.value(row);
                prop_assert_eq!(kept.as_deref(), Some(&value[..]));
                prop_assert_eq!(json(&got.values, row), json(&expect.values, row));
                prop_assert_eq!(got.values.schema(row), expect.values.schema(row));
                prop_assert_eq!(got.alive.is_alive(row), expect.alive.is_alive(row));
            }
        }
    }
}

#[test]
fn the_head_is_known_after_a_record_and_stays_the_same_while_it_is_any_good() {
    let mut converter = converter(JSON, &[]);
    assert!(converter.value_prefix().is_none());
    let of = |head: &str| format!("{head}{{\"id\":1}}}}").into_bytes();
    decoded(&mut *converter, batch(&[of(A)], None));
    let prefix = converter.value_prefix().unwrap();
    assert_eq!(&*prefix, A.as_bytes());
    let batch = decoded(&mut *converter, batch(&[of(B), of(A), of(B)], Some(prefix.clone())));
    assert_eq!(batch.alive.count(), 3);
    assert!(batch.raw.value_parts(1).unwrap().prefix.is_some());
    assert!(Arc::ptr_eq(&converter.value_prefix().unwrap(), &prefix));
    let own = batch.raw.arena().as_ptr_range();
    assert_eq!(own.end as usize - own.start as usize, 2 * of(B).len() + of(A).len() - A.len());
}

#[test]
fn other_converters_read_records_kept_without_a_head() {
    let values = [b"head and text".to_vec(), b"other".to_vec()];
    for name in ["StringConverter", "ByteArrayConverter"] {
        let batch = batch(&values, Some(Arc::from(&b"head"[..])));
        let batch = decoded(&mut *converter(name, &[]), batch);
        let span = |row| match batch.values.root(row) {
            data::Cell::Text(span) | data::Cell::Bytes(span) => batch.values.bytes(span),
            other => panic!("{other:?}"),
        };
        assert_eq!([span(0), span(1)], [&values[0][..], &values[1][..]], "{name}");
    }
}
