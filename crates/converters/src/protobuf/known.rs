//! Messages that stand for Connect's logical types: decimals, dates, times and timestamps.
//!
//! Values that the types do not allow (month 13, hour 25) are faults, as in Confluent's converter.
//! Dates are of the proleptic Gregorian calendar, as `google.type.Date` says.

use super::fault::Fault;
use super::options::names;
use super::plan::{Exact, Known};
use super::read::Reader;
use super::wire::{BYTES, Cursor, VARINT};
use data::{Cell, DAY_MS, SchemaBuilder, Span, Type, Width};

/// Years that `google.protobuf.Timestamp` spans, in seconds: 0001-01-01 to 9999-12-31.
const SECONDS_MIN: i64 = -62_135_596_800;
const SECONDS_MAX: i64 = 253_402_300_799;
const NANOS_MAX: i64 = 999_999_999;
/// 10,000 years, the span of `google.protobuf.Duration`.
const DURATION_SECONDS_MAX: u64 = 315_576_000_000;

impl Reader<'_> {
    pub(super) fn known(
        &mut self,
        known: Known,
        loose: bool,
        part: Cursor<'_>,
        depth: usize,
    ) -> Result<Cell, Fault> {
        let start = part.pos();
        let (numbers, bytes) = self.numbers(known == Known::Decimal, part, depth)?;
        let [_, first, second, third, fourth] = numbers;
        let wrong = |what: String| Fault::at(&what, start);
        match known {
            Known::Decimal => {
                let unscaled = if bytes.len == 0 { self.rows.heap.put(&[0]) } else { bytes };
                let scale = third as i32;
                Ok(Cell::Decimal { unscaled, scale })
            }
            Known::Timestamp => {
                let ms = instant(first, second).map_err(wrong)?.div_euclid(1000);
                Ok(if loose { Cell::Instant(ms) } else { Cell::Int(ms, Width::W64) })
            }
            Known::Date => {
                let [year, month, day] = [first, second, third].map(|n| i64::from(n as i32));
                let days = day_number(year, month, day);
                let days = days.ok_or_else(|| wrong(format!("no date: {year}-{month}-{day}")))?;
                Ok(if loose { Cell::Instant(days * DAY_MS) } else { Cell::Int(days, Width::W32) })
            }
            Known::Time => {
                let ms = time_of_day([first, second, third, fourth]).map_err(wrong)? / 1000;
                Ok(if loose { Cell::Instant(ms) } else { Cell::Int(ms, Width::W32) })
            }
        }
    }
}

impl Reader<'_> {
    /// A message to the microsecond: a number whose schema says what it counts, or text.
    pub(super) fn exact(
        &mut self,
        exact: Exact,
        loose: bool,
        part: Cursor<'_>,
        depth: usize,
    ) -> Result<Cell, Fault> {
        let start = part.pos();
        let ([_, first, second, third, fourth], _) = self.numbers(false, part, depth)?;
        let us = match exact {
            Exact::Timestamp => instant(first, second),
            Exact::Time => time_of_day([first, second, third, fourth]),
            Exact::Duration => duration(first, second),
        };
        let cell = Cell::Int(us.map_err(|what| Fault::at(&what, start))?, Width::W64);
        if !loose {
            return Ok(cell);
        }
        let mut text = Vec::new();
        if let Ok(schema) = schema_of(exact).build() {
            data::write_json(self.rows, Some(&schema), cell, &mut text);
        }
        // As a value of its own, not as a string of JSON.
        text.retain(|byte| *byte != b'"');
        Ok(Cell::Text(self.rows.heap.put(&text)))
    }

    /// The fields 1 to 4, integers, by their numbers; and field 1, if it is one of bytes.
    fn numbers(
        &self,
        decimal: bool,
        mut part: Cursor<'_>,
        depth: usize,
    ) -> Result<([i64; 5], Span), Fault> {
        let (mut numbers, mut bytes) = ([0_i64; 5], Span::EMPTY);
        while !part.at_end() {
            let (number, wire) = part.tag()?;
            let slot = numbers.get_mut(number as usize);
            match (number, wire, slot) {
                (1, BYTES, _) if decimal => bytes = self.span(&part.part()?),
                (_, VARINT, Some(slot)) => *slot = part.varint()? as i64,
                _ => part.skip(number, wire, depth)?,
            }
        }
        Ok((numbers, bytes))
    }

    /// A number without a sign that says itself what it is.
    pub(super) fn unsigned(&mut self, value: u64) -> Cell {
        match i64::try_from(value) {
            Ok(value) => Cell::Int(value, Width::W64),
            Err(_) => Cell::Number(self.rows.heap.put(value.to_string().as_bytes())),
        }
    }
}

/// The schema of what is read to the microsecond.
pub(super) fn schema_of(exact: Exact) -> SchemaBuilder {
    let name = match exact {
        Exact::Time => names::TIME,
        Exact::Timestamp => names::TIMESTAMP,
        Exact::Duration => names::DURATION,
    };
    SchemaBuilder::new(Type::Int64).parameter(names::TYPE, name)
}

/// Microseconds since 1970.
fn instant(seconds: i64, nanos: i64) -> Result<i64, String> {
    let nanos = i64::from(nanos as i32);
    if !(SECONDS_MIN..=SECONDS_MAX).contains(&seconds) || !(0..=NANOS_MAX).contains(&nanos) {
        let what = format!("a timestamp of {seconds} seconds and {nanos} nanoseconds");
        return Err(format!("{what} is out of range"));
    }
    Ok(seconds * 1_000_000 + nanos / 1000)
}

/// Microseconds that have passed; both parts have one sign.
fn duration(seconds: i64, nanos: i64) -> Result<i64, String> {
    let nanos = i64::from(nanos as i32);
    let signs = seconds.signum() * nanos.signum();
    if seconds.abs_diff(0) > DURATION_SECONDS_MAX || nanos.abs() > NANOS_MAX || signs < 0 {
        let what = format!("a duration of {seconds} seconds and {nanos} nanoseconds");
        return Err(format!("{what} is out of range"));
    }
    Ok(seconds * 1_000_000 + nanos / 1000)
}

/// Microseconds of a day.
fn time_of_day(parts: [i64; 4]) -> Result<i64, String> {
    let [hours, minutes, seconds, nanos] = parts.map(|n| i64::from(n as i32));
    let fits = (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0..60).contains(&seconds)
        && (0..=NANOS_MAX).contains(&nanos);
    if !fits {
        return Err(format!("no time of day: {hours}:{minutes}:{seconds} and {nanos} ns"));
    }
    Ok(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + nanos / 1000)
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
