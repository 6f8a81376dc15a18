//! Moments that are written one after the other: what the last text had of the same day stays.
//!
//! Place in the data path: `TimestampConverter`, once per value. Records of one batch are mostly of few
//! days, and to find a day's date takes longer than to write the time of day.
//!
//! Invariant: the text is what [`DatePattern::format_nanos`] writes.

use super::fields::Moment;
use super::format::{pair_of, write_item};
use super::{DatePattern, DateZone, Item};
use data::DAY_MS;

/// What of a text changes within a day: always as many digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Hour,
    Minute,
    Second,
    /// The first so many digits of a second's fraction.
    Fraction(usize),
}

/// Digits of a fraction that mean something.
const FRACTION_MAX: usize = 9;

/// A text of at most so many bytes is copied as so many, which takes no call.
const SHORT_MAX: usize = 32;

/// The text that a pattern wrote last. Belongs to that pattern.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastText {
    /// The first millisecond of the text's day, local, since 1970-01-01; none where the text has to be
    /// written as a whole.
    day_ms: Option<i64>,
    /// The minute of the day.
    minute: u32,
    /// The text of that minute. Its seconds are any: they are written where the text is copied to,
    /// since bytes that were written one by one are waited for by who copies them as a whole.
    text: Vec<u8>,
    /// The beginning of the text, zeros behind it.
    short: [u8; SHORT_MAX],
    /// Places of hours and minutes.
    minutes: Vec<(usize, Clock)>,
    /// Places of seconds and their fractions.
    seconds: Vec<(usize, Clock)>,
    /// Places of the seconds and the milliseconds, where there is one of each and nothing else.
    usual: Option<(usize, usize)>,
    scratch: String,
}

impl DatePattern {
    /// Appends the text of a moment, given as in [`DatePattern::format_nanos`].
    #[inline]
    pub(crate) fn format_again(
        &self,
        last: &mut LastText,
        epoch_ms: i64,
        nanos: u32,
        out: &mut Vec<u8>,
    ) {
        let nanos = nanos.min(999_999);
        let offset_ms = match self.zone {
            DateZone::Utc => Some(0),
            DateZone::Fixed(seconds) => Some(i64::from(seconds) * 1_000),
            DateZone::Named { .. } => None,
        };
        let local_ms = offset_ms.and_then(|offset_ms| epoch_ms.checked_add(offset_ms));
        let since = local_ms.zip(last.day_ms).and_then(|(ms, day_ms)| ms.checked_sub(day_ms));
        match since {
            // Less than a day.
            Some(since @ 0..DAY_MS) => last.append(since as u32, nanos, out),
            _ => {
                self.write_whole(last, local_ms, (epoch_ms, nanos));
                out.extend_from_slice(&last.text);
            }
        }
    }

    #[cold]
    fn write_whole(&self, last: &mut LastText, local_ms: Option<i64>, at: (i64, u32)) {
        let moment = Moment::new(at.0, &self.zone);
        last.scratch.clear();
        last.minutes.clear();
        last.seconds.clear();
        let mut steady = true;
        for item in &self.items {
            let place = last.scratch.len();
            match clock(item) {
                Ok(Some(clock @ (Clock::Hour | Clock::Minute))) => {
                    last.minutes.push((place, clock));
                }
                Ok(Some(clock)) => last.seconds.push((place, clock)),
                Ok(None) => {}
                Err(()) => steady = false,
            }
            write_item(self, item, &moment, at, &mut last.scratch);
        }
        last.usual = match *last.seconds {
            [(second, Clock::Second), (ms, Clock::Fraction(3))] => Some((second, ms)),
            _ => None,
        };
        last.text.clear();
        last.text.extend_from_slice(last.scratch.as_bytes());
        // At the very beginning of the range a day has no first millisecond.
        last.day_ms =
            local_ms.filter(|_| steady).and_then(|ms| ms.div_euclid(DAY_MS).checked_mul(DAY_MS));
        last.minute = u32::MAX;
    }
}

/// What an item has to do with the time of day, if anything.
///
/// # Errors
/// An item whose text has no fixed length.
fn clock(item: &Item) -> Result<Option<Clock>, ()> {
    Ok(Some(match item {
        Item::Field(b'H', 2) => Clock::Hour,
        Item::Field(b'm', 2) => Clock::Minute,
        Item::Field(b's', 2) => Clock::Second,
        Item::Field(b'S', digits @ 3..=FRACTION_MAX) => Clock::Fraction(*digits),
        Item::Field(b'H' | b'k' | b'K' | b'h' | b'a' | b'm' | b's' | b'S', _) => return Err(()),
        _ => return Ok(None),
    }))
}

