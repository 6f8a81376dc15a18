//! Connect's Decimal: an unscaled integer as big-endian two's complement bytes, and a scale.

use num_bigint::BigInt;

/// Scales beyond this are written as an exponent: a scale comes from outside and must not make
/// gigabytes of zeros.
const PLAIN_SCALE_MAX: u32 = 100_000;

/// Appends the plain decimal text of a value, no exponent, trailing zeros kept. A negative scale
/// adds zeros; a scale beyond 100,000 either way is written as an exponent (`15E-200000`). No bytes
/// at all read as zero.
pub fn decimal_to_text(unscaled: &[u8], scale: i32, out: &mut Vec<u8>) {
    let digits = if unscaled.len() <= 16 {
        small(unscaled).to_string()
    } else {
        BigInt::from_signed_bytes_be(unscaled).to_string()
    };
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits.as_str()),
    };
    out.extend_from_slice(sign.as_bytes());
    if scale.unsigned_abs() > PLAIN_SCALE_MAX {
        out.extend_from_slice(format!("{digits}E{}", -i64::from(scale)).as_bytes());
        return;
    }
    if scale <= 0 {
        out.extend_from_slice(digits.as_bytes());
        if digits != "0" {
            out.resize(out.len() + scale.unsigned_abs() as usize, b'0');
        }
        return;
    }
    let scale = scale as usize;
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole.as_bytes());
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    } else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + scale - digits.len(), b'0');
        out.extend_from_slice(digits.as_bytes());
    }
}

/// Parses a decimal number, with or without an exponent, into unscaled bytes and its own scale.
/// `None` where the text is no number or its exponent is beyond 100,000.
pub fn decimal_from_text(text: &str) -> Option<(Vec<u8>, i32)> {
    const EXPONENT_MAX: u64 = 100_000;
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let bare = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
    if bare.is_empty() || !bare.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = (fraction.len() as i64).checked_sub(exponent)?;
    if scale.unsigned_abs() > EXPONENT_MAX {
        return None;
    }
    let unscaled = match digits.parse::<i128>() {
        Ok(value) => trim(&value.to_be_bytes()),
        Err(_) => digits.parse::<BigInt>().ok()?.to_signed_bytes_be(),
    };
    Some((unscaled, scale as i32))
}

fn small(unscaled: &[u8]) -> i128 {
    let sign = if unscaled.first().is_some_and(|b| b & 0x80 != 0) { -1 } else { 0 };
    unscaled.iter().fold(sign, |value: i128, byte| value << 8 | i128::from(*byte))
}

/// The shortest two's complement form, at least one byte.
fn trim(bytes: &[u8; 16]) -> Vec<u8> {
    let mut rest: &[u8] = bytes;
    while let [first, second, ..] = rest {
        let redundant =
            (*first == 0 && second & 0x80 == 0) || (*first == 0xff && second & 0x80 != 0);
        if !redundant {
            break;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    rest.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(unscaled: &[u8], scale: i32) -> String {
        let mut out = Vec::new();
        decimal_to_text(unscaled, scale, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_and_back_keeps_every_digit() {
        for (input, plain) in [
            ("0", "0"),
            ("12.50", "12.50"),
            ("-0.05", "-0.05"),
            ("1E-20", "0.00000000000000000001"),
            ("1.5e3", "1500"),
            ("-128", "-128"),
            ("128", "128"),
            (
                "123456789012345678901234567890.123456789",
                "123456789012345678901234567890.123456789",
            ),
            (
                "-170141183460469231731687303715884105729.1",
                "-170141183460469231731687303715884105729.1",
            ),
        ] {
            let (unscaled, scale) = decimal_from_text(input).unwrap();
            assert_eq!(text(&unscaled, scale), plain, "{input}");
        }
        assert_eq!(decimal_from_text("-128").unwrap().0, [0x80]);
        assert_eq!(decimal_from_text("128").unwrap().0, [0, 0x80]);
    }

    #[test]
    fn odd_input_is_refused_or_zero() {
        for bad in ["", "-", ".", "1e", "abc", "1_0", "1e999999", "--1"] {
            assert_eq!(decimal_from_text(bad), None, "{bad}");
        }
        for exponent in [i64::MIN, i64::MIN + 1, i64::MAX] {
            let text = format!("1.5e{exponent}");
            assert_eq!(decimal_from_text(&text), None, "{text}");
        }
        assert_eq!(text(&[], 0), "0");
        assert_eq!(text(&[], 2), "0.00");
        assert_eq!(text(&[0xff], -3), "-1000");
        assert_eq!(text(&[15], i32::MAX), "15E-2147483647");
        assert_eq!(text(&[0xff], i32::MIN), "-1E2147483648");
    }
}
