//! Dates, times and timestamps, in PostgreSQL's whole range.
//!
//! Place in the data path: once for every such value. The calendar is the proleptic Gregorian one, as
//! in PostgreSQL and Connect; years before 1 are written with `BC`.
//!
//! A point in time goes into a column without a time zone as the wall clock of `db.timezone`; a plain
//! date is midnight there, whatever the zone.

use super::convert::{BAD_DATETIME, Val, no_form};
use super::target::Target;
use super::{Context, Encoded, Fault};
use data::{DAY_MS, civil_date};

const DAY_US: i64 = DAY_MS * 1000;
/// Days from 1970-01-01 to 2000-01-01, PostgreSQL's day 0.
const EPOCH_DAYS: i64 = 10_957;
/// PostgreSQL's range of dates, as days since 1970: 4714-11-24 BC to 5874897-12-31.
const DATE_MIN: i64 = -2_440_588;
const DATE_MAX: i64 = 2_145_042_905;
/// PostgreSQL's range of timestamps, as microseconds since 2000: 4714-11-24 BC up to 294277-01-01.
const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;
/// The milliseconds that stand for infinity: those of the JDBC driver, and those of Debezium.
const INFINITE_MS: [i64; 2] = [9_223_372_036_825_200_000, 9_223_372_036_825_200];
const MINUS_INFINITE_MS: [i64; 2] = [-9_223_372_036_832_400_000, -9_223_372_036_832_400];

/// A point on the wall clock, or an end of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wall {
    /// Milliseconds since 1970-01-01 00:00 of the wall clock.
    At(i64),
    Infinity,
    MinusInfinity,
}

fn bad(what: String) -> Fault {
    Fault { sqlstate: BAD_DATETIME, message: what, hint: None }
}

fn no_date(days: i64) -> Fault {
    bad(format!("{days} days since 1970 is outside of PostgreSQL's range of dates"))
}

fn no_timestamp(ms: i64) -> Fault {
    bad(format!("{ms} ms since 1970 is outside of PostgreSQL's range of timestamps"))
}

fn no_time(ms: i64) -> Fault {
    bad(format!("{ms} ms is no time of a day (00:00 to 24:00)"))
}

fn no_micro_time(us: i64) -> Fault {
    bad(format!("{us} us is no time of a day (00:00 to 24:00)"))
}

fn wall(ms: i64) -> Wall {
    if INFINITE_MS.contains(&ms) {
        Wall::Infinity
    } else if MINUS_INFINITE_MS.contains(&ms) {
        Wall::MinusInfinity
    } else {
        Wall::At(ms)
    }
}

/// The wall clock of `db.timezone` at a point in time. Before and after the years that the time zone
/// database covers, its first and last offsets hold.
fn local(context: Context<'_>, ms: i64) -> Wall {
    match (wall(ms), &context.settings.timezone) {
        (Wall::At(ms), Some(zone)) => {
            let min = jiff::Timestamp::MIN.as_millisecond();
            let max = jiff::Timestamp::MAX.as_millisecond();
            let at = jiff::Timestamp::from_millisecond(ms.clamp(min, max)).unwrap_or_default();
            Wall::At(ms.saturating_add(i64::from(zone.to_offset(at).seconds()) * 1000))
        }
        (wall, _) => wall,
    }
}

/// Days since 2000; the ends of time are the type's own ends.
pub(super) fn date(context: Context<'_>, value: Val<'_>) -> Encoded<i32> {
    let value = match value {
        Val::Micros(us) => Val::Instant(us.div_euclid(1000)),
        value => value,
    };
    let days = match value {
        Val::Date(days) => days,
        Val::Instant(_) | Val::Wall(..) => {
            let at = match value {
                Val::Instant(ms) => local(context, ms),
                Val::Wall(ms, _) => wall(ms),
                _ => return Err(no_form(&Target::Date, value)),
            };
            match at {
                Wall::At(ms) => ms.div_euclid(DAY_MS),
                Wall::Infinity => return Ok(i32::MAX),
                Wall::MinusInfinity => return Ok(i32::MIN),
            }
        }
        _ => return Err(no_form(&Target::Date, value)),
    };
    i32::try_from(checked_days(days)? - EPOCH_DAYS).map_err(|_| no_date(days))
}

