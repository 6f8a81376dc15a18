//! The flat list that a schema is compiled to: one operation says both what is in the bytes and what
//! cell becomes of it.
//!
//! Invariant: operations name each other, tables and names by index; every index is in bounds, since
//! the compiler gave it out; a record's operations lie side by side.

use data::{Schema, Value, Width};
use std::sync::Arc;

/// How one value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// No bytes.
    Null,
    Bool,
    /// An int that has to fit.
    Int(Width),
    Long,
    Float,
    Double,
    Text,
    Bytes,
    /// Milliseconds of a day, as an int.
    Time,
    /// Unscaled bytes with this scale.
    Decimal(i32),
    /// So many bytes.
    Fixed(u32),
    FixedDecimal {
        size: u32,
        scale: i32,
    },
    /// A table of symbols.
    Enum(u32),
    /// A number that was written as another type, or whose cell says its class itself.
    Number {
        wire: Wire,
        out: Out,
    },
    /// Operations side by side: a struct of the same fields in the same order.
    Record {
        first: u32,
        len: u32,
    },
    /// A record whose fields are not those of the struct.
    Adjusted(u32),
    /// A record as a map of its fields.
    Plain(u32),
    /// Null or the operation at `inner`; `null` is the branch of null.
    Optional {
        null: u8,
        inner: u32,
    },
    /// A table of branches.
    Union(u32),
    /// A value that is a branch of a union only for the reader.
    Wrapped(u32),
    List(Items),
    Map(Items),
    /// An array of keys and values.
    Entries {
        adjusted: u32,
        empty: bool,
    },
    /// The operation of a record that contains itself.
    Call(u32),
    /// A value of any shape, in Confluent's record for those.
    Anything,
    /// What the reader has no place for; a table of reasons.
    Refused(u32),
}

const _: () = assert!(size_of::<Op>() <= 12, "operations are copied");

/// The elements of a list or the values of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Items {
    /// Where their operation is.
    pub(super) inner: u32,
    /// They take no bytes at all.
    pub(super) empty: bool,
}

/// A number as it lies in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Int,
    Long,
    Float,
    Double,
}

/// A number as a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Out {
    Long,
    /// Under FLOAT32.
    Float,
    /// A float of 32 bits where no schema says so.
    Float32,
    Double,
    /// Points in time where no schema says so.
    Days,
    MillisOfDay,
    Millis,
}

/// How a value is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    Varint,
    /// A length and as many bytes.
    Bytes,
    Fixed(u32),
    /// A table of the fields' skips.
    Record(u32),
    /// A table of the branches' skips.
    Union(u32),
    /// `keys`: each item has a text before it.
    Items {
        inner: u32,
        keys: bool,
        empty: bool,
    },
}

/// A record with fields that the reader does not have, has elsewhere, or has beside those.
#[derive(Debug, Default)]
pub(super) struct Adjusted {
    /// In the order of the bytes.
    pub(super) steps: Vec<Step>,
    /// How many cells there are.
    pub(super) len: usize,
    /// What fields have that are not in the bytes: their cells, and schemas where they have one.
    pub(super) defaults: Vec<(usize, Option<Arc<Schema>>, Value)>,
    /// Of the cells, in their order.
    pub(super) names: Vec<Arc<str>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Read { op: Op, slot: u32 },
    Skip(Skip),
}

/// A union as it was written.
#[derive(Debug)]
pub(super) struct Union {
    pub(super) branches: Vec<Branch>,
    /// Fields of the struct that stands for the union; 0 where the values stand for themselves.
    pub(super) len: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Branch {
    Null,
    Value(Op),
    Field { op: Op, slot: u32 },
}

/// Symbols of an enum by their number in the bytes; `None`: the reader does not have it.
#[derive(Debug)]
pub(super) struct Symbols {
    pub(super) written: Vec<Box<str>>,
    pub(super) read: Vec<Option<Box<str>>>,
}

/// Everything that operations refer to.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    /// Of the operations of records, by their place in `ops`; empty for others.
    pub(super) names: Vec<Arc<str>>,
    pub(super) adjusted: Vec<Adjusted>,
    pub(super) unions: Vec<Union>,
    pub(super) symbols: Vec<Symbols>,
    pub(super) calls: Vec<Op>,
    pub(super) refusals: Vec<String>,
    pub(super) skips: Vec<Skip>,
    /// Tables of records and unions.
    pub(super) skip_lists: Vec<Vec<Skip>>,
}
