//! The JSON scanner: a cursor over one record that knows the grammar and nothing about schemas.
//!
//! It reads RFC 8259 with the leniencies of Connect's own parser: leading zeros of numbers are
//! accepted; lone surrogate escapes are accepted and read as U+FFFD. Control characters inside
//! strings, `NaN`, comments and nesting deeper than [`DEPTH_MAX`] are refused.
//!
//! Invariants: every string it passes is valid UTF-8 with valid escapes, so callers may use its
//! span unseen; it never recurses, so depth costs no stack; positions never leave the record.

use super::fault::Fault;
use super::strings::Text;
use super::token::Token;

/// Arrays and objects within each other, the outermost counted as one.
pub(crate) const DEPTH_MAX: usize = 1000;

/// The kinds of JSON values, named as Connect's messages name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
    Missing,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) struct Scanner<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
    /// Something was passed that other readers of JSON refuse; see [`super::repair`].
    pub(crate) lenient: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8], pos: usize) -> Scanner<'a> {
        Scanner { bytes, pos, lenient: false }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// Passes whitespace.
    #[inline]
    pub(crate) fn blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.pos += 1;
        }
    }

    /// Passes one byte if it is this one.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.pos += usize::from(hit);
        hit
    }

    /// Passes these bytes if they are next.
    #[inline]
    fn eat_all(&mut self, token: &[u8]) -> bool {
        let hit = self.bytes.get(self.pos..).is_some_and(|rest| rest.starts_with(token));
        if hit {
            self.pos += token.len();
        }
        hit
    }

    /// Passes this token if it is next.
    #[inline]
    pub(crate) fn eat_token(&mut self, token: &Token) -> bool {
        let hit = self.bytes.get(self.pos..).is_some_and(|rest| token.begins(rest));
        if hit {
            self.pos += token.len();
        }
        hit
    }

    /// The fault of an unexpected byte, or of the end, here.
    #[cold]
    pub(crate) fn expected(&self, what: &str) -> Fault {
        let found = if self.pos < self.bytes.len() { "unexpected byte" } else { "unexpected end" };
        Fault::syntax(&format!("{found}, expected {what},"), self.pos)
    }

    /// Demands that nothing but whitespace follows.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.blank();
        if self.pos == self.bytes.len() { Ok(()) } else { Err(self.expected("the end")) }
    }

    /// The kind of the value that begins here, by its first byte.
    pub(crate) fn kind(&self) -> Result<Kind, Fault> {
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

    pub(crate) fn literal(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        if self.eat_all(word) { Ok(()) } else { Err(self.expected("true, false or null")) }
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Fault> {
        if self.peek() == Some(b't') {
            return self.literal(b"true").map(|()| true);
        }
        self.literal(b"false").map(|()| false)
    }

    /// Passes a member's name and its colon, and the whitespace around them.
    pub(crate) fn name(&mut self) -> Result<Text, Fault> {
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
    pub(crate) fn more(&mut self, close: u8) -> Result<bool, Fault> {
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
    pub(crate) fn open(&mut self, close: u8, depth: usize) -> Result<bool, Fault> {
        if depth >= DEPTH_MAX {
            return Err(Fault::syntax("nesting deeper than 1000", self.pos));
        }
        self.pos += 1;
        self.blank();
        Ok(!self.eat(close))
    }

    /// Passes a whole value that `depth` arrays and objects are around, checking its syntax.
    pub(crate) fn skip(&mut self, depth: usize) -> Result<Kind, Fault> {
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
            if !descended && !self.close(&mut open)? {
                return Ok(());
            }
            if open.top() == Some(true) {
                self.name()?;
            }
        }
    }

    /// Passes what closes behind an element; false if that was everything.
    fn close(&mut self, open: &mut Open) -> Result<bool, Fault> {
        while let Some(object) = open.top() {
            if self.more(if object { b'}' } else { b']' })? {
                return Ok(true);
            }
            open.len -= 1;
        }
        Ok(false)
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
}