fn checked_days(days: i64) -> Encoded<i64> {
    if (DATE_MIN..=DATE_MAX).contains(&days) { Ok(days) } else { Err(no_date(days)) }
}

/// Microseconds of a day on the clock of a column without a time zone. Connect's Time has no zone
/// either and is stored as it is, but Confluent's sink takes it for a time of 1970-01-01 in UTC.
pub(super) fn time(context: Context<'_>, value: Val<'_>) -> Encoded<i64> {
    let us = of_day(value)?;
    if !context.settings.moves_times || matches!(value, Val::MicroTime(_)) {
        return Ok(us);
    }
    match local(context, us / 1000) {
        Wall::At(ms) => Ok(ms.rem_euclid(DAY_MS) * 1000),
        _ => Ok(us),
    }
}

/// Microseconds of a day; 24:00:00 is one of them.
fn of_day(value: Val<'_>) -> Encoded<i64> {
    match value {
        Val::Time(ms) if (0..=DAY_MS).contains(&ms) => Ok(ms * 1000),
        Val::Time(ms) => Err(no_time(ms)),
        Val::MicroTime(us) if (0..=DAY_US).contains(&us) => Ok(us),
        Val::MicroTime(us) => Err(no_micro_time(us)),
        _ => Err(no_form(&Target::Time, value)),
    }
}

/// Microseconds since 2000; the ends of time are the type's own ends.
pub(super) fn timestamp(context: Context<'_>, target: &Target, value: Val<'_>) -> Encoded<i64> {
    // Offsets of time zones are whole seconds: what is less than a millisecond stays as it is.
    let (value, rest) = match value {
        Val::Micros(us) => (Val::Instant(us.div_euclid(1000)), us.rem_euclid(1000)),
        Val::Wall(_, us) => (value, us),
        value => (value, 0),
    };
    let wall = match value {
        Val::Wall(ms, _) => wall(ms),
        Val::Instant(ms) if *target == Target::TimestampTz => wall(ms),
        Val::Instant(ms) => local(context, ms),
        Val::Date(days) => Wall::At(days.checked_mul(DAY_MS).ok_or_else(|| no_date(days))?),
        _ => return Err(no_form(target, value)),
    };
    match wall {
        Wall::At(ms) => {
            // The epoch first: the last years before the end overflow otherwise.
            let us = ms.checked_sub(EPOCH_DAYS * DAY_MS).and_then(|ms| ms.checked_mul(1000));
            us.map(|us| us.saturating_add(rest))
                .filter(|us| (TIMESTAMP_MIN..TIMESTAMP_END).contains(us))
                .ok_or_else(|| no_timestamp(ms))
        }
        Wall::Infinity => Ok(i64::MAX),
        Wall::MinusInfinity => Ok(i64::MIN),
    }
}

/// Appends the text form for a column of a date or time type.
pub(super) fn write(
    context: Context<'_>,
    target: &Target,
    value: Val<'_>,
    out: &mut Vec<u8>,
) -> Encoded {
    match target {
        Target::Date => match date(context, value)? {
            i32::MAX => out.extend_from_slice(b"infinity"),
            i32::MIN => out.extend_from_slice(b"-infinity"),
            days => {
                if write_date(i64::from(days) + EPOCH_DAYS, out) {
                    out.extend_from_slice(b" BC");
                }
            }
        },
        Target::Timestamp | Target::TimestampTz => {
            let zoned = *target == Target::TimestampTz;
            write_timestamp(timestamp(context, target, value)?, zoned, out);
        }
        Target::Time => write_clock_us(time(context, value)?, out),
        Target::TimeTz => {
            write_clock_us(of_day(value)?, out);
            out.extend_from_slice(b"+00");
        }
        _ => match value {
            Val::Time(ms) => write_interval(ms, 0, out),
            Val::Period(parts) => write_period(parts, out),
            Val::MicroTime(us) | Val::Duration(us) | Val::Elapsed(us) => {
                let size = us.unsigned_abs();
                let ms = i64::try_from(size / 1000).unwrap_or(i64::MAX);
                write_interval(if us < 0 { -ms } else { ms }, (size % 1000) as i64, out);
            }
            _ => return Err(no_form(target, value)),
        },
    }
    Ok(())
}

