//! Data as text that reads back as data, as far as text can say it.

use super::temporal;
use crate::decimal::decimal_to_text;
use crate::java_text::{put, write_decimal, write_double, write_float};
use crate::schema::Schema;
use crate::value::{Struct, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Appends a value. `embedded`: within a list, a map or a struct, where text is quoted. `schema` is
/// what structs without a schema of their own have.
pub(super) fn write(schema: Option<&Schema>, value: &Value, embedded: bool, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => put(out, format_args!("{value}")),
        Value::Int(value, _) => put(out, format_args!("{value}")),
        Value::Float32(value) => write_float(*value, out),
        Value::Float(value) => write_double(*value, out),
        Value::Text(text) if embedded => write_quoted(text, out),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(bytes) if embedded => put(out, format_args!("\"{}\"", STANDARD.encode(bytes))),
        Value::Bytes(bytes) => out.extend_from_slice(STANDARD.encode(bytes).as_bytes()),
        Value::Decimal { unscaled, scale } => write_decimal(unscaled, *scale, out),
        Value::BigInteger(value) => decimal_to_text(value, 0, out),
        Value::Instant(ms) => temporal::write(*ms, out),
        Value::List(items) => {
            let item = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            out.push(b'[');
            for (index, value) in items.iter().enumerate() {
                separate(index, out);
                write(item, value, true, out);
            }
            out.push(b']');
        }
        Value::Map(entries) => {
            let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
            let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            out.push(b'{');
            for (index, (key, value)) in entries.iter().enumerate() {
                separate(index, out);
                write(keys, key, true, out);
                out.push(b':');
                write(values, value, true, out);
            }
            out.push(b'}');
        }
        Value::Struct(value) => write_struct(schema, value, out),
    }
}

/// A struct as a map; a field that is null has its default.
fn write_struct(schema: Option<&Schema>, value: &Struct, out: &mut Vec<u8>) {
    let schema = value.schema.as_deref().or(schema);
    let fields = schema.map(Schema::fields).unwrap_or_default();
    out.push(b'{');
    for (index, field) in fields.iter().enumerate() {
        separate(index, out);
        write_quoted(&field.name, out);
        out.push(b':');
        let own = value.values.get(index).filter(|value| !value.is_null());
        let value = own.or_else(|| field.schema.default()).unwrap_or(&Value::Null);
        write(Some(&field.schema), value, true, out);
    }
    out.push(b'}');
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}
