//! Values as Java prints them: numbers, decimals, dates, and the names of value classes.
//!
//! Place in the data path: writing only, and messages. Destinations that want ISO dates or plain
//! decimals do not come here.

use data::{Cell, Width, decimal_to_text};
use std::fmt::Arguments;
use std::io::Write;

/// The Java class a cell stands for, as Java prints it in messages.
pub(crate) fn class_name(cell: Cell) -> &'static str {
    match cell {
        Cell::Null => "null",
        Cell::Bool(_) => "class java.lang.Boolean",
        Cell::Int(_, Width::W8) => "class java.lang.Byte",
        Cell::Int(_, Width::W16) => "class java.lang.Short",
        Cell::Int(_, Width::W32) => "class java.lang.Integer",
        Cell::Int(_, Width::W64) => "class java.lang.Long",
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

pub(crate) fn put(out: &mut Vec<u8>, text: Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _infallible = out.write_fmt(text);
}

/// A double as `Double.toString` prints it, but with the fewest digits that read back the same.
pub(crate) fn write_double(value: f64, out: &mut Vec<u8>) {
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
pub(crate) fn write_float(value: f32, out: &mut Vec<u8>) {
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
pub(crate) fn write_decimal(unscaled: &[u8], scale: i32, out: &mut Vec<u8>) {
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
pub(crate) fn write_date(ms: i64, out: &mut Vec<u8>) {
    const DAY_MS: i64 = 86_400_000;
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let (days, ms) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = data::civil_date(days);
    let weekday = WEEKDAYS.get(days.rem_euclid(7) as usize).unwrap_or(&"");
    let month = MONTHS.get(month as usize - 1).unwrap_or(&"");
    let s = ms / 1000;
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    put(out, format_args!("{weekday} {month} {day:02} {h:02}:{m:02}:{s:02} UTC {year:04}"));
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let seen = text(|out| write_date(1_700_000_000_123, out));
        assert_eq!(seen, "Tue Nov 14 22:13:20 UTC 2023");
        assert_eq!(text(|out| write_date(-1, out)), "Wed Dec 31 23:59:59 UTC 1969");
    }
}
