//! Strings: the scanner's way through them, and their escapes.
//!
//! Place in the data path: most bytes of most records go through [`Scanner::string`], eight at a
//! time; a string that is plain ASCII is passed without a second look.
//!
//! Invariant: a string that was passed is valid UTF-8 with valid escapes.

use super::fault::Fault;
use super::scan::Scanner;

/// The contents of a string, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// There are backslashes: [`unescape`] gives the text.
    pub(crate) escaped: bool,
}

const LOW: u64 = 0x0101_0101_0101_0101;
pub(crate) const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks, in the high bit of each byte, quotes, backslashes and control characters; the lowest
/// mark is exact, those above it may be wrong.
#[inline]
pub(crate) fn special(word: u64) -> u64 {
    let quote = word ^ (LOW * b'"' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let zero = |x: u64| x.wrapping_sub(LOW) & !x;
    (zero(quote) | zero(backslash) | (word.wrapping_sub(LOW * 0x20) & !word)) & HIGH
}

impl Scanner<'_> {
    /// Passes a string, from its first quote to its last.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Result<Text, Fault> {
        if !self.eat(b'"') {
            return Err(self.expected("a string"));
        }
        let start = self.pos;
        let mut high = 0;
        // Eight bytes at a time up to the first byte that means something.
        while let Some(chunk) = self.bytes.get(self.pos..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk);
            let marks = special(word);
            if marks != 0 {
                let bits = marks.trailing_zeros() & !7;
                high |= word & HIGH & ((1 << bits) - 1);
                self.pos += bits as usize / 8;
                break;
            }
            high |= word & HIGH;
            self.pos += 8;
        }
        if high == 0 && self.peek() == Some(b'"') {
            let len = self.pos - start;
            self.pos += 1;
            return Ok(Text { start, len, escaped: false });
        }
        self.string_rest(start, high != 0)
    }

    /// The rest of a string that is not plain ASCII up to its closing quote, or is near the end.
    #[inline(never)]
    fn string_rest(&mut self, start: usize, mut high: bool) -> Result<Text, Fault> {
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..0x20) => return Err(self.expected("no control character in a string")),
                None => return Err(self.expected("the end of a string")),
                Some(byte) => {
                    high |= byte >= 0x80;
                    self.pos += 1;
                    self.plain(&mut high);
                }
            }
        }
        let text = self.bytes.get(start..self.pos).unwrap_or_default();
        if high && let Err(error) = std::str::from_utf8(text) {
            return Err(Fault::syntax("invalid UTF-8", start + error.valid_up_to()));
        }
        self.pos += 1;
        Ok(Text { start, len: text.len(), escaped })
    }

    /// Passes whole words of a string in which nothing is special.
    fn plain(&mut self, high: &mut bool) {
        while let Some(chunk) = self.bytes.get(self.pos..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk);
            if special(word) != 0 {
                return;
            }
            *high |= word & HIGH != 0;
            self.pos += 8;
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.bytes.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => {
                let Some(unit) = hex4(self.bytes, self.pos + 2) else {
                    return Err(self.expected("four hexadecimal digits after \\u"));
                };
                self.pos += 6;
                let pair = (0xd800..0xdc00).contains(&unit)
                    && self.bytes.get(self.pos..self.pos + 2) == Some(b"\\u")
                    && hex4(self.bytes, self.pos + 2).is_some_and(|low| low & 0xfc00 == 0xdc00);
                if pair {
                    self.pos += 6;
                } else if (0xd800..0xe000).contains(&unit) {
                    self.lenient = true;
                }
            }
            _ => return Err(self.expected("an escape")),
        }
        Ok(())
    }
}

/// The UTF-16 unit that four hexadecimal digits give.
fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// Appends the text of a string's contents that the scanner has passed. Lone surrogates become
/// U+FFFD.
pub(crate) fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let len = match escape.get(1) {
            Some(b'u') => {
                let (c, len) = unescape_unit(escape);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                len
            }
            Some(b'b') => push(out, 8),
            Some(b'f') => push(out, 12),
            Some(b'n') => push(out, b'\n'),
            Some(b'r') => push(out, b'\r'),
            Some(b't') => push(out, b'\t'),
            Some(&other) => push(out, other),
            None => 1,
        };
        rest = escape.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

fn push(out: &mut Vec<u8>, byte: u8) -> usize {
    out.push(byte);
    2
}

/// The character of a `\u` escape or a pair of them, and how many bytes that is.
pub(crate) fn unescape_unit(escape: &[u8]) -> (char, usize) {
    let unit = hex4(escape, 2).unwrap_or(0xfffd);
    if let Some(c) = char::from_u32(unit) {
        return (c, 6);
    }
    let low = if escape.get(6..8) == Some(b"\\u") { hex4(escape, 8) } else { None };
    let pair = low
        .filter(|low| unit < 0xdc00 && low & 0xfc00 == 0xdc00)
        .and_then(|low| char::from_u32(0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff)));
    pair.map_or((char::REPLACEMENT_CHARACTER, 6), |c| (c, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_at_every_length_and_place() {
        for len in 0..40 {
            for special in ["", "é", "\\n", "\u{1f600}"] {
                for at in 0..=len {
                    let text = format!("{}{special}{}", "x".repeat(at), "y".repeat(len - at));
                    let json = format!("\"{text}\" ");
                    let found = Scanner::new(json.as_bytes(), 0).string().unwrap();
                    assert_eq!((found.start, found.len), (1, text.len()), "{json}");
                    assert_eq!(found.escaped, special == "\\n");
                    assert!(Scanner::new(format!("\"{text}").as_bytes(), 0).string().is_err());
                }
            }
        }
    }

    #[test]
    fn invalid_utf8_is_refused_wherever_it_is() {
        for at in 0..20 {
            let mut json = format!("\"{}\"", "x".repeat(20)).into_bytes();
            json[at + 1] = 0xff;
            assert!(Scanner::new(&json, 0).string().is_err(), "{at}");
        }
    }

    #[test]
    fn escapes_become_text() {
        let mut out = Vec::new();
        unescape(br#"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dz\ude00"#, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "a\"\\/\u{8}\u{c}\n\r\té😀\u{fffd}z\u{fffd}");
    }
}
