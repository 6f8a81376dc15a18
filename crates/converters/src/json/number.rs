//! Numbers: the scanner's way through them, and from their digits to integers, floats and decimals.
//!
//! Place in the data path: digits are read while they are scanned, eight at a time, so the common
//! sizes cost a multiplication. Everything else goes through the exact text.
//!
//! Invariant: nothing is rounded or cut in silence where the target is exact: a fraction is never
//! dropped, an integer never wraps, a decimal keeps every digit.

use super::fault::Fault;
use super::scan::Scanner;
use num_bigint::BigInt;
use std::str;

/// Scales further apart than this are refused: the zeros between them are not worth their memory.
const SCALE_DISTANCE_MAX: u32 = 10_000;

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Digits in one number, those of its exponent included.
const DIGITS_MAX: usize = 1000;

/// A number whose digits were read on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    /// The first byte after superfluous leading zeros; the sign, if any, is before those.
    pub(crate) digits_start: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) negative: bool,
    /// All digits as one integer; only meaningful up to 19 `digits`.
    pub(crate) mantissa: u64,
    /// Digits that count, leading zeros left out.
    pub(crate) digits: usize,
    /// Digits after the point.
    pub(crate) fraction: usize,
    pub(crate) has_point: bool,
    pub(crate) has_exponent: bool,
}

impl Scanner<'_> {
    /// Passes a number and reads its digits.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Result<Number, Fault> {
        let start = self.pos;
        let negative = self.eat(b'-');
        let first = self.pos;
        let mut mantissa: u64 = 0;
        while self.peek() == Some(b'0') {
            self.pos += 1;
        }
        let zeros = self.pos - first;
        let digits = self.digits(&mut mantissa);
        if zeros + digits == 0 {
            return Err(self.expected("a digit"));
        }
        // The last of the leading zeros stays where no other digit precedes the point.
        let superfluous = if digits == 0 { zeros - 1 } else { zeros };
        self.lenient |= superfluous > 0;
        let mut number = Number {
            digits_start: first + superfluous,
            start,
            end: self.pos,
            negative,
            mantissa,
            digits,
            fraction: 0,
            has_point: false,
            has_exponent: false,
        };
        if let Some(b'.' | b'e' | b'E') = self.peek() {
            self.number_rest(&mut number)?;
        }
        if self.pos - start > DIGITS_MAX {
            self.check_length(start)?;
        }
        Ok(number)
    }

    /// Demands that the number that was passed has not too many digits.
    #[cold]
    fn check_length(&self, start: usize) -> Result<(), Fault> {
        let number = self.bytes.get(start..self.pos).unwrap_or_default();
        if number.iter().filter(|byte| byte.is_ascii_digit()).count() > DIGITS_MAX {
            return Err(Fault::syntax("a number of more than 1000 digits", start));
        }
        Ok(())
    }

    /// The fraction and the exponent.
    #[inline(always)]
    fn number_rest(&mut self, number: &mut Number) -> Result<(), Fault> {
        if self.eat(b'.') {
            let point = self.pos;
            while number.digits == 0 && self.peek() == Some(b'0') {
                self.pos += 1;
            }
            number.digits += self.digits(&mut number.mantissa);
            number.fraction = self.pos - point;
            number.has_point = true;
            if number.fraction == 0 {
                return Err(self.expected("a digit"));
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            number.has_exponent = true;
            if self.digits(&mut 0) == 0 {
                return Err(self.expected("a digit"));
            }
        }
        number.end = self.pos;
        Ok(())
    }

    /// Passes digits, appends them to the mantissa and counts them.
    #[inline]
    fn digits(&mut self, mantissa: &mut u64) -> usize {
        let start = self.pos;
        while let Some(chunk) = self.bytes.get(self.pos..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
            // The high bit of each byte that is no digit; the lowest mark is exact.
            let marks = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
            let count = marks.trailing_zeros() / 8;
            let Some(shift) = 64_u32.checked_sub(count * 8).filter(|shift| *shift < 64) else {
                return self.pos - start;
            };
            let power = POWERS_OF_TEN.get(count as usize).copied().unwrap_or(1);
            *mantissa = mantissa.wrapping_mul(power).wrapping_add(eight_digits(word << shift));
            self.pos += count as usize;
            if count < 8 {
                return self.pos - start;
            }
        }
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.pos += 1;
        }
        self.pos - start
    }
}

const POWERS_OF_TEN: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number of eight digits, one a byte, the first in the lowest byte.
#[inline]
fn eight_digits(word: u64) -> u64 {
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

impl Number {
    fn is_integral(&self) -> bool {
        !self.has_point && !self.has_exponent
    }

    /// The value, if it is written as an integer and has 64 bits.
    #[inline]
    pub(crate) fn integer(&self) -> Option<i64> {
        if !self.is_integral() || self.digits > 19 {
            return None;
        }
        if self.negative {
            return 0_i64.checked_sub_unsigned(self.mantissa);
        }
        i64::try_from(self.mantissa).ok()
    }

    /// The value as an integer where that is exact, however it is written (`5.0`, `1e2`).
    pub(crate) fn exact_integer(&self, bytes: &[u8]) -> Option<i64> {
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
    pub(crate) fn double(&self, bytes: &[u8]) -> Option<f64> {
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
    pub(crate) fn float(&self, bytes: &[u8]) -> Option<f32> {
        let value = self.text(bytes).parse::<f32>().ok()? + 0.0;
        value.is_finite().then_some(value)
    }

    /// Appends the unscaled value to `out` and gives the scale: `scale` if one is given, else the
    /// number's own. `None` where digits would be lost.
    pub(crate) fn decimal(
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
pub(crate) fn rescale(unscaled: &[u8], from: i32, to: i32) -> Option<Vec<u8>> {
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

    #[test]
    fn numbers_carry_their_digits() {
        let number = |text: &str| Scanner::new(text.as_bytes(), 0).number().unwrap();
        let n = number("-0012.50");
        assert_eq!((n.mantissa, n.digits, n.fraction, n.negative), (1250, 4, 2, true));
        assert_eq!((n.digits_start, n.end), (3, 8));
        assert_eq!(number("00").digits_start, 1);
        assert_eq!(number("0.001").digits, 1);
        assert_eq!(number("100.00").digits, 5);
    }

    #[test]
    fn a_number_has_at_most_a_thousand_digits() {
        let ones = |n: usize| "1".repeat(n);
        let read = |text: &str| Scanner::new(text.as_bytes(), 0).number().is_ok();
        for text in [
            format!("-{}", ones(1000)),
            format!("{}.{}", ones(1), ones(999)),
            format!("-{}.{}E+{}", ones(1), ones(996), ones(3)),
        ] {
            assert!(read(&text) && !read(&format!("{text}1")), "{text}");
        }
    }

    #[test]
    fn digits_are_read_at_every_length_and_place() {
        let digits = "12345678901234567890123456789";
        for len in 1..=digits.len() {
            for tail in ["", ",", " ", "}", ":;<=>?@ABC", "//......", "\u{80}\u{80}\u{80}\u{80}"] {
                let text = format!("{}{tail}", &digits[..len]);
                let n = Scanner::new(text.as_bytes(), 0).number().unwrap();
                assert_eq!((n.end, n.digits), (len, len), "{text}");
                if len <= 19 {
                    assert_eq!(n.mantissa.to_string(), digits[..len]);
                }
            }
        }
    }
}
