//! Data to data of another type.

use super::number::Number;
use super::{format, parse};
use crate::calendar::DAY_MS;
use crate::cell::Width;
use crate::error::SchemaError;
use crate::java_text::{schema_text, value_class, value_text, write_double};
use crate::schema::{DATE, DECIMAL, Schema, TIME, TIMESTAMP, Type};
use crate::value::Value;
use std::sync::Arc;

/// The midnight of 1 January of year 1, in the Julian calendar, as milliseconds.
const YEAR_1: i64 = -62_135_769_600_000;

type Result<T> = std::result::Result<T, SchemaError>;

/// The value as one of `to`; `from` is the schema it has now.
pub(super) fn convert_to(
    to: &Arc<Schema>,
    from: Option<&Arc<Schema>>,
    value: Value,
) -> Result<Value> {
    if value.is_null() {
        if to.is_optional() {
            return Ok(Value::Null);
        }
        let message = "Unable to convert a null value to a schema that requires a value";
        return Err(SchemaError::data(message));
    }
    match (to.kind(), value) {
        (Type::Bytes, value) if to.name() == Some(DECIMAL) => to_decimal(to, from, value),
        (Type::Bytes, value @ Value::Bytes(_)) => Ok(value),
        (Type::String, value @ Value::Text(_)) => Ok(value),
        (Type::String, value) => {
            let mut text = Vec::new();
            format::write(from.map(AsRef::as_ref), &value, false, &mut text);
            Ok(Value::Text(String::from_utf8(text).unwrap_or_default()))
        }
        (Type::Boolean, value) => to_boolean(from, value),
        (Type::Int8, value) => integer(from, value, Width::W8),
        (Type::Int16, value) => integer(from, value, Width::W16),
        (Type::Int32, value) if to.name() == Some(DATE) => to_date(from, value),
        (Type::Int32, value) if to.name() == Some(TIME) => to_time(from, value),
        (Type::Int32, value) => integer(from, value, Width::W32),
        (Type::Int64, value) if to.name() == Some(TIMESTAMP) => to_timestamp(from, value),
        (Type::Int64, value) => integer(from, value, Width::W64),
        (Type::Float32, value @ Value::Float32(_)) => Ok(value),
        (Type::Float32, value) => Ok(Value::Float32(as_double(from, &value)? as f32)),
        (Type::Float64, value @ Value::Float(_)) => Ok(value),
        (Type::Float64, value) => Ok(Value::Float(as_double(from, &value)?)),
        (Type::Array, value) => match parsed(value) {
            value @ Value::List(_) => Ok(value),
            value => Err(unable(&schema_text(to), from, &value)),
        },
        (Type::Map, value) => match parsed(value) {
            value @ Value::Map(_) => Ok(value),
            value => Err(unable(&schema_text(to), from, &value)),
        },
        (Type::Struct, value @ Value::Struct(_)) => match from {
            Some(from) => Ok(value.with_schema(from)),
            None => Ok(value),
        },
        (_, value) => Err(unable(&schema_text(to), from, &value)),
    }
}

fn unable(to: &str, from: Option<&Arc<Schema>>, value: &Value) -> SchemaError {
    let text = value_text(from.map(AsRef::as_ref), value);
    SchemaError::data(format!("Unable to convert {text} ({}) to {to}", value_class(value)))
}

/// What text says; other values as they are. The text `null` stays text.
fn parsed(value: Value) -> Value {
    match value {
        Value::Text(text) => match parse::parse(&text) {
            Some((_, parsed)) => parsed,
            None => Value::Text(text),
        },
        other => other,
    }
}

fn to_boolean(from: Option<&Arc<Schema>>, value: Value) -> Result<Value> {
    match &value {
        Value::Bool(_) => return Ok(value),
        Value::Text(text) => {
            if let Some((_, parsed @ Value::Bool(_))) = parse::parse(text) {
                return Ok(parsed);
            }
        }
        _ => {}
    }
    Ok(Value::Bool(as_long(from, &value)? != 0))
}

/// An integer, cut to its lowest bits.
fn integer(from: Option<&Arc<Schema>>, value: Value, width: Width) -> Result<Value> {
    let long = as_long(from, &value)?;
    let cut = match width {
        Width::W8 => i64::from(long as i8),
        Width::W16 => i64::from(long as i16),
        Width::W32 => i64::from(long as i32),
        Width::W64 => long,
    };
    Ok(Value::Int(cut, width))
}

/// A point in time's number in the encoding of its schema; `None` where it has none.
fn encoded(from: Option<&Arc<Schema>>, value: &Value) -> Result<Option<i64>> {
    let (Some(from), Value::Instant(ms)) = (from, value) else { return Ok(None) };
    match from.name() {
        Some(DATE) if ms % DAY_MS != 0 => Err(SchemaError::data(
            "Kafka Connect Date type should not have any time fields set to non-zero values.",
        )),
        // Connect counts days in 32 bits.
        Some(DATE) => Ok(Some(i64::from((ms / DAY_MS) as i32))),
        Some(TIME) if !(0..=DAY_MS).contains(ms) => Err(SchemaError::data(
            "Kafka Connect Time type should not have any date fields set to non-zero values.",
        )),
        Some(TIME | TIMESTAMP) => Ok(Some(*ms)),
        _ => Ok(None),
    }
}

fn no_number(from: Option<&Arc<Schema>>, value: &Value) -> SchemaError {
    let to = from.map_or_else(|| "a number".to_owned(), |schema| schema_text(schema));
    unable(&to, from, value)
}

