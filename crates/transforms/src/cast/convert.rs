//! One value as another type.

use crate::fault::{Fault, java_class};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data::java_text::{write_decimal, write_double, write_float};
use data::values::{Number, write_temporal};
use data::{Cell, DAY_MS, Logical, Rows, Schema, Span, Type, Width};

use super::numbers::{parse_double, parse_float, parse_long};

const SOURCES: &str = "[INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES]";

/// Casts a cell in its place, a field's under its schema. Integers are written there at once: a cell that
/// is passed through a result is put together in memory and read back before its parts have arrived.
///
/// # Errors
/// As [`cast`].
#[inline]
pub(super) fn cast_at(
    rows: &mut Rows,
    schema: Option<&Schema>,
    (span, index): (Span, usize),
    target: Type,
) -> Result<(), Fault> {
    if let Some(&Cell::Int(value, _)) = rows.cells(span).get(index)
        && !schema.is_some_and(|schema| schema.logical().is_temporal())
    {
        let cell = match target {
            Type::Int8 => Some(Cell::Int(i8::wrap(value).into(), Width::W8)),
            Type::Int16 => Some(Cell::Int(i16::wrap(value).into(), Width::W16)),
            Type::Int32 => Some(Cell::Int(i32::wrap(value).into(), Width::W32)),
            Type::Int64 => Some(Cell::int(value)),
            Type::Float64 => Some(Cell::Float(value as f64)),
            Type::String => Some(Cell::Text(rows.heap.put_with(|out| write_integer(value, out)))),
            _ => None,
        };
        if let Some(cell) = cell {
            rows.set(span, index, cell);
            return Ok(());
        }
    }
    let old = rows.cell(span, index);
    let new = cast(rows, schema, old, target)?;
    rows.set(span, index, new);
    Ok(())
}

/// The value of `cell`, which is of `schema`, as `target`. A null stays null.
///
/// # Errors
/// A value of a type or class that is not cast, text that is no number of the type.
pub(super) fn cast(
    rows: &mut Rows,
    schema: Option<&Schema>,
    cell: Cell,
    target: Type,
) -> Result<Cell, Fault> {
    let cell = match cell {
        Cell::Null => return Ok(Cell::Null),
        Cell::Number(_) => rows.expand(cell),
        cell => cell,
    };
    refuse_others(rows, schema, cell)?;
    Ok(match target {
        Type::String => to_text(rows, schema, cell)?,
        Type::Boolean => Cell::Bool(to_boolean(rows, schema, cell)?),
        Type::Float32 => {
            let value = to_float(rows, schema, cell)?;
            // Under a schema every float is a cell of 64 bits.
            if schema.is_some() { Cell::Float(value.into()) } else { Cell::Float32(value) }
        }
        Type::Float64 => Cell::Float(to_double(rows, schema, cell)?),
        Type::Int8 => Cell::Int(to_integer::<i8>(rows, schema, cell)?, Width::W8),
        Type::Int16 => Cell::Int(to_integer::<i16>(rows, schema, cell)?, Width::W16),
        Type::Int32 => Cell::Int(to_integer::<i32>(rows, schema, cell)?, Width::W32),
        Type::Int64 => Cell::Int(to_integer::<i64>(rows, schema, cell)?, Width::W64),
        // The configuration allows no others.
        Type::Bytes | Type::Array | Type::Map | Type::Struct => return Err(unsupported(target)),
    })
}

fn unsupported(kind: Type) -> Fault {
    Fault::data(format!(
        "Cast transformation does not support casting from {}; supported types are {SOURCES}",
        kind.name()
    ))
}

