//! One value of a row: 16 bytes, copyable, with text and nested values as spans.
//!
//! A cell does not know its schema. Where a schema is given it decides how a cell is read (an
//! `Int` under a Date schema counts days); where none is given the cell describes itself, so that
//! schemaless data keep Connect's value classes.

/// The bit of [`Span::start`] that tells the two parts of a heap apart.
const OWN: u32 = 1 << 31;

/// A place in a heap (text, bytes) or in a row set's cell vector (lists, maps, structs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub len: u32,
}

impl Span {
    /// The span of a value that is absent (a Kafka null), as opposed to an empty one.
    pub const NULL: Span = Span { start: 0, len: u32::MAX };
    pub const EMPTY: Span = Span { start: 0, len: 0 };

    #[inline]
    pub fn is_null(self) -> bool {
        self.len == u32::MAX
    }

    /// A span in the part of a heap that belongs to the row set, not to the fetched bytes.
    pub(crate) fn own(start: u32, len: u32) -> Span {
        Span { start: start | OWN, len }
    }

    /// The offset within the row set's own bytes, or `None` for a span of fetched bytes.
    pub(crate) fn own_start(self) -> Option<u32> {
        (self.start & OWN != 0).then_some(self.start & !OWN)
    }

    /// The first `len` bytes of this span are skipped; past the end gives an empty span.
    #[inline]
    pub fn skip(self, len: u32) -> Span {
        let len = len.min(self.len);
        Span { start: self.start + len, len: self.len - len }
    }

    /// The part of this span from `from` on, `len` bytes long, cut at the end of the span.
    #[inline]
    pub fn slice(self, from: u32, len: u32) -> Span {
        let rest = self.skip(from);
        Span { start: rest.start, len: rest.len.min(len) }
    }

    #[inline]
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        if self.is_null() {
            return 0..0;
        }
        let start = (self.start & !OWN) as usize;
        start..start + self.len as usize
    }
}

/// The declared width of an integer. Under a schema it is that of the schema's type: whoever makes
/// the cell sets it, whoever writes it may refuse another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    W8,
    W16,
    W32,
    W64,
}

/// One value. With a schema, the schema's type and logical name say how to read it:
/// INT8..INT64 and their logical types are `Int`, FLOAT32 and FLOAT64 are `Float`, STRING is `Text`,
/// BYTES is `Bytes` (Decimal: `Decimal`), ARRAY is `List`, MAP is `Map`, STRUCT is `Struct`. An `Int`
/// under a date, time or timestamp is its encoding; one of width `W8` there is not even that, but
/// a plain integer of the schema's type that got under the wrong name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    Int(i64, Width),
    Float(f64),
    /// A float of 32 bits; only where no schema says so.
    Float32(f32),
    /// The text of a JSON number that nobody has parsed yet, digits kept; under FLOAT32 a double
    /// that got there. Without a schema and in fetched bytes it is no integer of 3 to 18 digits: those
    /// are `Int`.
    Number(Span),
    /// UTF-8 text.
    Text(Span),
    Bytes(Span),
    /// Unscaled value as big-endian two's complement, and its own scale.
    Decimal {
        unscaled: Span,
        scale: i32,
    },
    /// Milliseconds since the epoch; a point in time without a schema.
    Instant(i64),
    /// Cells `start..start+len` of the row set are the elements.
    List(Span),
    /// Cells `start..start+len` of the row set are key, value, key, value...
    Map(Span),
    /// Cells `start..start+len` of the row set are the fields in the schema's order.
    Struct(Span),
    /// JSON text of an object or array, checked for syntax, not looked at yet. Schemaless only.
    Json(Span),
}

const _: () = assert!(size_of::<Cell>() == 16, "a cell is 16 bytes");

impl Cell {
    pub fn int(value: i64) -> Cell {
        Cell::Int(value, Width::W64)
    }

    pub fn is_null(self) -> bool {
        matches!(self, Cell::Null)
    }

    /// What a cell holds that no value has yet, and no value ever holds; see [`crate::room`].
    pub(crate) const FREE: Cell = Cell::Json(Span { start: u32::MAX, len: u32::MAX });

    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Cell::Json(Span { start: u32::MAX, len: u32::MAX }))
    }
}