/// `2024-03-01 12:00:00.5`, with `+00` for a point in time.
fn write_timestamp(us: i64, zoned: bool, out: &mut Vec<u8>) {
    match us {
        i64::MAX => return out.extend_from_slice(b"infinity"),
        i64::MIN => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let before_christ = write_date(us.div_euclid(DAY_US) + EPOCH_DAYS, out);
    out.push(b' ');
    write_clock_us(us.rem_euclid(DAY_US), out);
    if zoned {
        out.extend_from_slice(b"+00");
    }
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// `us`: what the size of the interval has beyond the milliseconds.
fn write_interval(ms: i64, us: i64, out: &mut Vec<u8>) {
    if ms < 0 {
        out.push(b'-');
    }
    let ms = ms.unsigned_abs();
    let hours = ms / 3_600_000;
    if hours < 100 {
        two(hours as i64, out);
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(hours).as_bytes());
    }
    write_minutes((ms % 3_600_000) as i64, out);
    if us > 0 {
        if ms.is_multiple_of(1000) {
            thousandths(0, out);
        }
        digits_behind(us, out);
    }
}

/// ISO 8601, as in JSON: for columns of text.
pub(super) fn write_iso_date(days: i64, out: &mut Vec<u8>) -> Encoded {
    let (year, month, day) = civil_date(checked_days(days)?);
    write_year(year, out);
    write_month_and_day(month, day, out);
    Ok(())
}

/// `12:34:56.789`.
pub(super) fn write_iso_time(ms: i64, out: &mut Vec<u8>) -> Encoded {
    if !(0..=DAY_MS).contains(&ms) {
        return Err(no_time(ms));
    }
    write_clock_with_ms(ms, out);
    Ok(())
}

/// `2024-03-01T12:34:56.789Z`, `infinity` or `-infinity`.
pub(super) fn write_iso_instant(ms: i64, out: &mut Vec<u8>) -> Encoded {
    match wall(ms) {
        Wall::At(ms) => {
            write_iso_date(ms.div_euclid(DAY_MS), out)?;
            out.push(b'T');
            write_clock_with_ms(ms.rem_euclid(DAY_MS), out);
            out.push(b'Z');
        }
        Wall::Infinity => out.extend_from_slice(b"infinity"),
        Wall::MinusInfinity => out.extend_from_slice(b"-infinity"),
    }
    Ok(())
}

/// `2024-03-01T12:34:56.789012Z`, digits below a millisecond only where there are any.
pub(super) fn write_iso_micros_instant(us: i64, out: &mut Vec<u8>) -> Encoded {
    let (ms, rest) = (us.div_euclid(1000), us.rem_euclid(1000));
    write_iso_instant(ms, out)?;
    if rest > 0 && out.pop_if(|last| *last == b'Z').is_some() {
        digits_behind(rest, out);
        out.push(b'Z');
    }
    Ok(())
}

/// ISO 8601, as intervals are read: `P1M2DT3.004S`.
pub(super) fn write_period([months, days, ms]: [u32; 3], out: &mut Vec<u8>) {
    let mut number = itoa::Buffer::new();
    out.push(b'P');
    out.extend_from_slice(number.format(months).as_bytes());
    out.push(b'M');
    out.extend_from_slice(number.format(days).as_bytes());
    out.extend_from_slice(b"DT");
    out.extend_from_slice(number.format(ms / 1000).as_bytes());
    if ms % 1000 != 0 {
        thousandths(i64::from(ms % 1000), out);
    }
    out.push(b'S');
}

/// ISO 8601, as intervals are read: `PT3.000004S`.
pub(super) fn write_elapsed(us: i64, out: &mut Vec<u8>) {
    let (size, mut number) = (us.unsigned_abs(), itoa::Buffer::new());
    out.extend_from_slice(if us < 0 { b"PT-" } else { b"PT" });
    out.extend_from_slice(number.format(size / 1_000_000).as_bytes());
    let behind = (size % 1_000_000) as i64;
    if behind > 0 {
        thousandths(behind / 1000, out);
        digits_behind(behind % 1000, out);
        while out.pop_if(|last| *last == b'0').is_some() {}
    }
    out.push(b'S');
}

/// `2024-03-01T12:34:56.789012`, `infinity` or `-infinity`.
pub(super) fn write_iso_wall(ms: i64, us: i64, out: &mut Vec<u8>) -> Encoded {
    match wall(ms) {
        Wall::At(ms) => {
            write_iso_date(ms.div_euclid(DAY_MS), out)?;
            out.push(b'T');
            write_clock_us(ms.rem_euclid(DAY_MS) * 1000 + us, out);
        }
        Wall::Infinity => out.extend_from_slice(b"infinity"),
        Wall::MinusInfinity => out.extend_from_slice(b"-infinity"),
    }
    Ok(())
}

/// `12:34:56.789012`.
pub(super) fn write_iso_micros(us: i64, out: &mut Vec<u8>) -> Encoded {
    if !(0..=DAY_US).contains(&us) {
        return Err(no_micro_time(us));
    }
    write_clock_us(us, out);
    Ok(())
}

/// Appends `yyyy-mm-dd`; true if the year is one before Christ, which the caller has to add.
#[inline]
fn write_date(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil_date(days);
    // There is no year 0: the one before 1 AD is 1 BC.
    write_year(if year > 0 { year } else { 1 - year }, out);
    write_month_and_day(month, day, out);
    year <= 0
}

fn write_year(year: i64, out: &mut Vec<u8>) {
    if (0..10_000).contains(&year) {
        two(year / 100, out);
        two(year % 100, out);
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(year).as_bytes());
    }
}

