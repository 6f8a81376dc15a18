//! A moment taken apart into year, month, day and time of day in a time zone.
//!
//! Place in the data path: formatting, once per value.

use super::calendar::{self, EPOCH, GREGORIAN_START};
use super::zone::DateZone;
use data::{DAY_MS, java_date};

/// The parts of a moment.
pub(super) struct Moment {
    /// Day number as in [`calendar`].
    pub(super) day_number: i64,
    /// 0 is 1 BC.
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: i64,
    pub(super) day: i64,
    /// Milliseconds since midnight.
    pub(super) of_day_ms: i64,
    /// Seconds east of UTC.
    pub(super) offset_s: i32,
}

impl Moment {
    pub(super) fn new(epoch_ms: i64, zone: &DateZone) -> Moment {
        let offset_s = zone.offset_at(epoch_ms);
        let offset_ms = i64::from(offset_s) * 1_000;
        let mut days = epoch_ms.div_euclid(DAY_MS);
        let local_ms = epoch_ms.rem_euclid(DAY_MS) + offset_ms;
        days += local_ms.div_euclid(DAY_MS);
        let (year, month, day) = java_date(days);
        let of_day_ms = local_ms.rem_euclid(DAY_MS);
        Moment { day_number: days + EPOCH, year, month, day, of_day_ms, offset_s }
    }

    /// The year of the week, and the number of the week in it. Weeks start on Sunday; the first
    /// one is that of 1 January.
    pub(super) fn week(&self) -> (i64, i64) {
        let first = |year| calendar::weekday_on_or_before(calendar::year_start(year), 1);
        if first(self.year + 1) <= self.day_number {
            return (self.year + 1, 1);
        }
        (self.year, (self.day_number - first(self.year)) / 7 + 1)
    }

    /// Day of the year, from 1.
    pub(super) fn day_of_year(&self) -> i64 {
        self.day_number - calendar::year_start(self.year) + 1
    }

    /// The first day of the month; October 1582 began in the Julian calendar.
    fn month_start(&self) -> i64 {
        let first = self.day_number - (self.day - 1);
        let changed = self.day_number >= GREGORIAN_START && first < GREGORIAN_START;
        if changed { calendar::month_start(self.year, self.month, false) } else { first }
    }

    /// Week of the month, from 1.
    pub(super) fn week_of_month(&self) -> i64 {
        let first = calendar::weekday_on_or_before(self.month_start(), 1);
        (self.day_number - first) / 7 + 1
    }

    /// How many days with this weekday the month has had.
    pub(super) fn weekday_in_month(&self) -> i64 {
        (self.day_number - self.month_start()) / 7 + 1
    }

    /// 1 for Sunday to 7 for Saturday.
    pub(super) fn weekday(&self) -> i64 {
        calendar::weekday(self.day_number)
    }
}

/// The same date and time 80 years earlier, in milliseconds, and its year.
pub(super) fn eighty_years_before(now_ms: i64, zone: &DateZone) -> (i64, i32) {
    let moment = Moment::new(now_ms, zone);
    let year = moment.year - 80;
    let day = moment.day.min(calendar::month_length(year, moment.month));
    let days = calendar::month_start(year, moment.month, true) + day - 1 - EPOCH;
    let local_ms = days * DAY_MS + moment.of_day_ms;
    let start_ms = local_ms - i64::from(zone.offset_of_wall(local_ms)) * 1_000;
    (start_ms, i32::try_from(year).unwrap_or(i32::MAX))
}