/// Refuses what is not cast, whatever to.
#[inline]
fn refuse_others(rows: &Rows, schema: Option<&Schema>, cell: Cell) -> Result<(), Fault> {
    if let Some(schema) = schema {
        if !schema.is_primitive() {
            return Err(unsupported(schema.kind()));
        }
        return Ok(());
    }
    match cell {
        Cell::List(_) => Err(unsupported(Type::Array)),
        Cell::Json(span) if rows.bytes(span).first() == Some(&b'[') => {
            Err(unsupported(Type::Array))
        }
        Cell::Map(_) | Cell::Json(_) => Err(unsupported(Type::Map)),
        Cell::Struct(_) => Err(unsupported(Type::Struct)),
        Cell::Number(_) | Cell::Decimal { .. } | Cell::Instant(_) => Err(Fault::data(format!(
            "Cast transformation was passed a value of type class {} which is not supported by \
             Connect's data API",
            java_class(None, cell)
        ))),
        _ => Ok(()),
    }
}

/// What no number can be made of.
#[cold]
fn unexpected(schema: Option<&Schema>, cell: Cell) -> Fault {
    match (cell, schema.map(Schema::logical)) {
        (Cell::Instant(_), Some(Logical::Date)) => Fault::data(
            "Kafka Connect Date type should not have any time fields set to non-zero values.",
        ),
        _ => Fault::data(format!(
            "Unexpected type in Cast transformation: class {}",
            java_class(schema, cell)
        )),
    }
}

#[cold]
fn out_of_range(rows: &Rows, text: Span) -> Fault {
    Fault::data(format!("Value ({}) was out of range for requested data type", rows.text(text)))
}

/// An integer type that values are cut to.
trait Integer: Copy + Into<i64> + TryFrom<i64> {
    /// The lowest bits.
    fn wrap(value: i64) -> Self;
    /// Towards zero, as Java narrows a double: the small types go by way of 32 bits.
    fn of_double(value: f64) -> Self;
}

macro_rules! integer {
    ($($kind:ty, $double:ty;)*) => {$(
        impl Integer for $kind {
            fn wrap(value: i64) -> $kind {
                value as $kind
            }

            fn of_double(value: f64) -> $kind {
                value as $double as $kind
            }
        }
    )*};
}

integer! {
    i8, i32;
    i16, i32;
    i32, i32;
    i64, i64;
}

#[inline]
fn to_integer<T: Integer>(rows: &Rows, schema: Option<&Schema>, cell: Cell) -> Result<i64, Fault> {
    let value: T = match cell {
        Cell::Int(value, _) => T::wrap(encoded(schema, value)?),
        Cell::Float(value) => T::of_double(value),
        Cell::Float32(value) => T::of_double(value.into()),
        Cell::Bool(value) => T::wrap(value.into()),
        Cell::Decimal { unscaled, scale } => T::wrap(low_bits(rows, unscaled, scale)),
        Cell::Text(span) => {
            let value = parse_long(rows.text(span)).and_then(|value| T::try_from(value).ok());
            value.ok_or_else(|| out_of_range(rows, span))?
        }
        _ => return Err(unexpected(schema, cell)),
    };
    Ok(value.into())
}

/// The integer that a number or a point in time is encoded as.
#[inline]
fn encoded(schema: Option<&Schema>, value: i64) -> Result<i64, Fault> {
    if schema.is_some_and(|schema| schema.logical() == Logical::Time)
        && !(0..=DAY_MS).contains(&value)
    {
        return Err(Fault::data(
            "Kafka Connect Time type should not have any date fields set to non-zero values.",
        ));
    }
    Ok(value)
}

fn to_boolean(rows: &Rows, schema: Option<&Schema>, cell: Cell) -> Result<bool, Fault> {
    Ok(match cell {
        Cell::Bool(value) => value,
        Cell::Int(value, _) => encoded(schema, value)? != 0,
        // Cut to an integer first.
        Cell::Float(value) => value as i64 != 0,
        Cell::Float32(value) => value as i64 != 0,
        Cell::Decimal { unscaled, scale } => low_bits(rows, unscaled, scale) != 0,
        Cell::Text(span) => rows.bytes(span).eq_ignore_ascii_case(b"true"),
        _ => return Err(unexpected(schema, cell)),
    })
}

