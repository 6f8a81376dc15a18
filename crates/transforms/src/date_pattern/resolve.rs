//! Fields to a moment: which of them count when there are too many or too few, as Java's lenient
//! calendar decides it.
//!
//! Place in the data path: parsing, once per value.
//!
//! Invariant: the field that was set last wins; of the ways to name a day (month and day, week of
//! month, weekday in month, day of year, week of year) the one whose youngest field is youngest.

use super::calendar::{
    CHANGE_YEAR, EPOCH, GREGORIAN_START, month_length, month_start, weekday_on_or_before,
};
use super::zone::DateZone;
use data::DAY_MS;

/// What a text can say about a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Era,
    Year,
    WeekYear,
    Month,
    Day,
    DayOfYear,
    Weekday,
    WeekOfYear,
    WeekOfMonth,
    WeekdayInMonth,
    AmPm,
    Hour,
    HourOfDay,
    Minute,
    Second,
    Millisecond,
}

const COUNT: usize = 16;
const UNSET: u32 = 0;

/// The fields that were read, with their order.
#[derive(Debug, Default)]
pub(super) struct Fields {
    values: [i32; COUNT],
    /// When a field was set; [`UNSET`] if never.
    stamps: [u32; COUNT],
    last: u32,
    /// Seconds east of UTC, if the text says so.
    offset_s: Option<i32>,
}

impl Fields {
    pub(super) fn set(&mut self, field: Field, value: i32) {
        self.last += 1;
        self.values[field as usize] = value;
        self.stamps[field as usize] = self.last;
    }

    pub(super) fn set_offset(&mut self, offset_s: i32) {
        self.offset_s = Some(offset_s);
    }

    pub(super) fn shift_years(&mut self, years: i32) {
        for field in [Field::Year, Field::WeekYear] {
            let value = &mut self.values[field as usize];
            *value = value.wrapping_add(years);
        }
    }

    fn get(&self, field: Field) -> i64 {
        i64::from(self.values[field as usize])
    }

    fn stamp(&self, field: Field) -> u32 {
        self.stamps[field as usize]
    }

    fn is_set(&self, field: Field) -> bool {
        self.stamp(field) != UNSET
    }

    fn or(&self, field: Field, instead: i64) -> i64 {
        if self.is_set(field) { self.get(field) } else { instead }
    }

    /// The younger of two stamps; unset if one of them is.
    fn both(&self, one: Field, other: Field) -> u32 {
        let (one, other) = (self.stamp(one), self.stamp(other));
        if one == UNSET || other == UNSET { UNSET } else { one.max(other) }
    }

    /// The year, 0 being 1 BC, and 1970 if nothing is said.
    fn year(&self, field: Field) -> i64 {
        let year = self.or(field, 1970);
        // Era 0 is before Christ.
        if self.is_set(Field::Era) && self.get(Field::Era) == 0 { 1 - year } else { year }
    }
}

/// How the day within the year is named.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Day,
    WeekOfMonth,
    WeekdayInMonth,
    DayOfYear,
    WeekOfYear,
}

/// The moment that the fields name, in milliseconds since the epoch; far away ones wrap.
pub(super) fn moment(fields: &Fields, zone: &DateZone) -> Option<i64> {
    let time_ms = time_of_day(fields);
    let carried = time_ms.div_euclid(DAY_MS);
    let week_date =
        fields.is_set(Field::WeekYear) && fields.stamp(Field::WeekYear) > fields.stamp(Field::Year);
    let day = if week_date {
        carried + week_day(fields)
    } else {
        day_number(fields, fields.year(Field::Year), carried)
    };
    let local_ms = (day - EPOCH).wrapping_mul(DAY_MS).wrapping_add(time_ms.rem_euclid(DAY_MS));
    let offset_s = fields.offset_s.unwrap_or_else(|| zone.offset_of_wall(local_ms));
    Some(local_ms.wrapping_sub(i64::from(offset_s) * 1_000))
}

/// Milliseconds since midnight; may be negative or more than a day.
fn time_of_day(fields: &Fields) -> i64 {
    let twelve = fields.both(Field::Hour, Field::AmPm);
    let of_day = fields.stamp(Field::HourOfDay);
    let mut best = twelve.max(of_day);
    if best == UNSET {
        best = fields.stamp(Field::Hour).max(fields.stamp(Field::AmPm));
    }
    let hours = if best != UNSET && best == of_day {
        fields.get(Field::HourOfDay)
    } else {
        fields.get(Field::Hour) + 12 * fields.get(Field::AmPm)
    };
    let minutes = hours * 60 + fields.get(Field::Minute);
    (minutes * 60 + fields.get(Field::Second)) * 1_000 + fields.get(Field::Millisecond)
}

/// The days before a week's number; Java counts them in 32 bits.
fn weeks(number: i64) -> i64 {
    let [a, b, c, d, ..] = (7 * (number - 1)).to_le_bytes();
    i64::from(i32::from_le_bytes([a, b, c, d]))
}

