//! Days since 1970-01-01 as dates: of the proleptic Gregorian calendar, and as Java's old date
//! classes have them, which change to the Julian calendar before 15 October 1582.

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// Year, month and day of a day number; the year may be zero or negative. By the usual shift of the
/// year to 1 March, which puts the leap day at its end.
#[inline]
pub fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The day number of 15 October 1582, the first one of the Gregorian calendar.
const GREGORIAN_START: i64 = -141_427;

/// Year, month and day of a day number in the calendar of `java.util.Date`. A year that is not
/// positive lies before year 1: 0 is 1 BC.
pub fn java_date(days: i64) -> (i64, i64, i64) {
    if days >= GREGORIAN_START {
        return civil_date(days);
    }
    let days = days.saturating_add(719_470);
    let cycle = days.div_euclid(1_461);
    let day_of_cycle = days.rem_euclid(1_461);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460) / 365;
    let day_of_year = day_of_cycle - 365 * year_of_cycle;
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_cycle + cycle * 4 + i64::from(month <= 2), month, day)
}

/// The day number of a date in the calendar of `java.util.Date`; `None` where that calendar has no
/// such day, or the year is beyond 300 million.
pub fn java_day(year: i64, month: i64, day: i64) -> Option<i64> {
    if year.abs() > 300_000_000 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let days = 365 * shifted_year + (153 * shifted_month + 2) / 5 + day - 1;
    let leap = |of: i64| shifted_year.div_euclid(of);
    let gregorian = days + leap(4) - leap(100) + leap(400) - 719_468;
    let julian = days + leap(4) - 719_470;
    let found = if gregorian >= GREGORIAN_START { gregorian } else { julian };
    (java_date(found) == (year, month, day)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_both_calendars() {
        for (days, date) in [
            (-141_427, (1582, 10, 15)),
            (-141_428, (1582, 10, 4)),
            (-171_596, (1500, 2, 29)),
            (-719_164, (1, 1, 1)),
            (-719_165, (0, 12, 31)),
            (19_782, (2024, 2, 29)),
        ] {
            assert_eq!(java_date(days), date, "{days}");
            assert_eq!(java_day(date.0, date.1, date.2), Some(days), "{date:?}");
        }
        for (year, month, day) in [(1582, 10, 10), (1900, 2, 29), (2023, 4, 31), (2024, 0, 1)] {
            assert_eq!(java_day(year, month, day), None);
        }
    }

    #[test]
    fn known_days() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (19_782, (2024, 2, 29)),
            (-719_528, (0, 1, 1)),
            (-719_529, (-1, 12, 31)),
            (2_932_896, (9999, 12, 31)),
        ] {
            assert_eq!(civil_date(days), date, "{days}");
        }
    }
}
