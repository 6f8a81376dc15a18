//! Schemas and values both ways.
#![expect(clippy::indexing_slicing, reason = "tests")]

mod limits;
mod mapping;
mod nulls;
mod properties;
mod texts;
mod values;

use super::options::Options;
use super::{connect, text, write};
use crate::json::fault::Fault;
use crate::json::plan::Plan;
use crate::json::read::{Reader, Scratch};
use crate::json::scan::Scanner;
use data::{Rows, Schema, Value};
use registry::{Kind, Reference, Registered, SchemaId};
use std::fmt::Write;
use std::sync::Arc;

type Settings<'a> = &'a [(&'a str, &'a str)];

fn options(settings: Settings<'_>) -> Options {
    Options::new(&settings.iter().copied().collect()).unwrap()
}

fn registered(text: &str) -> Registered {
    Registered {
        id: SchemaId::Id(7),
        kind: Kind::Json,
        text: text.into(),
        subject: Some("t-value".into()),
        version: None,
        references: Vec::new(),
        rules: Vec::new(),
    }
}

fn with_references(text: &str, references: &[(&str, &str)]) -> Registered {
    let of = |(name, text): &(&str, &str)| {
        let reference = Reference { name: (*name).into(), subject: (*name).into(), version: 1 };
        (reference, Arc::new(registered(text)))
    };
    Registered { references: references.iter().map(of).collect(), ..registered(text) }
}

fn plan(text: &str, settings: Settings<'_>) -> Plan {
    connect::compile(&options(settings), &registered(text))
        .unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn refused(text: &str) -> String {
    connect::compile(&options(&[]), &registered(text)).unwrap_err()
}

/// The row set, and the value in it, of a payload; or the message and the place.
fn read(plan: &Plan, text: &[u8]) -> Result<Value, (String, String)> {
    let mut rows = Rows::default();
    let base = rows.heap.put(text);
    let mut scratch = Scratch::default();
    let mut reader = Reader {
        scan: Scanner::new(text, 0),
        base,
        rows: &mut rows,
        scratch: &mut scratch,
        replace_null: true,
        depth: 0,
    };
    let told = |fault: Fault| {
        let rejection = fault.reject_by("c");
        (rejection.message, rejection.column.unwrap_or_default())
    };
    let cell =
        reader.value(plan).and_then(|cell| reader.scan.end().map(|()| cell)).map_err(told)?;
    Ok(rows.value(Some(&plan.schema), cell))
}

fn written(settings: Settings<'_>, schema: &Schema, value: &Value) -> Result<String, String> {
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(schema), value);
    let mut out = Vec::new();
    write::value(&options(settings), &rows, schema, cell, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// What was read of a payload, written again.
fn again(text: &str, payload: &str) -> String {
    let plan = plan(text, &[]);
    let value = read(&plan, payload.as_bytes()).unwrap_or_else(|e| panic!("{payload}: {e:?}"));
    written(&[], &plan.schema, &value).unwrap()
}

fn text_of(schema: &Schema, settings: Settings<'_>) -> String {
    text::write_schema(&options(settings), schema).unwrap()
}

/// A schema in a line: `STRUCT T v1{a:INT32?=5,b:STRING}`.
fn shape(schema: &Schema) -> String {
    let mut out = schema.kind().name().to_owned();
    if let Some(name) = schema.name() {
        let short = name.strip_prefix("org.apache.kafka.connect.data.").unwrap_or(name);
        write!(out, " {short}").unwrap();
    }
    if let Some(version) = schema.version() {
        write!(out, " v{version}").unwrap();
    }
    if let Some(doc) = schema.doc() {
        write!(out, " '{doc}'").unwrap();
    }
    for (name, value) in schema.parameters().unwrap_or_default() {
        write!(out, " {name}={value}").unwrap();
    }
    if schema.kind() == data::Type::Struct {
        let fields = schema.fields().iter();
        let fields: Vec<String> =
            fields.map(|field| format!("{}:{}", field.name, shape(&field.schema))).collect();
        write!(out, "{{{}}}", fields.join(",")).unwrap();
    }
    if let Some(key) = schema.key_schema() {
        write!(out, "<{}", shape(key)).unwrap();
        write!(out, ",{}>", schema.value_schema().map_or("?".into(), |v| shape(v))).unwrap();
    } else if let Some(items) = schema.value_schema() {
        write!(out, "<{}>", shape(items)).unwrap();
    }
    if schema.is_optional() {
        out.push('?');
    }
    if let Some(default) = schema.default() {
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(schema), default);
        let mut text = Vec::new();
        data::write_json(&rows, Some(schema), cell, &mut text);
        write!(out, "={}", String::from_utf8(text).unwrap()).unwrap();
    }
    out
}