fn write_month_and_day(month: i64, day: i64, out: &mut Vec<u8>) {
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(day, out);
}

/// `hh:mm:ss`, and as many digits behind it as are needed: none, three or six.
#[inline]
fn write_clock_us(us: i64, out: &mut Vec<u8>) {
    match us % 1000 {
        0 => write_clock(us / 1000, out),
        rest => {
            write_clock_with_ms(us / 1000, out);
            digits_behind(rest, out);
        }
    }
}

/// The three digits of microseconds behind a millisecond.
fn digits_behind(us: i64, out: &mut Vec<u8>) {
    out.push(b'0' + (us / 100) as u8);
    two(us % 100, out);
}

/// `hh:mm:ss`, and `.mmm` where it is not zero.
#[inline]
fn write_clock(ms: i64, out: &mut Vec<u8>) {
    two(ms / 3_600_000, out);
    write_minutes(ms % 3_600_000, out);
}

fn write_minutes(ms: i64, out: &mut Vec<u8>) {
    out.push(b':');
    two(ms / 60_000, out);
    out.push(b':');
    two(ms / 1000 % 60, out);
    if ms % 1000 != 0 {
        thousandths(ms % 1000, out);
    }
}

fn write_clock_with_ms(ms: i64, out: &mut Vec<u8>) {
    write_clock(ms - ms % 1000, out);
    thousandths(ms % 1000, out);
}

fn thousandths(ms: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'.', b'0' + (ms / 100) as u8]);
    two(ms % 100, out);
}

/// Two digits of a number from 0 to 99.
#[inline]
fn two(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]);
}
