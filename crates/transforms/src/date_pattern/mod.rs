//! Date patterns: the dialect of Java's `SimpleDateFormat` (locale `en_US`), lenient as it is.
//!
//! Place in the data path: `TimestampConverter`, `TimestampRouter` and their kin, once per value. A
//! pattern is compiled once to items; formatting then allocates nothing, and parsing neither.
//!
//! Invariants:
//! - dates before 15 October 1582 are Julian, as in `java.util.Date`;
//! - lenient means lenient: the 30th of February is the 1st of March, and text behind what the
//!   pattern covers is ignored.
//!
//! Deliberately unlike Java:
//! - `S` with more than three letters is a fraction of a second, written and read; Java pads the
//!   milliseconds on the left and reads all digits as milliseconds;
//! - a zone name in a parsed text holds for that text alone; Java's format object keeps it;
//! - zone names other than the common ones are written as offsets, and digits are ASCII.

mod again;
mod calendar;
mod fields;
mod format;
mod parse;
mod resolve;
mod zone;

pub(crate) use again::LastText;
pub use zone::DateZone;

use std::time::{SystemTime, UNIX_EPOCH};

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    /// Text that stands for itself.
    Text(String),
    /// A pattern letter and how often it is repeated.
    Field(u8, usize),
}

/// The letters there are.
const LETTERS: &str = "GyMdkHmsSEDFwWahKzZYuXL";

/// A compiled pattern with its time zone.
#[derive(Clone, Debug)]
pub struct DatePattern {
    items: Vec<Item>,
    zone: DateZone,
    /// Two-digit years lie in the hundred years from here; milliseconds since the epoch.
    century_start_ms: i64,
    /// The year of that moment.
    century_start_year: i32,
}

/// A moment that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedDate {
    /// Milliseconds since the epoch, rounded down.
    pub epoch_ms: i64,
    /// What is left below the millisecond, 0 to 999,999 nanoseconds. Only patterns with more than
    /// three `S` in a row have any.
    pub nanos: u32,
}

impl DatePattern {
    /// Compiles a pattern for UTC. Two-digit years lie between 80 years before and 20 years after
    /// this call.
    ///
    /// # Errors
    /// What is wrong, in Java's words: `Illegal pattern character 'b'`, `Unterminated quote`.
    pub fn new(pattern: &str) -> Result<DatePattern, String> {
        DatePattern::with_zone(pattern, DateZone::Utc)
    }

    /// Compiles a pattern for a time zone.
    ///
    /// # Errors
    /// As [`DatePattern::new`].
    pub fn with_zone(pattern: &str, zone: DateZone) -> Result<DatePattern, String> {
        let items = compile(pattern)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let mut compiled = DatePattern { items, zone, century_start_ms: 0, century_start_year: 0 };
        compiled.set_century(now_ms);
        Ok(compiled)
    }

    /// Places two-digit years as if the pattern had been compiled at that time.
    pub fn set_century(&mut self, now_ms: i64) {
        let (start_ms, year) = fields::eighty_years_before(now_ms, &self.zone);
        self.century_start_ms = start_ms;
        self.century_start_year = year;
    }

    /// The time zone of the pattern.
    pub fn zone(&self) -> &DateZone {
        &self.zone
    }

    /// Appends a moment, given in milliseconds since the epoch.
    pub fn format(&self, epoch_ms: i64, out: &mut String) {
        format::write(self, epoch_ms, 0, out);
    }

    /// Appends a moment that is known more exactly than to the millisecond: `nanos` (0 to 999,999)
    /// is what comes on top of `epoch_ms`. It shows where the pattern has more than three `S`.
    pub fn format_nanos(&self, epoch_ms: i64, nanos: u32, out: &mut String) {
        format::write(self, epoch_ms, nanos.min(999_999), out);
    }

    /// Appends a moment given in microseconds since the epoch.
    pub fn format_micros(&self, epoch_micros: i64, out: &mut String) {
        let nanos = u32::try_from(epoch_micros.rem_euclid(1_000) * 1_000).unwrap_or_default();
        format::write(self, epoch_micros.div_euclid(1_000), nanos, out);
    }

    /// Reads a text; what follows behind the part that the pattern covers is ignored.
    ///
    /// # Errors
    /// The text does not fit: the words of Java's `ParseException`, `Unparseable date: "x"`.
    pub fn parse(&self, text: &str) -> Result<ParsedDate, String> {
        parse::read(self, text).ok_or_else(|| format!("Unparseable date: \"{text}\""))
    }
}

/// Collects repeated letters and literal text.
struct Compiler {
    items: Vec<Item>,
    letter: Option<(u8, usize)>,
}

impl Compiler {
    fn letter(&mut self, letter: u8) -> Result<(), String> {
        match &mut self.letter {
            Some((last, count)) if *last == letter => *count += 1,
            _ => {
                self.flush()?;
                self.letter = Some((letter, 1));
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        if let Some((letter, count)) = self.letter.take() {
            if letter == b'X' && count > 3 {
                return Err(format!("invalid ISO 8601 format: length={count}"));
            }
            self.items.push(Item::Field(letter, count));
        }
        Ok(())
    }

    fn text(&mut self, c: char) -> Result<(), String> {
        self.flush()?;
        match self.items.last_mut() {
            Some(Item::Text(text)) => text.push(c),
            _ => self.items.push(Item::Text(c.to_string())),
        }
        Ok(())
    }
}

fn compile(pattern: &str) -> Result<Vec<Item>, String> {
    let mut compiler = Compiler { items: Vec::new(), letter: None };
    let mut quoted = false;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' if chars.next_if_eq(&'\'').is_some() => compiler.text('\'')?,
            '\'' => {
                compiler.flush()?;
                quoted = !quoted;
            }
            _ if quoted || !c.is_ascii_alphabetic() => compiler.text(c)?,
            _ if !LETTERS.contains(c) => {
                return Err(format!("Illegal pattern character '{c}'"));
            }
            _ => compiler.letter(u8::try_from(c).unwrap_or(b'?'))?,
        }
    }
    if quoted {
        return Err("Unterminated quote".to_owned());
    }
    compiler.flush()?;
    Ok(compiler.items)
}

#[cfg(test)]
mod tests;
