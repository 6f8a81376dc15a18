//! Cells as JSON text, for destinations that keep nested values as JSON and for reports.
//!
//! Decimals keep their digits, bytes become base64, dates and times ISO 8601 text, also those that only
//! Debezium, Avro or Protobuf know. This is not Connect's JsonConverter form, which writes logical
//! types as their base numbers.

mod meaning;
mod times;

use crate::calendar::DAY_MS;
use crate::cell::Cell;
use crate::decimal::decimal_to_text;
use crate::java_text::put;
use crate::rows::Rows;
use crate::schema::{Logical, Schema, Type};
use base64::Engine;
use times::{write_date, write_instant, write_time};

/// Appends the JSON text of a value. NaN and infinities become strings, as JSON has no form for them.
/// A union is an object of its branches, as transforms see it.
pub fn write_json(rows: &Rows, schema: Option<&Schema>, cell: Cell, out: &mut Vec<u8>) {
    write(rows, schema, cell, Unions::Branches, out);
}

/// The same for destinations that know no unions: of a union the value that is there.
pub fn write_plain_json(rows: &Rows, schema: Option<&Schema>, cell: Cell, out: &mut Vec<u8>) {
    write(rows, schema, cell, Unions::Values, out);
}

/// What a union is in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unions {
    Branches,
    Values,
}

fn write(rows: &Rows, schema: Option<&Schema>, cell: Cell, unions: Unions, out: &mut Vec<u8>) {
    if let Some(schema) = schema
        && meaning::write(rows, schema, cell, out)
    {
        return;
    }
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
        Cell::Int(v, _) => write_int(schema, v, out),
        Cell::Float(v) if schema.is_some_and(|s| s.kind() == Type::Float32) => {
            write_float(f64::from(v as f32), &(v as f32).to_string(), out);
        }
        Cell::Float(v) => write_float(v, &v.to_string(), out),
        Cell::Float32(v) => write_float(f64::from(v), &v.to_string(), out),
        Cell::Number(span) | Cell::Json(span) => out.extend_from_slice(rows.bytes(span)),
        Cell::Text(span) => write_json_string(rows.text(span), out),
        Cell::Bytes(span) => write_bytes(rows.bytes(span), out),
        Cell::Decimal { unscaled, scale } => decimal_to_text(rows.bytes(unscaled), scale, out),
        Cell::Instant(ms) => write_instant(ms, out),
        Cell::List(span) => {
            let items = schema.and_then(Schema::value_schema);
            write_joined(rows.cells(span).iter(), (b'[', b']'), out, |item, out| {
                write(rows, items.map(AsRef::as_ref), *item, unions, out);
            });
        }
        Cell::Map(span) => write_map(rows, schema, rows.cells(span), unions, out),
        Cell::Struct(_) if unions == Unions::Values && schema.is_some_and(Schema::is_union) => {
            match schema.and_then(|schema| schema.branch(rows, cell)) {
                Some((field, cell)) => write(rows, Some(&field.schema), cell, unions, out),
                None => out.extend_from_slice(b"null"),
            }
        }
        Cell::Struct(span) => {
            let fields = schema.map(Schema::fields).unwrap_or_default();
            let members = fields.iter().zip(rows.cells(span));
            write_joined(members, (b'{', b'}'), out, |(field, cell), out| {
                write_json_string(&field.name, out);
                out.push(b':');
                write(rows, Some(&field.schema), *cell, unions, out);
            });
        }
    }
}

fn write_joined<T>(
    items: impl Iterator<Item = T>,
    (open, close): (u8, u8),
    out: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(close);
}

/// An object; keys that are no text are written as the text of their JSON form.
fn write_map(
    rows: &Rows,
    schema: Option<&Schema>,
    cells: &[Cell],
    unions: Unions,
    out: &mut Vec<u8>,
) {
    let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
    let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
    write_joined(cells.chunks_exact(2), (b'{', b'}'), out, |pair, out| {
        if let [key, value] = pair {
            match key {
                Cell::Text(span) => write_json_string(rows.text(*span), out),
                other => {
                    let mut text = Vec::new();
                    write(rows, keys, *other, unions, &mut text);
                    match text.first() {
                        // Times and bytes are strings already.
                        Some(b'"') => out.extend_from_slice(&text),
                        _ => write_json_string(&String::from_utf8_lossy(&text), out),
                    }
                }
            }
            out.push(b':');
            write(rows, values, *value, unions, out);
        }
    });
}

fn write_int(schema: Option<&Schema>, value: i64, out: &mut Vec<u8>) {
    match schema.map(Schema::logical) {
        Some(Logical::Date) => quoted(out, |out| write_date(value, out)),
        Some(Logical::Time) => quoted(out, |out| write_time(value.rem_euclid(DAY_MS), out)),
        Some(Logical::Timestamp) => write_instant(value, out),
        _ => put(out, format_args!("{value}")),
    }
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

fn write_float(value: f64, text: &str, out: &mut Vec<u8>) {
    if value.is_finite() {
        out.extend_from_slice(text.as_bytes());
    } else if value.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else {
        out.extend_from_slice(if value > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    quoted(out, |out| out.extend_from_slice(text.as_bytes()));
}

/// Appends a JSON string: quotes, backslashes and control characters escaped, the rest as it is.
pub fn write_json_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => put(out, format_args!("\\u{byte:04x}")),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests;
