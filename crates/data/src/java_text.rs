//! Values as Java prints them: numbers, decimals, dates, whole objects and the names of classes.
//!
//! Place in the data path: converters and conversions that promise Java's text, and messages.
//! Destinations that want ISO dates or plain decimals do not come here.

use crate::calendar::{DAY_MS, java_date};
use crate::cell::{Cell, Width};
use crate::decimal::decimal_to_text;
use crate::rows::Rows;
use crate::schema::{Logical, Schema, Type};
use crate::value::{Struct, Value};
use std::fmt::Arguments;
use std::io::Write;

/// The Java class a cell stands for, as Java prints it in messages.
pub fn class_name(cell: Cell) -> &'static str {
    match cell {
        Cell::Null => "null",
        Cell::Bool(_) => "class java.lang.Boolean",
        Cell::Int(_, width) => integer_class(width),
        Cell::Float(_) => "class java.lang.Double",
        Cell::Float32(_) => "class java.lang.Float",
        Cell::Number(_) | Cell::Decimal { .. } => "class java.math.BigDecimal",
        Cell::Text(_) => "class java.lang.String",
        Cell::Bytes(_) => "class [B",
        Cell::Instant(_) => "class java.util.Date",
        Cell::List(_) => "class java.util.ArrayList",
        Cell::Map(_) | Cell::Json(_) => "class java.util.LinkedHashMap",
        Cell::Struct(_) => "class org.apache.kafka.connect.data.Struct",
    }
}

/// The same where a schema says how the cell is read: an integer of a Date is a date, a float of
/// FLOAT32 one of 32 bits.
pub fn cell_class(schema: Option<&Schema>, cell: Cell) -> &'static str {
    match (cell, schema.map(|schema| (schema.logical(), schema.kind()))) {
        // So narrow is only a plain integer under a temporal name.
        (Cell::Int(_, Width::W8), Some((logical, kind))) if logical.is_temporal() => {
            integer_class(if kind == Type::Int32 { Width::W32 } else { Width::W64 })
        }
        (Cell::Int(..), Some((logical, _))) if logical.is_temporal() => "class java.util.Date",
        (Cell::Float(_), Some((_, Type::Float32))) => "class java.lang.Float",
        // What `Rows::put_value` makes of a double that got there.
        (Cell::Number(_), Some((_, Type::Float32))) => "class java.lang.Double",
        _ => class_name(cell),
    }
}

/// The same of an owned value.
pub fn value_class(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "class java.lang.Boolean",
        Value::Int(_, width) => integer_class(*width),
        Value::Float(_) => "class java.lang.Double",
        Value::Float32(_) => "class java.lang.Float",
        Value::Decimal { .. } => "class java.math.BigDecimal",
        Value::BigInteger(_) => "class java.math.BigInteger",
        Value::Text(_) => "class java.lang.String",
        Value::Bytes(_) => "class [B",
        Value::Instant(_) => "class java.util.Date",
        Value::List(_) => "class java.util.ArrayList",
        Value::Map(_) => "class java.util.LinkedHashMap",
        Value::Struct(_) => "class org.apache.kafka.connect.data.Struct",
    }
}

fn integer_class(width: Width) -> &'static str {
    match width {
        Width::W8 => "class java.lang.Byte",
        Width::W16 => "class java.lang.Short",
        Width::W32 => "class java.lang.Integer",
        Width::W64 => "class java.lang.Long",
    }
}

/// Appends formatted text.
pub fn put(out: &mut Vec<u8>, text: Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _infallible = out.write_fmt(text);
}

/// A double as `Double.toString` prints it, but with the fewest digits that read back the same.
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) {
        put(out, format_args!("{value:?}"));
    } else if value.is_finite() {
        write_exponent(&format!("{value:e}"), out);
    } else {
        write_odd(value, out);
    }
}

/// The same for floats of 32 bits.
pub fn write_float(value: f32, out: &mut Vec<u8>) {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) {
        put(out, format_args!("{value:?}"));
    } else if value.is_finite() {
        write_exponent(&format!("{value:e}"), out);
    } else {
        write_odd(f64::from(value), out);
    }
}

fn write_exponent(text: &str, out: &mut Vec<u8>) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    out.extend_from_slice(mantissa.as_bytes());
    if !mantissa.contains('.') {
        out.extend_from_slice(b".0");
    }
    put(out, format_args!("E{exponent}"));
}

