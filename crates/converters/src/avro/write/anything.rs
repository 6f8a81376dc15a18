//! Values without a schema, as the record that has a field for each type.

use super::binary::{put_bytes, put_double, put_float, put_long};
use super::fault::Fault;
use super::plain;
use data::java_text::class_name;
use data::{Cell, Rows, Span, Width};

/// Lists and maps within each other.
pub(super) const DEPTH_MAX: usize = 1000;

/// The fields before and behind the one that is set are null: branch 0 of their unions.
const FIELDS: usize = 9;
const BOOLEAN: usize = 0;
const BYTES: usize = 1;
const DOUBLE: usize = 2;
const FLOAT: usize = 3;
const INT: usize = 4;
const LONG: usize = 5;
const STRING: usize = 6;
const ARRAY: usize = 7;
const MAP: usize = 8;

/// Appends a value that describes itself.
pub(super) fn write(rows: &Rows, cell: Cell, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    if depth > DEPTH_MAX {
        return Err(plain::too_deep());
    }
    if let Cell::Json(span) = cell {
        return write_json(rows, span, depth, out);
    }
    let Some(field) = field_of(rows, cell)? else {
        out.resize(out.len() + FIELDS, 0);
        return Ok(());
    };
    out.resize(out.len() + field, 0);
    out.push(2);
    match cell {
        Cell::Bool(value) => out.push(u8::from(value)),
        Cell::Int(value, _) => put_long(value, out),
        Cell::Float(value) => put_double(value, out),
        Cell::Float32(value) => put_float(value, out),
        Cell::Number(span) => put_double(number(rows.text(span)).unwrap_or(f64::NAN), out),
        Cell::Text(span) | Cell::Bytes(span) => put_bytes(rows.bytes(span), out),
        Cell::List(span) => write_list(rows, span, depth, out)?,
        Cell::Map(span) => write_map(rows, span, depth, out)?,
        _ => {}
    }
    out.resize(out.len() + FIELDS - 1 - field, 0);
    Ok(())
}

/// Text that nobody has looked at yet.
#[inline(never)]
fn write_json(rows: &Rows, span: Span, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut read = Rows::default();
    let cell = read.put_json(rows.bytes(span));
    write(&read, cell, depth, out)
}

/// Which field has a value; `None` for a null.
#[inline(never)]
fn field_of(rows: &Rows, cell: Cell) -> Result<Option<usize>, Fault> {
    Ok(Some(match cell {
        Cell::Null => return Ok(None),
        Cell::Bool(_) => BOOLEAN,
        Cell::Int(_, Width::W64) => LONG,
        Cell::Int(..) => INT,
        Cell::Float(_) => DOUBLE,
        Cell::Float32(_) => FLOAT,
        Cell::Number(span) if number(rows.text(span)).is_some() => DOUBLE,
        Cell::Text(_) => STRING,
        Cell::Bytes(_) => BYTES,
        Cell::List(_) => ARRAY,
        Cell::Map(_) => MAP,
        Cell::Number(_) => return Err(unknown("class java.math.BigInteger")),
        Cell::Decimal { .. } | Cell::Instant(_) | Cell::Struct(_) | Cell::Json(_) => {
            return Err(unknown(class_name(cell)));
        }
    }))
}

#[cold]
fn unknown(class: &str) -> Fault {
    Fault::new(format!("Unknown Java type for schemaless data: {class}"))
}

/// A JSON number that is no integer of 64 bits; `None` where it is an integer beyond them.
fn number(text: &str) -> Option<f64> {
    let integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if integer { None } else { text.parse().ok() }
}

#[inline(never)]
fn write_list(rows: &Rows, span: Span, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let cells = rows.cells(span);
    if !cells.is_empty() {
        put_long(cells.len() as i64, out);
    }
    for (index, cell) in cells.iter().enumerate() {
        write(rows, *cell, depth + 1, out).map_err(|fault| fault.item(index))?;
    }
    put_long(0, out);
    Ok(())
}

/// As an array of entries, whose keys are of any type, too.
#[inline(never)]
fn write_map(rows: &Rows, span: Span, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let cells = rows.cells(span);
    if !cells.is_empty() {
        put_long(cells.len() as i64 / 2, out);
    }
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        let [key, value] = pair else { continue };
        write(rows, *key, depth + 1, out).map_err(|fault| fault.item(index))?;
        write(rows, *value, depth + 1, out).map_err(|fault| match key {
            Cell::Text(key) => fault.key(rows.text(*key)),
            _ => fault.item(index),
        })?;
    }
    put_long(0, out);
    Ok(())
}
