//! The fields of a line in COPY's csv format.
//!
//! A field is null if it is empty and has no quote. Between quotes an escape before a quote or an
//! escape takes that one as it is; anywhere else it is data.

use super::{Fault, line};
use data::{Cell, Rows, Span};

/// The csv format's settings.
#[derive(Clone, Copy, Debug)]
pub struct Csv {
    pub delimiter: u8,
    pub quote: u8,
    pub escape: u8,
}

impl Default for Csv {
    fn default() -> Csv {
        Csv { delimiter: b',', quote: b'"', escape: b'"' }
    }
}

impl Csv {
    /// Appends the fields of a message to `out`.
    pub(super) fn fields(
        self,
        message: &[u8],
        place: Span,
        rows: &mut Rows,
        out: &mut Vec<Cell>,
    ) -> Result<(), Fault> {
        let line = line::of_csv(message, self.quote, self.escape)?;
        let mut start = 0;
        loop {
            let rest = line.get(start..).unwrap_or_default();
            let plain = rest.iter().position(|b| *b == self.delimiter || *b == self.quote);
            let plain = plain.unwrap_or(rest.len());
            let len = if rest.get(plain) == Some(&self.quote) {
                let mut outcome = Ok(0);
                let span = rows.heap.put_with(|bytes| outcome = self.quoted(rest, bytes));
                out.push(Cell::Text(span));
                outcome?
            } else {
                out.push(match plain {
                    0 => Cell::Null,
                    _ => Cell::Text(place.slice(start as u32, plain as u32)),
                });
                plain
            };
            start += len;
            if start >= line.len() {
                return Ok(());
            }
            start += 1;
        }
    }

    /// Writes the field that a text begins with, and gives its length.
    fn quoted(self, text: &[u8], out: &mut Vec<u8>) -> Result<usize, Fault> {
        let (mut at, mut quoted) = (0, false);
        while let Some(byte) = text.get(at).copied() {
            if !quoted && byte == self.delimiter {
                return Ok(at);
            }
            let next = text.get(at + 1).copied();
            let escapes = |next: &u8| *next == self.quote || *next == self.escape;
            if let Some(next) = next.filter(escapes).filter(|_| quoted && byte == self.escape) {
                out.push(next);
                at += 2;
                continue;
            }
            if byte == self.quote {
                quoted = !quoted;
            } else {
                out.push(byte);
            }
            at += 1;
        }
        match quoted {
            true => Err(Fault::copy("unterminated CSV quoted field")),
            false => Ok(at),
        }
    }
}
