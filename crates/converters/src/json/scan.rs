//! The JSON scanner: a cursor over one record that knows the grammar and nothing about schemas.
//!
//! It reads RFC 8259 with the leniencies of Connect's own parser: leading zeros of numbers are
//! accepted; lone surrogate escapes are accepted and read as U+FFFD. Control characters inside
//! strings, `NaN`, comments and nesting deeper than [`DEPTH_MAX`] are refused.
//!
//! Invariants: every string it passes is valid UTF-8 with valid escapes, so callers may use its
//! span unseen; it never recurses, so depth costs no stack; positions never leave the record.

use super::fault::Fault;

/// Arrays and objects within each other, the outermost counted as one.
pub(super) const DEPTH_MAX: usize = 1000;

/// Characters in one number.
const NUMBER_MAX: usize = 1000;

/// The contents of a string, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) start: usize,
    pub(super) len: usize,
    /// There are backslashes: [`unescape`] gives the text.
    pub(super) escaped: bool,
}

/// A number whose digits were read on the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// The first byte after superfluous leading zeros; the sign, if any, is before those.
    pub(super) digits_start: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) negative: bool,
    /// All digits as one integer; only meaningful up to 19 `digits`.
    pub(super) mantissa: u64,
    /// Digits that count, leading zeros left out.
    pub(super) digits: usize,
    /// Digits after the point.
    pub(super) fraction: usize,
    pub(super) has_point: bool,
    pub(super) has_exponent: bool,
}