fn as_long(from: Option<&Arc<Schema>>, value: &Value) -> Result<i64> {
    let long = match value {
        Value::Int(value, _) => Some(*value),
        // As in Java: cut, kept in range, NaN is 0.
        Value::Float(value) => Some(*value as i64),
        Value::Float32(value) => Some(*value as i64),
        Value::Decimal { unscaled, scale } => {
            Some(Number::of_decimal(unscaled, *scale).to_i64_wrapping())
        }
        Value::BigInteger(value) => Some(Number::of_decimal(value, 0).to_i64_wrapping()),
        Value::Text(text) => Number::parse(text).map(|number| number.to_i64_wrapping()),
        other => encoded(from, other)?,
    };
    long.ok_or_else(|| no_number(from, value))
}

fn as_double(from: Option<&Arc<Schema>>, value: &Value) -> Result<f64> {
    let double = match value {
        Value::Int(value, _) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Float32(value) => Some(f64::from(*value)),
        Value::Decimal { unscaled, scale } => Some(Number::of_decimal(unscaled, *scale).to_f64()),
        Value::BigInteger(value) => Some(Number::of_decimal(value, 0).to_f64()),
        Value::Text(text) => Number::parse(text).map(|number| number.to_f64()),
        other => encoded(from, other)?.map(|long| long as f64),
    };
    double.ok_or_else(|| no_number(from, value))
}

fn name(schema: Option<&Arc<Schema>>) -> Option<&str> {
    schema.and_then(|schema| schema.name())
}

fn to_date(from: Option<&Arc<Schema>>, value: Value) -> Result<Value> {
    let value = parsed(value);
    if let Value::Instant(ms) = value {
        match name(from) {
            _ if from.is_none() => return Ok(value),
            Some(DATE) => return Ok(value),
            Some(TIMESTAMP) => return Ok(Value::Instant(days(ms / DAY_MS))),
            _ => {}
        }
    }
    Ok(Value::Instant(days(as_long(from, &value)?)))
}

/// The midnight of a day; days are counted in 32 bits.
fn days(number: i64) -> i64 {
    i64::from(number as i32) * DAY_MS
}

fn to_time(from: Option<&Arc<Schema>>, value: Value) -> Result<Value> {
    let value = parsed(value);
    if let Value::Instant(ms) = value {
        match name(from) {
            _ if from.is_none() => return Ok(value),
            Some(TIME) => return Ok(value),
            // Connect's calendar keeps the era, and so finds no time in the days before year 1.
            Some(TIMESTAMP) if ms < YEAR_1 => return Err(no_time()),
            Some(TIMESTAMP) => return Ok(Value::Instant(ms.rem_euclid(DAY_MS))),
            _ => {}
        }
    }
    let ms = i64::from(as_long(from, &value)? as i32);
    if !(0..=DAY_MS).contains(&ms) {
        return Err(no_time());
    }
    Ok(Value::Instant(ms))
}

fn no_time() -> SchemaError {
    SchemaError::data(
        "Time values must use number of milliseconds greater than 0 and less than 86400000",
    )
}

fn to_timestamp(from: Option<&Arc<Schema>>, value: Value) -> Result<Value> {
    let value = parsed(value);
    if let Value::Instant(ms) = value {
        match name(from) {
            _ if from.is_none() => return Ok(value),
            Some(TIMESTAMP) => return Ok(value),
            Some(DATE) => return Ok(Value::Instant(ms - ms.rem_euclid(DAY_MS))),
            Some(TIME) => return Ok(Value::Instant(ms.rem_euclid(DAY_MS))),
            _ => {}
        }
    }
    Ok(Value::Instant(as_long(from, &value)?))
}

/// A decimal. Numbers go through doubles, as Connect's do.
fn to_decimal(to: &Arc<Schema>, from: Option<&Arc<Schema>>, value: Value) -> Result<Value> {
    let text = match value {
        Value::Decimal { .. } => return Ok(value),
        Value::Bytes(unscaled) => {
            let scale = to.parameter("scale").and_then(|scale| scale.parse().ok());
            let scale = scale.ok_or_else(|| {
                SchemaError::data("Invalid Decimal schema: scale parameter not found.")
            })?;
            if unscaled.is_empty() {
                return Err(SchemaError::number("Zero length BigInteger"));
            }
            return Ok(Value::Decimal { unscaled, scale });
        }
        Value::Text(text) => text,
        Value::Int(..) | Value::Float(_) | Value::Float32(_) | Value::BigInteger(_) => {
            let mut out = Vec::new();
            write_double(as_double(from, &value)?, &mut out);
            String::from_utf8(out).unwrap_or_default()
        }
        other => return Err(unable(&schema_text(to), from, &other)),
    };
    let number = Number::parse(&text).ok_or_else(|| not_decimal(&text))?;
    Ok(Value::Decimal { unscaled: number.unscaled(), scale: number.scale })
}

/// What `new BigDecimal` says about text it cannot read.
fn not_decimal(text: &str) -> SchemaError {
    let odd = |c: &char| super::number::digit(*c).is_none() && !matches!(c, '.' | 'e' | 'E');
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    SchemaError::number(match bare.chars().find(odd) {
        Some(c) => format!(
            "Character {c} is neither a decimal digit number, decimal point, nor \"e\" notation \
             exponential mark."
        ),
        None => "no decimal number".to_owned(),
    })
}
