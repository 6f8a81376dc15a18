//! Mapped values, in every form of a source: as JSON, and beside records that have none.

use super::*;
use api::Side;
use config::Props;
use data::{RawBatchBuilder, TimestampType, TopicPartition, write_json};
use std::sync::Arc;

fn sources(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(column, source)| ((*column).to_owned(), (*source).to_owned())).collect()
}

/// The mapped values of records of keys and values, as JSON.
fn mapped(mapping: &[(&str, &str)], bytea: &[&str], records: &[(&str, &str)]) -> Vec<String> {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("topic1", 3));
    for (offset, (key, value)) in records.iter().enumerate() {
        builder.header("h", Some(b"first"));
        builder.header("h", Some(b"last"));
        let value = Some(value.as_bytes()).filter(|value| !value.is_empty());
        builder.push(offset as i64, 5, TimestampType::CreateTime, Some(key.as_bytes()), value);
    }
    let mut batch = Batch::new(Arc::new(builder.finish(9)));
    let plain: Props = [("schemas.enable", "false")].into_iter().collect();
    let find = |side| (converters::find("Json").unwrap().make)(&plain, side).unwrap();
    for side in [Side::Key, Side::Value] {
        find(side).decode(side, &mut batch);
    }
    let columns: Vec<Column> = bytea
        .iter()
        .map(|name| Column { name: (*name).to_owned(), bytea: true, json: false, identity: false })
        .collect();
    let all = Mask::all(batch.len());
    Mapping::new(&sources(mapping), &columns).unwrap().apply(&mut batch, &all);
    let shown = |row: usize| {
        if let Some(reject) = batch.rejects.iter().find(|reject| reject.row as usize == row) {
            return reject.message.clone();
        }
        let mut out = Vec::new();
        write_json(&batch.values, None, batch.values.root(row), &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..batch.len()).map(shown).collect()
}