fn write_odd(value: f64, out: &mut Vec<u8>) {
    let text = match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    };
    out.extend_from_slice(text.as_bytes());
}

/// A decimal as `BigDecimal.toString` prints it: with an exponent where the scale is negative or
/// more than six zeros would follow the point.
pub fn write_decimal(unscaled: &[u8], scale: i32, out: &mut Vec<u8>) {
    let mut digits = Vec::new();
    decimal_to_text(unscaled, 0, &mut digits);
    let (sign, digits) = match digits.strip_prefix(b"-") {
        Some(rest) => (&b"-"[..], rest),
        None => (&b""[..], digits.as_slice()),
    };
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    if scale >= 0 && exponent >= -6 {
        decimal_to_text(unscaled, scale, out);
        return;
    }
    out.extend_from_slice(sign);
    let (first, rest) = digits.split_at(1.min(digits.len()));
    out.extend_from_slice(first);
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest);
    }
    if exponent != 0 {
        put(out, format_args!("E{exponent:+}"));
    }
}

/// A point in time as `Date.toString` prints it in UTC.
pub fn write_date(ms: i64, out: &mut Vec<u8>) {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let (days, ms) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = java_date(days);
    let year = if year > 0 { year } else { 1 - year };
    let weekday = WEEKDAYS.get(days.rem_euclid(7) as usize).unwrap_or(&"");
    let month = MONTHS.get(month as usize - 1).unwrap_or(&"");
    let s = ms / 1000;
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    put(out, format_args!("{weekday} {month} {day:02} {h:02}:{m:02}:{s:02} UTC {year}"));
}

/// A value as Java's `toString` prints it. `schema` is what the structs in the value that do not
/// name a schema of their own have. Bytes print as their class, without an identity.
pub fn write_value(schema: Option<&Schema>, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => put(out, format_args!("{value}")),
        Value::Int(value, _) => put(out, format_args!("{value}")),
        Value::Float32(value) => write_float(*value, out),
        Value::Float(value) => write_double(*value, out),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(_) => out.extend_from_slice(b"[B"),
        Value::Decimal { unscaled, scale } => write_decimal(unscaled, *scale, out),
        Value::BigInteger(value) => decimal_to_text(value, 0, out),
        Value::Instant(ms) => write_date(*ms, out),
        Value::List(items) => {
            let item = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            out.push(b'[');
            for (index, value) in items.iter().enumerate() {
                separate(index, ", ", out);
                write_value(item, value, out);
            }
            out.push(b']');
        }
        Value::Map(entries) => {
            let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
            let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            out.push(b'{');
            for (index, (key, value)) in entries.iter().enumerate() {
                separate(index, ", ", out);
                write_value(keys, key, out);
                out.push(b'=');
                write_value(values, value, out);
            }
            out.push(b'}');
        }
        Value::Struct(value) => write_struct(schema, value, out),
    }
}

/// A struct as its own `toString` prints it: without the fields that are null.
pub(crate) fn write_struct(schema: Option<&Schema>, value: &Struct, out: &mut Vec<u8>) {
    let schema = value.schema.as_deref().or(schema);
    let fields = schema.map(Schema::fields).unwrap_or_default();
    out.extend_from_slice(b"Struct{");
    let set = fields.iter().zip(&value.values).filter(|(_, value)| !value.is_null());
    for (index, (field, value)) in set.enumerate() {
        separate(index, ",", out);
        out.extend_from_slice(field.name.as_bytes());
        out.push(b'=');
        write_value(Some(&field.schema), value, out);
    }
    out.push(b'}');
}

/// A value that has no text form in Java: an array of bytes prints as the address of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoText;

impl std::fmt::Display for NoText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes have no text form")
    }
}

