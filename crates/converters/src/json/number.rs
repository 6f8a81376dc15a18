//! From a scanned number to integers, floats and decimals.
//!
//! Place in the data path: right after the scanner; the digits were read already, so the common
//! sizes cost a multiplication. Everything else goes through the exact text.
//!
//! Invariant: nothing is rounded or cut in silence where the target is exact: a fraction is never
//! dropped, an integer never wraps, a decimal keeps every digit.

use super::scan::Number;
use num_bigint::BigInt;
use std::str;

/// Scales further apart than this are refused: the zeros between them are not worth their memory.
const SCALE_DISTANCE_MAX: u32 = 10_000;

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl Number {
    pub(super) fn is_integral(&self) -> bool {
        !self.has_point && !self.has_exponent
    }

    /// The value, if it is written as an integer and has 64 bits.
    #[inline]
    pub(super) fn integer(&self) -> Option<i64> {
        if !self.is_integral() || self.digits > 19 {
            return None;
        }
        if self.negative {
            return 0_i64.checked_sub_unsigned(self.mantissa);
        }
        i64::try_from(self.mantissa).ok()
    }

    /// The value as an integer where that is exact, however it is written (`5.0`, `1e2`).
    pub(super) fn exact_integer(&self, bytes: &[u8]) -> Option<i64> {
        if self.is_integral() {
            return self.integer();
        }
        let mut unscaled = Vec::new();
        self.decimal(bytes, Some(0), &mut unscaled)?;
        BigInt::from_signed_bytes_be(&unscaled).try_into().ok()
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> &'a str {
        // The scanner passed nothing but ASCII here.
        bytes.get(self.start..self.end).and_then(|b| str::from_utf8(b).ok()).unwrap_or_default()
    }

    /// The nearest double; never a negative zero, which decimal text does not know. `None` beyond
    /// the range of doubles.
    #[inline]
    pub(super) fn double(&self, bytes: &[u8]) -> Option<f64> {
        // Both operands are exact, so the one division rounds once.
        if self.digits <= 15
            && !self.has_exponent
            && let Some(power) = POWERS.get(self.fraction)
        {
            let value = self.mantissa as f64 / power;
            return Some(if self.negative { -value + 0.0 } else { value });
        }
        let value = self.text(bytes).parse::<f64>().ok()? + 0.0;
        value.is_finite().then_some(value)
    }

    /// The nearest float of 32 bits, not by way of the nearest double.
    pub(super) fn float(&self, bytes: &[u8]) -> Option<f32> {
        let value = self.text(bytes).parse::<f32>().ok()? + 0.0;
        value.is_finite().then_some(value)
    }

    /// Appends the unscaled value to `out` and gives the scale: `scale` if one is given, else the
    /// number's own. `None` where digits would be lost.
    pub(super) fn decimal(
        &self,
        bytes: &[u8],
        scale: Option<i32>,
        out: &mut Vec<u8>,
    ) -> Option<i32> {
        if self.digits <= 18 && !self.has_exponent {
            let own = i32::try_from(self.fraction).ok()?;
            let zeros = scale.unwrap_or(own).checked_sub(own)?;
            let factor = u32::try_from(zeros).ok().and_then(|zeros| 10_i128.checked_pow(zeros));
            let value = factor.and_then(|factor| factor.checked_mul(i128::from(self.mantissa)));
            if let Some(value) = value {
                let value = if self.negative { -value } else { value };
                out.extend_from_slice(shortest(&value.to_be_bytes()));
                return Some(own + zeros);
            }
        }
        let (unscaled, own) = data::decimal_from_text(self.text(bytes))?;
        let scale = scale.unwrap_or(own);
        out.extend_from_slice(&rescale(&unscaled, own, scale)?);
        Some(scale)
    }
}

/// The same value at another scale, where that loses no digit.
fn rescale(unscaled: &[u8], from: i32, to: i32) -> Option<Vec<u8>> {
    let value = BigInt::from_signed_bytes_be(unscaled);
    let zero = BigInt::from(0);
    if from == to || value == zero {
        return Some(value.to_signed_bytes_be());
    }
    let distance = from.abs_diff(to);
    if distance > SCALE_DISTANCE_MAX {
        return None;
    }
    let factor = BigInt::from(10).pow(distance);
    if to > from {
        return Some((value * factor).to_signed_bytes_be());
    }
    let rest = &value % &factor;
    (rest == zero).then(|| (value / factor).to_signed_bytes_be())
}

/// The shortest two's complement form of a big-endian integer, at least one byte.
pub(crate) fn shortest(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [first, second, ..] = rest {
        let redundant =
            (*first == 0 && second & 0x80 == 0) || (*first == 0xff && second & 0x80 != 0);
        if !redundant {
            break;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::super::scan::Scanner;
    use super::*;

    fn number(text: &str) -> Number {
        Scanner::new(text.as_bytes(), 0).number().unwrap()
    }

    #[test]
    fn integers_are_exact_or_refused() {
        for (text, value) in [
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("99999999999999999999", None),
            ("1.5", None),
            ("5.0", Some(5)),
            ("1E+2", Some(100)),
            ("-0", Some(0)),
            ("0e99999", Some(0)),
            ("1e99999", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(number(text).exact_integer(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn doubles_equal_those_of_the_standard_parser() {
        for text in [
            "0.1",
            "1234.56",
            "-99999.99",
            "123456789012345",
            "1234567890123456789",
            "1e22",
            "1e23",
            "0.000001",
            "4.9E-324",
            "1.7976931348623157E308",
            "0.30000000000000004",
            "5e-325",
            "0000000000000000000000001",
            "0.0000000000000000000000001",
        ] {
            let value = number(text).double(text.as_bytes()).unwrap();
            assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        assert_eq!(number("-0.0").double(b"-0.0").unwrap().to_bits(), 0.0_f64.to_bits());
        assert_eq!(number("1e400").double(b"1e400"), None);
    }

    #[test]
    fn decimals_take_the_scale_asked_for_where_no_digit_is_lost() {
        let read = |text: &str, scale| {
            let mut out = Vec::new();
            number(text)
                .decimal(text.as_bytes(), scale, &mut out)
                .map(|scale| (BigInt::from_signed_bytes_be(&out).to_string(), scale))
        };
        assert_eq!(read("1.5", Some(2)), Some(("150".to_owned(), 2)));
        assert_eq!(read("1.5", None), Some(("15".to_owned(), 1)));
        assert_eq!(read("1.5000", Some(2)), Some(("150".to_owned(), 2)));
        assert_eq!(read("1.505", Some(2)), None);
        assert_eq!(read("-0.00", Some(2)), Some(("0".to_owned(), 2)));
        assert_eq!(read("1200", Some(-2)), Some(("12".to_owned(), -2)));
        assert_eq!(read("1e9999999", Some(2)), None);
        let long = "79228162514264337593543950335.12345678";
        assert_eq!(read(long, Some(8)), Some((long.replace('.', ""), 8)));
        assert_eq!(read(long, Some(2)), None);
    }
}
