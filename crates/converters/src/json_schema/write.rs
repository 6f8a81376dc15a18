//! Values as JSON, by their Connect schema.
//!
//! Member order and forms are those of Confluent's converter: fields in their order, a required null
//! without a default left out, maps of other keys than text as arrays of `key` and `value`, unions
//! as the alternative that is set.

use super::options::Options;
use super::text::is_object_map;
use super::{ANY, is_union, iso};
use crate::json::scan::Scanner;
use crate::json::write::{
    Refused, boolean, bytes, comma, double, float, integer, list, mismatch, object, write_named,
    write_plain, write_string,
};
use data::{Cell, Rows, Schema, Span, Type, Width};

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Value,
    /// Nothing: a null where none is allowed and there is no default.
    Missing,
}

/// Appends a value.
///
/// # Errors
/// Why it is no value of the schema; what was appended then is to be cut off.
pub(super) fn value(
    options: &Options,
    rows: &Rows,
    schema: &Schema,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Result<Wrote, Refused> {
    if cell.is_null() {
        return null(options, schema, out);
    }
    if is_union(schema) {
        return union(options, rows, schema, cell, out);
    }
    if options.iso_dates
        && schema.logical().is_temporal()
        && let Cell::Int(encoded, Width::W32 | Width::W64) = cell
    {
        out.push(b'"');
        if !iso::write(schema.logical(), encoded, out) {
            return Err("ISO 8601 has no text for a date beyond the years 0 to 9999".to_owned());
        }
        out.push(b'"');
        return Ok(Wrote::Value);
    }
    if let Some(written) = write_named(options.decimals, rows, schema, cell, out) {
        return written.map(|()| Wrote::Value);
    }
    match (schema.kind(), cell) {
        (Type::Int8, Cell::Int(value, Width::W8))
        | (Type::Int16, Cell::Int(value, Width::W16))
        | (Type::Int32, Cell::Int(value, Width::W32))
        | (Type::Int64, Cell::Int(value, Width::W64)) => integer(value, out),
        (Type::Float32, Cell::Float(value)) => float(value as f32, out),
        (Type::Float32, Cell::Float32(value)) => float(value, out),
        (Type::Float64, Cell::Float(value)) => double(value, out),
        (Type::Boolean, Cell::Bool(value)) => boolean(value, out),
        (Type::String, Cell::Text(span)) if schema.parameter(ANY).is_some() => {
            anything(rows.bytes(span), rows.text(span), out);
        }
        (Type::String, Cell::Text(span)) => write_string(rows.text(span), out),
        (Type::Bytes, Cell::Bytes(span)) => bytes(rows.bytes(span), out),
        (Type::Array, Cell::List(span)) => {
            let items = schema.value_schema().map(AsRef::as_ref);
            list(rows.cells(span), out, |item, out| element(options, rows, items, item, out))?;
        }
        (Type::Map, Cell::Map(span)) => map(options, rows, schema, span, out)?,
        (Type::Struct, Cell::Struct(span)) => structure(options, rows, schema, span, out)?,
        (_, other) => return Err(mismatch(schema, other)),
    }
    Ok(Wrote::Value)
}

fn null(options: &Options, schema: &Schema, out: &mut Vec<u8>) -> Result<Wrote, Refused> {
    if let Some(default) = schema.default().filter(|_| !options.ignore_defaults) {
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(schema), default);
        return value(options, &rows, schema, cell, out);
    }
    if !schema.is_optional() {
        return Ok(Wrote::Missing);
    }
    out.extend_from_slice(b"null");
    Ok(Wrote::Value)
}

/// A value whose place cannot be left out.
fn element(
    options: &Options,
    rows: &Rows,
    schema: Option<&Schema>,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let Some(schema) = schema else { return write_plain(rows, cell, out) };
    if value(options, rows, schema, cell, out)? == Wrote::Missing {
        out.extend_from_slice(b"null");
    }
    Ok(())
}

fn structure(
    options: &Options,
    rows: &Rows,
    schema: &Schema,
    span: Span,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let (fields, cells) = (schema.fields(), rows.cells(span));
    if fields.len() != cells.len() {
        return Err("Mismatching schema.".to_owned());
    }
    out.push(b'{');
    let mut members = 0;
    for (field, cell) in fields.iter().zip(cells) {
        let start = out.len();
        comma(members, out);
        write_string(&field.name, out);
        out.push(b':');
        let wrote = value(options, rows, &field.schema, *cell, out);
        match wrote.map_err(|message| within(&field.name, &message))? {
            Wrote::Value => members += 1,
            Wrote::Missing => out.truncate(start),
        }
    }
    out.push(b'}');
    Ok(())
}

/// A message, seen from outside the field it is about.
fn within(field: &str, message: &str) -> Refused {
    match message.strip_prefix("field ") {
        Some(rest) => format!("field {field}.{rest}"),
        None => format!("field {field}: {message}"),
    }
}

fn union(
    options: &Options,
    rows: &Rows,
    schema: &Schema,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Result<Wrote, Refused> {
    let Cell::Struct(span) = cell else { return Err(mismatch(schema, cell)) };
    let (fields, cells) = (schema.fields(), rows.cells(span));
    if fields.len() != cells.len() {
        return Err("Mismatching schema.".to_owned());
    }
    let set = |cell: &Cell, schema: &Schema| {
        !cell.is_null() || schema.default().is_some() && !options.ignore_defaults
    };
    match fields.iter().zip(cells).find(|(field, cell)| set(cell, &field.schema)) {
        Some((field, cell)) => value(options, rows, &field.schema, *cell, out),
        None => null(options, schema, out),
    }
}

fn map(
    options: &Options,
    rows: &Rows,
    schema: &Schema,
    span: Span,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let keys = schema.key_schema().map(AsRef::as_ref);
    let values = schema.value_schema().map(AsRef::as_ref);
    let cells = rows.cells(span);
    if is_object_map(schema) {
        return object(cells, out, |item, is_key, out| match item {
            item if !is_key => element(options, rows, values, item, out),
            Cell::Text(span) => {
                write_string(rows.text(span), out);
                Ok(())
            }
            other => Err(format!("a key of a map is no text but {}", class(other))),
        });
    }
    out.push(b'[');
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        let [key, value] = pair else { continue };
        comma(index, out);
        out.extend_from_slice(b"{\"key\":");
        element(options, rows, keys, *key, out)?;
        out.extend_from_slice(b",\"value\":");
        element(options, rows, values, *value, out)?;
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

fn class(cell: Cell) -> &'static str {
    data::java_text::class_name(cell)
}

/// The JSON text of a value of any kind; text that is none is a string.
fn anything(text: &[u8], string: &str, out: &mut Vec<u8>) {
    let mut scan = Scanner::new(text, 0);
    if scan.skip(0).and_then(|_| scan.end()).is_ok() {
        out.extend_from_slice(text);
    } else {
        write_string(string, out);
    }
}