/// A cell as Java's `toString` prints its value: the form of [`write_value`] that copies nothing.
/// JSON that nobody has looked at yet is read.
///
/// # Errors
/// There are bytes in the value; what was appended until then is of no use.
pub fn write_cell(
    rows: &Rows,
    schema: Option<&Schema>,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Result<(), NoText> {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Cell::Int(value, width) => write_int(schema, value, width, out),
        Cell::Float(value) if schema.is_some_and(|s| s.kind() == Type::Float32) => {
            write_float(value as f32, out);
        }
        Cell::Float(value) => write_double(value, out),
        Cell::Float32(value) => write_float(value, out),
        Cell::Text(span) => out.extend_from_slice(rows.bytes(span)),
        Cell::Number(span) => write_number(rows.text(span), out),
        Cell::Json(span) => {
            let mut read = Rows::default();
            let cell = read.put_json(rows.bytes(span));
            write_cell(&read, None, cell, out)?;
        }
        Cell::Bytes(_) => return Err(NoText),
        Cell::Decimal { unscaled, scale } => write_decimal(rows.bytes(unscaled), scale, out),
        Cell::Instant(ms) => write_date(ms, out),
        Cell::List(span) => {
            let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            out.push(b'[');
            for (index, item) in rows.cells(span).iter().enumerate() {
                separate(index, ", ", out);
                write_cell(rows, values, *item, out)?;
            }
            out.push(b']');
        }
        Cell::Map(span) => write_cells_of_map(rows, schema, rows.cells(span), out)?,
        Cell::Struct(span) => write_fields(rows, schema, rows.cells(span), out)?,
    }
    Ok(())
}

fn write_int(schema: Option<&Schema>, value: i64, width: Width, out: &mut Vec<u8>) {
    match schema.map(Schema::logical) {
        // So narrow is only a plain integer under a temporal name.
        _ if width == Width::W8 => put_int(value, out),
        Some(Logical::Date) => write_date(value.saturating_mul(DAY_MS), out),
        Some(Logical::Time | Logical::Timestamp) => write_date(value, out),
        _ => put_int(value, out),
    }
}

fn put_int(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A JSON number beyond 64 bits: an integer of any size as it stands, else a double.
fn write_number(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        out.extend_from_slice(text.as_bytes());
    } else {
        // Connect reads such a number as a decimal, which knows no negative zero.
        write_double(text.parse().unwrap_or(f64::NAN) + 0.0, out);
    }
}

fn write_cells_of_map(
    rows: &Rows,
    schema: Option<&Schema>,
    cells: &[Cell],
    out: &mut Vec<u8>,
) -> Result<(), NoText> {
    let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
    let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
    out.push(b'{');
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        separate(index, ", ", out);
        if let [key, value] = pair {
            write_cell(rows, keys, *key, out)?;
            out.push(b'=');
            write_cell(rows, values, *value, out)?;
        }
    }
    out.push(b'}');
    Ok(())
}

