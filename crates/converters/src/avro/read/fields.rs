//! Fields of a record that have no parts, one after the other: where reading spends most of its time.
//!
//! Invariant: a field is read only where its bytes are plainly right. At any other it stops and has taken
//! nothing of it, so that the reader of single values goes on there and says what is wrong.

use super::input::unzigzag;
use super::ops::Op;
use super::run::Run;
use crate::utf8::is_utf8;
use data::{Cell, Rows, Span, Width};

/// The highest bit of each byte: in a number, that another one follows.
const MORE: u64 = 0x8080_8080_8080_8080;

impl Run<'_> {
    /// Reads the fields from `at` on as far as they are plain, into the cells of `span`; gives how many.
    #[inline(always)]
    pub(super) fn plain_fields(&mut self, ops: &[Op], at: usize, span: Span) -> usize {
        let rest = self.input.rest();
        // Where the bytes end in the rows' heap.
        let end = self.base.start + (self.input.pos() + rest.len()) as u32;
        let cells = self.rows.cells_mut(span).get_mut(at..).unwrap_or_default();
        let fields = Fields { ops: ops.get(at..).unwrap_or_default(), all: &self.program.ops, end };
        let (read, left) = fields.read(cells, rest);
        self.input.leave(left);
        read
    }
}

/// Whether all fields of a record are plain where their bytes are.
pub(super) fn are_plain(ops: &[Op], all: &[Op]) -> bool {
    ops.iter().all(|op| match op {
        Op::Optional { inner, .. } => all.get(*inner as usize).is_some_and(is_plain),
        op => is_plain(op),
    })
}

fn is_plain(op: &Op) -> bool {
    use Op::{Bool, Bytes, Double, Float, Int, Long, Text};
    matches!(op, Long | Int(Width::W32) | Text | Double | Float | Bool | Bytes)
}

/// Reads a record of plain fields that takes all of the bytes; gives its cells. `None`: it is another one, or
/// something is wrong, and `rows` are as they were.
#[inline(always)]
pub(super) fn whole(
    ops: &[Op],
    all: &[Op],
    (payload, place): (&[u8], Span),
    rows: &mut Rows,
) -> Option<Span> {
    let span = rows.alloc(ops.len());
    let fields = Fields { ops, all, end: place.start + payload.len() as u32 };
    if fields.read(rows.cells_mut(span), payload) == (ops.len(), 0) {
        return Some(span);
    }
    rows.truncate_cells(span.start as usize);
    None
}

struct Fields<'a> {
    ops: &'a [Op],
    /// Those of the whole program.
    all: &'a [Op],
    end: u32,
}

impl Fields<'_> {
    /// How many were read, and how many bytes are left.
    #[inline(never)]
    fn read(&self, cells: &mut [Cell], mut rest: &[u8]) -> (usize, usize) {
        let mut read = 0;
        for (op, cell) in self.ops.iter().zip(cells) {
            match self.field(op, cell, rest) {
                Some(left) => rest = left,
                None => break,
            }
            read += 1;
        }
        (read, rest.len())
    }

    /// Reads a field and gives the bytes behind it.
    ///
    /// Each arm writes its own cell: one that is put together in one place and copied from there as a
    /// whole makes the processor wait until its parts have arrived, which took longer than all else.
    #[inline(always)]
    fn field<'b>(&self, op: &Op, cell: &mut Cell, rest: &'b [u8]) -> Option<&'b [u8]> {
        match op {
            Op::Optional { null, inner } => match rest.split_first()? {
                // A zig-zag number of 0 or 1.
                (branch @ (0 | 2), rest) if branch / 2 == *null => {
                    *cell = Cell::Null;
                    Some(rest)
                }
                (0 | 2, rest) => value(self.all.get(*inner as usize)?, cell, rest, self.end),
                _ => None,
            },
            op => value(op, cell, rest, self.end),
        }
    }
}