/// The kinds of JSON values, named as Connect's messages name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
    Missing,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Null => "NULL",
            Kind::Boolean => "BOOLEAN",
            Kind::Number => "NUMBER",
            Kind::String => "STRING",
            Kind::Array => "ARRAY",
            Kind::Object => "OBJECT",
            Kind::Missing => "MISSING",
        }
    }
}

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Something was passed that other readers of JSON refuse; see [`super::repair`].
    pub(super) lenient: bool,
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks, in the high bit of each byte, quotes, backslashes and control characters; the lowest
/// mark is exact, those above it may be wrong.
#[inline]
fn special(word: u64) -> u64 {
    let quote = word ^ (LOW * b'"' as u64);
    let backslash = word ^ (LOW * b'\\' as u64);
    let zero = |x: u64| x.wrapping_sub(LOW) & !x;
    (zero(quote) | zero(backslash) | (word.wrapping_sub(LOW * 0x20) & !word)) & HIGH
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8], pos: usize) -> Scanner<'a> {
        Scanner { bytes, pos, lenient: false }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// Passes whitespace.
    #[inline]
    pub(super) fn blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.pos += 1;
        }
    }

    /// Passes one byte if it is this one.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.pos += usize::from(hit);
        hit
    }

    /// Passes these bytes if they are next.
    #[inline]
    pub(super) fn eat_all(&mut self, token: &[u8]) -> bool {
        let hit = self.bytes.get(self.pos..).is_some_and(|rest| rest.starts_with(token));
        if hit {
            self.pos += token.len();
        }
        hit
    }

    /// The fault of an unexpected byte, or of the end, here.
    #[cold]
    pub(super) fn expected(&self, what: &str) -> Fault {
        let found = if self.pos < self.bytes.len() { "unexpected byte" } else { "unexpected end" };
        Fault::syntax(&format!("{found}, expected {what},"), self.pos)
    }

    /// Demands that nothing but whitespace follows.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.blank();
        if self.pos == self.bytes.len() { Ok(()) } else { Err(self.expected("the end")) }
    }

    /// The kind of the value that begins here, by its first byte.
    pub(super) fn kind(&self) -> Result<Kind, Fault> {
        Ok(match self.peek() {
            Some(b'n') => Kind::Null,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b'"') => Kind::String,
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            _ => return Err(self.expected("a value")),
        })
    }

    pub(super) fn literal(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        if self.eat_all(word) { Ok(()) } else { Err(self.expected("true, false or null")) }
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Fault> {
        if self.peek() == Some(b't') {
            return self.literal(b"true").map(|()| true);
        }
        self.literal(b"false").map(|()| false)
    }

    /// Passes a string, from its first quote to its last.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Text, Fault> {
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

    /// Passes a number and reads its digits.
    #[inline]
    pub(super) fn number(&mut self) -> Result<Number, Fault> {
        let start = self.pos;
        let negative = self.eat(b'-');
        let first = self.pos;
        let mut mantissa: u64 = 0;
        let mut zeros = 0;
        while self.peek() == Some(b'0') {
            self.pos += 1;
            zeros += 1;
        }
        let whole = self.pos;
        self.digits(&mut mantissa);
        let mut digits = self.pos - whole;
        if zeros + digits == 0 {
            return Err(self.expected("a digit"));
        }
        // The last of the leading zeros stays where no other digit precedes the point.
        let superfluous = if digits == 0 { zeros - 1 } else { zeros };
        self.lenient |= superfluous > 0;
        let mut number = Number {
            digits_start: first + superfluous,
            start,
            end: self.pos,
            negative,
            mantissa,
            digits,
            fraction: 0,
            has_point: false,
            has_exponent: false,
        };
        if self.eat(b'.') {
            let point = self.pos;
            if digits == 0 {
                while self.peek() == Some(b'0') {
                    self.pos += 1;
                }
            }
            let counted = self.pos;
            self.digits(&mut mantissa);
            digits += self.pos - counted;
            number.fraction = self.pos - point;
            number.has_point = true;
            if number.fraction == 0 {
                return Err(self.expected("a digit"));
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            let exponent = self.pos;
            self.digits(&mut 0);
            number.has_exponent = true;
            if self.pos == exponent {
                return Err(self.expected("a digit"));
            }
        }
        if self.pos - start > NUMBER_MAX {
            return Err(Fault::syntax("a number of more than 1000 characters", start));
        }
        Ok(Number { end: self.pos, mantissa, digits, ..number })
    }

    #[inline]
    fn digits(&mut self, mantissa: &mut u64) {
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.pos += 1;
        }
    }

    /// Passes a member's name and its colon, and the whitespace around them.
    pub(super) fn name(&mut self) -> Result<Text, Fault> {
        let name = self.string()?;
        self.blank();
        if !self.eat(b':') {
            return Err(self.expected("':'"));
        }
        self.blank();
        Ok(name)
    }

    /// After an element: true if another follows, false if `close` ended the list.
    #[inline]
    pub(super) fn more(&mut self, close: u8) -> Result<bool, Fault> {
        self.blank();
        if self.eat(b',') {
            self.blank();
            return Ok(true);
        }
        if self.eat(close) {
            return Ok(false);
        }
        Err(self.expected(if close == b'}' { "',' or '}'" } else { "',' or ']'" }))
    }

    /// Opens an array or object that `depth` others are around; true if it has an element.
    #[inline]
    pub(super) fn open(&mut self, close: u8, depth: usize) -> Result<bool, Fault> {
        if depth >= DEPTH_MAX {
            return Err(Fault::syntax("nesting deeper than 1000", self.pos));
        }
        self.pos += 1;
        self.blank();
        Ok(!self.eat(close))
    }

    /// Passes a whole value that `depth` arrays and objects are around, checking its syntax.
    pub(super) fn skip(&mut self, depth: usize) -> Result<Kind, Fault> {
        let kind = self.kind()?;
        match kind {
            Kind::Array | Kind::Object => self.skip_nested(depth)?,
            _ => self.scalar(kind)?,
        }
        Ok(kind)
    }

    fn skip_nested(&mut self, depth: usize) -> Result<(), Fault> {
        let mut open = Open { objects: [0; DEPTH_MAX.div_ceil(64)], len: 0 };
        loop {
            let kind = self.kind()?;
            let mut descended = false;
            match kind {
                Kind::Array | Kind::Object => {
                    let object = kind == Kind::Object;
                    if self.open(if object { b'}' } else { b']' }, depth + open.len)? {
                        open.push(object);
                        descended = true;
                    }
                }
                _ => self.scalar(kind)?,
            }
            while !descended {
                let Some(object) = open.top() else { return Ok(()) };
                if self.more(if object { b'}' } else { b']' })? {
                    break;
                }
                open.len -= 1;
            }
            if open.top() == Some(true) {
                self.name()?;
            }
        }
    }

    fn scalar(&mut self, kind: Kind) -> Result<(), Fault> {
        match kind {
            Kind::Null => self.literal(b"null"),
            Kind::Boolean => self.boolean().map(|_| ()),
            Kind::Number => self.number().map(|_| ()),
            _ => self.string().map(|_| ()),
        }
    }
}

