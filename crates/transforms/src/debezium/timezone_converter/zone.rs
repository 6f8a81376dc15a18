//! Times moved to a zone, each of Debezium's types in its own way.
//!
//! A number is the wall clock of the zone, coded as if it were UTC: it becomes the point in time that
//! the clock shows. A text names a point in time, and is written with the zone's offset.

use crate::fault::Fault;
use data::{Semantic, TimeUnit};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use std::fmt::Write;

const NANOS: i128 = 1_000_000_000;
const DAY_SECONDS: i128 = 86_400;

/// A target zone.
#[derive(Clone, Debug)]
pub(super) struct Zone(TimeZone);

impl Zone {
    /// A name of the time zone database, or an offset `+hh:mm`.
    pub(super) fn parse(text: &str) -> Option<Zone> {
        if let Some(seconds) = offset(text) {
            return Some(Zone(TimeZone::fixed(Offset::from_seconds(seconds).ok()?)));
        }
        TimeZone::get(text).ok().map(Zone)
    }

    /// A number of a wall clock as a point in time. Numbers beyond the calendar, such as those that
    /// stand for the ends of time, stay.
    pub(super) fn number(&self, unit: TimeUnit, count: i64) -> i64 {
        let per_second = match unit {
            TimeUnit::Millis => 1000,
            TimeUnit::Micros => 1_000_000,
            TimeUnit::Nanos => 1_000_000_000,
        };
        let extreme = count == i64::MAX || count == i64::MIN;
        let Ok(at) = Timestamp::from_second(count.div_euclid(per_second)) else { return count };
        let wall = TimeZone::UTC.to_datetime(at);
        match self.0.to_ambiguous_zoned_datetime(wall).compatible() {
            // The difference, not the offset: a clock time that there is not is one hour later.
            Ok(zoned) if !extreme => {
                let moved = zoned.timestamp().as_second() - at.as_second();
                count.saturating_add(moved.saturating_mul(per_second))
            }
            _ => count,
        }
    }

    /// The text of a point in time with this zone's offset; `infinity` stays.
    pub(super) fn timestamp(&self, text: &str, out: &mut String) -> Result<(), Fault> {
        if matches!(text, "infinity" | "-infinity") {
            out.push_str(text);
            return Ok(());
        }
        let at: Timestamp = text.parse().map_err(|_| unreadable("timestamp"))?;
        let offset = self.0.to_offset(at);
        let wall = offset.to_datetime(at);
        // Writing to a string cannot fail.
        let _ok = write!(out, "{}T", wall.date());
        let time = wall.time();
        let seconds = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60;
        let seconds = seconds + i64::from(time.second());
        clock(seconds, i64::from(time.subsec_nanosecond()), out);
        push_offset(offset.seconds(), out);
        Ok(())
    }

    /// The text of a time of a day with the offset that the zone has now.
    pub(super) fn time(&self, text: &str, out: &mut String) -> Result<(), Fault> {
        let at: Timestamp =
            format!("1970-01-01T{text}").parse().map_err(|_| unreadable("time of a day"))?;
        let offset = self.0.to_offset(Timestamp::now()).seconds();
        let nanos = at.as_nanosecond().rem_euclid(NANOS);
        let seconds = at.as_nanosecond().div_euclid(NANOS) + i128::from(offset);
        let seconds = i64::try_from(seconds.rem_euclid(DAY_SECONDS)).unwrap_or_default();
        clock(seconds, i64::try_from(nanos).unwrap_or_default(), out);
        push_offset(offset, out);
        Ok(())
    }
}

fn unreadable(what: &str) -> Fault {
    Fault {
        exception: "java.time.format.DateTimeParseException",
        message: format!("A text could not be parsed as a {what} with an offset").into(),
    }
}

/// `+hh:mm` in seconds.
fn offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=18).contains(&hours) && (0..60).contains(&minutes))
        .then_some(sign * (hours * 3600 + minutes * 60))
}

/// `hh:mm:ss`, and as many digits behind it as there are.
fn clock(seconds: i64, nanos: i64, out: &mut String) {
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let _ok = write!(out, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if nanos != 0 {
        let digits = format!("{nanos:09}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

fn push_offset(seconds: i32, out: &mut String) {
    if seconds == 0 {
        return out.push('Z');
    }
    let size = seconds.unsigned_abs();
    let (hours, minutes) = (size / 3600, size / 60 % 60);
    let _ok = write!(out, "{}{hours:02}:{minutes:02}", if seconds < 0 { '-' } else { '+' });
    if !size.is_multiple_of(60) {
        let _ok = write!(out, ":{:02}", size % 60);
    }
}

/// Whether values of this type are times that a zone changes.
pub(super) fn is_moved(semantic: Semantic) -> bool {
    matches!(semantic, Semantic::Timestamp(_) | Semantic::ZonedTimestamp | Semantic::ZonedTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(zone: &str, text: &str) -> String {
        let mut out = String::new();
        Zone::parse(zone).unwrap().timestamp(text, &mut out).unwrap();
        out
    }

    #[test]
    fn zones_are_names_or_offsets() {
        for good in ["UTC", "Asia/Tokyo", "+05:30", "-04:00"] {
            assert!(Zone::parse(good).is_some(), "{good}");
        }
        for bad in ["Nope", "+5", "GMT+2", "+05:3", "+25:00", "", "\u{e9}"] {
            assert!(Zone::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_wall_clocks_of_the_zone() {
        let york = Zone::parse("America/New_York").unwrap();
        assert_eq!(york.number(TimeUnit::Millis, 1_700_000_000_123), 1_700_018_000_123);
        // A clock time that there is not, and one that there is twice.
        assert_eq!(york.number(TimeUnit::Millis, 1_710_037_800_000), 1_710_055_800_000);
        assert_eq!(york.number(TimeUnit::Millis, 1_730_597_400_000), 1_730_611_800_000);
        let india = Zone::parse("+05:30").unwrap();
        assert_eq!(india.number(TimeUnit::Micros, 1_700_000_000_123_456), 1_699_980_200_123_456);
        for end in [i64::MAX, i64::MIN] {
            assert_eq!(india.number(TimeUnit::Nanos, end), end);
        }
        let infinite = 9_223_372_036_825_200_000;
        assert_eq!(india.number(TimeUnit::Micros, infinite), infinite);
    }

    #[test]
    fn texts_keep_their_point_in_time() {
        let zoned = "2023-11-14T22:13:20.120Z";
        assert_eq!(text("America/New_York", zoned), "2023-11-14T17:13:20.12-05:00");
        assert_eq!(text("UTC", "2023-11-14T22:13:20+02:00"), "2023-11-14T20:13:20Z");
        assert_eq!(text("+05:30", "2023-11-14T22:13Z"), "2023-11-15T03:43:00+05:30");
        assert_eq!(text("+05:30", "infinity"), "infinity");
        let mut out = String::new();
        Zone::parse("+05:30").unwrap().time("22:13:20.500+01:00", &mut out).unwrap();
        assert_eq!(out, "02:43:20.5+05:30");
        let garbage = Zone::parse("UTC").unwrap().timestamp("garbage", &mut out).unwrap_err();
        assert_eq!(garbage.exception, "java.time.format.DateTimeParseException");
    }
}
