//! Dates, times and timestamps as text: `2019-08-23`, `14:34:54.346Z`, `2019-08-23T14:34:54.346Z`.
//!
//! Invariant: only days and times that exist are read, and only where they are the whole text;
//! everything is in UTC, and old dates are Julian, as Java's.

use super::number::digit;
use crate::calendar::{DAY_MS, java_date, java_day};
use crate::java_text::put;
use crate::schema::Schema;
use crate::value::Value;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

/// UTF-16 units of the three forms.
const DATE_UNITS: usize = 10;
const TIME_UNITS: usize = 13;
const TIMESTAMP_UNITS: usize = 24;

/// Longer text cannot be any of the three, backslashes before colons and wide digits included.
const BYTES_MAX: usize = 150;

/// Reads text that has the length of one of the forms. A backslash before a colon does not count.
pub(super) fn parse(text: &str) -> Option<(Arc<Schema>, Value)> {
    if text.len() > BYTES_MAX || text.len() < DATE_UNITS {
        return None;
    }
    let text = text.replace("\\:", ":");
    let units = text.chars().map(char::len_utf16).sum();
    let mut fields = Fields { rest: text.chars().peekable() };
    let (schema, ms) = match units {
        DATE_UNITS => (Schema::date(), fields.date()?),
        TIME_UNITS => (Schema::time(), fields.time()?),
        TIMESTAMP_UNITS => {
            let date = fields.date()?;
            fields.literal('T')?;
            (Schema::timestamp(), date + fields.time()?)
        }
        _ => return None,
    };
    fields.rest.next().is_none().then_some((schema, Value::Instant(ms)))
}

struct Fields<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Fields<'_> {
    fn literal(&mut self, wanted: char) -> Option<()> {
        self.rest.next_if_eq(&wanted).map(|_| ())
    }

    /// A number of any width, blanks before it.
    fn number(&mut self) -> Option<i64> {
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut value = i64::from(digit(self.rest.next()?)?);
        while let Some(next) = self.rest.peek().and_then(|c| digit(*c)) {
            self.rest.next();
            value = value.checked_mul(10)?.checked_add(i64::from(next))?;
        }
        Some(value)
    }

    fn at_most(&mut self, max: i64) -> Option<i64> {
        self.number().filter(|value| *value <= max)
    }

    /// Milliseconds of a day's midnight.
    fn date(&mut self) -> Option<i64> {
        let year = self.number()?;
        self.literal('-')?;
        let month = self.number()?;
        self.literal('-')?;
        java_day(year, month, self.number()?).map(|day| day * DAY_MS)
    }

    /// Milliseconds since midnight.
    fn time(&mut self) -> Option<i64> {
        let hours = self.at_most(23)?;
        self.literal(':')?;
        let minutes = self.at_most(59)?;
        self.literal(':')?;
        let seconds = self.at_most(59)?;
        self.literal('.')?;
        let ms = self.at_most(999)?;
        self.literal('Z')?;
        Some(((hours * 60 + minutes) * 60 + seconds) * 1000 + ms)
    }
}

/// Appends a point in time: as a time before the second day, else as a date at midnight, else in
/// full.
pub fn write(ms: i64, out: &mut Vec<u8>) {
    let (days, of_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    if ms >= DAY_MS {
        let (year, month, day) = java_date(days);
        put(out, format_args!("{year:04}-{month:02}-{day:02}"));
        if of_day == 0 {
            return;
        }
        out.push(b'T');
    }
    let (seconds, ms) = (of_day / 1000, of_day % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    put(out, format_args!("{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<i64> {
        parse(text).map(|(_, value)| match value {
            Value::Instant(ms) => ms,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn only_what_exists_is_read() {
        assert_eq!(ms("2019-08-23"), Some(1_566_518_400_000));
        assert_eq!(ms("14:34:54.346Z"), Some(52_494_346));
        assert_eq!(ms("14\\:34\\:54.346Z"), Some(52_494_346));
        assert_eq!(ms("2019-08-23T14:34:54.346Z"), Some(1_566_570_894_346));
        assert_eq!(ms("0001-01-01"), Some(-62_135_769_600_000));
        for text in [
            "2019-13-45",
            "2024-02-30",
            "0000-00-00",
            "25:61:61.999Z",
            "2019-8-23x",
            "2019-8-23",
            "abcd-ef-gh",
            "24:00:00.000Z",
            "2019-08-23T14:34:54.34Z ",
        ] {
            assert_eq!(ms(text), None, "{text}");
        }
    }

    #[test]
    fn the_form_follows_the_value() {
        for (ms, wanted) in [
            (0, "00:00:00.000Z"),
            (-1, "23:59:59.999Z"),
            (DAY_MS, "1970-01-02"),
            (DAY_MS + 1, "1970-01-02T00:00:00.001Z"),
            (i64::MAX, "292278994-08-17T07:12:55.807Z"),
        ] {
            let mut out = Vec::new();
            write(ms, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), wanted);
        }
    }
}
