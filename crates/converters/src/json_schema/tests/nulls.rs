//! What the format tells the converter: nulls, names, checks, and schemas that are there already.

use super::*;
use crate::json_schema::JsonSchema;
use crate::registered::{Format, Written};
use data::{Cell, SchemaBuilder, Span, Type, Width};

fn format(settings: Settings<'_>) -> JsonSchema {
    JsonSchema::new(&settings.iter().copied().collect()).unwrap()
}

fn write(settings: Settings<'_>, schema: &Arc<Schema>, value: &Value) -> Result<String, String> {
    let mut format = format(settings);
    let (mut writer, ..) = format.writer(Some(schema))?;
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(schema), value);
    let mut out = Vec::new();
    let written = format.write(&mut writer, &rows, Some(schema), cell, &mut out)?;
    let text = String::from_utf8(out).unwrap();
    Ok(if written == Written::Null { "tombstone".to_owned() } else { text })
}

fn read(settings: Settings<'_>, text: &str, payload: &[u8]) -> Result<Value, (String, String)> {
    let mut format = format(settings);
    let mut reader = format.reader(&registered(text)).unwrap();
    let mut rows = Rows::default();
    let place = rows.heap.put(payload);
    let read = format.read(&mut reader, payload, place, &mut rows);
    read.map_err(|rejection| (rejection.message, rejection.column.unwrap_or_default()))?;
    Ok(rows.value(rows.schema(0), rows.root(0)))
}