/// The same of a value that is there.
#[inline(always)]
fn value<'b>(op: &Op, cell: &mut Cell, rest: &'b [u8], end: u32) -> Option<&'b [u8]> {
    match op {
        Op::Long => {
            let (value, rest) = long(rest)?;
            *cell = Cell::Int(value, Width::W64);
            Some(rest)
        }
        Op::Int(Width::W32) => {
            let (value, rest) = long(rest)?;
            let value = i32::try_from(value).ok()?;
            *cell = Cell::Int(i64::from(value), Width::W32);
            Some(rest)
        }
        Op::Text => {
            let (text, rest) = block(rest)?;
            if !is_utf8(text) {
                return None;
            }
            *cell = Cell::Text(place(text, rest, end));
            Some(rest)
        }
        Op::Double => {
            let (bytes, rest) = rest.split_first_chunk()?;
            *cell = Cell::Float(f64::from_le_bytes(*bytes));
            Some(rest)
        }
        Op::Float => {
            let (bytes, rest) = rest.split_first_chunk()?;
            *cell = Cell::Float(f64::from(f32::from_le_bytes(*bytes)));
            Some(rest)
        }
        Op::Bool => {
            let (byte @ (0 | 1), rest) = rest.split_first()? else { return None };
            *cell = Cell::Bool(*byte == 1);
            Some(rest)
        }
        Op::Bytes => {
            let (bytes, rest) = block(rest)?;
            *cell = Cell::Bytes(place(bytes, rest, end));
            Some(rest)
        }
        _ => None,
    }
}

/// Where bytes are in the rows' heap, with `rest` behind them up to `end`.
#[inline(always)]
fn place(bytes: &[u8], rest: &[u8], end: u32) -> Span {
    let len = bytes.len() as u32;
    Span { start: end - rest.len() as u32 - len, len }
}

/// A length and as many bytes.
#[inline(always)]
fn block(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = long(rest)?;
    // One below zero is longer than all there is.
    rest.split_at_checked(usize::try_from(len as u64).ok()?)
}

/// A zig-zag number.
#[inline(always)]
fn long(rest: &[u8]) -> Option<(i64, &[u8])> {
    match rest.split_first()? {
        (byte, rest) if *byte < 0x80 => Some((unzigzag(u64::from(*byte)), rest)),
        _ => longer(rest),
    }
}

/// A number of up to eight bytes that has as many behind its first one.
#[inline(always)]
fn longer(rest: &[u8]) -> Option<(i64, &[u8])> {
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let ends = !word & MORE;
    if ends == 0 {
        return None;
    }
    let rest = rest.get(ends.trailing_zeros() as usize / 8 + 1..)?;
    // Everything up to the first end, seven bits a byte, drawn together.
    let own = word & (ends ^ (ends - 1)) & !MORE;
    let x = own & 0x007f_007f_007f_007f | (own & 0x7f00_7f00_7f00_7f00) >> 1;
    let x = x & 0x0000_3fff_0000_3fff | (x & 0x3fff_0000_3fff_0000) >> 2;
    let x = x & 0x0000_0000_0fff_ffff | (x & 0x0fff_ffff_0000_0000) >> 4;
    Some((unzigzag(x), rest))
}

#[cfg(test)]
mod tests {
    use super::super::input::Input;
    use super::*;

    /// Bytes of numbers of every length, and what is no number.
    fn numbers() -> Vec<Vec<u8>> {
        let written = |value| {
            let mut out = Vec::new();
            crate::avro::write::put_long(value, &mut out);
            out
        };
        let mut all: Vec<Vec<u8>> = (0..63)
            .flat_map(|bit| {
                [1_i64 << bit, (1 << bit) - 1, -(1 << bit), 0x5555_5555_5555_5555 >> bit]
            })
            .chain([i64::MIN, i64::MAX])
            .map(written)
            .collect();
        all.extend((0..12).map(|len| vec![0xff; len]));
        all.extend((1..12).map(|len| [vec![0x80; len], vec![0]].concat()));
        all
    }

    #[test]
    fn numbers_are_those_that_are_read_one_by_one() {
        for bytes in numbers() {
            for behind in 0..9 {
                let all = [&bytes[..], &vec![0x83; behind]].concat();
                let mut input = Input::new(&all);
                let wanted = input.long().ok().map(|value| (value, input.rest()));
                let read = long(&all);
                assert!(read.is_none() || read == wanted, "{all:?}: {read:?}, not {wanted:?}");
                let plain = bytes.len() == 1 || bytes.len() <= 8 && all.len() >= 8;
                assert_eq!(read.is_some(), plain && wanted.is_some(), "{all:?}");
            }
        }
    }
}
