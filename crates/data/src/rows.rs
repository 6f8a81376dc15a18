//! Decoded records: a flat set of cells over a heap, with one schema per run of rows.
//!
//! Converters write rows, transforms change them, destinations read them run by run. Text and bytes
//! that a converter did not have to change stay in the fetched bytes: a cell's span points there.
//!
//! Invariant: cells that two values may share stay as they are. Only of rows that are said to be apart
//! ([`Rows::is_apart`]) may the own cells be changed in place.

use crate::alike::Alike;
use crate::arena::Arena;
use crate::cell::{Cell, Span};
use crate::cell_room::CellRoom;
use crate::room::Room;
use crate::roots::Roots;
use crate::schema::Schema;
use std::sync::Arc;

/// The bytes that spans of a row set point into: the fetched ones, shared, and the set's own.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    raw: Arc<Arena>,
    own: Vec<u8>,
}

impl Heap {
    pub fn over(raw: Arc<Arena>) -> Heap {
        Heap { raw, own: Vec::new() }
    }

    /// The bytes of a span; empty where the span does not belong to this heap.
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        let part = if span.own_start().is_some() { &*self.own } else { &**self.raw };
        part.get(span.range()).unwrap_or_default()
    }

    /// Whether a span is one of the fetched bytes, not of the set's own.
    #[inline]
    pub fn is_fetched(&self, span: Span) -> bool {
        span.own_start().is_none()
    }

    /// The text of a span; empty where it is not UTF-8, which converters rule out.
    pub fn text(&self, span: Span) -> &str {
        std::str::from_utf8(self.bytes(span)).unwrap_or_default()
    }

    /// Copies bytes into the set's own part.
    pub fn put(&mut self, bytes: &[u8]) -> Span {
        let start = self.own.len() as u32;
        self.own.extend_from_slice(bytes);
        Span::own(start, bytes.len() as u32)
    }

    /// Makes room for so many bytes more in the set's own part.
    pub fn reserve(&mut self, bytes: usize) {
        self.own.reserve(bytes);
    }

    /// Lets `write` append to the set's own part and gives the span of what it wrote.
    pub fn put_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.own.len();
        write(&mut self.own);
        Span::own(start as u32, (self.own.len() - start) as u32)
    }
}

/// Consecutive rows that share a schema. `schema` is `None` for schemaless rows.
#[derive(Clone, Debug)]
pub struct Run {
    pub schema: Option<Arc<Schema>>,
    pub start: u32,
    pub rows: u32,
}

impl Run {
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.rows) as usize
    }
}

/// One side (keys or values) of a batch: row `i` belongs to record `i` of the batch.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(crate) roots: Roots,
    pub(crate) cells: CellRoom,
    pub heap: Heap,
    apart: bool,
    pub(crate) room: Room,
    pub(crate) alike: Alike,
}

impl Rows {
    /// No rows yet, over the bytes of a raw batch.
    pub fn over(raw: Arc<Arena>) -> Rows {
        Rows { heap: Heap::over(raw), ..Rows::default() }
    }

    pub fn len(&self) -> usize {
        self.roots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    pub fn reserve(&mut self, rows: usize, cells: usize) {
        self.roots.reserve(rows);
        self.cells.make_room(cells);
    }

    /// The runs in row order; together they cover every row.
    pub fn runs(&self) -> &[Run] {
        self.roots.runs()
    }

    /// The value of a row; null for a row that is not there.
    #[inline]
    pub fn root(&self, row: usize) -> Cell {
        self.roots.get(row)
    }

    /// Every row's value, in order.
    pub fn roots(&self) -> &[Cell] {
        self.roots.cells()
    }

    pub fn schema(&self, row: usize) -> Option<&Arc<Schema>> {
        self.roots.schema(row)
    }

    /// The elements of a list, the key-value sequence of a map, the fields of a struct.
    #[inline]
    pub fn cells(&self, span: Span) -> &[Cell] {
        self.cells.get(span.range()).unwrap_or_default()
    }

    /// One cell of a span; null past its end.
    #[inline]
    pub fn cell(&self, span: Span, index: usize) -> Cell {
        // A choice of places, then one load: a cell put together from parts is slow to read again.
        *self.cells(span).get(index).unwrap_or(&Cell::Null)
    }

    /// The fields of a struct value; empty for a null.
    pub fn fields(&self, cell: Cell) -> &[Cell] {
        match cell {
            Cell::Struct(span) => self.cells(span),
            _ => &[],
        }
    }

    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        self.heap.bytes(span)
    }

