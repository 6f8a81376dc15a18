//! Dates and times as text, in the form of SQLite's own date functions.
//!
//! Place in the data path: once per temporal value, so digits are written by hand. The forms are
//! `YYYY-MM-DD`, `HH:MM:SS.mmm` and the two with a space between: they compare with
//! `datetime('now')` and sort as text. SQLite's functions know the years 0000 to 9999 only; anything
//! else is refused.

use data::DAY_MS;

/// 0000-01-01 and 9999-12-31, in days since 1970-01-01.
const DAY_FIRST: i64 = -719_528;
const DAY_LAST: i64 = 2_932_896;

/// Appends a day; false, and nothing appended, where it is out of range.
pub(super) fn write_date(days: i64, out: &mut Vec<u8>) -> bool {
    if !(DAY_FIRST..=DAY_LAST).contains(&days) {
        return false;
    }
    let (year, month, day) = data::civil_date(days);
    let (y1, y2) = (pair(year / 100), pair(year % 100));
    let (m, d) = (pair(month), pair(day));
    out.extend_from_slice(&[y1[0], y1[1], y2[0], y2[1], b'-', m[0], m[1], b'-', d[0], d[1]]);
    true
}

/// Appends a time of day; 24:00:00 is one. False, and nothing appended, where it is out of range.
pub(super) fn write_time(ms: i64, out: &mut Vec<u8>) -> bool {
    if !(0..=DAY_MS).contains(&ms) {
        return false;
    }
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (h, m, s) = (pair(seconds / 3600), pair(seconds / 60 % 60), pair(seconds % 60));
    let (hundreds, rest) = (pair(ms / 100), pair(ms % 100));
    out.extend_from_slice(&[
        h[0],
        h[1],
        b':',
        m[0],
        m[1],
        b':',
        s[0],
        s[1],
        b'.',
        hundreds[1],
        rest[0],
        rest[1],
    ]);
    true
}

/// Appends a date and time; false where the date is out of range.
pub(super) fn write_timestamp(ms: i64, out: &mut Vec<u8>) -> bool {
    if !write_date(ms.div_euclid(DAY_MS), out) {
        return false;
    }
    out.push(b' ');
    write_time(ms.rem_euclid(DAY_MS), out)
}

/// The two digits of a number below 100.
fn pair(n: i64) -> [u8; 2] {
    [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> bool) -> Option<String> {
        let mut out = Vec::new();
        write(&mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn texts_agree_with_sqlites_own() {
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        let sql = "SELECT strftime('%Y-%m-%d %H:%M:%f', ?1 / 1000.0, 'unixepoch')";
        for ms in [
            0,
            -1,
            1_700_000_000_123,
            951_782_400_000,
            253_402_300_799_000,
            DAY_FIRST * DAY_MS,
            -2_203_891_200_000,
        ] {
            let theirs: String = sqlite.query_row(sql, [ms], |r| r.get(0)).unwrap();
            assert_eq!(text(|o| write_timestamp(ms, o)).unwrap(), theirs, "{ms}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_kept() {
        assert_eq!(text(|o| write_date(DAY_FIRST, o)).unwrap(), "0000-01-01");
        assert_eq!(text(|o| write_date(DAY_LAST, o)).unwrap(), "9999-12-31");
        assert_eq!(text(|o| write_date(DAY_LAST + 1, o)), None);
        assert_eq!(text(|o| write_timestamp(i64::MIN, o)), None);
        assert_eq!(text(|o| write_time(DAY_MS, o)).unwrap(), "24:00:00.000");
        assert_eq!(text(|o| write_time(-1, o)), None);
    }
}