impl LastText {
    /// Bytes that so many texts take which are like the last one.
    pub(crate) fn room(&self, texts: usize) -> usize {
        texts * self.text.len() + SHORT_MAX
    }

    /// Appends the text of a moment of the same day.
    #[inline]
    fn append(&mut self, of_day_ms: u32, nanos: u32, out: &mut Vec<u8>) {
        let minute = of_day_ms / 60_000;
        if minute != self.minute {
            self.begin_minute(minute);
        }
        let start = out.len();
        if self.text.len() <= SHORT_MAX {
            out.extend_from_slice(&self.short);
            out.truncate(start + self.text.len());
        } else {
            out.extend_from_slice(&self.text);
        }
        let text = out.get_mut(start..).unwrap_or_default();
        let of_minute_ms = of_day_ms - minute * 60_000;
        let (second, ms) = (of_minute_ms / 1_000, of_minute_ms % 1_000);
        if let Some((second_at, ms_at)) = self.usual {
            write_two(text, second_at, second);
            write_three(text, ms_at, ms);
            return;
        }
        for (at, clock) in &self.seconds {
            match clock {
                Clock::Fraction(3) => write_three(text, *at, ms),
                Clock::Fraction(digits) => {
                    let slot = text.get_mut(*at..at + digits).unwrap_or_default();
                    write_fraction(slot, ms * 1_000_000 + nanos);
                }
                Clock::Hour | Clock::Minute | Clock::Second => write_two(text, *at, second),
            }
        }
    }

    /// Writes hours and minutes into the text.
    #[inline(never)]
    fn begin_minute(&mut self, minute: u32) {
        self.minute = minute;
        for (at, clock) in &self.minutes {
            let number = if *clock == Clock::Hour { minute / 60 } else { minute % 60 };
            write_two(&mut self.text, *at, number);
        }
        for (short, byte) in self.short.iter_mut().zip(&self.text) {
            *short = *byte;
        }
    }
}

/// Writes a number below 100 at a place of a text.
#[inline]
fn write_two(text: &mut [u8], at: usize, number: u32) {
    if let Some(slot) = text.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *slot = pair_of(number);
    }
}

/// The same with a number below 1000.
#[inline]
fn write_three(text: &mut [u8], at: usize, number: u32) {
    if let Some([hundreds, tens, ones]) = text.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *hundreds = b'0' + (number / 100) as u8;
        [*tens, *ones] = pair_of(number % 100);
    }
}

/// Writes the first digits of a second's nanoseconds.
fn write_fraction(slot: &mut [u8], nanos: u32) {
    let mut left = nanos / 10_u32.pow((FRACTION_MAX - slot.len().min(FRACTION_MAX)) as u32);
    for digit in slot.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_after_another_is_what_the_pattern_writes_at_once() {
        let zones = ["UTC", "+05:30", "-11:45", "Europe/Paris"];
        let patterns = [
            "yyyy-MM-dd HH:mm:ss.SSS",
            "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
            "EEE, d MMM y HH:mm:ss z",
            "SSSSSSSSS SSSSSSSSSSSS SSSS mm",
            "h:mm a",
            "'thirty-one bytes of text' HH:mm",
            "'thirty-two bytes of text' HHmmss",
            "'more than thirty-two bytes of text' HH:mm:ss.SSSSS",
            "H:m:s.S yyyyMMdd",
            "G yy DDD ww",
            "",
        ];
        let day = 86_400_000;
        let moments = [0, 1, 59_999, day - 1, day, -1, -day, 13 * day, 13 * day + 43_210_987];
        let far =
            [i64::MAX, i64::MIN, -62_135_769_600_000, -99 * 365 * day * 100, 253_402_300_800_000];
        for zone in zones {
            for text in patterns {
                let zone = DateZone::named(zone).unwrap();
                let pattern = DatePattern::with_zone(text, zone).unwrap();
                let mut last = LastText::default();
                for (at, ms) in moments.iter().chain(&far).chain(&moments).enumerate() {
                    for ms in [*ms, ms.saturating_add(3_600_001), *ms] {
                        let nanos = at as u32 * 98_765;
                        let mut wanted = String::new();
                        pattern.format_nanos(ms, nanos, &mut wanted);
                        let mut seen = b"before ".to_vec();
                        pattern.format_again(&mut last, ms, nanos, &mut seen);
                        let seen = String::from_utf8(seen).unwrap();
                        assert_eq!(seen, format!("before {wanted}"), "{text} {ms}");
                    }
                }
            }
        }
    }
}