fn to_float(rows: &Rows, schema: Option<&Schema>, cell: Cell) -> Result<f32, Fault> {
    Ok(match cell {
        Cell::Bool(value) => f32::from(u8::from(value)),
        Cell::Int(value, _) => encoded(schema, value)? as f32,
        Cell::Float(value) => value as f32,
        Cell::Float32(value) => value,
        Cell::Decimal { unscaled, scale } => {
            Number::of_decimal(rows.bytes(unscaled), scale).to_f32()
        }
        Cell::Text(span) => parse_float(rows.text(span)).ok_or_else(|| out_of_range(rows, span))?,
        _ => return Err(unexpected(schema, cell)),
    })
}

fn to_double(rows: &Rows, schema: Option<&Schema>, cell: Cell) -> Result<f64, Fault> {
    Ok(match cell {
        Cell::Bool(value) => f64::from(u8::from(value)),
        Cell::Int(value, _) => encoded(schema, value)? as f64,
        Cell::Float(value) => value,
        Cell::Float32(value) => value.into(),
        Cell::Decimal { unscaled, scale } => match small(rows.bytes(unscaled)) {
            Some(value) if scale == 0 => value as f64,
            _ => Number::of_decimal(rows.bytes(unscaled), scale).to_f64(),
        },
        Cell::Text(span) => {
            parse_double(rows.text(span)).ok_or_else(|| out_of_range(rows, span))?
        }
        _ => return Err(unexpected(schema, cell)),
    })
}

/// A decimal cut to an integer, then to its lowest 64 bits.
fn low_bits(rows: &Rows, unscaled: Span, scale: i32) -> i64 {
    let unscaled = rows.bytes(unscaled);
    match (small(unscaled), u32::try_from(scale)) {
        (Some(value), Ok(scale @ 0..=18)) => value / 10_i64.pow(scale),
        _ => Number::of_decimal(unscaled, scale).to_i64_wrapping(),
    }
}

/// An unscaled value that fits 64 bits.
fn small(unscaled: &[u8]) -> Option<i64> {
    if unscaled.len() > 8 {
        return None;
    }
    let sign = if unscaled.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    Some(unscaled.iter().fold(sign, |value: i64, byte| value << 8 | i64::from(*byte)))
}

fn to_text(rows: &mut Rows, schema: Option<&Schema>, cell: Cell) -> Result<Cell, Fault> {
    let heap = &mut rows.heap;
    let span = match cell {
        Cell::Text(_) => return Ok(cell),
        Cell::Bool(value) => heap.put(if value { b"true" } else { b"false" }),
        Cell::Int(value, width) => match schema.map(Schema::logical) {
            // A plain integer that was left under a temporal name.
            Some(logical) if logical.is_temporal() && width == Width::W8 => {
                heap.put_with(|out| write_integer(value, out))
            }
            Some(Logical::Date) => {
                heap.put_with(|out| write_temporal(value.saturating_mul(DAY_MS), out))
            }
            Some(Logical::Time | Logical::Timestamp) => {
                heap.put_with(|out| write_temporal(value, out))
            }
            _ => heap.put_with(|out| write_integer(value, out)),
        },
        Cell::Float(value) => {
            if schema.is_some_and(|schema| schema.kind() == Type::Float32) {
                heap.put_with(|out| write_float(value as f32, out))
            } else {
                heap.put_with(|out| write_double(value, out))
            }
        }
        Cell::Float32(value) => heap.put_with(|out| write_float(value, out)),
        Cell::Instant(ms) => heap.put_with(|out| write_temporal(ms, out)),
        Cell::Decimal { unscaled, scale } => {
            let unscaled = heap.bytes(unscaled).to_vec();
            heap.put_with(|out| write_decimal(&unscaled, scale, out))
        }
        Cell::Bytes(span) => {
            let text = STANDARD.encode(heap.bytes(span));
            heap.put(text.as_bytes())
        }
        _ => return Err(unexpected(schema, cell)),
    };
    Ok(Cell::Text(span))
}

/// Digits two at a time would not pay for numbers as short as most are.
fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut left = value.unsigned_abs();
    let mut start = digits.len();
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + (left % 10) as u8;
        start -= 1;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}
