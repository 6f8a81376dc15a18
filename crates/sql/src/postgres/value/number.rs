//! Numbers: integers with the column's range, floats, decimals that keep their digits, booleans.
//!
//! Place in the data path: once for every number. All formatting goes through buffers on the stack.

use super::convert::{NOT_VALID, OUT_OF_RANGE, Val, no_form, shown};
use super::target::Target;
use super::{Encoded, Fault};
use data::{decimal_from_text, decimal_to_text};
use std::io::Write;

/// Scales beyond this are a broken schema; PostgreSQL's own limit is 16,383 digits.
const SCALE_MAX: u32 = 20_000;
const TEN_TO_38: i128 = 10i128.pow(38);

pub(super) fn out_of_range(value: &str, target: &Target) -> Fault {
    Fault {
        sqlstate: OUT_OF_RANGE,
        message: format!("{value} is out of range for a column of type {}", target.name()),
        hint: Some("widen the column's type"),
    }
}

fn not_exact(value: &str, target: &Target) -> Fault {
    Fault {
        sqlstate: NOT_VALID,
        message: format!("{value} is no whole number, as a column of type {} needs", target.name()),
        hint: Some("change the column's type to numeric or double precision"),
    }
}

#[inline]
fn ranged(target: &Target, v: i64) -> Encoded<i64> {
    let fits = match target {
        Target::Int2 => i16::try_from(v).is_ok(),
        Target::Int4 => i32::try_from(v).is_ok(),
        Target::Oid => u32::try_from(v).is_ok(),
        _ => true,
    };
    if fits { Ok(v) } else { Err(out_of_range(itoa::Buffer::new().format(v), target)) }
}

/// The whole number that a value is, within the column's range.
#[inline]
pub(super) fn integer(target: &Target, value: Val<'_>) -> Encoded<i64> {
    let v = match value {
        Val::Int(v) => v,
        Val::Unsigned(v) => return Err(out_of_range(itoa::Buffer::new().format(v), target)),
        Val::Bool(v) => i64::from(v),
        Val::Float(v) => whole(target, v)?,
        Val::Float32(v) => whole(target, f64::from(v))?,
        Val::Number(digits) => whole_of_text(target, digits)?,
        Val::Decimal(unscaled, scale) => whole_of_decimal(target, unscaled, scale)?,
        Val::Instant(ms) if *target == Target::Int8 => ms,
        _ => return Err(no_form(target, value)),
    };
    ranged(target, v)
}

fn whole(target: &Target, v: f64) -> Encoded<i64> {
    // 2^63 is the first double beyond an i64; its negative is the last one within.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if v.fract() != 0.0 {
        return Err(not_exact(&v.to_string(), target));
    }
    if !(-END..END).contains(&v) {
        return Err(out_of_range(&v.to_string(), target));
    }
    Ok(v as i64)
}

fn whole_of_text(target: &Target, digits: &[u8]) -> Encoded<i64> {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    if let Ok(v) = text.parse() {
        return Ok(v);
    }
    let Some((unscaled, scale)) = decimal_from_text(text) else {
        return Err(out_of_range(text, target));
    };
    whole_of_decimal(target, &unscaled, scale)
}

fn whole_of_decimal(target: &Target, unscaled: &[u8], scale: i32) -> Encoded<i64> {
    let shown = || {
        let mut text = Vec::new();
        let written = write_decimal(unscaled, scale, &mut text);
        written.map(|()| String::from_utf8_lossy(&text).into_owned())
    };
    let v = small(unscaled).filter(|_| scale.unsigned_abs() <= 38);
    let v = match (v, power_of_ten(scale.unsigned_abs())) {
        (Some(v), Some(power)) if scale > 0 => {
            if v % power != 0 {
                return Err(not_exact(&shown()?, target));
            }
            Some(v / power)
        }
        (Some(v), Some(power)) => v.checked_mul(power),
        _ => return whole_of_large(target, &shown()?),
    };
    match v.and_then(|v| i64::try_from(v).ok()) {
        Some(v) => Ok(v),
        None => Err(out_of_range(&shown()?, target)),
    }
}

/// Numbers with more digits than an i128 holds, or with a very large scale.
fn whole_of_large(target: &Target, text: &str) -> Encoded<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.bytes().any(|b| b != b'0') {
        return Err(not_exact(text, target));
    }
    whole.parse().map_err(|_| out_of_range(text, target))
}

