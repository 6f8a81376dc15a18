//! Rows to JSON text: values, schemas, and the envelope around both.
//!
//! Members are in the order in which Connect's converter writes them, because some readers compare
//! bytes. Where a value does not fit its schema, nothing of the row is written.

use super::number::shortest;
use super::options::{DecimalFormat, Options};
use super::strings::{HIGH, special};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data::java_text::{cell_class, class_name, put, write_decimal, write_double, write_float};
use data::{Cell, DATE, DAY_MS, DECIMAL, Rows, Schema, Span, TIME, TIMESTAMP, Type, Width};

/// Why a value cannot be written.
pub(crate) type Refused = String;

/// Appends the JSON of a value; nulls follow the null rules of its schema.
pub(crate) fn write_value(
    options: &Options,
    rows: &Rows,
    schema: Option<&Schema>,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let Some(schema) = schema else {
        return write_plain(rows, cell, out);
    };
    if schema.name().is_some()
        && let Some(written) = write_named(options.decimal_format, rows, schema, cell, out)
    {
        return written;
    }
    match (schema.kind(), cell) {
        (_, Cell::Null) => return write_null(options, schema, out),
        (Type::Int8, Cell::Int(value, Width::W8))
        | (Type::Int16, Cell::Int(value, Width::W16))
        | (Type::Int32, Cell::Int(value, Width::W32))
        | (Type::Int64, Cell::Int(value, Width::W64)) => integer(value, out),
        (Type::Float32, Cell::Float(value)) => float(value as f32, out),
        (Type::Float32, Cell::Float32(value)) => float(value, out),
        (Type::Float64, Cell::Float(value)) => double(value, out),
        (Type::Boolean, Cell::Bool(value)) => boolean(value, out),
        (Type::String, Cell::Text(span)) => write_string(rows.text(span), out),
        (Type::Bytes, Cell::Bytes(span)) => bytes(rows.bytes(span), out),
        (Type::Array, Cell::List(span)) => {
            let items = schema.value_schema().map(AsRef::as_ref);
            list(rows.cells(span), out, |item, out| write_value(options, rows, items, item, out))?;
        }
        (Type::Map, Cell::Map(span)) => write_map(options, rows, schema, span, out)?,
        (Type::Struct, Cell::Struct(span)) => {
            let (fields, cells) = (schema.fields(), rows.cells(span));
            if fields.len() != cells.len() {
                return Err("Mismatching schema.".to_owned());
            }
            out.push(b'{');
            for (index, (field, cell)) in fields.iter().zip(cells).enumerate() {
                comma(index, out);
                write_string(&field.name, out);
                out.push(b':');
                write_value(options, rows, Some(&field.schema), *cell, out)?;
            }
            out.push(b'}');
        }
        (_, other) => return Err(mismatch(schema, other)),
    }
    Ok(())
}

/// A value under a logical name. The name decides whatever the schema's type is, as in Connect.
/// `None`: nothing but the type counts.
pub(crate) fn write_named(
    decimals: DecimalFormat,
    rows: &Rows,
    schema: &Schema,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Option<Result<(), Refused>> {
    let name = schema.name().filter(|name| [DATE, TIME, TIMESTAMP, DECIMAL].contains(name))?;
    // An integer of a temporal schema is its encoding, unless it is so narrow.
    let is_encoding = schema.logical().is_temporal() && !matches!(cell, Cell::Int(_, Width::W8));
    let encoded = match (name, cell) {
        (_, Cell::Null) => return None,
        (DECIMAL, Cell::Decimal { unscaled, scale }) => {
            return Some(decimal(decimals, schema, rows.bytes(unscaled), scale, out));
        }
        (DATE | TIME | TIMESTAMP, Cell::Int(value, _)) if is_encoding => value,
        (DATE, Cell::Instant(ms)) if ms.rem_euclid(DAY_MS) == 0 => ms.div_euclid(DAY_MS),
        (DATE, Cell::Instant(_)) => return Some(Err(not_only("Date", "time"))),
        (TIME | TIMESTAMP, Cell::Instant(ms)) => ms,
        _ => return Some(Err(mismatch(schema, cell))),
    };
    if name == TIME && !(0..=DAY_MS).contains(&encoded) {
        return Some(Err(not_only("Time", "date")));
    }
    integer(encoded, out);
    Some(Ok(()))
}

#[cold]
fn not_only(name: &str, other: &str) -> Refused {
    format!("Kafka Connect {name} type should not have any {other} fields set to non-zero values.")
}

/// The null rules: the default, if nulls are replaced; else null, if that is allowed.
fn write_null(options: &Options, schema: &Schema, out: &mut Vec<u8>) -> Result<(), Refused> {
    if let Some(default) = schema.default().filter(|_| options.replace_null_with_default) {
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(schema), default);
        return write_value(options, &rows, Some(schema), cell, out);
    }
    if schema.is_optional() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    Err("Conversion error: null value for field that is required and has no default value"
        .to_owned())
}

