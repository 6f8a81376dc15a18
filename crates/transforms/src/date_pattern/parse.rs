//! Reads a text as its pattern says: text to fields. [`super::resolve`] makes a moment of them.
//!
//! Place in the data path: once per value; nothing is allocated.

use super::resolve::{self, Field, Fields};
use super::{DatePattern, Item, ParsedDate, format, zone};

pub(super) fn read(pattern: &DatePattern, text: &str) -> Option<ParsedDate> {
    let mut reader = Reader {
        text,
        at: 0,
        century_start_year: pattern.century_start_year,
        fields: Fields::default(),
        nanos: 0,
        two_digit_start: false,
        zone: &pattern.zone,
    };
    let mut items = pattern.items.iter().peekable();
    while let Some(item) = items.next() {
        match item {
            Item::Text(literal) => reader.accept(literal)?,
            Item::Field(letter, count) => {
                // Digits run on as far as they go, unless another number follows at once.
                let limited = items.peek().is_some_and(|next| is_number(next));
                reader.field(*letter, *count, limited)?;
            }
        }
    }
    if reader.at == 0 {
        return None;
    }
    let mut epoch_ms = resolve::moment(&reader.fields, &pattern.zone)?;
    if reader.two_digit_start && epoch_ms < pattern.century_start_ms {
        reader.fields.shift_years(100);
        epoch_ms = resolve::moment(&reader.fields, &pattern.zone)?;
    }
    Some(ParsedDate { epoch_ms, nanos: reader.nanos })
}

/// Whether the item is read as a number.
fn is_number(item: &Item) -> bool {
    match item {
        Item::Text(_) => false,
        Item::Field(b'M' | b'L', count) => *count <= 2,
        Item::Field(letter, _) => !matches!(letter, b'G' | b'E' | b'a' | b'z' | b'Z' | b'X'),
    }
}

struct Reader<'t> {
    text: &'t str,
    /// The byte that is read next.
    at: usize,
    century_start_year: i32,
    fields: Fields,
    /// Nanoseconds below the millisecond.
    nanos: u32,
    /// A two-digit year was that of the start of the hundred years: which end is it?
    two_digit_start: bool,
    zone: &'t zone::DateZone,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn accept(&mut self, literal: &str) -> Option<()> {
        self.rest().starts_with(literal).then(|| self.at += literal.len())
    }

    fn field(&mut self, letter: u8, count: usize, limited: bool) -> Option<()> {
        let start = self.at;
        let blanks = self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.at += blanks;
        if self.rest().is_empty() {
            return None;
        }
        // Names are looked for where the blanks start, so that none before them fits.
        match letter {
            b'G' => {
                self.name(blanks, Field::Era, &["Before Christ", "Anno Domini", "BC", "AD"], |i| {
                    i32::try_from(i % 2).unwrap_or_default()
                })
            }
            b'a' => self
                .name(blanks, Field::AmPm, &["AM", "PM"], |i| i32::try_from(i).unwrap_or_default()),
            b'M' | b'L' if count >= 3 => self.names(blanks, Field::Month, 12, format::month_name),
            b'E' => self.names(blanks, Field::Weekday, 7, format::weekday_name),
            b'z' | b'Z' => self.zone_name(blanks),
            b'X' => self.iso_zone(count),
            _ => {
                let end = if limited { start.checked_add(count)? } else { self.text.len() };
                self.number(letter, count, end)
            }
        }
    }

    fn name(
        &mut self,
        blanks: usize,
        field: Field,
        names: &[&str],
        value: impl Fn(usize) -> i32,
    ) -> Option<()> {
        let found = |name: &&str| blanks == 0 && starts_with(self.rest(), name);
        let index = names.iter().position(found)?;
        self.at += names.get(index)?.len();
        self.fields.set(field, value(index));
        Some(())
    }

    fn names(
        &mut self,
        blanks: usize,
        field: Field,
        last: i64,
        name: fn(i64, bool) -> &'static str,
    ) -> Option<()> {
        if blanks > 0 {
            return None;
        }
        for long in [true, false] {
            for number in 1..=last {
                let name = name(number, long);
                if starts_with(self.rest(), name) {
                    self.at += name.len();
                    // Months count from 0, weekdays from 1.
                    let base = i64::from(field == Field::Month);
                    self.fields.set(field, i32::try_from(number - base).ok()?);
                    return Some(());
                }
            }
        }
        None
    }

    fn number(&mut self, letter: u8, count: usize, end: usize) -> Option<()> {
        let digits = self.text.get(self.at..end)?;
        let (value, length) = number(digits)?;
        let digits = digits.get(..length)?;
        self.at += length;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        match letter {
            b'y' | b'Y' => {
                let field = if letter == b'y' { Field::Year } else { Field::WeekYear };
                let two = count <= 2 && digits.len() == 2 && plain;
                let value = if two { self.two_digit_year(value) } else { value };
                self.fields.set(field, value);
            }
            b'S' if count > 3 && plain => {
                let nanos = fraction(digits);
                self.fields.set(Field::Millisecond, i32::try_from(nanos / 1_000_000).ok()?);
                self.nanos = nanos % 1_000_000;
            }
            _ => self.plain_number(letter, value),
        }
        Some(())
    }

    fn plain_number(&mut self, letter: u8, value: i32) {
        let or_zero = |last| if value == last { 0 } else { value };
        let (field, value) = match letter {
            b'M' | b'L' => (Field::Month, value.wrapping_sub(1)),
            b'k' => (Field::HourOfDay, or_zero(24)),
            b'h' => (Field::Hour, or_zero(12)),
            b'H' => (Field::HourOfDay, value),
            b'K' => (Field::Hour, value),
            b'm' => (Field::Minute, value),
            b's' => (Field::Second, value),
            b'S' => (Field::Millisecond, value),
            b'd' => (Field::Day, value),
            b'D' => (Field::DayOfYear, value),
            b'w' => (Field::WeekOfYear, value),
            b'W' => (Field::WeekOfMonth, value),
            b'F' => (Field::WeekdayInMonth, value),
            // Monday is 1; a number that is no weekday is left for the week to make up for.
            _ => (
                Field::Weekday,
                match value {
                    7 => 1,
                    1..=6 => value + 1,
                    _ => value,
                },
            ),
        };
        self.fields.set(field, value);
    }

    fn two_digit_year(&mut self, value: i32) -> i32 {
        let start = self.century_start_year % 100;
        self.two_digit_start = value == start;
        let century = self.century_start_year / 100 * 100;
        value + century + if value < start { 100 } else { 0 }
    }

    fn zone_name(&mut self, blanks: usize) -> Option<()> {
        let signed = |text: &str| match text.bytes().next() {
            Some(b'+') => Some(1),
            Some(b'-') => Some(-1),
            _ => None,
        };
        if let Some(sign) = signed(self.rest()) {
            self.at += 1;
            return self.offset(sign, 0, false);
        }
        if blanks == 0 && starts_with(self.rest(), "GMT") {
            self.at += 3;
            let Some(sign) = signed(self.rest()) else {
                self.fields.set_offset(0);
                return Some(());
            };
            self.at += 1;
            return self.offset(sign, 0, true);
        }
        let (offset_s, length) = self.zone.parse_name(self.rest())?;
        self.at += length;
        self.fields.set_offset(offset_s);
        Some(())
    }

    fn iso_zone(&mut self, count: usize) -> Option<()> {
        let first = self.rest().bytes().next()?;
        self.at += first.is_ascii().then_some(1)?;
        match first {
            b'Z' => self.fields.set_offset(0),
            b'+' => return self.offset(1, count, count == 3),
            b'-' => return self.offset(-1, count, count == 3),
            _ => return None,
        }
        Some(())
    }

    /// Reads `hh`, `hhmm` or `hh:mm`; `count` is that of the `X`, or 0.
    fn offset(&mut self, sign: i32, count: usize, colon: bool) -> Option<()> {
        let mut hours = self.digit()?;
        match self.digit() {
            Some(next) => hours = hours * 10 + next,
            // One digit is enough only in `GMT+h:mm`.
            None if count > 0 || !colon => return None,
            None => {}
        }
        if hours > 23 {
            return None;
        }
        let mut minutes = 0;
        if count != 1 {
            if colon {
                self.accept(":")?;
            }
            minutes = self.digit()? * 10 + self.digit()?;
            if minutes > 59 {
                return None;
            }
        }
        self.fields.set_offset(sign * (hours * 60 + minutes) * 60);
        Some(())
    }

    fn digit(&mut self) -> Option<i32> {
        let digit = self.rest().chars().next()?.to_digit(10)?;
        self.at += 1;
        i32::try_from(digit).ok()
    }
}