#[test]
fn a_null_is_a_tombstone_a_framed_null_or_the_default() {
    let optional = Schema::optional_of(Type::Int64);
    let required = Schema::required_of(Type::Int64);
    let default = SchemaBuilder::new(Type::Int64).default(Value::int(5));
    let default = Arc::new(default.build().unwrap());
    let ignoring = [("ignore.default.for.nullables", "true")];
    assert!(format(&[]).is_tombstone(None));
    for (settings, schema, tombstone, text) in [
        (&[][..], &optional, false, "null"),
        (&[], &required, true, "tombstone"),
        (&[], &default, false, "5"),
        (&ignoring, &default, true, "tombstone"),
    ] {
        assert_eq!(format(settings).is_tombstone(Some(schema)), tombstone);
        assert_eq!(write(settings, schema, &Value::Null).as_deref(), Ok(text));
    }
    assert_eq!(read(&[], r#"{"type":["null","string"]}"#, b"null"), Ok(Value::Null));
    assert_eq!(
        read(&[], r#"{"type":"string","default":"x"}"#, b"null"),
        Ok(Value::Text("x".into()))
    );
    let (message, _) = read(&[], r#"{"type":"string"}"#, b"null").unwrap_err();
    assert_eq!(message, "Invalid null value for required STRING field");
    let (message, _) = read(&[], r#"{"properties":{}}"#, b" ").unwrap_err();
    assert_eq!(message, "Structs should be encoded as JSON objects, but found MISSING");
}

#[test]
fn other_encodings_than_utf8_are_read() {
    let utf16: Vec<u8> = "\u{feff}\"é\"".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(&[], r#"{"type":"string"}"#, &utf16), Ok(Value::Text("é".into())));
    let marked = b"\xef\xbb\xbf\"x\"";
    assert_eq!(read(&[], r#"{"type":"string"}"#, marked), Ok(Value::Text("x".into())));
}

#[test]
fn the_record_has_its_title_as_name() {
    let named = SchemaBuilder::structure().name("a.B").build().unwrap();
    let writer = |schema: Schema| format(&[]).writer(Some(&Arc::new(schema))).unwrap().2;
    assert_eq!(writer(named.clone()).as_deref(), Some("a.B"));
    assert_eq!(writer(SchemaBuilder::copy(&named).optional().build().unwrap()), None);
    let title = format(&[]).record_name(&registered(r#"{"title":"a.B"}"#));
    assert_eq!(title.as_deref(), Some("a.B"));
    let refused = format(&[]).writer(None).err().unwrap();
    assert!(refused.contains("use.latest.version"), "{refused}");
}

#[test]
fn values_are_checked_where_that_is_asked_for() {
    let text = r##"{"type":"object","required":["a"],"additionalProperties":false,"properties":{"id":{"type":"string"},
        "a":{"$ref":"#/definitions/short"},"l":{"type":"array","items":{"type":"integer","minimum":3}}},
        "definitions":{"short":{"$id":"#s","type":"string","maxLength":2}}}"##;
    let strict = [("json.fail.invalid.schema", "true")];
    assert!(read(&strict, text, br#"{"a":"xy","l":[3]}"#).is_ok());
    for (payload, place) in [
        (&br#"{"a":"xyz"}"#[..], "a"),
        (br#"{"a":"x","l":[3,2]}"#, "l[1]"),
        (br#"{"a":"x","other":1}"#, ""),
    ] {
        assert!(read(&[], text, payload).is_ok());
        let (message, column) = read(&strict, text, payload).unwrap_err();
        assert!(message.starts_with("Validation error in JSON: "), "{message}");
        assert!(!message.contains("xyz"), "no contents: {message}");
        assert_eq!(column, place);
    }
    let plan = plan(text, &[]);
    let mut format = format(&strict);
    let mut writer = format.writer_for(Some(&plan.schema), &registered(text)).unwrap();
    let mut rows = Rows::default();
    let long = rows.heap.put(b"xyz");
    let cells = rows.alloc_from(&[Cell::Null, Cell::Text(long), Cell::Null]);
    let mut out = Vec::new();
    let refused = format
        .write(&mut writer, &rows, Some(&plan.schema), Cell::Struct(cells), &mut out)
        .unwrap_err();
    assert!(refused.starts_with("field a: Validation error"), "{refused}");
}

#[test]
fn what_is_written_by_itself_is_valid() {
    let recursive = r##"{"type":"object","properties":{"v":{"type":"integer"},"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]}}}"##;
    let schema = plan(recursive, &[]).schema;
    let strict = [("json.fail.invalid.schema", "true")];
    let value = read(&strict, recursive, br#"{"v":1,"next":{"v":2,"next":null}}"#).unwrap();
    assert_eq!(write(&strict, &schema, &value).unwrap(), r#"{"v":1,"next":{"v":2,"next":null}}"#);
}

#[test]
fn schemaless_values_are_written_under_a_schema_that_exists() {
    let mut format = format(&[]);
    let mut writer = format.writer_for(None, &registered("{}")).unwrap();
    let mut rows = Rows::default();
    let key = rows.heap.put(b"a");
    let cells = rows.alloc_from(&[Cell::Text(key), Cell::Int(1, Width::W64)]);
    let mut out = Vec::new();
    let written = format.write(&mut writer, &rows, None, Cell::Map(cells), &mut out).unwrap();
    assert_eq!((written, out.as_slice()), (Written::Value, &b"{\"a\":1}"[..]));
    assert!(Span::NULL.is_null());
}

#[test]
fn a_schema_that_exists_has_to_have_a_place_for_everything() {
    let of = |written: &str, target: &str| {
        let draft =
            registry::Draft { kind: Kind::Json, text: written.to_owned(), references: Vec::new() };
        format(&[]).compatible(&draft, &registered(target)).err().unwrap_or_default()
    };
    let both = r#"{"properties":{"a":{"type":"integer","connect.type":"int32"},"b":{"type":"array","items":{"type":"string"}}}}"#;
    for (target, wanted) in [
        (both, ""),
        (r#"{"properties":{"a":{"type":"integer"}}}"#, ""),
        ("{}", ""),
        (
            r#"{"properties":{"a":{"type":"integer"}},"additionalProperties":false}"#,
            "b is not in the registered schema, which allows no others",
        ),
        (
            r#"{"properties":{"a":{"type":"string"}}}"#,
            "a is INT32 where the registered schema has STRING",
        ),
        (
            r#"{"properties":{"b":{"type":"array","items":{"type":"integer"}}}}"#,
            "b[] is STRING where the registered schema has INT64",
        ),
        (
            r#"{"properties":{"c":{"type":"string"}},"required":["c"]}"#,
            "c is missing, which the registered schema requires",
        ),
        (r#"{"type":"string"}"#, "the value is STRUCT where the registered schema has STRING"),
    ] {
        assert_eq!(of(both, target), wanted, "{target}");
    }
    assert_eq!(
        of(r#"{"type":["null","string"]}"#, r#"{"type":"string"}"#),
        "the value may be null, which the registered schema does not allow"
    );
}