pub(crate) fn write_plain(rows: &Rows, cell: Cell, out: &mut Vec<u8>) -> Result<(), Refused> {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Bool(value) => boolean(value, out),
        Cell::Int(value, _) => integer(value, out),
        Cell::Float(value) => double(value, out),
        Cell::Float32(value) => float(value, out),
        Cell::Number(span) | Cell::Json(span) => out.extend_from_slice(rows.bytes(span)),
        Cell::Text(span) => write_string(rows.text(span), out),
        Cell::Bytes(span) => bytes(rows.bytes(span), out),
        Cell::List(span) => {
            list(rows.cells(span), out, |item, out| write_plain(rows, item, out))?;
        }
        Cell::Map(span) => {
            let cells = rows.cells(span);
            if cells.chunks_exact(2).all(|pair| matches!(pair, [Cell::Text(_), _])) {
                object(cells, out, |item, _, out| write_plain(rows, item, out))?;
            } else {
                pairs(cells, out, |item, _, out| write_plain(rows, item, out))?;
            }
        }
        // A struct always has a schema of its own.
        Cell::Struct(_) => return Err("Mismatching schema.".to_owned()),
        Cell::Decimal { .. } | Cell::Instant(_) => {
            let class = class_name(cell);
            return Err(format!("Java class {class} does not have corresponding schema type."));
        }
    }
    Ok(())
}

fn write_map(
    options: &Options,
    rows: &Rows,
    schema: &Schema,
    span: Span,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let keys = schema.key_schema().map(AsRef::as_ref);
    let values = schema.value_schema().map(AsRef::as_ref);
    let cells = rows.cells(span);
    if keys.is_some_and(|keys| keys.kind() == Type::String) {
        return object(cells, out, |item, is_key, out| match item {
            item if !is_key => write_value(options, rows, values, item, out),
            Cell::Text(span) => {
                write_string(rows.text(span), out);
                Ok(())
            }
            // The default of a null, or the text of what a logical name makes of a key.
            item => {
                let mut key = Vec::new();
                write_value(options, rows, keys, item, &mut key)?;
                let quote = key.first().is_none_or(|byte| *byte != b'"').then_some(b'"');
                out.extend(quote);
                out.extend_from_slice(&key);
                out.extend(quote);
                Ok(())
            }
        });
    }
    pairs(cells, out, |item, is_key, out| {
        write_value(options, rows, if is_key { keys } else { values }, item, out)
    })
}

