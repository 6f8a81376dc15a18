//! Day numbers of the two calendars that Java's date classes join.
//!
//! Place in the data path: parsing and the week fields of formatting.
//!
//! A day number counts from 1 for 1 January of year 1 of the (proleptic) Gregorian calendar, a Monday;
//! so a multiple of seven is a Sunday.

/// The day number of 1970-01-01.
pub(super) const EPOCH: i64 = 719_163;
/// The day number of 15 October 1582, the first Gregorian day.
pub(super) const GREGORIAN_START: i64 = 577_736;
/// The year of that day.
pub(super) const CHANGE_YEAR: i64 = 1582;

/// The first day of a month (1 to 12); year 0 is 1 BC.
pub(super) fn month_start(year: i64, month: i64, gregorian: bool) -> i64 {
    let (shifted_year, shifted_month) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * shifted_year + (153 * shifted_month + 2) / 5 + shifted_year.div_euclid(4);
    if gregorian {
        days - shifted_year.div_euclid(100) + shifted_year.div_euclid(400) - 305
    } else {
        days - 307
    }
}

/// The first day of a year in the calendar that was in force on it.
pub(super) fn year_start(year: i64) -> i64 {
    month_start(year, 1, year > CHANGE_YEAR)
}

/// How many days a month (1 to 12) has.
pub(super) fn month_length(year: i64, month: i64) -> i64 {
    let gregorian = year >= CHANGE_YEAR;
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    month_start(next.0, next.1, gregorian) - month_start(year, month, gregorian)
}

/// The last day with this weekday (1 is Sunday) that is not after the given day.
pub(super) fn weekday_on_or_before(day: i64, weekday: i64) -> i64 {
    day - (day - (weekday - 1)).rem_euclid(7)
}

/// 1 for Sunday to 7 for Saturday.
pub(super) fn weekday(day: i64) -> i64 {
    day.rem_euclid(7) + 1
}