/// Whether the text starts with the (ASCII) name, in any case.
fn starts_with(text: &str, name: &str) -> bool {
    text.as_bytes()
        .get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
}

/// The digits behind a decimal point, in nanoseconds; more than nine are cut.
fn fraction(digits: &str) -> u32 {
    let mut nanos = 0;
    let mut unit = 100_000_000;
    for byte in digits.bytes().take(9) {
        nanos += u32::from(byte.wrapping_sub(b'0')) * unit;
        unit /= 10;
    }
    nanos
}

/// Reads a whole number as Java's `DecimalFormat` does, with its exponents, and as an `int`: a number
/// that fits 64 bits wraps, a larger one is cut off. Gives the bytes read too.
fn number(text: &str) -> Option<(i32, usize)> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let first = usize::from(negative);
    let count = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let end = first + count(first);
    if end == first {
        return None;
    }
    let digits = text.get(first..end)?;
    let exponent_sign = usize::from(bytes.get(end + 1) == Some(&b'-'));
    let exponent_digits = count(end + 1 + exponent_sign);
    if bytes.get(end) == Some(&b'E') && exponent_digits > 0 {
        let length = end + 1 + exponent_sign + exponent_digits;
        let value: f64 = text.get(..length)?.parse().ok()?;
        return Some((narrow(value), length));
    }
    let value = match digits.parse::<i64>() {
        Ok(value) => {
            let value = if negative { -value } else { value };
            #[expect(clippy::cast_possible_truncation, reason = "Java's narrowing, which wraps")]
            let wrapped = value as i32;
            wrapped
        }
        Err(_) if negative => i32::MIN,
        Err(_) => i32::MAX,
    };
    Some((value, end))
}

/// Java's narrowing: whole numbers of 64 bits wrap, all else is cut off.
#[expect(clippy::cast_possible_truncation, reason = "Java's narrowing")]
fn narrow(value: f64) -> i32 {
    let whole = value.fract() == 0.0 && value.abs() < 9.2e18;
    if whole { value as i64 as i32 } else { value as i32 }
}
