//! A message's descriptor made ready for reading: field numbers to what is done with their bytes.
//!
//! Plans are built once a schema and message. A message's cells begin as a copy of its template, which
//! holds the defaults, and each field that comes is written over its slot.
//!
//! Invariant: a plan refers to other messages and enums of the same [`Plan`] by index.

use super::wire::{BYTES, FIXED32, FIXED64, VARINT};
use data::{Cell, Rows, Schema, Span, Width};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// How a whole payload is read.
pub(super) struct Plan {
    pub(super) schema: Arc<Schema>,
    pub(super) root: Root,
    pub(super) messages: Vec<MessagePlan>,
    pub(super) enums: Vec<EnumPlan>,
}

#[derive(Clone, Copy)]
pub(super) enum Root {
    Message(usize),
    /// A wrapper message, read as the primitive in it.
    Wrapper(Scalar),
}

/// A type of one number, text or string of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// Of at most 32 bits, as wide as the schema says.
    Int32(Width),
    Sint32(Width),
    Sfixed32(Width),
    Uint32,
    Fixed32,
    Int64,
    Uint64,
    Sint64,
    Fixed64,
    Sfixed64,
    /// Numbers without a sign where no schema says so.
    LooseUint64,
    LooseFixed64,
    Float,
    /// A float where no schema says so.
    LooseFloat,
    Double,
    Bool,
    Text,
    Bytes,
}

impl Scalar {
    pub(super) fn wire(self) -> u8 {
        match self {
            Scalar::Fixed32 | Scalar::Sfixed32(_) | Scalar::Float | Scalar::LooseFloat => FIXED32,
            Scalar::Fixed64 | Scalar::LooseFixed64 | Scalar::Sfixed64 | Scalar::Double => FIXED64,
            Scalar::Text | Scalar::Bytes => BYTES,
            _ => VARINT,
        }
    }

    /// The value of a field that is not set.
    pub(super) fn zero(self) -> Cell {
        match self {
            Scalar::Int32(width) | Scalar::Sint32(width) | Scalar::Sfixed32(width) => {
                Cell::Int(0, width)
            }
            Scalar::Float | Scalar::Double => Cell::Float(0.0),
            Scalar::LooseFloat => Cell::Float32(0.0),
            Scalar::Bool => Cell::Bool(false),
            Scalar::Text => Cell::Text(Span::EMPTY),
            Scalar::Bytes => Cell::Bytes(Span::EMPTY),
            _ => Cell::Int(0, Width::W64),
        }
    }
}

/// Messages that stand for one of Connect's logical types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Decimal,
    Date,
    Time,
    Timestamp,
}

/// Messages that are read to the microsecond where nobody asks for Connect's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exact {
    Time,
    Timestamp,
    Duration,
}

/// What is done with a field's bytes.
pub(super) enum Op {
    Scalar(Scalar),
    Enum(usize),
    Message(usize),
    /// The flag: no schema says what the cell is.
    Known(Known, bool),
    /// The flag: as text that says itself what it is.
    Exact(Exact, bool),
    Wrapper(Scalar),
    Entry(Box<Entry>),
}

/// A map's entry: fields 1 and 2 of a message.
pub(super) struct Entry {
    pub(super) key: Op,
    pub(super) value: Op,
    /// What they are when they are not there; a message is then one of defaults.
    pub(super) key_default: Fallback,
    pub(super) value_default: Fallback,
}

/// The value of what is not set.
pub(super) enum Fallback {
    Cell(Cell),
    /// A symbol of the enum, by its number.
    Symbol(usize, i32),
    Text(Interned),
    Bytes(Interned),
    /// A message without fields.
    Message(usize),
}

pub(super) struct FieldPlan {
    pub(super) name: Box<str>,
    pub(super) op: Op,
    pub(super) repeated: bool,
    pub(super) slot: u32,
    /// Of a member of a oneof that is a struct: its place there, and how many there are.
    pub(super) union: Option<(u32, u32)>,
    /// The slots of the other members of a oneof that is not a struct.
    pub(super) siblings: Box<[u32]>,
}

