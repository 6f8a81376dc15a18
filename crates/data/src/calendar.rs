//! Days since 1970-01-01 as dates of the proleptic Gregorian calendar.

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

#[cfg(test)]
mod tests {
    use super::*;

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
