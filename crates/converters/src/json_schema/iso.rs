//! Dates, times and timestamps as ISO 8601 text, in milliseconds.
//!
//! Source: RFC 3339, which JSON Schema's formats `date`, `time` and `date-time` name.
//!
//! Invariant: nothing is rounded: a fraction finer than a millisecond is refused.

use data::java_text::put;
use data::{DAY_MS, Logical, civil_date};

/// Years that have four digits, as days and the milliseconds of their ends.
const FIRST_DAY: i64 = -719_528;
const LAST_DAY: i64 = 2_932_896;

/// The JSON Schema format of a logical type.
pub(super) fn format(logical: Logical) -> Option<&'static str> {
    match logical {
        Logical::Date => Some("date"),
        Logical::Time => Some("time"),
        Logical::Timestamp => Some("date-time"),
        Logical::None | Logical::Decimal(_) => None,
    }
}

/// Appends the text, without quotes. False, and nothing, for a year that has not four digits.
pub(super) fn write(logical: Logical, encoded: i64, out: &mut Vec<u8>) -> bool {
    let (days, ms) = match logical {
        Logical::Date => (encoded, 0),
        Logical::Time => (0, encoded),
        _ => (encoded.div_euclid(DAY_MS), encoded.rem_euclid(DAY_MS)),
    };
    if !(FIRST_DAY..=LAST_DAY).contains(&days) || !(0..DAY_MS).contains(&ms) {
        return false;
    }
    if logical != Logical::Time {
        let (year, month, day) = civil_date(days);
        put(out, format_args!("{year:04}-{month:02}-{day:02}"));
    }
    if logical != Logical::Date {
        let s = ms / 1000;
        let t = if logical == Logical::Time { "" } else { "T" };
        let (hour, minute, second, ms) = (s / 3600, s / 60 % 60, s % 60, ms % 1000);
        put(out, format_args!("{t}{hour:02}:{minute:02}:{second:02}.{ms:03}Z"));
    }
    true
}

/// Reads the text; `None` where it is none, or finer than a millisecond.
pub(super) fn parse(logical: Logical, text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    match logical {
        Logical::Date => date(bytes).filter(|(_, rest)| rest.is_empty()).map(|(days, _)| days),
        Logical::Time => time(bytes).map(|ms| ms.rem_euclid(DAY_MS)),
        _ => {
            let (days, rest) = date(bytes)?;
            let (b'T' | b't' | b' ', rest) = rest.split_first()? else { return None };
            Some(days * DAY_MS + time(rest)?)
        }
    }
}

/// A number of two or four digits, and what follows.
fn number(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (head, rest) = text.split_at_checked(digits)?;
    let value = head.iter().try_fold(0_i64, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })?;
    Some((value, rest))
}

fn after(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.split_first().filter(|(first, _)| **first == byte).map(|(_, rest)| rest)
}

fn date(text: &[u8]) -> Option<(i64, &[u8])> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(after(rest, b'-')?, 2)?;
    let (day, rest) = number(after(rest, b'-')?, 2)?;
    // The year is counted from March, so that the day that some years lack is its last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let exists = (1..=12).contains(&month) && civil_date(days) == (year, month, day);
    exists.then_some((days, rest))
}

/// Milliseconds since midnight, UTC; beyond the day where the offset makes it so. Without an offset
/// it is taken as UTC.
fn time(text: &[u8]) -> Option<i64> {
    let (hour, rest) = number(text, 2)?;
    let (minute, rest) = number(after(rest, b':')?, 2)?;
    let (second, mut rest) = number(after(rest, b':')?, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut ms = ((hour * 60 + minute) * 60 + second) * 1000;
    if let Some(fraction) = after(rest, b'.') {
        let len = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, tail) = fraction.split_at_checked(len)?;
        if digits.is_empty() || digits.iter().skip(3).any(|digit| *digit != b'0') {
            return None;
        }
        for place in 0..3 {
            let digit = digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
            ms += digit * [100, 10, 1].get(place).copied().unwrap_or(0);
        }
        rest = tail;
    }
    match rest {
        [] | [b'Z' | b'z'] => Some(ms),
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let (hours, rest) = number(offset, 2)?;
            let (minutes, rest) = number(after(rest, b':')?, 2)?;
            let offset = (hours * 60 + minutes) * 60_000;
            let valid = rest.is_empty() && hours < 24 && minutes < 60;
            valid.then_some(if *sign == b'+' { ms - offset } else { ms + offset })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (logical, values) in [
            (Logical::Date, [0, -1, 19_782, FIRST_DAY, LAST_DAY]),
            (Logical::Time, [0, 1, 999, 86_399_999, 43_200_000]),
            (Logical::Timestamp, [0, -1, 1_700_000_000_123, 86_400_000, FIRST_DAY * DAY_MS]),
        ] {
            for value in values {
                let mut out = Vec::new();
                assert!(write(logical, value, &mut out));
                let text = String::from_utf8(out).unwrap();
                assert_eq!(parse(logical, &text), Some(value), "{text}");
            }
        }
        assert!(!write(Logical::Date, LAST_DAY + 1, &mut Vec::new()));
        assert!(!write(Logical::Timestamp, i64::MIN, &mut Vec::new()));
        assert!(!write(Logical::Time, DAY_MS, &mut Vec::new()));
    }

    #[test]
    fn other_forms_are_read_or_refused() {
        for (text, ms) in [
            ("1970-01-02T00:00:00Z", Some(86_400_000)),
            ("1970-01-01t01:00:00.5+01:00", Some(500)),
            ("1970-01-01T00:00:00.123000", Some(123)),
            ("1970-01-01 00:00:00-00:30", Some(1_800_000)),
            ("1970-01-01T00:00:00.1234Z", None),
            ("1970-02-30T00:00:00Z", None),
            ("1970-13-01T00:00:00Z", None),
            ("1970-01-01T24:00:00Z", None),
            ("1970-01-01T00:00:00.Z", None),
            ("1970-01-01", None),
            ("", None),
        ] {
            assert_eq!(parse(Logical::Timestamp, text), ms, "{text}");
        }
        assert_eq!(parse(Logical::Date, "2024-02-29"), Some(19_782));
        assert_eq!(parse(Logical::Date, "2024-02-29T"), None);
        assert_eq!(parse(Logical::Time, "00:30:00+01:00"), Some(DAY_MS - 1_800_000));
    }
}