#[derive(Default)]
pub(super) struct MessagePlan {
    pub(super) fields: Vec<FieldPlan>,
    pub(super) numbers: Numbers,
    pub(super) template: Vec<Cell>,
    /// Defaults that need bytes in the heap.
    pub(super) late: Vec<(u32, Fallback)>,
    /// Slots that must not be null at the end, and the fields' names.
    pub(super) required: Vec<(u32, Box<str>)>,
    /// Slots that get a message of defaults where they are null at the end, and the values.
    pub(super) fill: Vec<(u32, Fallback)>,
    /// The names of the slots of a message that becomes a map; empty for a struct.
    pub(super) keys: Option<Vec<Interned>>,
}

impl MessagePlan {
    /// Whether something is to be done when all of the message has been read.
    pub(super) fn has_end(&self) -> bool {
        !self.required.is_empty() || !self.fill.is_empty()
    }
}

/// Field numbers to places in [`MessagePlan::fields`].
#[derive(Default)]
pub(super) struct Numbers {
    /// By number, plus one; zero for none.
    dense: Vec<u16>,
    sparse: HashMap<u32, u16, RandomState>,
}

/// Numbers below are found without a hash.
const DENSE_MAX: u32 = 1024;

impl Numbers {
    pub(super) fn insert(&mut self, number: u32, index: usize) {
        // A message has fewer fields than this: see the limit on unfolded fields.
        let Ok(index) = u16::try_from(index + 1) else { return };
        if number >= DENSE_MAX {
            self.sparse.insert(number, index);
            return;
        }
        let number = number as usize;
        if self.dense.len() <= number {
            self.dense.resize(number + 1, 0);
        }
        if let Some(slot) = self.dense.get_mut(number) {
            *slot = index;
        }
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<usize> {
        let index = match self.dense.get(number as usize) {
            Some(index) => *index,
            None if number >= DENSE_MAX => *self.sparse.get(&number)?,
            None => 0,
        };
        (index as usize).checked_sub(1)
    }
}

/// An enum's numbers and symbols.
pub(super) struct EnumPlan {
    pub(super) name: Box<str>,
    /// Sorted by number; of symbols with one number the first that was declared.
    pub(super) values: Vec<(i32, Interned)>,
    /// Read as the number.
    pub(super) as_int: bool,
    /// Numbers without a symbol are no values (proto2).
    pub(super) closed: bool,
}

impl EnumPlan {
    #[inline]
    pub(super) fn symbol(&self, number: i32) -> Option<&Interned> {
        let direct = usize::try_from(number).ok().and_then(|index| self.values.get(index));
        if let Some((found, symbol)) = direct
            && *found == number
        {
            return Some(symbol);
        }
        let index = self.values.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.values.get(index).map(|(_, symbol)| symbol)
    }
}

/// Bytes that many rows have: put into a row set's heap once, then used again.
pub(super) struct Interned {
    pub(super) bytes: Box<[u8]>,
    last: std::cell::Cell<Span>,
}

impl Interned {
    pub(super) fn new(bytes: &[u8]) -> Interned {
        Interned { bytes: bytes.into(), last: std::cell::Cell::new(Span::EMPTY) }
    }

    /// Where the bytes are in the heap of `rows`. A place of an earlier batch is used only where this
    /// heap has the very bytes there.
    #[inline]
    pub(super) fn span(&self, rows: &mut Rows) -> Span {
        let last = self.last.get();
        if rows.bytes(last) == &*self.bytes {
            return last;
        }
        let span = rows.heap.put(&self.bytes);
        self.last.set(span);
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_number() {
        let mut numbers = Numbers::default();
        for (index, number) in [1, 5, 1023, 1024, 536_870_911].into_iter().enumerate() {
            numbers.insert(number, index);
        }
        for (number, index) in [
            (1, Some(0)),
            (2, None),
            (5, Some(1)),
            (1023, Some(2)),
            (1024, Some(3)),
            (1025, None),
            (536_870_911, Some(4)),
            (0, None),
        ] {
            assert_eq!(numbers.get(number), index, "{number}");
        }
    }

    #[test]
    fn interned_bytes_are_put_once_a_heap() {
        let symbol = Interned::new(b"RED");
        let mut rows = Rows::default();
        let first = symbol.span(&mut rows);
        assert_eq!(symbol.span(&mut rows), first);
        let mut other = Rows::default();
        other.heap.put(b"x");
        let there = symbol.span(&mut other);
        assert_eq!((other.bytes(there), rows.bytes(first)), (&b"RED"[..], &b"RED"[..]));
    }
}
