//! Writes a moment as its pattern says.
//!
//! Place in the data path: once per value; nothing is allocated but what the text needs.

use super::fields::Moment;
use super::{DatePattern, Item};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Name of a month, 1 to 12: long, or its first three letters.
pub(super) fn month_name(month: i64, long: bool) -> &'static str {
    name(&MONTHS, month, long)
}

/// Name of a weekday, 1 (Sunday) to 7: long, or its first three letters.
pub(super) fn weekday_name(weekday: i64, long: bool) -> &'static str {
    name(&WEEKDAYS, weekday, long)
}

fn name(names: &[&'static str], number: i64, long: bool) -> &'static str {
    let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let name = names.get(index).copied().unwrap_or_default();
    if long { name } else { name.get(..3).unwrap_or(name) }
}

/// The decimal digits of 0 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// The two digits of a number below 100.
#[inline]
pub(super) fn pair_of(number: u32) -> [u8; 2] {
    *PAIRS.get(number as usize).unwrap_or(b"00")
}

pub(super) fn write(pattern: &DatePattern, epoch_ms: i64, nanos: u32, out: &mut String) {
    let moment = Moment::new(epoch_ms, &pattern.zone);
    for item in &pattern.items {
        write_item(pattern, item, &moment, (epoch_ms, nanos), out);
    }
}

/// Writes one item of a pattern; the moment is given taken apart and as it is.
pub(super) fn write_item(
    pattern: &DatePattern,
    item: &Item,
    moment: &Moment,
    (epoch_ms, nanos): (i64, u32),
    out: &mut String,
) {
    match item {
        Item::Text(text) => out.push_str(text),
        Item::Field(letter @ (b'z' | b'Z' | b'X'), count) => {
            zone(pattern, moment, epoch_ms, *letter, *count, out);
        }
        Item::Field(letter, count) => field(moment, nanos, *letter, *count, out),
    }
}

fn field(moment: &Moment, nanos: u32, letter: u8, count: usize, out: &mut String) {
    let hour = moment.of_day_ms / 3_600_000;
    let or = |number: i64, instead: i64| if number == 0 { instead } else { number };
    let number = match letter {
        b'G' => return out.push_str(if moment.year > 0 { "AD" } else { "BC" }),
        b'y' => {
            let year = if moment.year > 0 { moment.year } else { 1 - moment.year };
            return write_year(year, count, out);
        }
        b'Y' => return write_year(moment.week().0, count, out),
        b'M' | b'L' if count >= 3 => return out.push_str(month_name(moment.month, count > 3)),
        b'M' | b'L' => moment.month,
        b'E' => return out.push_str(weekday_name(moment.weekday(), count > 3)),
        b'a' => return out.push_str(if hour < 12 { "AM" } else { "PM" }),
        b'w' => moment.week().1,
        b'W' => moment.week_of_month(),
        b'D' => moment.day_of_year(),
        b'd' => moment.day,
        b'F' => moment.weekday_in_month(),
        b'u' => or(moment.weekday() - 1, 7),
        b'H' => hour,
        b'k' => or(hour, 24),
        b'K' => hour % 12,
        b'h' => or(hour % 12, 12),
        b'm' => moment.of_day_ms / 60_000 % 60,
        b's' => moment.of_day_ms / 1_000 % 60,
        _ => {
            let ms = moment.of_day_ms % 1_000;
            if count > 3 {
                return write_fraction(ms * 1_000_000 + i64::from(nanos), count, out);
            }
            ms
        }
    };
    write_number(number, count, out);
}

fn write_year(year: i64, count: usize, out: &mut String) {
    write_number(if count == 2 { year % 100 } else { year }, count, out);
}

/// Writes a number with at least so many digits.
fn write_number(number: i64, digits: usize, out: &mut String) {
    let mut push = |number: u32| out.extend(pair_of(number).map(char::from));
    match (u32::try_from(number), digits) {
        (Ok(number @ 0..100), 2) => return push(number),
        (Ok(number @ 0..10_000), 4) => {
            push(number / 100);
            return push(number % 100);
        }
        _ => {}
    }
    if number < 0 {
        out.push('-');
    }
    let mut rest = number.unsigned_abs();
    let mut buffer = [b'0'; 20];
    let mut at = buffer.len();
    while rest > 0 || at == buffer.len() {
        at -= 1;
        buffer[at] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    let written = buffer.len() - at;
    out.extend(std::iter::repeat_n('0', digits.saturating_sub(written)));
    out.extend(buffer[at..].iter().map(|&digit| char::from(digit)));
}

/// The first digits of a fraction of a second.
fn write_fraction(nanos: i64, digits: usize, out: &mut String) {
    let mut unit = 100_000_000;
    for _ in 0..digits {
        let digit = if unit > 0 { nanos / unit % 10 } else { 0 };
        out.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default()));
        unit /= 10;
    }
}

fn zone(
    pattern: &DatePattern,
    moment: &Moment,
    epoch_ms: i64,
    letter: u8,
    count: usize,
    out: &mut String,
) {
    if letter == b'z' {
        return pattern.zone.write_name(epoch_ms, moment.offset_s, count > 3, out);
    }
    let minutes = i64::from(moment.offset_s / 60);
    if letter == b'X' && minutes == 0 {
        return out.push('Z');
    }
    out.push(if minutes >= 0 { '+' } else { '-' });
    let minutes = minutes.abs();
    write_number(minutes / 60, 2, out);
    if letter == b'X' && count == 1 {
        return;
    }
    if letter == b'X' && count == 3 {
        out.push(':');
    }
    write_number(minutes % 60, 2, out);
}
