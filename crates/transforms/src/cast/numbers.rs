//! Numbers from text as Java's `parseLong`, `parseFloat` and `parseDouble` read them.
//!
//! Invariant: what Java refuses is refused, so `inf`, `1_000` and blanks inside are no numbers.

use data::values::digit;

/// An integer: a sign and digits of any script, nothing else.
pub(super) fn parse_long(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return None;
    }
    // Below zero there is room for the smallest integer too.
    let mut value = 0_i64;
    for c in digits.chars() {
        value = value.checked_mul(10)?.checked_sub(i64::from(digit(c)?))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// A float of 64 bits.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    match Float::of(text)? {
        Float::Plain(digits) => digits.parse().ok(),
        Float::Hex { negative, value } => Some(sign(negative, value.round(53, -1074))),
    }
}

/// A float of 32 bits, rounded once.
pub(super) fn parse_float(text: &str) -> Option<f32> {
    match Float::of(text)? {
        Float::Plain(digits) => digits.parse().ok(),
        // What was rounded to 24 bits is not rounded again.
        Float::Hex { negative, value } => Some(sign(negative, value.round(24, -149)) as f32),
    }
}

fn sign(negative: bool, value: f64) -> f64 {
    if negative { -value } else { value }
}

/// The text of a float.
enum Float<'a> {
    /// What the standard library reads alike.
    Plain(&'a str),
    Hex {
        negative: bool,
        value: Hex,
    },
}

impl Float<'_> {
    fn of(text: &str) -> Option<Float<'_>> {
        let text = text.trim_matches(|c| c <= ' ');
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if unsigned == "NaN" || unsigned == "Infinity" {
            return Some(Float::Plain(text));
        }
        if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
            return Some(Float::Hex { negative, value: Hex::parse(hex)? });
        }
        let digits = without_suffix(text);
        let known = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
        digits.bytes().all(known).then_some(Float::Plain(digits))
    }
}

/// Without the letter of its type.
fn without_suffix(text: &str) -> &str {
    text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text)
}

/// `bits` × 2^`exponent`, and perhaps a bit more.
struct Hex {
    bits: u64,
    exponent: i64,
    more: bool,
}

impl Hex {
    /// What follows `0x`: hexadecimal digits with or without a point, `p` and a power of two.
    fn parse(text: &str) -> Option<Hex> {
        let (mantissa, power) = without_suffix(text).split_once(['p', 'P'])?;
        let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        // Beyond that everything is zero or infinite.
        const POWER_MAX: i64 = 1 << 40;
        let limit = if power.starts_with('-') { -POWER_MAX } else { POWER_MAX };
        let power = power.parse::<i64>().unwrap_or(limit).clamp(-POWER_MAX, POWER_MAX);
        let mut hex = Hex { bits: 0, exponent: power, more: false };
        let (mut point, mut any) = (false, false);
        for c in mantissa.chars() {
            if c == '.' && !point {
                point = true;
                continue;
            }
            let value = u64::from(c.to_digit(16)?);
            any = true;
            if hex.bits >> 60 == 0 {
                hex.bits = hex.bits << 4 | value;
                hex.exponent -= if point { 4 } else { 0 };
            } else {
                hex.more |= value != 0;
                hex.exponent += if point { 0 } else { 4 };
            }
        }
        any.then_some(hex)
    }

    /// The nearest number with so many bits of which none counts less than 2^`least`; ties go to even.
    fn round(&self, precision: i64, least: i64) -> f64 {
        if self.bits == 0 {
            return 0.0;
        }
        let top = self.exponent + 63 - i64::from(self.bits.leading_zeros());
        let unit = (top - precision + 1).max(least);
        let (kept, unit) = match unit - self.exponent {
            shift @ 1..=64 => {
                let wide = u128::from(self.bits);
                let (kept, rest) = (wide >> shift, wide & ((1 << shift) - 1));
                let half = 1_u128 << (shift - 1);
                let up = rest > half || rest == half && (self.more || kept & 1 == 1);
                (kept as u64 + u64::from(up), unit)
            }
            65.. => return 0.0,
            _ => (self.bits, self.exponent),
        };
        // Each step but the last leaves a number that is exact.
        let mut value = kept as f64;
        let mut left = unit.clamp(-4000, 4000) as i32;
        while left != 0 {
            let step = left.clamp(-512, 512);
            value *= 2_f64.powi(step);
            left -= step;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_a_sign_and_digits() {
        for (text, wanted) in [
            ("0", 0),
            ("+5", 5),
            ("-0012", -12),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("\u{ff11}\u{ff12}", 12),
            ("\u{661}2", 12),
        ] {
            assert_eq!(parse_long(text), Some(wanted), "{text}");
        }
        for text in ["", "-", "+", "+-1", " 1", "1.0", "1e3", "0x1", "9223372036854775808", "1_0"] {
            assert_eq!(parse_long(text), None, "{text}");
        }
    }

    #[test]
    fn floats_are_javas() {
        for (text, wanted) in [
            (" 1e3\n", 1000.0),
            ("1.25f", 1.25),
            ("-.5D", -0.5),
            ("1.", 1.0),
            ("+Infinity", f64::INFINITY),
            ("1e999", f64::INFINITY),
            ("0x1p3", 8.0),
            ("-0X.8P1d", -1.0),
            ("0x1.8p-1", 0.75),
            ("0x1p-1074", 5e-324),
            ("0x1p-1075", 0.0),
            ("0x1.00000000000001p-1075", 5e-324),
            ("0x1p1024", f64::INFINITY),
            ("0x1.fffffffffffff8p1023", f64::INFINITY),
            ("0x20000000000001p0", 9_007_199_254_740_992.0),
            ("0x20000000000001.00000000001p0", 9_007_199_254_740_994.0),
            ("0x10000000000000000000p-76", 1.0),
            ("0x0p99999999999999999999", 0.0),
        ] {
            assert_eq!(parse_double(text), Some(wanted), "{text}");
        }
        assert!(parse_double("NaN").unwrap().is_nan());
        for text in [
            "", "inf", "nan", "infinity", "1e", "0x1", "0xp1", "1ff", "e5", "1 2", "\u{ff11}",
            "0x1pf",
        ] {
            assert_eq!(parse_double(text), None, "{text}");
            assert_eq!(parse_float(text), None, "{text}");
        }
    }

    #[test]
    fn floats_of_32_bits_are_rounded_once() {
        // Rounded to 64 bits first, this would be a tie.
        assert_eq!(parse_float("1.00000005960464477540"), Some(1.000_000_1));
        assert_eq!(parse_float("0x1.000001000000001p0"), Some(1.000_000_1));
        assert_eq!(parse_float("0x1p-149"), Some(f32::from_bits(1)));
        assert_eq!(parse_float("0x1p128"), Some(f32::INFINITY));
    }
}
