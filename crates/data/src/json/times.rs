//! Dates and times as ISO 8601 text.

use super::{put, quoted};
use crate::calendar::{DAY_MS, civil_date};

const DAY_US: i64 = DAY_MS * 1000;
/// The milliseconds that stand for the ends of time to Debezium.
const INFINITE_MS: i64 = 9_223_372_036_825_200;
const MINUS_INFINITE_MS: i64 = -9_223_372_036_832_400;

/// A point in time, in quotes.
pub(super) fn write_instant(ms: i64, out: &mut Vec<u8>) {
    quoted(out, |out| {
        write_date(ms.div_euclid(DAY_MS), out);
        out.push(b'T');
        write_time(ms.rem_euclid(DAY_MS), out);
        out.push(b'Z');
    });
}

/// The same with digits below a millisecond where there are any.
pub(super) fn write_instant_us(us: i64, out: &mut Vec<u8>) {
    quoted(out, |out| {
        write_date(us.div_euclid(DAY_US), out);
        out.push(b'T');
        let us = us.rem_euclid(DAY_US);
        write_time(us / 1000, out);
        if us % 1000 != 0 {
            put(out, format_args!("{:03}", us % 1000));
        }
        out.push(b'Z');
    });
}

/// A wall clock in no time zone; the ends of time are words.
pub(super) fn write_wall(us: i64, out: &mut Vec<u8>) {
    quoted(out, |out| match us.div_euclid(1000) {
        INFINITE_MS => out.extend_from_slice(b"infinity"),
        MINUS_INFINITE_MS => out.extend_from_slice(b"-infinity"),
        _ => {
            write_date(us.div_euclid(DAY_US), out);
            out.push(b'T');
            write_clock(us.rem_euclid(DAY_US), out);
        }
    });
}

/// A time of a day in quotes, or the bare number where it is none.
pub(super) fn write_time_us(us: i64, out: &mut Vec<u8>) {
    match us {
        0..=DAY_US => quoted(out, |out| write_clock(us, out)),
        _ => put(out, format_args!("{us}")),
    }
}

/// A span of time, in seconds.
pub(super) fn write_elapsed(us: i64, out: &mut Vec<u8>) {
    quoted(out, |out| {
        let (sign, size) = (if us < 0 { "-" } else { "" }, us.unsigned_abs());
        let (seconds, us) = (size / 1_000_000, size % 1_000_000);
        put(out, format_args!("PT{sign}{seconds}"));
        if us != 0 {
            let text = format!("{us:06}");
            put(out, format_args!(".{}", text.trim_end_matches('0')));
        }
        out.push(b'S');
    });
}

/// Months, days and milliseconds.
pub(super) fn write_period([months, days, ms]: [u32; 3], out: &mut Vec<u8>) {
    quoted(out, |out| {
        put(out, format_args!("P{months}M{days}DT{}", ms / 1000));
        if ms % 1000 != 0 {
            put(out, format_args!(".{:03}", ms % 1000));
        }
        out.push(b'S');
    });
}

pub(super) fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_date(days);
    put(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

pub(super) fn write_time(ms: i64, out: &mut Vec<u8>) {
    let (s, ms) = (ms / 1000, ms % 1000);
    put(out, format_args!("{:02}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60));
}

/// With as many digits behind the seconds as are needed: none, three or six.
fn write_clock(us: i64, out: &mut Vec<u8>) {
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    put(out, format_args!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60));
    match (us, us % 1000) {
        (0, _) => {}
        (_, 0) => put(out, format_args!(".{:03}", us / 1000)),
        _ => put(out, format_args!(".{us:06}")),
    }
}
