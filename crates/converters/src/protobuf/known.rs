//! Messages that stand for Connect's logical types: decimals, dates, times and timestamps.
//!
//! Values that the types do not allow (month 13, hour 25) are faults, as in Confluent's converter.
//! Dates are of the proleptic Gregorian calendar, as `google.type.Date` says.

use super::fault::Fault;
use super::plan::Known;
use super::read::Reader;
use super::wire::{BYTES, Cursor, VARINT};
use data::{Cell, DAY_MS, Span, Width};

/// Years that `google.protobuf.Timestamp` spans, in seconds: 0001-01-01 to 9999-12-31.
const SECONDS_MIN: i64 = -62_135_596_800;
const SECONDS_MAX: i64 = 253_402_300_799;
const NANOS_MAX: i64 = 999_999_999;

impl Reader<'_> {
    pub(super) fn known(
        &mut self,
        known: Known,
        loose: bool,
        mut part: Cursor<'_>,
        depth: usize,
    ) -> Result<Cell, Fault> {
        let start = part.pos();
        let mut bytes = Span::EMPTY;
        // Fields 1 to 4, integers.
        let mut numbers = [0_i64; 5];
        while !part.at_end() {
            let (number, wire) = part.tag()?;
            let slot = numbers.get_mut(number as usize);
            match (number, wire, slot) {
                (1, BYTES, _) if known == Known::Decimal => bytes = self.span(&part.part()?),
                (_, VARINT, Some(slot)) => *slot = part.varint()? as i64,
                _ => part.skip(number, wire, depth)?,
            }
        }
        let [_, first, second, third, fourth] = numbers;
        let wrong = |what: String| Fault::at(&what, start);
        match known {
            Known::Decimal => {
                let unscaled = if bytes.len == 0 { self.rows.heap.put(&[0]) } else { bytes };
                let scale = third as i32;
                Ok(Cell::Decimal { unscaled, scale })
            }
            Known::Timestamp => {
                let (seconds, nanos) = (first, i64::from(second as i32));
                if !(SECONDS_MIN..=SECONDS_MAX).contains(&seconds)
                    || !(0..=NANOS_MAX).contains(&nanos)
                {
                    let what = format!("a timestamp of {seconds} seconds and {nanos} nanoseconds");
                    return Err(wrong(format!("{what} is out of range")));
                }
                let ms = seconds * 1000 + nanos / 1_000_000;
                Ok(if loose { Cell::Instant(ms) } else { Cell::Int(ms, Width::W64) })
            }
            Known::Date => {
                let [year, month, day] = [first, second, third].map(|n| i64::from(n as i32));
                let days = day_number(year, month, day);
                let days = days.ok_or_else(|| wrong(format!("no date: {year}-{month}-{day}")))?;
                Ok(if loose { Cell::Instant(days * DAY_MS) } else { Cell::Int(days, Width::W32) })
            }
            Known::Time => {
                let parts = [first, second, third, fourth].map(|n| i64::from(n as i32));
                let ms = time_of_day(parts).ok_or_else(|| {
                    let [hours, minutes, seconds, nanos] = parts;
                    wrong(format!("no time of day: {hours}:{minutes}:{seconds} and {nanos} ns"))
                })?;
                Ok(if loose { Cell::Instant(ms) } else { Cell::Int(ms, Width::W32) })
            }
        }
    }
}

fn time_of_day([hours, minutes, seconds, nanos]: [i64; 4]) -> Option<i64> {
    let fits = (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0..60).contains(&seconds)
        && (0..=NANOS_MAX).contains(&nanos);
    fits.then(|| ((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos / 1_000_000)
}

/// The days since 1970-01-01 of a date of years 1 to 9999; none where there is no such day.
fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let leap = |of: i64| shifted_year.div_euclid(of);
    let days =
        365 * shifted_year + leap(4) - leap(100) + leap(400) + (153 * shifted_month + 2) / 5 + day
            - 1
            - 719_468;
    (data::civil_date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for days in (-719_162..2_932_896).step_by(97) {
            let (year, month, day) = data::civil_date(days);
            assert_eq!(day_number(year, month, day), Some(days));
        }
        for (year, month, day) in
            [(2023, 2, 29), (0, 1, 1), (2024, 0, 0), (10_000, 1, 1), (2024, 13, 1)]
        {
            assert_eq!(day_number(year, month, day), None);
        }
    }
}