fn write_fields(
    rows: &Rows,
    schema: Option<&Schema>,
    cells: &[Cell],
    out: &mut Vec<u8>,
) -> Result<(), NoText> {
    let fields = schema.map(Schema::fields).unwrap_or_default();
    out.extend_from_slice(b"Struct{");
    let set = fields.iter().zip(cells).filter(|(_, cell)| !cell.is_null());
    for (index, (field, cell)) in set.enumerate() {
        separate(index, ",", out);
        out.extend_from_slice(field.name.as_bytes());
        out.push(b'=');
        write_cell(rows, Some(&field.schema), *cell, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn separate(index: usize, with: &str, out: &mut Vec<u8>) {
    if index > 0 {
        out.extend_from_slice(with.as_bytes());
    }
}

/// The text of [`write_value`].
pub fn value_text(schema: Option<&Schema>, value: &Value) -> String {
    let mut out = Vec::new();
    write_value(schema, value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// A schema as `ConnectSchema.toString` prints it.
pub fn schema_text(schema: &Schema) -> String {
    named_schema_text(schema.name(), schema.kind())
}

pub(crate) fn named_schema_text(name: Option<&str>, kind: Type) -> String {
    match name {
        Some(name) => format!("Schema{{{name}:{}}}", kind.name()),
        None => format!("Schema{{{}}}", kind.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;
    use std::sync::Arc;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_look_as_in_java() {
        for (value, wanted) in [
            (1e7, "1.0E7"),
            (9_999_999.0, "9999999.0"),
            (1e-5, "1.0E-5"),
            (0.001, "0.001"),
            (-0.0, "-0.0"),
            (123_456_789.125, "1.23456789125E8"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(|out| write_double(value, out)), wanted);
        }
        assert_eq!(text(|out| write_float(16_777_217.0, out)), "1.6777216E7");
        assert_eq!(text(|out| write_float(0.1, out)), "0.1");
    }

    #[test]
    fn decimals_look_as_in_java() {
        for (unscaled, scale, wanted) in [
            (&[12_u8][..], -3, "1.2E+4"),
            (&[1], 20, "1E-20"),
            (&[0], 10, "0E-10"),
            (&[0], 3, "0.000"),
            (&[0xff], 5, "-0.00001"),
            (&[0xff], 7, "-1E-7"),
            (&[5], -1, "5E+1"),
        ] {
            assert_eq!(text(|out| write_decimal(unscaled, scale, out)), wanted);
        }
    }

    #[test]
    fn dates_look_as_in_java() {
        for (ms, wanted) in [
            (1_700_000_000_123, "Tue Nov 14 22:13:20 UTC 2023"),
            (-1, "Wed Dec 31 23:59:59 UTC 1969"),
            (-62_135_769_600_000, "Sat Jan 01 00:00:00 UTC 1"),
            (-12_219_379_200_000, "Thu Oct 04 00:00:00 UTC 1582"),
            (i64::MIN, "Sun Dec 02 16:47:04 UTC 292269055"),
        ] {
            assert_eq!(text(|out| write_date(ms, out)), wanted);
        }
    }

    #[test]
    fn objects_look_as_in_java() {
        let inner = SchemaBuilder::structure()
            .field("x", Arc::new(SchemaBuilder::new(Type::String).optional().build().unwrap()))
            .field("f", Arc::new(Schema::new(Type::Float32)));
        let outer = SchemaBuilder::structure().field("s", Arc::new(inner.build().unwrap()));
        let outer = outer.build().unwrap();
        let value = Value::fields(vec![Value::fields(vec![Value::Null, Value::Float32(1.0)])]);
        assert_eq!(value_text(Some(&outer), &value), "Struct{s=Struct{f=1.0}}");
        let map = Value::Map(vec![(Value::int(1), Value::List(vec![Value::Null, value]))]);
        assert_eq!(value_text(None, &map), "{1=[null, Struct{}]}");
        assert_eq!(schema_text(&outer), "Schema{STRUCT}");
    }

    #[test]
    fn cells_look_as_their_values() {
        let mut rows = Rows::default();
        let json =
            rows.heap.put(br#"{"a":1,"b":[1.0,"x",null,{"c":1e400}],"a":12345678901234567890}"#);
        let number = rows.heap.put(b"-1.50e3");
        let items = rows.alloc_from(&[Cell::Json(json), Cell::Number(number), Cell::Bool(true)]);
        let cell = Cell::List(items);
        let seen = text(|out| write_cell(&rows, None, cell, out).unwrap());
        assert_eq!(
            seen,
            "[{a=12345678901234567890, b=[1.0, x, null, {c=Infinity}]}, -1500.0, true]"
        );
        assert_eq!(seen, value_text(None, &rows.value(None, cell)));
        let date = Schema::clone(&SchemaBuilder::date().build().unwrap());
        let of = |cell| text(|out| write_cell(&rows, Some(&date), cell, out).unwrap());
        assert_eq!(of(Cell::Int(1, Width::W32)), "Fri Jan 02 00:00:00 UTC 1970");
        assert_eq!(of(Cell::Int(1, Width::W8)), "1", "no date, but an integer that got in there");
        let structure = SchemaBuilder::structure()
            .field("d", Arc::new(date.clone()))
            .field("f", Arc::new(Schema::new(Type::Float32)))
            .field("n", Arc::new(SchemaBuilder::new(Type::String).optional().build().unwrap()));
        let structure = structure.build().unwrap();
        let fields = rows.alloc_from(&[Cell::Int(0, Width::W32), Cell::Float(0.1), Cell::Null]);
        let seen = text(|out| {
            write_cell(&rows, Some(&structure), Cell::Struct(fields), out).unwrap();
        });
        assert_eq!(seen, "Struct{d=Thu Jan 01 00:00:00 UTC 1970,f=0.1}");
        let bytes = rows.heap.put(b"b");
        let list = rows.alloc_from(&[Cell::Bytes(bytes)]);
        assert_eq!(write_cell(&rows, None, Cell::List(list), &mut Vec::new()), Err(NoText));
    }
}