#[test]
fn every_source_fills_its_column() {
    let mapping = [
        ("a", "$.a"),
        ("deep", "$.o.list[1].x"),
        ("doc", "$.o"),
        ("h", "headers.h"),
        ("k", "key.id"),
        ("o", "offset"),
        ("p", "partition"),
        ("t", "topic"),
        ("sql", "=a + 1"),
    ];
    let value = r#"{"a":1,"o":{"list":[{}, {"x":12345678901234567890.50}]},"z":0}"#;
    assert_eq!(
        mapped(&mapping, &[], &[(r#"{"id":"k1"}"#, value)]),
        [concat!(
            r#"{"a":1,"deep":12345678901234567890.50,"doc":{"list":[{}, {"x":12345678901234567890.50}]},"#,
            r#""h":"last","k":"k1","o":0,"p":3,"t":"topic1"}"#
        )]
    );
}

/// The mapped values of records with types: column, type and value of each field.
fn mapped_typed(mapping: &[(&str, &str)], key: &str, values: &[&str]) -> Vec<(String, String)> {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("topic1", 3));
    for (offset, value) in values.iter().enumerate() {
        builder.header("h", Some(b"head"));
        builder.push(
            offset as i64,
            5,
            TimestampType::CreateTime,
            Some(key.as_bytes()),
            Some(value.as_bytes()),
        );
    }
    let mut batch = Batch::new(Arc::new(builder.finish(9)));
    for side in [Side::Key, Side::Value] {
        let json = (converters::find("Json").unwrap().make)(&Props::new(), side);
        json.unwrap().decode(side, &mut batch);
    }
    assert_eq!(batch.rejects, []);
    let all = Mask::all(batch.len());
    Mapping::new(&sources(mapping), &[]).unwrap().apply(&mut batch, &all);
    assert_eq!(batch.rejects, []);
    let shown = |row: usize| {
        let schema = batch.values.schema(row).unwrap();
        let types = schema.fields().iter().map(|field| {
            let name = field.schema.name().and_then(|name| name.rsplit('.').next());
            format!("{}:{}", field.name, name.unwrap_or(field.schema.kind().name()))
        });
        let mut out = Vec::new();
        write_json(&batch.values, Some(schema), batch.values.root(row), &mut out);
        (types.collect::<Vec<_>>().join(" "), String::from_utf8(out).unwrap())
    };
    (0..batch.len()).map(shown).collect()
}

#[test]
fn parts_of_typed_values_keep_their_types() {
    let inner = r#"{"field":"o","type":"struct","optional":true,"fields":[
        {"field":"day","type":"int32","name":"org.apache.kafka.connect.data.Date"},
        {"field":"list","type":"array","items":{"type":"int64"}}]}"#;
    let schema = format!(
        r#"{{"type":"struct","fields":[{{"field":"a","type":"int32","optional":true}},{inner}]}}"#
    );
    let value = |payload: &str| format!(r#"{{"schema":{schema},"payload":{payload}}}"#);
    let values = [
        value(r#"{"a":1,"o":{"day":0,"list":[7,8]}}"#),
        value(r#"{"a":null,"o":{"day":1,"list":[]}}"#),
        value(r#"{"a":2,"o":null}"#),
    ];
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let mapping = [
        ("a", "$.a"),
        ("day", "$.o.day"),
        ("h", "headers.h"),
        ("k", "key"),
        ("second", "$.o.list[1]"),
        ("t", "timestamp"),
        ("whole", "$.o"),
        ("x", "$.x"),
    ];
    let key = r#"{"schema":{"type":"int64"},"payload":9}"#;
    let own = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        mapped_typed(&mapping, key, &values),
        [
            own(
                "a:INT32 day:Date h:STRING k:INT64 second:INT64 t:Timestamp whole:STRUCT",
                concat!(
                    r#"{"a":1,"day":"1970-01-01","h":"head","k":9,"second":8,"#,
                    r#""t":"1970-01-01T00:00:00.005Z","whole":{"day":"1970-01-01","list":[7,8]}}"#
                ),
            ),
            // An element that is not there is left out, a null stays one.
            own(
                "a:INT32 day:Date h:STRING k:INT64 t:Timestamp whole:STRUCT",
                concat!(
                    r#"{"a":null,"day":"1970-01-02","h":"head","k":9,"#,
                    r#""t":"1970-01-01T00:00:00.005Z","whole":{"day":"1970-01-02","list":[]}}"#
                ),
            ),
            own(
                "a:INT32 h:STRING k:INT64 t:Timestamp whole:STRUCT",
                r#"{"a":2,"h":"head","k":9,"t":"1970-01-01T00:00:00.005Z","whole":null}"#,
            ),
        ]
    );
}

#[test]
fn typed_keys_go_with_values_that_have_no_types_and_the_reverse() {
    let key = r#"{"schema":{"type":"struct","fields":[{"field":"id","type":"int32"}]},"payload":{"id":4}}"#;
    let plain = r#"{"schema":null,"payload":{"n":12345678901234567890,"d":{"x":[1,null]},"s":"a","b":true}}"#;
    let mapping = [("b", "$.b"), ("d", "$.d"), ("id", "key.id"), ("n", "$.n"), ("s", "$.s")];
    let (types, values) = mapped_typed(&mapping, key, &[plain]).remove(0);
    assert_eq!(types, "b:BOOLEAN d:STRING id:INT32 n:STRING s:STRING");
    assert_eq!(
        values,
        r#"{"b":true,"d":"{\"x\":[1,null]}","id":4,"n":"12345678901234567890","s":"a"}"#
    );
}

#[test]
fn what_is_not_there_is_left_out_and_a_null_stays_one() {
    let mapping = [("a", "$.a"), ("b", "$.o.b"), ("c", "$.o.b.c"), ("l", "$.l[2]"), ("n", "$[0]")];
    let records = [
        ("1", "{}"),
        ("1", r#"{"a":null,"o":{"b":null},"l":[1,2]}"#),
        ("1", r#"{"o":{"b":"no object"},"l":[1,2,"\u00e9\n"]}"#),
        ("1", r#"[7]"#),
        ("1", ""),
    ];
    assert_eq!(
        mapped(&mapping, &[], &records),
        [
            "{}",
            r#"{"a":null,"b":null}"#,
            "{\"b\":\"no object\",\"l\":\"é\\n\"}",
            r#"{"n":7}"#,
            "null"
        ]
    );
}

#[test]
fn names_with_escapes_and_repeated_ones_are_found() {
    let mapping = [("a", "$.o.é"), ("b", "$.o.b")];
    let value = r#"{"o":{"\u00e9":1,"b":{"b":[9,"}"]},"b":"]","b" : 2 }}"#;
    assert_eq!(mapped(&mapping, &[], &[("1", value)]), [r#"{"a":1,"b":2}"#]);
}

#[test]
fn bytes_are_text_where_the_column_is_not_bytea() {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.push(0, -1, TimestampType::None, Some(b"k"), Some(b"v"));
    builder.push(1, -1, TimestampType::None, Some(b"\xff"), Some(b"\xff"));
    let mut batch = Batch::new(Arc::new(builder.finish(2)));
    let bytes = (converters::find("ByteArray").unwrap().make)(&Props::new(), Side::Value);
    let mut bytes = bytes.unwrap();
    bytes.decode(Side::Key, &mut batch);
    bytes.decode(Side::Value, &mut batch);
    let columns = [Column { name: "v".to_owned(), bytea: true, json: false, identity: false }];
    let sources = sources(&[("k", "key"), ("v", "$"), ("at", "timestamp")]);
    let all = Mask::all(2);
    Mapping::new(&sources, &columns).unwrap().apply(&mut batch, &all);
    let Cell::Map(span) = batch.values.root(0) else { panic!() };
    let cells = batch.values.cells(span);
    assert!(matches!(cells, [_, Cell::Null, _, Cell::Text(_), _, Cell::Bytes(_)]), "{cells:?}");
    let reject = batch.rejects.first().unwrap();
    assert_eq!((reject.row, reject.column.as_deref()), (1, Some("k")));
    assert_eq!(reject.sqlstate.as_deref(), Some("22021"));
}

#[test]
fn sources_that_are_none_are_told() {
    for text in ["", "value", "$a", "$.", "$.a..b", "$[x]", "$[1", "keys", "headers.", "key.a]"] {
        assert!(Mapping::new(&sources(&[("c", text)]), &[]).is_err(), "{text}");
    }
}
