//! The binary form of numeric: digits in base 10,000, a weight, a sign and a display scale.
//!
//! Place in the data path: COPY BINARY and typed arrays. The value's decimal text is taken apart, so
//! that every number that has a text form has this one.

use super::Encoded;
use super::convert::{Val, no_form};
use super::number::{decimal_text, out_of_range};
use super::target::Target;
use smallvec::SmallVec;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;
/// Digits behind the point that numeric shows at most.
const SCALE_MAX: i64 = 16_383;
/// Groups of four digits before the point, at most.
const WEIGHT_MAX: i64 = 32_767;

/// Appends the binary form of a number.
pub(super) fn write_binary(value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    match value {
        Val::Decimal(unscaled, scale) => digits(&decimal_text(unscaled, scale)?, out),
        Val::Int(v) => digits(itoa::Buffer::new().format(v).as_bytes(), out),
        Val::Unsigned(v) => digits(itoa::Buffer::new().format(v).as_bytes(), out),
        Val::Bool(v) => digits(if v { b"1" } else { b"0" }, out),
        Val::Number(text) => digits(text, out),
        Val::Float(v) if v.is_finite() => {
            digits(ryu::Buffer::new().format_finite(v).as_bytes(), out)
        }
        Val::Float32(v) if v.is_finite() => {
            digits(ryu::Buffer::new().format_finite(v).as_bytes(), out)
        }
        Val::Float(v) => special(v, out),
        Val::Float32(v) => special(f64::from(v), out),
        _ => Err(no_form(&Target::Numeric, value)),
    }
}

fn special(v: f64, out: &mut Vec<u8>) -> Encoded {
    let sign = match (v.is_nan(), v > 0.0) {
        (true, _) => NAN,
        (false, true) => INFINITY,
        (false, false) => MINUS_INFINITY,
    };
    head(0, 0, sign, 0, out);
    Ok(())
}

fn head(groups: u16, weight: i16, sign: u16, scale: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&groups.to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&scale.to_be_bytes());
}

/// `[-]digits[.digits][e[+-]digits]` as JSON, ryu and decimals write it.
fn digits(text: &[u8], out: &mut Vec<u8>) -> Encoded {
    let bad = || out_of_range(&super::convert::shown(text), &Target::Numeric);
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let at = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(at);
    let exponent: i64 = match exponent.get(1..) {
        None | Some([]) => 0,
        Some(e) => {
            let e = e.strip_prefix(b"+").unwrap_or(e);
            std::str::from_utf8(e).ok().and_then(|e| e.parse().ok()).ok_or_else(bad)?
        }
    };
    let point = mantissa.iter().position(|b| *b == b'.').unwrap_or(mantissa.len());
    let all: SmallVec<[u8; 64]> = mantissa.iter().copied().filter(|b| *b != b'.').collect();
    if all.is_empty() || !all.iter().all(u8::is_ascii_digit) {
        return Err(bad());
    }
    let fraction = (all.len() - point.min(all.len())) as i64;
    let scale = fraction.saturating_sub(exponent).max(0);
    // The place of the point, counted from the first digit.
    let point = (point as i64).saturating_add(exponent);
    let zeros = all.iter().take_while(|b| **b == b'0').count();
    let significant = all.get(zeros..).unwrap_or_default();
    let point = point.saturating_sub(zeros as i64);
    if scale > SCALE_MAX || point > (WEIGHT_MAX + 1) * 4 {
        return Err(bad());
    }
    let scale = scale as u16;
    if significant.is_empty() {
        head(0, 0, 0, scale, out);
        return Ok(());
    }
    // Digits stand in groups of four that are aligned to the point.
    let weight = (point + 3).div_euclid(4) - 1;
    let lead = ((weight + 1) * 4 - point) as usize;
    let weight = i16::try_from(weight).map_err(|_| bad())?;
    groups(significant, lead, weight, if negative { NEGATIVE } else { 0 }, scale, out);
    Ok(())
}

/// Writes `digits`, with `lead` zeros before them (0 to 3), in groups of four.
fn groups(digits: &[u8], lead: usize, weight: i16, sign: u16, scale: u16, out: &mut Vec<u8>) {
    let start = out.len();
    head(0, weight, sign, scale, out);
    let mut group = 0u16;
    let mut filled = lead;
    let mut count = 0u16;
    // Groups of zeros at the end are not written.
    let mut kept = (0u16, out.len());
    for digit in digits {
        group = group * 10 + u16::from(digit - b'0');
        filled += 1;
        if filled == 4 {
            count += 1;
            out.extend_from_slice(&group.to_be_bytes());
            if group != 0 {
                kept = (count, out.len());
            }
            (group, filled) = (0, 0);
        }
    }
    if filled > 0 {
        for _ in filled..4 {
            group *= 10;
        }
        count += 1;
        out.extend_from_slice(&group.to_be_bytes());
        if group != 0 {
            kept = (count, out.len());
        }
    }
    out.truncate(kept.1);
    if let Some(field) = out.get_mut(start..).and_then(|b| b.first_chunk_mut::<2>()) {
        *field = kept.0.to_be_bytes();
    }
}
