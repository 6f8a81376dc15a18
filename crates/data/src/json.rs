//! Cells as JSON text, for destinations that keep nested values as JSON and for reports.
//!
//! Decimals keep their digits, bytes become base64, dates and times ISO 8601 text. This is not
//! Connect's JsonConverter form, which writes logical types as their base numbers.

use crate::calendar::{DAY_MS, civil_date};
use crate::cell::Cell;
use crate::decimal::decimal_to_text;
use crate::rows::Rows;
use crate::schema::{Logical, Schema, Type};
use base64::Engine;
use std::io::Write;

/// Appends the JSON text of a value. NaN and infinities become strings, as JSON has no form for them.
pub fn write_json(rows: &Rows, schema: Option<&Schema>, cell: Cell, out: &mut Vec<u8>) {
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
                write_json(rows, items.map(AsRef::as_ref), *item, out);
            });
        }
        Cell::Map(span) => write_map(rows, schema, rows.cells(span), out),
        Cell::Struct(span) => {
            let fields = schema.map(Schema::fields).unwrap_or_default();
            let members = fields.iter().zip(rows.cells(span));
            write_joined(members, (b'{', b'}'), out, |(field, cell), out| {
                write_json_string(&field.name, out);
                out.push(b':');
                write_json(rows, Some(&field.schema), *cell, out);
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
fn write_map(rows: &Rows, schema: Option<&Schema>, cells: &[Cell], out: &mut Vec<u8>) {
    let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
    let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
    write_joined(cells.chunks_exact(2), (b'{', b'}'), out, |pair, out| {
        if let [key, value] = pair {
            match key {
                Cell::Text(span) => write_json_string(rows.text(*span), out),
                other => {
                    let mut text = Vec::new();
                    write_json(rows, keys, *other, &mut text);
                    write_json_string(&String::from_utf8_lossy(&text), out);
                }
            }
            out.push(b':');
            write_json(rows, values, *value, out);
        }
    });
}

fn write_int(schema: Option<&Schema>, value: i64, out: &mut Vec<u8>) {
    match schema.map(Schema::logical) {
        Some(Logical::Date) => {
            out.push(b'"');
            write_date(value, out);
            out.push(b'"');
        }
        Some(Logical::Time) => {
            out.push(b'"');
            write_time(value.rem_euclid(DAY_MS), out);
            out.push(b'"');
        }
        Some(Logical::Timestamp) => write_instant(value, out),
        _ => put(out, format_args!("{value}")),
    }
}

fn write_instant(ms: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    write_date(ms.div_euclid(DAY_MS), out);
    out.push(b'T');
    write_time(ms.rem_euclid(DAY_MS), out);
    out.extend_from_slice(b"Z\"");
}

fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_date(days);
    put(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

fn write_time(ms: i64, out: &mut Vec<u8>) {
    let (s, ms) = (ms / 1000, ms % 1000);
    put(out, format_args!("{:02}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60));
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
    out.push(b'"');
    out.extend_from_slice(base64::engine::general_purpose::STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
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

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _infallible = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;
    use crate::cell::Width;
    use crate::value::Value;
    use std::sync::Arc;

    #[test]
    fn nested_values_keep_digits_and_dates() {
        let decimal = Arc::new(SchemaBuilder::decimal(2).build().unwrap());
        let at = Arc::new(SchemaBuilder::timestamp().build().unwrap());
        let bytes = Arc::new(Schema::new(Type::Bytes));
        let schema = SchemaBuilder::structure()
            .field("d", decimal)
            .field("t", at)
            .field("b", bytes)
            .build()
            .unwrap();
        let mut rows = Rows::default();
        let cell = rows.put_value(
            Some(&schema),
            &Value::fields(vec![
                Value::Decimal { unscaled: vec![0x04, 0xe2], scale: 2 },
                Value::Instant(-1),
                Value::Bytes(vec![1, 2]),
            ]),
        );
        let mut out = Vec::new();
        write_json(&rows, Some(&schema), cell, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#"{"d":12.50,"t":"1969-12-31T23:59:59.999Z","b":"AQI="}"#);
    }

    #[test]
    fn schemaless_maps_and_odd_floats() {
        let mut rows = Rows::default();
        let cell = rows.put_value(
            None,
            &Value::Map(vec![
                (Value::Text("a\"\u{1}".to_owned()), Value::Float(f64::NAN)),
                (Value::int(7), Value::List(vec![Value::Null, Value::Bool(true)])),
            ]),
        );
        let mut out = Vec::new();
        write_json(&rows, None, cell, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#"{"a\"\u0001":"NaN","7":[null,true]}"#);
        let mut day = Vec::new();
        let date = SchemaBuilder::date().build().unwrap();
        write_json(&rows, Some(&date), Cell::Int(19_783, Width::W32), &mut day);
        assert_eq!(day, b"\"2024-03-01\"");
    }
}
