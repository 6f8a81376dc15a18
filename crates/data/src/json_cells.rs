//! JSON text that lies unread in a cell, as cells.
//!
//! A converter checks nested JSON and leaves it as text ([`Cell::Json`]); whoever wants to see into it
//! expands it here, one value with everything below it.
//!
//! Invariant: text that is not JSON, which converters rule out, reads as nulls, never as a panic; so
//! does what is nested deeper than [`DEPTH_MAX`].

use crate::cell::{Cell, Span, Width};
use crate::rows::Rows;

/// Levels of nesting that are read; as deep as Connect's JSON parser goes.
const DEPTH_MAX: usize = 1000;

impl Rows {
    /// Makes a cell that can be looked into: JSON text becomes maps, lists and plain cells, a number's
    /// text that is no integer a float. Other cells, and integers beyond 64 bits, stay as they are.
    pub fn expand(&mut self, cell: Cell) -> Cell {
        match cell {
            Cell::Json(span) => {
                let text = self.bytes(span).to_vec();
                self.put_json(&text)
            }
            Cell::Number(span) => float_or_big(self.text(span), cell),
            other => other,
        }
    }

    /// Reads JSON text into cells without a schema: integers of 64 bits, other numbers as floats or,
    /// if they are integers, as digits; objects as maps, the last of repeated members wins.
    pub fn put_json(&mut self, text: &[u8]) -> Cell {
        let mut reader = Reader { text, at: 0, stack: Vec::new() };
        reader.value(self, 0).unwrap_or(Cell::Null)
    }
}

fn float_or_big(text: &str, cell: Cell) -> Cell {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return cell;
    }
    // Java's decimals, which such numbers go through, know no negative zero.
    text.parse::<f64>().map_or(Cell::Null, |value| Cell::Float(value + 0.0))
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// Cells of the lists and maps that are being read.
    stack: Vec<Cell>,
}

impl Reader<'_> {
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

    fn literal(&mut self, text: &[u8], cell: Cell) -> Option<Cell> {
        self.text.get(self.at..)?.starts_with(text).then(|| {
            self.at += text.len();
            cell
        })
    }

    fn value(&mut self, rows: &mut Rows, depth: usize) -> Option<Cell> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(rows, depth),
            b'[' => self.array(rows, depth),
            b'"' => Some(Cell::Text(self.string(rows)?)),
            b't' => self.literal(b"true", Cell::Bool(true)),
            b'f' => self.literal(b"false", Cell::Bool(false)),
            b'n' => self.literal(b"null", Cell::Null),
            _ => self.number(rows),
        }
    }

    fn array(&mut self, rows: &mut Rows, depth: usize) -> Option<Cell> {
        self.eat(b'[')?;
        let mark = self.stack.len();
        while self.peek()? != b']' {
            let cell = self.value(rows, depth + 1)?;
            self.stack.push(cell);
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Some(Cell::List(self.done(rows, mark)))
    }

    fn object(&mut self, rows: &mut Rows, depth: usize) -> Option<Cell> {
        self.eat(b'{')?;
        let mark = self.stack.len();
        while self.peek()? != b'}' {
            let key = self.string(rows)?;
            self.eat(b':')?;
            let cell = self.value(rows, depth + 1)?;
            self.member(rows, mark, key, cell);
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Some(Cell::Map(self.done(rows, mark)))
    }

    fn member(&mut self, rows: &Rows, mark: usize, key: Span, cell: Cell) {
        let seen = self.stack.get_mut(mark..).unwrap_or_default().chunks_exact_mut(2);
        for pair in seen {
            if let [Cell::Text(name), value] = pair
                && rows.bytes(*name) == rows.bytes(key)
            {
                *value = cell;
                return;
            }
        }
        self.stack.extend([Cell::Text(key), cell]);
    }

    fn done(&mut self, rows: &mut Rows, mark: usize) -> Span {
        let span = rows.alloc_from(self.stack.get(mark..).unwrap_or_default());
        self.stack.truncate(mark);
        span
    }

    fn string(&mut self, rows: &mut Rows) -> Option<Span> {
        self.peek()?;
        let start = self.at;
        let mut escaped = false;
        self.eat(b'"')?;
        loop {
            match *self.text.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        if escaped {
            let text: String = serde_json::from_slice(self.text.get(start..self.at)?).ok()?;
            return Some(rows.heap.put(text.as_bytes()));
        }
        Some(rows.heap.put(self.text.get(start + 1..self.at - 1)?))
    }

    fn number(&mut self, rows: &mut Rows) -> Option<Cell> {
        let start = self.at;
        let of_number = |b: u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
        while self.text.get(self.at).copied().is_some_and(of_number) {
            self.at += 1;
        }
        let text = std::str::from_utf8(self.text.get(start..self.at)?).ok()?;
        if text.is_empty() {
            return None;
        }
        if let Ok(value) = text.parse() {
            return Some(Cell::Int(value, Width::W64));
        }
        match float_or_big(text, Cell::Bool(true)) {
            Cell::Bool(_) => Some(Cell::Number(rows.heap.put(text.as_bytes()))),
            cell => Some(cell),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_text_never_panics() {
        let mut rows = Rows::default();
        for text in ["", "{", "[1", "{\"a\"", "{\"a\":}", "nul", "\"\\", "[1 2]", "{1:2}", "-", "+"]
        {
            rows.put_json(text.as_bytes());
        }
        let deep = [vec![b'['; 5000], vec![b']'; 5000]].concat();
        assert_eq!(rows.put_json(&deep), Cell::Null);
    }

    #[test]
    fn the_last_of_repeated_members_wins() {
        let mut rows = Rows::default();
        let Cell::Map(span) = rows.put_json(br#"{"a":1,"b":2,"a":3}"#) else { panic!() };
        let cells = rows.cells(span);
        assert_eq!((cells.len(), cells[1], cells[3]), (4, Cell::int(3), Cell::int(2)));
    }
}