fn power_of_ten(n: u32) -> Option<i128> {
    if n == 38 { Some(TEN_TO_38) } else { 10i128.checked_pow(n) }
}

/// Two's complement of up to 16 bytes.
fn small(unscaled: &[u8]) -> Option<i128> {
    if unscaled.len() > 16 {
        return None;
    }
    let sign = if unscaled.first().is_some_and(|b| b & 0x80 != 0) { -1 } else { 0 };
    Some(unscaled.iter().fold(sign, |v: i128, byte| v << 8 | i128::from(*byte)))
}

pub(super) fn boolean(target: &Target, value: Val<'_>) -> Encoded<bool> {
    let v = match value {
        Val::Bool(v) => return Ok(v),
        Val::Int(v) => v,
        Val::Number(digits) => whole_of_text(target, digits)?,
        _ => return Err(no_form(target, value)),
    };
    match v {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Fault {
            sqlstate: NOT_VALID,
            message: format!("{v} is neither 0 nor 1, as a column of type {} needs", target.name()),
            hint: None,
        }),
    }
}

#[inline]
pub(super) fn write_int(v: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes());
}

#[inline]
pub(super) fn write_unsigned(v: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes());
}

fn special(v: f64) -> &'static [u8] {
    match (v.is_nan(), v > 0.0) {
        (true, _) => b"NaN",
        (false, true) => b"Infinity",
        (false, false) => b"-Infinity",
    }
}

#[inline]
pub(super) fn write_f64(v: f64, out: &mut Vec<u8>) {
    if v.is_finite() {
        out.extend_from_slice(ryu::Buffer::new().format_finite(v).as_bytes());
    } else {
        out.extend_from_slice(special(v));
    }
}

pub(super) fn write_f32(v: f32, out: &mut Vec<u8>) {
    if v.is_finite() {
        out.extend_from_slice(ryu::Buffer::new().format_finite(v).as_bytes());
    } else {
        out.extend_from_slice(special(f64::from(v)));
    }
}

/// The text of a float column: the shortest digits that read back as the same number.
#[inline]
pub(super) fn write_float(target: &Target, value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    match value {
        Val::Float(v) => {
            if *target == Target::Float4 {
                narrowed(v)?;
            }
            write_f64(v, out);
        }
        Val::Float32(v) => write_f32(v, out),
        Val::Int(v) => write_int(v, out),
        Val::Unsigned(v) => write_unsigned(v, out),
        Val::Number(digits) => out.extend_from_slice(digits),
        Val::Decimal(unscaled, scale) => write_decimal(unscaled, scale, out)?,
        _ => return Err(no_form(target, value)),
    }
    Ok(())
}

