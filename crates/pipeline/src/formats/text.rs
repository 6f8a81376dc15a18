//! The fields of a line in COPY's text format.
//!
//! A field is null if it is `\N` as written. Escapes: `\b \f \n \r \t \v`, up to three octal or, after
//! an x, two hexadecimal digits; any other character stands for itself.

use super::{Fault, line};
use data::{Cell, Rows, Span};

/// The text format's settings.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    pub delimiter: u8,
}

impl Default for Text {
    fn default() -> Text {
        Text { delimiter: b'\t' }
    }
}

impl Text {
    /// Appends the fields of a message to `out`.
    pub(super) fn fields(
        self,
        message: &[u8],
        place: Span,
        rows: &mut Rows,
        out: &mut Vec<Cell>,
    ) -> Result<(), Fault> {
        let line = line::of_text(message)?;
        let mut start = 0;
        loop {
            let (len, escaped) = self.field(line.get(start..).unwrap_or_default());
            let field = line.get(start..start + len).unwrap_or_default();
            out.push(match escaped {
                false => Cell::Text(place.slice(start as u32, len as u32)),
                true => unescaped(field, rows)?,
            });
            start += len;
            if start >= line.len() {
                return Ok(());
            }
            start += 1;
        }
    }

    /// The length of the field that a text begins with, and whether a backslash is in it.
    fn field(self, text: &[u8]) -> (usize, bool) {
        let (mut at, mut escaped) = (0, false);
        while let Some(byte) = text.get(at) {
            if *byte == self.delimiter {
                break;
            }
            if *byte == b'\\' {
                escaped = true;
                at += 1;
            }
            at += 1;
        }
        (at.min(text.len()), escaped)
    }
}

/// A field with a backslash in it.
fn unescaped(field: &[u8], rows: &mut Rows) -> Result<Cell, Fault> {
    // A backslash that nothing follows is none.
    let field = if ends_in_escape(field) { field.get(..field.len() - 1) } else { Some(field) };
    let field = field.unwrap_or_default();
    if field == b"\\N" {
        return Ok(Cell::Null);
    }
    let mut coded = false;
    let span = rows.heap.put_with(|out| coded = unescape(field, out));
    if coded && std::str::from_utf8(rows.bytes(span)).is_err() {
        return Err(Fault::encoding());
    }
    Ok(Cell::Text(span))
}

fn ends_in_escape(field: &[u8]) -> bool {
    field.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// True: bytes were written by their codes, so that it may be no text any more.
fn unescape(field: &[u8], out: &mut Vec<u8>) -> bool {
    let mut coded = false;
    let mut rest = field;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, after) = rest.split_at(at);
        out.extend_from_slice(before);
        let Some((byte, taken)) = escape(after.get(1..).unwrap_or_default()) else { return coded };
        coded |= taken > 1 || byte >= 0x80;
        out.push(byte);
        rest = after.get(1 + taken..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    coded
}

/// What stands behind a backslash, and how many bytes that takes.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let digits = |from: usize, most: usize, radix: u32| {
        let digit = |byte: &u8| char::from(*byte).to_digit(radix);
        let found = text.get(from..).unwrap_or_default().iter().take(most).map_while(digit);
        found.fold((0, 0), |(value, count), digit| (value * radix + digit, count + 1))
    };
    Some(match *text.first()? {
        b'0'..=b'7' => {
            let (value, count) = digits(0, 3, 8);
            (value as u8, count)
        }
        b'x' => match digits(1, 2, 16) {
            (_, 0) => (b'x', 1),
            (value, count) => (value as u8, count + 1),
        },
        b'b' => (0x08, 1),
        b'f' => (0x0c, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (0x0b, 1),
        other => (other, 1),
    })
}