/// The brackets that are open while a value is skipped, one bit each: an object or an array.
struct Open {
    objects: [u64; DEPTH_MAX.div_ceil(64)],
    len: usize,
}

impl Open {
    fn push(&mut self, object: bool) {
        let bit = 1 << (self.len % 64);
        if let Some(word) = self.objects.get_mut(self.len / 64) {
            *word = if object { *word | bit } else { *word & !bit };
        }
        self.len += 1;
    }

    fn top(&self) -> Option<bool> {
        let last = self.len.checked_sub(1)?;
        self.objects.get(last / 64).map(|word| word >> (last % 64) & 1 == 1)
    }
}

/// The UTF-16 unit that four hexadecimal digits give.
fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// Appends the text of a string's contents that the scanner has passed. Lone surrogates become
/// U+FFFD.
pub(super) fn unescape(raw: &[u8], out: &mut Vec<u8>) {
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
pub(super) fn unescape_unit(escape: &[u8]) -> (char, usize) {
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

    fn skip(text: &str) -> Result<Kind, Fault> {
        let mut scan = Scanner::new(text.as_bytes(), 0);
        let kind = scan.skip(0)?;
        scan.end().map(|()| kind)
    }

    #[test]
    fn grammar_is_strict_where_connect_is() {
        for good in
            ["{}", "[]", "[[],{}]", r#"{"a":[1,{"b":null}],"c":"\u00e9\n"}"#, "007", "-0.5e+3"]
        {
            assert!(skip(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-",
            "5.",
            "+1",
            ".5",
            "0x1",
            "1e",
            "NaN",
            "tru",
            "[1,]",
            "[1",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "{'a':1}",
            "[1 2]",
            "[}",
            "{]",
            "\"a\tb\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a",
            "1 2",
            "{\"a\":1/*c*/}",
            "[1}",
            "{\"a\":1]",
        ] {
            assert!(skip(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn depth_is_limited_and_costs_no_stack() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(skip(&nested(DEPTH_MAX)).is_ok());
        assert!(skip(&nested(DEPTH_MAX + 1)).is_err());
        assert!(skip(&"[".repeat(1_000_000)).is_err());
        let objects = format!("{}1{}", r#"{"a":"#.repeat(DEPTH_MAX), "}".repeat(DEPTH_MAX));
        assert!(skip(&objects).is_ok());
    }

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

    #[test]
    fn numbers_carry_their_digits() {
        let number = |text: &str| Scanner::new(text.as_bytes(), 0).number().unwrap();
        let n = number("-0012.50");
        assert_eq!((n.mantissa, n.digits, n.fraction, n.negative), (1250, 4, 2, true));
        assert_eq!((n.digits_start, n.end), (3, 8));
        assert_eq!(number("00").digits_start, 1);
        assert_eq!(number("0.001").digits, 1);
        assert_eq!(number("100.00").digits, 5);
        assert!(Scanner::new("1".repeat(1001).as_bytes(), 0).number().is_err());
    }
}