    pub fn text(&self, span: Span) -> &str {
        self.heap.text(span)
    }

    /// Appends a row. Schemas are compared by address: a converter gives one `Arc` per schema.
    #[inline]
    pub fn push(&mut self, schema: Option<&Arc<Schema>>, root: Cell) {
        self.apart = false;
        self.roots.push(schema, root);
    }

    /// Whether the cells of a row's struct, map or list are looked at by way of that row's root alone: then
    /// they may be changed in place, and nobody else will see it. What is nested in them may be shared.
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.apart
    }

    /// Says whether the rows are apart. Whoever gave them their roots knows; rows that get others are
    /// not, until somebody says so again.
    pub fn set_apart(&mut self, apart: bool) {
        debug_assert!(!apart || self.roots.are_apart(), "two rows share cells");
        self.apart = apart;
    }

    /// Puts other roots, over the same cells and bytes, in the place of the rows' own, which are
    /// given back.
    ///
    /// # Errors
    /// The new roots, where they are not as many as there are rows; nothing has changed then.
    pub fn swap_roots(&mut self, roots: Roots) -> Result<Roots, Roots> {
        if roots.len() == self.roots.len() {
            self.apart = false;
            Ok(std::mem::replace(&mut self.roots, roots))
        } else {
            Err(roots)
        }
    }

    /// Appends cells, all null, and gives their place; fill them with [`Rows::set`].
    #[inline]
    pub fn alloc(&mut self, len: usize) -> Span {
        let start = self.cells.len();
        // Each made anew: one that is copied as a whole right after it was made is waited for.
        self.cells.extend((0..len).map(|_| Cell::Null));
        Span { start: start as u32, len: len as u32 }
    }

    /// Appends cells that exist already and gives their place.
    #[inline]
    pub fn alloc_from(&mut self, cells: &[Cell]) -> Span {
        let start = self.cells.len() as u32;
        self.cells.extend_from_slice(cells);
        Span { start, len: cells.len() as u32 }
    }

    /// Appends a copy of cells of this set, nulls behind it, and gives the place of both: what a
    /// struct or map becomes that is changed or extended.
    #[inline]
    pub fn copy(&mut self, span: Span, more: usize) -> Span {
        let start = self.cells.len();
        let range = span.range();
        // A span out of bounds reads as empty.
        if range.end <= start {
            self.cells.extend_from_within(range);
        }
        let len = self.cells.len() - start + more;
        if more > 0 {
            self.cells.resize(start + len, Cell::Null);
        }
        Span { start: start as u32, len: len as u32 }
    }

    /// Appends the cells at these places of a span, in that order, and gives where they are; null for
    /// a place past its end.
    pub fn gather(&mut self, from: Span, places: &[u32]) -> Span {
        let start = self.cells.len();
        self.cells.resize(start + places.len(), Cell::Null);
        let (old, new) = self.cells.split_at_mut(start);
        let from = old.get(from.range()).unwrap_or_default();
        for (slot, place) in new.iter_mut().zip(places) {
            if let Some(cell) = from.get(*place as usize) {
                *slot = *cell;
            }
        }
        Span { start: start as u32, len: places.len() as u32 }
    }

    /// Writes one cell of an allocated span; an index past its end is ignored.
    #[inline]
    pub fn set(&mut self, span: Span, index: usize, cell: Cell) {
        let place = span.start as usize + index;
        if self.alike.has_key_at(place) {
            self.write_over_key(place);
        }
        if index < span.len as usize
            && let Some(slot) = self.cells.get_mut(place)
        {
            *slot = cell;
        }
    }

    /// The cells of an allocated span, to be written; none where it is out of bounds.
    #[inline]
    pub fn cells_mut(&mut self, span: Span) -> &mut [Cell] {
        self.alike.truncate(span.range().start);
        self.cells.get_mut(span.range()).unwrap_or_default()
    }

    /// The number of cells in use, to give back to [`Rows::truncate_cells`] when a row fails midway.
    pub fn cell_mark(&self) -> usize {
        self.cells.len()
    }

    pub fn truncate_cells(&mut self, mark: usize) {
        self.alike.truncate(mark);
        self.cells.truncate(mark);
    }

    /// Copies a value of another set into this one, everything in it included. Bytes that both sets
    /// share, the fetched ones, are not copied.
    #[inline]
    pub fn adopt(&mut self, from: &Rows, cell: Cell) -> Cell {
        if self.adopts_as_it_is(from, &cell) { cell } else { self.adopt_other(from, cell) }
    }

    /// Whether a cell of another set means the same in this one. Looked at where it lies: a cell that is
    /// taken apart and put together again is slow to read.
    #[inline]
    pub fn adopts_as_it_is(&self, from: &Rows, cell: &Cell) -> bool {
        match cell {
            Cell::Null | Cell::Bool(_) | Cell::Int(..) | Cell::Float(_) => true,
            Cell::Text(span) => self.shares(from, *span),
            _ => false,
        }
    }

    #[inline]
    fn shares(&self, from: &Rows, span: Span) -> bool {
        span.own_start().is_none() && Arc::ptr_eq(&self.heap.raw, &from.heap.raw)
    }

    fn adopt_other(&mut self, from: &Rows, cell: Cell) -> Cell {
        match cell {
            Cell::Number(span) => Cell::Number(self.adopt_bytes(from, span)),
            Cell::Text(span) => Cell::Text(self.adopt_bytes(from, span)),
            Cell::Bytes(span) => Cell::Bytes(self.adopt_bytes(from, span)),
            Cell::Json(span) => Cell::Json(self.adopt_bytes(from, span)),
            Cell::Decimal { unscaled, scale } => {
                Cell::Decimal { unscaled: self.adopt_bytes(from, unscaled), scale }
            }
            Cell::List(span) => Cell::List(self.adopt_cells(from, span)),
            Cell::Map(span) => Cell::Map(self.adopt_cells(from, span)),
            Cell::Struct(span) => Cell::Struct(self.adopt_cells(from, span)),
            Cell::Null
            | Cell::Bool(_)
            | Cell::Int(..)
            | Cell::Float(_)
            | Cell::Float32(_)
            | Cell::Instant(_) => cell,
        }
    }

    fn adopt_bytes(&mut self, from: &Rows, span: Span) -> Span {
        if self.shares(from, span) {
            return span;
        }
        self.heap.put(from.bytes(span))
    }

    fn adopt_cells(&mut self, from: &Rows, span: Span) -> Span {
        let place = self.alloc(span.len as usize);
        for (index, cell) in from.cells(span).iter().enumerate() {
            let cell = self.adopt(from, *cell);
            self.set(place, index, cell);
        }
        place
    }

    /// Takes every row's schema and root out, to give as many back with [`Rows::set_roots`]: until
    /// then the set has cells, and no rows.
    pub fn take_roots(&mut self) -> Roots {
        self.room.next_transform();
        std::mem::take(&mut self.roots)
    }

    /// Gives the set its rows, new or as they were taken out.
    pub fn set_roots(&mut self, roots: Roots) {
        self.apart = false;
        self.roots = roots;
        self.roots.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Schema, Type};

    #[test]
    fn runs_follow_schemas_and_spans_read_from_both_parts() {
        let schema = Arc::new(Schema::new(Type::String));
        let mut rows = Rows::over(Arc::new(b"hello".to_vec().into()));
        rows.push(Some(&schema), Cell::Text(Span { start: 1, len: 3 }));
        rows.push(Some(&schema), Cell::Null);
        let own = rows.heap.put(b"world");
        rows.push(None, Cell::Text(own));
        assert_eq!(rows.runs().len(), 2);
        assert_eq!(rows.text(Span { start: 1, len: 3 }), "ell");
        assert_eq!(rows.text(own), "world");
        assert_eq!(rows.text(Span { start: 4, len: 9 }), "", "out of bounds reads as empty");
        assert!(rows.schema(1).is_some() && rows.schema(2).is_none());
    }

    #[test]
    fn a_copy_has_room_behind_it_and_leaves_the_original() {
        let mut rows = Rows::default();
        let old = rows.alloc_from(&[Cell::int(1), Cell::int(2)]);
        let new = rows.copy(old, 1);
        rows.set(new, 0, Cell::Bool(true));
        assert_eq!(rows.cells(old), [Cell::int(1), Cell::int(2)]);
        assert_eq!(rows.cells(new), [Cell::Bool(true), Cell::int(2), Cell::Null]);
        let outside = rows.copy(Span { start: 4, len: 9 }, 1);
        assert_eq!(rows.cells(outside), [Cell::Null], "out of bounds reads as empty");
    }

    #[test]
    fn gathered_cells_are_those_of_the_span() {
        let mut rows = Rows::default();
        let span = rows.alloc_from(&[Cell::int(0), Cell::int(1), Cell::int(2)]);
        rows.alloc_from(&[Cell::int(9)]);
        let some = rows.gather(span, &[2, 0, 3]);
        assert_eq!(rows.cells(some), [Cell::int(2), Cell::int(0), Cell::Null]);
        assert_eq!(rows.gather(span, &[]).len, 0);
    }

    #[test]
    fn rows_are_apart_until_they_get_other_roots() {
        let mut rows = Rows::default();
        let [one, two] = [1, 2].map(|value| Cell::List(rows.alloc_from(&[Cell::int(value)])));
        for root in [two, Cell::Null, one] {
            rows.push(None, root);
        }
        assert!(!rows.is_apart(), "nobody has said so");
        rows.set_apart(true);
        assert!(rows.clone().is_apart());
        let old = rows.swap_roots(rows.roots.clone()).unwrap();
        assert!(!rows.is_apart());
        rows.set_apart(true);
        rows.set_roots(old);
        assert!(!rows.is_apart());
        rows.set_apart(true);
        rows.push(None, one);
        assert!(!rows.is_apart());
        assert!(!rows.roots.are_apart());
    }

    #[test]
    fn an_adopted_value_reads_the_same_and_shares_fetched_bytes() {
        let raw: Arc<Arena> = Arc::new(b"hello".to_vec().into());
        let mut from = Rows::over(raw.clone());
        let own = from.heap.put(b"own");
        let fetched = Span { start: 0, len: 5 };
        let inner = from.alloc_from(&[Cell::Text(own), Cell::Text(fetched), Cell::int(1)]);
        let list = from.alloc_from(&[Cell::List(inner)]);
        let mut near = Rows::over(raw);
        near.alloc(7);
        let mut far = Rows::default();
        for rows in [&mut near, &mut far] {
            let Cell::List(outer) = rows.adopt(&from, Cell::List(list)) else { panic!() };
            let [Cell::List(inner)] = rows.cells(outer) else { panic!() };
            let [Cell::Text(a), Cell::Text(b), Cell::Int(1, _)] = rows.cells(*inner) else {
                panic!()
            };
            assert_eq!((rows.text(*a), rows.text(*b)), ("own", "hello"));
        }
        assert_eq!(near.adopt(&from, Cell::Text(fetched)), Cell::Text(fetched));
    }
}