/// A double as a real, if it does not become infinite or zero by that.
fn narrowed(v: f64) -> Encoded<f32> {
    let narrow = v as f32;
    if (narrow.is_infinite() && v.is_finite()) || (narrow == 0.0 && v != 0.0) {
        return Err(out_of_range(&format!("{v:e}"), &Target::Float4));
    }
    Ok(narrow)
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The double of a float column's binary form.
pub(super) fn float(target: &Target, value: Val<'_>) -> Encoded<f64> {
    let v: f64 = match value {
        Val::Float(v) => return Ok(v),
        Val::Float32(v) => return Ok(f64::from(v)),
        Val::Int(v) => return Ok(v as f64),
        Val::Unsigned(v) => return Ok(v as f64),
        Val::Number(digits) => {
            parsed(digits).ok_or_else(|| out_of_range(&shown(digits), target))?
        }
        Val::Decimal(unscaled, scale) => {
            let text = decimal_text(unscaled, scale)?;
            parsed(&text).ok_or_else(|| out_of_range(&shown(&text), target))?
        }
        _ => return Err(no_form(target, value)),
    };
    if v.is_infinite() { Err(out_of_range("the number", target)) } else { Ok(v) }
}

/// The real of a `real` column's binary form. Digits are read as a real at once, as the server does:
/// rounding them to a double first may give another one.
pub(super) fn float32(value: Val<'_>) -> Encoded<f32> {
    let target = &Target::Float4;
    let (v, zero): (f32, bool) = match value {
        Val::Float(v) => return narrowed(v),
        Val::Float32(v) => return Ok(v),
        Val::Int(v) => return Ok(v as f32),
        Val::Unsigned(v) => return Ok(v as f32),
        Val::Number(digits) => {
            let v = parsed(digits).ok_or_else(|| out_of_range(&shown(digits), target))?;
            (v, !digits.iter().any(|b| (b'1'..=b'9').contains(b)))
        }
        Val::Decimal(unscaled, scale) => {
            let text = decimal_text(unscaled, scale)?;
            let v = parsed(&text).ok_or_else(|| out_of_range(&shown(&text), target))?;
            (v, unscaled.iter().all(|b| *b == 0))
        }
        _ => return Err(no_form(target, value)),
    };
    if v.is_infinite() || (v == 0.0 && !zero) {
        return Err(out_of_range("the number", target));
    }
    Ok(v)
}

pub(super) fn decimal_text(unscaled: &[u8], scale: i32) -> Encoded<smallvec::SmallVec<[u8; 64]>> {
    let mut text = smallvec::SmallVec::new();
    decimal_parts(unscaled, scale, |part| text.extend_from_slice(part))?;
    Ok(text)
}

/// The plain digits of a decimal.
#[inline]
pub(super) fn write_decimal(unscaled: &[u8], scale: i32, out: &mut Vec<u8>) -> Encoded {
    decimal_parts(unscaled, scale, |part| out.extend_from_slice(part))
}

/// Gives the parts of a decimal's text to `put`.
#[inline]
fn decimal_parts(unscaled: &[u8], scale: i32, mut put: impl FnMut(&[u8])) -> Encoded {
    const ZEROS: &[u8; 40] = &[b'0'; 40];
    let places = scale.unsigned_abs() as usize;
    let (Some(v), true) = (small(unscaled), (0..=38).contains(&scale)) else {
        if scale.unsigned_abs() > SCALE_MAX {
            return Err(Fault {
                sqlstate: OUT_OF_RANGE,
                message: format!("a decimal has the scale {scale}"),
                hint: Some("correct the parameter \"scale\" of the field's schema"),
            });
        }
        let mut text = Vec::new();
        decimal_to_text(unscaled, scale, &mut text);
        put(&text);
        return Ok(());
    };
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(v.unsigned_abs()).as_bytes();
    if v < 0 {
        put(b"-");
    }
    match digits.len().checked_sub(places) {
        Some(at @ 1..) => {
            let (whole, fraction) = digits.split_at(at);
            put(whole);
            if places > 0 {
                put(b".");
                put(fraction);
            }
        }
        _ => {
            put(b"0.");
            put(ZEROS.get(..places - digits.len()).unwrap_or_default());
            put(digits);
        }
    }
    Ok(())
}

/// The text of a numeric column.
#[inline]
pub(super) fn write_numeric(value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    match value {
        Val::Decimal(unscaled, scale) => write_decimal(unscaled, scale, out)?,
        Val::Int(v) => write_int(v, out),
        Val::Unsigned(v) => write_unsigned(v, out),
        Val::Bool(v) => out.push(if v { b'1' } else { b'0' }),
        Val::Number(digits) => out.extend_from_slice(digits),
        Val::Float(v) => write_f64(v, out),
        Val::Float32(v) => write_f32(v, out),
        _ => return Err(no_form(&Target::Numeric, value)),
    }
    Ok(())
}

/// The text of a money column, whose input function reads no exponents.
pub(super) fn write_money(value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    let finite = |v: f64| v.is_finite();
    match value {
        Val::Decimal(unscaled, scale) => write_decimal(unscaled, scale, out)?,
        Val::Int(v) => write_int(v, out),
        Val::Unsigned(v) => write_unsigned(v, out),
        Val::Number(digits) if digits.iter().any(|b| matches!(b, b'e' | b'E')) => {
            let text = std::str::from_utf8(digits).unwrap_or_default();
            let parts = decimal_from_text(text);
            let (unscaled, scale) = parts.ok_or_else(|| out_of_range(text, &Target::Money))?;
            write_decimal(&unscaled, scale, out)?;
        }
        Val::Number(digits) => out.extend_from_slice(digits),
        Val::Float(v) if finite(v) => put(out, format_args!("{v}")),
        Val::Float32(v) if finite(f64::from(v)) => put(out, format_args!("{v}")),
        Val::Float(v) => return Err(out_of_range(&v.to_string(), &Target::Money)),
        Val::Float32(v) => return Err(out_of_range(&v.to_string(), &Target::Money)),
        _ => return Err(no_form(&Target::Money, value)),
    }
    Ok(())
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _infallible = out.write_fmt(text);
}
