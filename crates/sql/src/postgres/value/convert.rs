//! From a cell to the column's form: what the value is, and which writer takes it.
//!
//! Place in the data path: once for every value. The cell's schema is looked at here and nowhere else.

use super::target::Target;
use super::{Context, Encoded, Fault, nested, number, numeric, temporal, text, union};
use data::{Cell, Logical, Rows, Schema, Type, write_plain_json};

pub(super) const MISMATCH: &str = "42804";
pub(super) const NOT_VALID: &str = "22P02";
pub(super) const OUT_OF_RANGE: &str = "22003";
pub(super) const BAD_DATETIME: &str = "22008";
pub(super) const NOT_IN_TEXT: &str = "22021";
pub(super) const NOT_IN_JSON: &str = "22P05";

/// A value whose meaning is settled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Val<'a> {
    Bool(bool),
    Int(i64),
    /// A whole number beyond 2^63.
    Unsigned(u64),
    Float(f64),
    Float32(f32),
    /// The text of a JSON number.
    Number(&'a [u8]),
    /// Text; schemaless if `true`, where it is a JSON string to a JSON column.
    Text(&'a [u8], bool),
    /// Bytes; in a union if `true`, where they are a JSON string in base64 to a JSON column.
    Bytes(&'a [u8], bool),
    Decimal(&'a [u8], i32),
    /// Days since 1970.
    Date(i64),
    /// Milliseconds of a day.
    Time(i64),
    /// Milliseconds since 1970, UTC.
    Instant(i64),
    /// Microseconds since 1970, UTC; only for columns of dates and timestamps.
    Micros(i64),
    /// A wall clock without a time zone: milliseconds since 1970-01-01 00:00, and microseconds of the
    /// next one.
    Wall(i64, i64),
    /// Microseconds of a day.
    MicroTime(i64),
    /// Microseconds.
    Duration(i64),
    /// Microseconds, ISO 8601 where they are text.
    Elapsed(i64),
    /// Months, days and milliseconds.
    Period([u32; 3]),
    /// So many bits, the lowest first.
    Bits(&'a [u8], usize),
    /// A geometry's well-known binary form, and its reference system.
    Geometry(&'a [u8], Option<i64>),
    /// JSON text of an object or array.
    Json(&'a [u8]),
    /// A list, map or struct.
    Nested(Cell, Option<&'a Schema>),
}

/// The meaning of a cell; `None` for null.
#[inline]
pub(super) fn value<'a>(
    rows: &'a Rows,
    schema: Option<&'a Schema>,
    cell: Cell,
    target: &Target,
) -> Option<Val<'a>> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Bool(v) => Val::Bool(v),
        Cell::Int(v, _) => match schema.map(Schema::logical) {
            Some(Logical::Date) => Val::Date(v),
            Some(Logical::Time) => Val::Time(v),
            Some(Logical::Timestamp) => Val::Instant(v),
            _ => Val::Int(v),
        },
        Cell::Float(v) if schema.is_some_and(|s| s.kind() == Type::Float32) => {
            Val::Float32(v as f32)
        }
        Cell::Float(v) => Val::Float(v),
        Cell::Float32(v) => Val::Float32(v),
        Cell::Number(span) => Val::Number(rows.bytes(span)),
        Cell::Text(span) => Val::Text(rows.bytes(span), schema.is_none()),
        Cell::Bytes(span) => Val::Bytes(rows.bytes(span), false),
        Cell::Decimal { unscaled, scale } => Val::Decimal(rows.bytes(unscaled), scale),
        // Under a name that contradicts its type: the column is one of integers.
        Cell::Instant(ms) if schema.is_some_and(|s| s.kind().is_integer()) => Val::Int(ms),
        Cell::Instant(ms) => Val::Instant(ms),
        Cell::Json(span) => Val::Json(rows.bytes(span)),
        Cell::Struct(_) if schema.is_some_and(Schema::is_union) => {
            return union::value(rows, schema, cell, target);
        }
        Cell::List(_) | Cell::Map(_) | Cell::Struct(_) => Val::Nested(cell, schema),
    })
}

/// True if the value's text form in a scalar column has nothing that COPY would have to escape.
pub(super) fn is_plain(cell: Cell) -> bool {
    matches!(
        cell,
        Cell::Bool(_)
            | Cell::Int(..)
            | Cell::Float(_)
            | Cell::Float32(_)
            | Cell::Number(_)
            | Cell::Decimal { .. }
            | Cell::Instant(_)
    )
}

/// Appends the text form.
#[inline]
pub(super) fn write_text(
    context: Context<'_>,
    target: &Target,
    value: Val<'_>,
    out: &mut Vec<u8>,
) -> Encoded {
    if let Val::Text(bytes, schemaless) = value {
        return text::write(context, target, bytes, schemaless, out);
    }
    match target {
        Target::Int2 | Target::Int4 | Target::Int8 | Target::Oid => {
            let v = number::integer(target, value)?;
            number::write_int(v, out);
            Ok(())
        }
        Target::Float4 | Target::Float8 => number::write_float(target, value, out),
        Target::Numeric => number::write_numeric(value, out),
        Target::Money => number::write_money(value, out),
        Target::Bool => {
            out.push(if number::boolean(target, value)? { b't' } else { b'f' });
            Ok(())
        }
        Target::Bits => text::write_bits(value, out),
        Target::Text => as_text(context, value, out),
        Target::Json | Target::Jsonb => as_json(context, target, value, out),
        Target::Bytea | Target::Uuid | Target::Geometry => match value {
            Val::Bytes(bytes, _) => text::write_bytes(target, bytes, out),
            Val::Geometry(bytes, srid) => {
                if let Some(srid) = srid {
                    out.extend_from_slice(b"SRID=");
                    number::write_int(srid, out);
                    out.push(b';');
                }
                text::write_bytes(target, bytes, out)
            }
            _ => Err(no_form(target, value)),
        },
        Target::Date
        | Target::Time
        | Target::TimeTz
        | Target::Timestamp
        | Target::TimestampTz
        | Target::Interval => temporal::write(context, target, value, out),
        Target::Array(_) | Target::Composite(_) | Target::Hstore | Target::Vector => {
            nested::write(context, target, value, out)
        }
        Target::Other => match value {
            Val::Int(_)
            | Val::Unsigned(_)
            | Val::Bool(_)
            | Val::Number(_)
            | Val::Float(_)
            | Val::Float32(_)
            | Val::Decimal(..) => as_text(context, value, out),
            _ => Err(no_form(target, value)),
        },
    }
}

/// Any value as text for people and programs: ISO 8601, JSON for what is nested.
fn as_text(context: Context<'_>, value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    match value {
        Val::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
        Val::Int(v) => number::write_int(v, out),
        Val::Unsigned(v) => number::write_unsigned(v, out),
        Val::Float(v) => number::write_f64(v, out),
        Val::Float32(v) => number::write_f32(v, out),
        Val::Number(digits) => out.extend_from_slice(digits),
        Val::Decimal(unscaled, scale) => number::write_decimal(unscaled, scale, out)?,
        Val::Text(bytes, _) => text::put(context, bytes, out)?,
        Val::Bytes(bytes, _) => text::put_encoded(context, bytes, out),
        Val::Date(days) => temporal::write_iso_date(days, out)?,
        Val::Time(ms) => temporal::write_iso_time(ms, out)?,
        Val::Instant(ms) => temporal::write_iso_instant(ms, out)?,
        Val::Micros(us) => temporal::write_iso_micros_instant(us, out)?,
        Val::Wall(ms, us) => temporal::write_iso_wall(ms, us, out)?,
        Val::MicroTime(us) => temporal::write_iso_micros(us, out)?,
        Val::Duration(us) => number::write_int(us, out),
        Val::Elapsed(us) => temporal::write_elapsed(us, out),
        Val::Period(parts) => temporal::write_period(parts, out),
        Val::Bits(bytes, _) | Val::Geometry(bytes, _) => text::put_encoded(context, bytes, out),
        Val::Json(json) => out.extend_from_slice(json),
        Val::Nested(cell, schema) => write_plain_json(context.rows, schema, cell, out),
    }
    Ok(())
}

/// Any value as JSON. Text with a schema is JSON already, and bytes are too: they go through the
/// column's input function like text.
pub(super) fn as_json(
    context: Context<'_>,
    target: &Target,
    value: Val<'_>,
    out: &mut Vec<u8>,
) -> Encoded {
    let start = out.len();
    match value {
        Val::Text(bytes, false) | Val::Json(bytes) => out.extend_from_slice(bytes),
        Val::Text(bytes, true) => match std::str::from_utf8(bytes) {
            Ok(text) => data::write_json_string(text, out),
            Err(_) => return Err(text::not_utf8()),
        },
        Val::Bytes(bytes, true) => quoted(out, |out| text::put_base64(bytes, out)),
        Val::Bytes(bytes, false) if std::str::from_utf8(bytes).is_ok() => {
            out.extend_from_slice(bytes);
        }
        Val::Bytes(..) => return Err(text::not_utf8()),
        Val::Float(v) if !v.is_finite() => quoted(out, |out| number::write_f64(v, out)),
        Val::Float32(v) if !v.is_finite() => quoted(out, |out| number::write_f32(v, out)),
        Val::Date(_)
        | Val::Time(_)
        | Val::Instant(_)
        | Val::Micros(_)
        | Val::Wall(..)
        | Val::MicroTime(_)
        | Val::Period(_)
        | Val::Elapsed(_) => {
            out.push(b'"');
            as_text(context, value, out)?;
            out.push(b'"');
        }
        _ => as_text(context, value, out)?,
    }
    // A NUL byte itself is no JSON in any type; as an escape only jsonb refuses it.
    text::clean_json(context, target == &Target::Jsonb, out, start)
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

/// Appends the binary form. Pairs without one are refused at plan time.
#[inline]
pub(super) fn write_binary(
    context: Context<'_>,
    target: &Target,
    value: Val<'_>,
    out: &mut Vec<u8>,
) -> Encoded {
    match target {
        Target::Int2 => {
            let v = number::integer(target, value)?;
            out.extend_from_slice(&(v as i16).to_be_bytes());
        }
        Target::Int4 | Target::Oid => {
            let v = number::integer(target, value)?;
            out.extend_from_slice(&(v as u32).to_be_bytes());
        }
        Target::Int8 => out.extend_from_slice(&number::integer(target, value)?.to_be_bytes()),
        Target::Float8 => out.extend_from_slice(&number::float(target, value)?.to_be_bytes()),
        Target::Float4 => out.extend_from_slice(&number::float32(value)?.to_be_bytes()),
        Target::Bool => out.push(u8::from(number::boolean(target, value)?)),
        Target::Numeric => numeric::write_binary(value, out)?,
        Target::Date => out.extend_from_slice(&temporal::date(context, value)?.to_be_bytes()),
        Target::Time => out.extend_from_slice(&temporal::time(context, value)?.to_be_bytes()),
        Target::Timestamp | Target::TimestampTz => {
            let v = temporal::timestamp(context, target, value)?;
            out.extend_from_slice(&v.to_be_bytes());
        }
        Target::Text => as_text(context, value, out)?,
        Target::Json => as_json(context, target, value, out)?,
        Target::Jsonb => {
            out.push(1);
            as_json(context, target, value, out)?;
        }
        Target::Bytea | Target::Uuid => text::write_bytes_binary(context, target, value, out)?,
        _ => return Err(no_form(target, value)),
    }
    Ok(())
}

/// The Connect name of a value's type, for messages.
fn value_name(value: Val<'_>) -> &'static str {
    match value {
        Val::Bool(_) => "BOOLEAN",
        Val::Int(_) | Val::Unsigned(_) => "integer",
        Val::Float(_) | Val::Float32(_) => "floating-point number",
        Val::Number(_) => "JSON number",
        Val::Text(..) => "STRING",
        Val::Bytes(..) => "BYTES",
        Val::Decimal(..) => "Decimal",
        Val::Date(_) => "Date",
        Val::Time(_) | Val::MicroTime(_) => "Time",
        Val::Instant(_) | Val::Micros(_) | Val::Wall(..) => "Timestamp",
        Val::Duration(_) | Val::Period(_) | Val::Elapsed(_) => "duration",
        Val::Bits(..) => "bits",
        Val::Geometry(..) => "geometry",
        Val::Json(_) => "JSON object or array",
        Val::Nested(Cell::List(_), _) => "ARRAY",
        Val::Nested(Cell::Map(_), _) => "MAP",
        Val::Nested(..) => "STRUCT",
    }
}

/// The Connect name of a schema's type, for messages.
pub(super) fn schema_name(schema: &Schema) -> &'static str {
    match schema.logical() {
        Logical::Decimal(_) => "Decimal",
        Logical::Date => "Date",
        Logical::Time => "Time",
        Logical::Timestamp => "Timestamp",
        Logical::None => schema.kind().name(),
    }
}

pub(super) fn mismatch(name: &str, target: &Target) -> Fault {
    Fault {
        sqlstate: MISMATCH,
        message: format!(
            "a value of type {name} has no form in a column of type {}",
            target.name()
        ),
        hint: Some("change the column's type, or convert the field by a transform"),
    }
}

pub(super) fn no_form(target: &Target, value: Val<'_>) -> Fault {
    mismatch(value_name(value), target)
}

/// A value in a message: its beginning, in quotes.
pub(super) fn shown(bytes: &[u8]) -> String {
    const SHOWN_CHARS: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let mut short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
