//! Decimal numbers as `BigDecimal` reads them, without ever writing out what an exponent stands for.
//!
//! Invariant: no step costs more than the text is long, whatever the exponent, but for the digits
//! of a decimal, of which there are at most [`DIGITS_MAX`].

use crate::decimal::decimal_to_text;
use num_bigint::BigInt;

/// Digits of a number. Longer text is no number: to read it would cost the square of its length.
const DIGITS_MAX: usize = 10_000;

/// A number: `digits` × 10^-`scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    negative: bool,
    /// ASCII digits without leading zeros; empty for zero.
    digits: String,
    pub scale: i32,
}

/// What integer a number is.
#[derive(Debug, PartialEq)]
pub(super) enum Whole {
    Fits(i64),
    TooBig,
    Fraction,
}

impl Number {
    /// `None` where `new BigDecimal(text)` refuses the text.
    pub fn parse(text: &str) -> Option<Number> {
        let (negative, rest) = sign(text);
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (rest.get(..at)?, exponent(rest.get(at + 1..)?)?),
            None => (rest, 0),
        };
        let mut digits = String::new();
        let (mut fraction, mut seen) = (None, 0_usize);
        for c in mantissa.chars() {
            match (digit(c), fraction) {
                (Some(value), _) => {
                    seen += 1;
                    fraction = fraction.map(|len: i64| len + 1);
                    if value > 0 || !digits.is_empty() {
                        digits.push(char::from(b'0' + value));
                    }
                }
                (None, None) if c == '.' => fraction = Some(0),
                _ => return None,
            }
        }
        if seen == 0 || digits.len() > DIGITS_MAX {
            return None;
        }
        let scale = i32::try_from(fraction.unwrap_or(0) - exponent).ok()?;
        Some(Number { negative, digits, scale })
    }

    /// The number of a decimal; `unscaled` is big-endian two's complement.
    pub fn of_decimal(unscaled: &[u8], scale: i32) -> Number {
        let mut text = Vec::new();
        decimal_to_text(unscaled, 0, &mut text);
        let text = String::from_utf8(text).unwrap_or_default();
        let (negative, digits) = sign(&text);
        Number { negative, digits: digits.trim_start_matches('0').to_owned(), scale }
    }

    /// The nearest double, infinite if it is too large.
    pub fn to_f64(&self) -> f64 {
        self.scientific().parse().unwrap_or(f64::NAN)
    }

    /// The nearest float of 32 bits, infinite if it is too large.
    pub fn to_f32(&self) -> f32 {
        self.scientific().parse().unwrap_or(f32::NAN)
    }

    /// Text that the standard library reads with one rounding.
    fn scientific(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, -i64::from(self.scale))
    }

    /// The digits before the point, without the zeros that a negative scale stands for.
    fn whole_digits(&self) -> &str {
        let cut = self.digits.len().saturating_sub(self.scale.max(0) as usize);
        self.digits.get(..cut).unwrap_or_default()
    }

    /// Cut to an integer, then to its lowest 64 bits, as `BigDecimal.longValue` does.
    pub fn to_i64_wrapping(&self) -> i64 {
        let add = |sum: i64, digit: u8| {
            sum.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0')))
        };
        let value = self.whole_digits().bytes().fold(0, add);
        let zeros = self.scale.min(0).unsigned_abs();
        // 10^64 and more is a multiple of 2^64.
        let value = if zeros < 64 { value.wrapping_mul(10_i64.wrapping_pow(zeros)) } else { 0 };
        if self.negative { value.wrapping_neg() } else { value }
    }

    pub(super) fn whole(&self) -> Whole {
        let significant = self.digits.trim_end_matches('0');
        if significant.is_empty() {
            return Whole::Fits(0);
        }
        let zeros = (self.digits.len() - significant.len()) as i64 - i64::from(self.scale);
        if zeros < 0 {
            return Whole::Fraction;
        }
        if significant.len() as i64 + zeros > 19 {
            return Whole::TooBig;
        }
        let value = significant.parse::<i128>().unwrap_or(i128::MAX);
        let value = value.saturating_mul(10_i128.pow(zeros as u32));
        i64::try_from(if self.negative { -value } else { value }).map_or(Whole::TooBig, Whole::Fits)
    }

    /// The unscaled value as two's complement.
    pub fn unscaled(&self) -> Vec<u8> {
        let value: BigInt = self.digits.parse().unwrap_or_default();
        (if self.negative { -value } else { value }).to_signed_bytes_be()
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// An exponent of at most ten digits that count.
fn exponent(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    let (mut value, mut count) = (0_i64, 0);
    for c in digits.chars() {
        let digit = digit(c)?;
        count += usize::from(digit > 0 || count > 0);
        if count > 10 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// The zeros of the decimal digits that one UTF-16 unit can say, but for ASCII's.
const ZEROS: [u16; 36] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// The value of a decimal digit, of any script, as Java's `Character.digit`.
pub fn digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.to_digit(10).map(|value| value as u8);
    }
    let unit = u16::try_from(u32::from(c)).ok()?;
    let at = ZEROS.partition_point(|zero| *zero <= unit).checked_sub(1)?;
    let value = unit - ZEROS.get(at)?;
    (value < 10).then_some(value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Whole {
        Number::parse(text).unwrap().whole()
    }

    #[test]
    fn integers_are_found_without_writing_them_out() {
        assert_eq!(whole("1e3"), Whole::Fits(1000));
        assert_eq!(whole("-1200e-2"), Whole::Fits(-12));
        assert_eq!(whole("0e999999999"), Whole::Fits(0));
        assert_eq!(whole("9223372036854775807"), Whole::Fits(i64::MAX));
        assert_eq!(whole("-9223372036854775808"), Whole::Fits(i64::MIN));
        assert_eq!(whole("9223372036854775808"), Whole::TooBig);
        assert_eq!(whole("1e999999999"), Whole::TooBig);
        assert_eq!(whole("0.10"), Whole::Fraction);
    }

    #[test]
    fn what_big_decimal_refuses_is_refused() {
        for text in ["", "+", ".", "1e", "1e+", "1.2.3", "--1", "1 ", "1e99999999999", "0x1", "1f"]
        {
            assert_eq!(Number::parse(text), None, "{text}");
        }
        assert_eq!(Number::parse("+.5").unwrap().to_f64(), 0.5);
        assert_eq!(Number::parse("1.").unwrap().whole(), Whole::Fits(1));
        assert_eq!(Number::parse("\u{661}\u{662}").unwrap().whole(), Whole::Fits(12));
        assert_eq!(Number::parse("1e0000000000000000002").unwrap().whole(), Whole::Fits(100));
    }

    #[test]
    fn low_bits_are_kept() {
        for (text, wanted) in [
            ("99999999999999999999", 7_766_279_631_452_241_919),
            ("-3.99", -3),
            ("1e64", 0),
            ("1e19", -8_446_744_073_709_551_616),
            ("0.9", 0),
            ("1e-2147483647", 0),
        ] {
            assert_eq!(Number::parse(text).unwrap().to_i64_wrapping(), wanted, "{text}");
        }
    }
}