pub(crate) fn list(
    cells: &[Cell],
    out: &mut Vec<u8>,
    mut write: impl FnMut(Cell, &mut Vec<u8>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    out.push(b'[');
    for (index, item) in cells.iter().enumerate() {
        comma(index, out);
        write(*item, out)?;
    }
    out.push(b']');
    Ok(())
}

/// A map as an object; `write` is told whether it writes a key, which has to be JSON text.
pub(crate) fn object(
    cells: &[Cell],
    out: &mut Vec<u8>,
    mut write: impl FnMut(Cell, bool, &mut Vec<u8>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    out.push(b'{');
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        let [key, value] = pair else { continue };
        comma(index, out);
        write(*key, true, out)?;
        out.push(b':');
        write(*value, false, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// A map as an array of pairs; `write` is told whether it writes a key.
fn pairs(
    cells: &[Cell],
    out: &mut Vec<u8>,
    mut write: impl FnMut(Cell, bool, &mut Vec<u8>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    out.push(b'[');
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        let [key, value] = pair else { continue };
        comma(index, out);
        out.push(b'[');
        write(*key, true, out)?;
        out.push(b',');
        write(*value, false, out)?;
        out.push(b']');
    }
    out.push(b']');
    Ok(())
}

pub(crate) fn mismatch(schema: &Schema, cell: Cell) -> Refused {
    let class = cell_class(Some(schema), cell);
    let logical = match schema.name() {
        Some(DECIMAL) => Some(("Decimal", "BigDecimal")),
        Some(DATE) => Some(("Date", "Date")),
        Some(TIME) => Some(("Time", "Date")),
        Some(TIMESTAMP) => Some(("Timestamp", "Date")),
        _ => None,
    };
    match (logical, schema.kind()) {
        (Some((name, wanted)), _) => {
            format!("Invalid type for {name}, expected {wanted} but was {class}")
        }
        (None, Type::Bytes) => format!("Invalid type for bytes type: {class}"),
        (None, kind) => format!("Invalid type for {}: {class}", kind.name()),
    }
}

fn decimal(
    decimals: DecimalFormat,
    schema: &Schema,
    unscaled: &[u8],
    scale: i32,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let wanted = schema.parameter("scale").and_then(|scale| scale.parse::<i32>().ok());
    let Some(wanted) = wanted else {
        return Err(
            "Invalid Decimal schema: the scale parameter is missing or no integer".to_owned()
        );
    };
    match decimals {
        DecimalFormat::Numeric => write_decimal(unscaled, scale, out),
        DecimalFormat::Base64 if scale == wanted => bytes(shortest(unscaled), out),
        DecimalFormat::Base64 => {
            return Err(format!(
                "Decimal value has mismatching scale for given Decimal schema. Schema has scale \
                 {wanted}, value has scale {scale}."
            ));
        }
    }
    Ok(())
}

pub(crate) fn comma(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

pub(crate) fn integer(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub(crate) fn boolean(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// JSON has no form for NaN and infinities: strings, as Connect writes them.
pub(crate) fn double(value: f64, out: &mut Vec<u8>) {
    if (1e-3..1e7).contains(&value.abs()) {
        // Java's form of these sizes is the plain one.
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
        return;
    }
    let quote = !value.is_finite();
    out.extend(quote.then_some(b'"'));
    write_double(value, out);
    out.extend(quote.then_some(b'"'));
}

pub(crate) fn float(value: f32, out: &mut Vec<u8>) {
    let quote = !value.is_finite();
    out.extend(quote.then_some(b'"'));
    write_float(value, out);
    out.extend(quote.then_some(b'"'));
}

pub(crate) fn bytes(value: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(value).as_bytes());
    out.push(b'"');
}

/// Appends a JSON string. Characters beyond the basic plane are written as two escapes, as
/// Connect's writer does.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some((plain, tail)) = rest.split_at_checked(unescaped_len(rest.as_bytes())) {
        out.extend_from_slice(plain.as_bytes());
        let mut chars = tail.chars();
        match chars.next() {
            Some(c) => write_escape(c, out),
            None => break,
        }
        rest = chars.as_str();
    }
    out.push(b'"');
}

fn write_escape(c: char, out: &mut Vec<u8>) {
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                put(out, format_args!("\\u{unit:04X}"));
            }
        }
    }
}

/// How many of the first bytes of a text need no escape, eight looked at in one step.
#[inline]
fn unescaped_len(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // A byte whose upper four bits are set begins a character of four bytes.
        let beyond = word & (word << 1) & (word << 2) & (word << 3) & HIGH;
        let marks = special(word) | beyond;
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\' | 0xf0..);
    let in_rest = rest.iter().position(special).unwrap_or(rest.len());
    text.len() - rest.len() + in_rest
}

/// Appends the JSON form of a schema; `field` is its name inside a struct.
pub(crate) fn write_schema(
    options: &Options,
    schema: &Schema,
    field: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    put(out, format_args!("{{\"type\":\"{}\"", schema.kind().json_name()));
    let parts = match schema.kind() {
        Type::Array => [(&b",\"items\":"[..], schema.value_schema()), (b"", None)],
        _ => [(&b",\"keys\":"[..], schema.key_schema()), (b",\"values\":", schema.value_schema())],
    };
    for (name, part) in parts {
        if let Some(part) = part {
            out.extend_from_slice(name);
            write_schema(options, part, None, out)?;
        }
    }
    if schema.kind() == Type::Struct {
        out.extend_from_slice(b",\"fields\":[");
        for (index, field) in schema.fields().iter().enumerate() {
            comma(index, out);
            write_schema(options, &field.schema, Some(&field.name), out)?;
        }
        out.push(b']');
    }
    put(out, format_args!(",\"optional\":{}", schema.is_optional()));
    if let Some(name) = schema.name() {
        out.extend_from_slice(b",\"name\":");
        write_string(name, out);
    }
    if let Some(version) = schema.version() {
        put(out, format_args!(",\"version\":{version}"));
    }
    if let Some(doc) = schema.doc() {
        out.extend_from_slice(b",\"doc\":");
        write_string(doc, out);
    }
    if let Some(parameters) = schema.parameters() {
        out.extend_from_slice(b",\"parameters\":{");
        for (index, (name, value)) in parameters.iter().enumerate() {
            comma(index, out);
            write_string(name, out);
            out.push(b':');
            write_string(value, out);
        }
        out.push(b'}');
    }
    if let Some(default) = schema.default() {
        out.extend_from_slice(b",\"default\":");
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(schema), default);
        write_value(options, &rows, Some(schema), cell, out)?;
    }
    if let Some(field) = field {
        out.extend_from_slice(b",\"field\":");
        write_string(field, out);
    }
    out.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> String {
        let mut out = Vec::new();
        write_string(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_are_found_at_every_place() {
        for special in ["\"", "\\", "\n", "\u{0}", "\u{1f}", "😀", "\u{10ffff}"] {
            for before in 0..20 {
                for filler in ["a", "é", "€", "\u{7f}", "\u{ffff}"] {
                    let text = format!("{}{special}{}", filler.repeat(before), filler.repeat(9));
                    let written = string(&text);
                    let escaped = written[1..].trim_start_matches(filler);
                    assert!(escaped.starts_with('\\'), "{written}");
                    assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
                }
            }
        }
        assert_eq!(string(""), "\"\"");
        assert_eq!(string("\u{ffff}\u{7f}/"), "\"\u{ffff}\u{7f}/\"");
        assert_eq!(string("😀\u{1}"), "\"\\uD83D\\uDE00\\u0001\"");
    }

    #[test]
    fn doubles_of_usual_sizes_look_as_the_others() {
        for power in -4..9 {
            for digits in [1.0, 1.5, 9.999_999_999, 1.0 / 3.0, 7.0, 2.5e-3] {
                for value in [digits * 10_f64.powi(power), -digits * 10_f64.powi(power)] {
                    let (mut fast, mut slow) = (Vec::new(), Vec::new());
                    double(value, &mut fast);
                    write_double(value, &mut slow);
                    assert_eq!(fast, slow, "{value}");
                }
            }
        }
    }
}
