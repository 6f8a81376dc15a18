//! One part of JSON text that a converter has checked and left unread.
//!
//! Place in the data path: for paths of more than one step. Nothing but the part that was asked for is
//! made a cell; digits of numbers are kept, nested values stay text.
//! Invariant: text that is not JSON, which the converter rules out, gives nothing, never a panic.

use super::Fault;
use data::{Cell, Rows, Span};

/// A member of an object; the last one of its name.
pub(super) fn member(rows: &mut Rows, text: Span, name: &str) -> Result<Option<Cell>, Fault> {
    let mut found = None;
    let mut scan = Scan { text: rows.bytes(text), at: 0 };
    if scan.eat(b'{').is_none() {
        return Ok(None);
    }
    while let Some((key, value)) = scan.entry() {
        if is_name(key, name) {
            found = Some(value);
        }
    }
    found.map(|(at, len)| cell(rows, text.slice(at as u32, len as u32))).transpose()
}

/// An element of an array.
pub(super) fn element(rows: &mut Rows, text: Span, index: usize) -> Result<Option<Cell>, Fault> {
    let mut scan = Scan { text: rows.bytes(text), at: 0 };
    if scan.eat(b'[').is_none() {
        return Ok(None);
    }
    let mut found = None;
    for _ in 0..=index {
        let Some(next) = scan.element() else { return Ok(None) };
        found = Some(next);
    }
    found.map(|(at, len)| cell(rows, text.slice(at as u32, len as u32))).transpose()
}

/// Whether a member's name, as it is written between its quotes, is this one.
fn is_name(written: &[u8], name: &str) -> bool {
    if !written.contains(&b'\\') {
        return written == name.as_bytes();
    }
    let quoted = [b"\"", written, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|text| text == name)
}

/// A value as a cell.
fn cell(rows: &mut Rows, place: Span) -> Result<Cell, Fault> {
    let text = rows.bytes(place);
    Ok(match text.first() {
        Some(b'{' | b'[') => Cell::Json(place),
        Some(b't') => Cell::Bool(true),
        Some(b'f') => Cell::Bool(false),
        Some(b'"') if !text.contains(&b'\\') => Cell::Text(place.slice(1, place.len - 2)),
        Some(b'"') => match serde_json::from_slice::<String>(text) {
            Ok(text) => Cell::Text(rows.heap.put(text.as_bytes())),
            Err(_) => {
                return Err(Fault {
                    sqlstate: "22P05",
                    message: "a text in the value has an escape that stands for no character"
                        .to_owned(),
                });
            }
        },
        Some(b'-' | b'0'..=b'9') => {
            let whole = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            // Minus zero keeps its sign.
            whole.filter(|value| *value != 0).map_or(Cell::Number(place), Cell::int)
        }
        _ => Cell::Null,
    })
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !byte.is_ascii_whitespace() {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn eat(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// The next member: its name as written, and the place of its value.
    fn entry(&mut self) -> Option<(&'a [u8], (usize, usize))> {
        if self.peek()? == b',' {
            self.at += 1;
        }
        self.eat(b'"')?;
        let start = self.at;
        self.string();
        let name = self.text.get(start..self.at.checked_sub(1)?)?;
        self.eat(b':')?;
        Some((name, self.value()?))
    }

    fn element(&mut self) -> Option<(usize, usize)> {
        if self.peek()? == b',' {
            self.at += 1;
        }
        self.value()
    }

    /// Goes behind the quote that ends a text.
    fn string(&mut self) {
        while let Some(byte) = self.text.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                return;
            }
        }
    }

    /// Goes behind a value, and gives its place.
    fn value(&mut self) -> Option<(usize, usize)> {
        self.peek()?;
        let start = self.at;
        let mut depth = 0usize;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    self.string();
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => break,
                _ if depth == 0 && byte.is_ascii_whitespace() => break,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
        let len = self.at.min(self.text.len()).checked_sub(start).filter(|len| *len > 0)?;
        Some((start, len))
    }
}