/// The day of a week-based year.
fn week_day(fields: &Fields) -> i64 {
    let mut week = fields.or(Field::WeekOfYear, 1);
    let weekday = fields.or(Field::Weekday, 1);
    // A number that is no weekday counts on from Sunday; Monday is the first of its numbers.
    let weekday = if (1..=7).contains(&weekday) {
        weekday
    } else {
        let from_monday = weekday - 1;
        week += from_monday.div_euclid(7);
        match from_monday.rem_euclid(7) + 1 {
            7 => 1,
            number => number + 1,
        }
    };
    let year = fields.year(Field::WeekYear);
    let first = both_calendars(year, true, 0, |gregorian| {
        weekday_on_or_before(month_start(year, 1, gregorian), 1)
    });
    first + weekday - 1 + weeks(week)
}

fn day_number(fields: &Fields, year: i64, carried: i64) -> i64 {
    let by = choose(fields);
    let from_year_start = matches!(by, By::DayOfYear | By::WeekOfYear);
    both_calendars(year, from_year_start, carried, |gregorian| day_in(fields, year, by, gregorian))
}

/// Works a day out in the calendar that holds for it.
fn both_calendars(
    year: i64,
    from_year_start: bool,
    carried: i64,
    day: impl Fn(bool) -> i64,
) -> i64 {
    let (gregorian, julian) = (|| carried + day(true), || carried + day(false));
    if year > CHANGE_YEAR {
        let found = gregorian();
        if found >= GREGORIAN_START {
            return found;
        }
    } else if year < CHANGE_YEAR {
        let found = julian();
        // Beyond the change Java goes on with the Julian day.
        return found;
    } else if from_year_start {
        return julian();
    }
    let (gregorian, julian) = (gregorian(), julian());
    // The ten days that never were are taken for Julian ones.
    if gregorian >= GREGORIAN_START && julian >= GREGORIAN_START { gregorian } else { julian }
}

/// Which fields name the day.
fn choose(fields: &Fields) -> By {
    let stamp = |field| fields.stamp(field);
    let weekday = stamp(Field::Weekday);
    let mut day = stamp(Field::Day);
    let mut week_of_month = fields.both(Field::WeekOfMonth, Field::Weekday);
    let mut in_month = fields.both(Field::WeekdayInMonth, Field::Weekday);
    let day_of_year = stamp(Field::DayOfYear);
    let mut week_of_year = fields.both(Field::WeekOfYear, Field::Weekday);
    let mut best = day.max(week_of_month).max(in_month).max(day_of_year).max(week_of_year);
    if best == UNSET {
        // No full pair: one of a pair will do.
        week_of_month = stamp(Field::WeekOfMonth);
        in_month = stamp(Field::WeekdayInMonth).max(weekday);
        week_of_year = stamp(Field::WeekOfYear);
        best = week_of_month.max(in_month).max(week_of_year);
        if best == UNSET {
            day = stamp(Field::Month);
            best = day;
        }
    }
    let week = stamp(Field::WeekOfYear);
    if best == day {
        By::Day
    } else if best == week_of_month && stamp(Field::WeekOfMonth) >= week
        || best == in_month && stamp(Field::WeekdayInMonth) >= week
    {
        let month_week_first = if week_of_month == in_month {
            stamp(Field::WeekOfMonth) >= stamp(Field::WeekdayInMonth)
        } else {
            best == week_of_month
        };
        if month_week_first { By::WeekOfMonth } else { By::WeekdayInMonth }
    } else if best == day_of_year {
        By::DayOfYear
    } else {
        By::WeekOfYear
    }
}

fn day_in(fields: &Fields, year: i64, by: By, gregorian: bool) -> i64 {
    let of_year = matches!(by, By::DayOfYear | By::WeekOfYear);
    let months = if of_year { 0 } else { fields.get(Field::Month) };
    let (year, month) = (year + months.div_euclid(12), months.rem_euclid(12) + 1);
    let first = month_start(year, month, gregorian);
    let first_sunday = weekday_on_or_before(first, 1);
    match by {
        By::Day => first + fields.or(Field::Day, 1) - 1,
        By::DayOfYear => first + fields.get(Field::DayOfYear) - 1,
        By::WeekOfMonth => {
            let mut day = first_sunday;
            if fields.is_set(Field::Weekday) {
                day = weekday_on_or_before(day + 6, fields.get(Field::Weekday));
            }
            day + weeks(fields.get(Field::WeekOfMonth))
        }
        By::WeekdayInMonth => {
            let weekday = fields.or(Field::Weekday, 1);
            let nth = fields.or(Field::WeekdayInMonth, 1);
            let days =
                if nth >= 0 { weeks(nth + 1) } else { month_length(year, month) + 7 * (nth + 1) };
            weekday_on_or_before(first + days - 1, weekday)
        }
        By::WeekOfYear => {
            let mut day = first_sunday;
            let weekday = fields.or(Field::Weekday, 1);
            if weekday != 1 {
                day = weekday_on_or_before(day + 6, weekday);
            }
            day + 7 * (fields.get(Field::WeekOfYear) - 1)
        }
    }
}
