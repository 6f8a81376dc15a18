//! The part of a record that a transform works on, its key or its value, and the one pass over a
//! batch that transforms share.
//!
//! Place in the data path: between converters and the task. Invariants: every row keeps its number;
//! rows that are not selected or not alive keep schema and value; a row that is refused becomes a
//! reject with the transform's class. Rows may share cells: what changes is written anew, what stays is
//! referred to; in place only where the rows are apart ([`Rows::is_apart`]).

use crate::fault::Fault;
use data::{AlikeInTurn, Batch, Cell, Mask, Reject, Roots, Rows, Schema, Span};
use std::sync::Arc;

/// What the `$Key` and `$Value` forms of a class differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Key,
    Value,
}

impl Part {
    pub(crate) fn rows_mut(self, batch: &mut Batch) -> &mut Rows {
        match self {
            Part::Key => &mut batch.keys,
            Part::Value => &mut batch.values,
        }
    }
}

/// One row of the part that is rewritten.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) number: usize,
    pub(crate) schema: Option<&'a Arc<Schema>>,
    pub(crate) cell: Cell,
}

/// Gives the selected rows of a part to `change`, which pushes exactly one root onto the new roots or
/// refuses. It gets the part's row set, which has its cells and no rows meanwhile, and the rest of the
/// batch, from which the part is missing meanwhile.
pub(crate) fn rewrite(
    class: &'static str,
    part: Part,
    batch: &mut Batch,
    selected: &Mask,
    change: impl FnMut(&mut Rows, &mut Batch, Row<'_>, &mut Roots) -> Result<(), Fault>,
) {
    let rows = rewritten(class, part, batch, selected, change);
    *part.rows_mut(batch) = rows;
}

/// The same where every new root has cells of its own row's old root or such as nobody had before, so
/// that rows that were apart still are.
pub(crate) fn rewrite_apart(
    class: &'static str,
    part: Part,
    batch: &mut Batch,
    selected: &Mask,
    change: impl FnMut(&mut Rows, &mut Batch, Row<'_>, &mut Roots) -> Result<(), Fault>,
) {
    let apart = part.rows_mut(batch).is_apart();
    let mut rows = rewritten(class, part, batch, selected, change);
    rows.set_apart(apart);
    *part.rows_mut(batch) = rows;
}

#[inline]
fn rewritten(
    class: &'static str,
    part: Part,
    batch: &mut Batch,
    selected: &Mask,
    mut change: impl FnMut(&mut Rows, &mut Batch, Row<'_>, &mut Roots) -> Result<(), Fault>,
) -> Rows {
    let mut rows = std::mem::take(part.rows_mut(batch));
    let mut new = rows.take_roots();
    for run in &new.give_anew() {
        let schema = run.schema.as_ref();
        for number in run.range() {
            let cell = new.old();
            if !selected.is_alive(number) || !batch.alive.is_alive(number) {
                new.push(schema, cell);
                continue;
            }
            let row = Row { number, schema, cell };
            if let Err(fault) = change(&mut rows, batch, row, &mut new) {
                push_nothing(&mut new);
                refuse(class, batch, number, fault);
            }
        }
    }
    rows.set_roots(new);
    rows
}

/// A null of the run before: a record that is no more does not cut a run in two.
#[cold]
fn push_nothing(roots: &mut Roots) {
    let last = roots.runs().last().and_then(|run| run.schema.clone());
    roots.push(last.as_ref(), Cell::Null);
}

/// Takes a row out of the batch on purpose, from within [`rewrite`].
pub(crate) fn drop_row(batch: &mut Batch, row: Row<'_>, roots: &mut Roots) {
    batch.alive.kill(row.number);
    push_nothing(roots);
}

/// Takes a row out of the batch with the transform's reason.
#[cold]
pub(crate) fn refuse(class: &'static str, batch: &mut Batch, row: usize, fault: Fault) {
    let message = fault.message.into_owned();
    batch.reject(Reject::transformation(row, class, fault.exception, message));
}

/// The rows a transform is to look at.
pub(crate) fn chosen<'a>(
    batch: &Batch,
    selected: &'a Mask,
) -> impl Iterator<Item = usize> + use<'a> {
    let alive = batch.alive.clone();
    (0..batch.len()).filter(move |row| selected.is_alive(*row) && alive.is_alive(*row))
}

/// The value of a field or member under its schema, the schema's default for a null if `replace`.
#[inline]
pub(crate) fn with_default(
    rows: &mut Rows,
    schema: Option<&Schema>,
    cell: Cell,
    replace: bool,
) -> Cell {
    match cell {
        Cell::Null => default_of(rows, schema, replace),
        _ => cell,
    }
}

#[cold]
fn default_of(rows: &mut Rows, schema: Option<&Schema>, replace: bool) -> Cell {
    match schema.and_then(Schema::default) {
        Some(default) if replace => rows.put_value(schema, default),
        _ => Cell::Null,
    }
}

/// Where the last map of these rows had a member, which is where most have it, and where its key lay: a
/// key that lies there again is equal without a look at it, and a map that is known to be alike has the
/// member there without a look at the key. Each pass over a batch begins with a new one, and writes into
/// maps that are not shared only, once it has found their members.
#[derive(Clone, Debug, Default)]
pub(crate) struct Near {
    /// The place of the key in the map's cells.
    place: usize,
    key: Option<Span>,
    /// Maps that have that key at that place, as was true when the pass came upon them.
    alike: AlikeInTurn,
}

impl Near {
    /// One for each of so many names.
    pub(crate) fn of(names: usize) -> Vec<Near> {
        vec![Near::default(); names]
    }

    /// The place of the value of a map's member of that name.
    #[inline]
    pub(crate) fn find(&mut self, rows: &Rows, map: Span, name: &str) -> Option<usize> {
        if self.alike.has(map) {
            return Some(self.place + 1);
        }
        match (rows.cells(map).get(self.place), self.key) {
            (Some(Cell::Text(own)), Some(key)) if *own == key => Some(self.place + 1),
            _ => self.search(rows, map, name),
        }
    }

    fn search(&mut self, rows: &Rows, map: Span, name: &str) -> Option<usize> {
        let cells = rows.cells(map);
        if !cells.get(self.place).is_some_and(|key| is_text(rows, key, name)) {
            self.alike = AlikeInTurn::default();
            let mut keys = cells.iter().step_by(2);
            self.place = keys.position(|key| is_text(rows, key, name))? * 2;
        }
        self.alike = rows.alike_to(map);
        self.key = match cells.get(self.place) {
            Some(Cell::Text(key)) => Some(*key),
            _ => None,
        };
        Some(self.place + 1)
    }
}

/// The value of a map's member of that name, null where there is none.
#[inline]
pub(crate) fn member_near<'a>(rows: &'a Rows, map: Span, name: &str, near: &mut Near) -> &'a Cell {
    let place = near.find(rows, map, name);
    place.and_then(|place| rows.cells(map).get(place)).unwrap_or(&Cell::Null)
}

/// Whether a map's key is that name.
#[inline]
pub(crate) fn is_text(rows: &Rows, key: &Cell, name: &str) -> bool {
    match key {
        Cell::Text(span) => {
            span.len as usize == name.len() && same_bytes(rows.bytes(*span), name.as_bytes())
        }
        _ => false,
    }
}

/// Whether two texts of one length are equal. Names are short, so that calling the general comparison
/// would cost more than comparing.
#[inline]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let word = |bytes: &[u8]| bytes.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    let tail = |bytes: &[u8]| bytes.last_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    let half = |bytes: &[u8]| bytes.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    let rest = |bytes: &[u8]| bytes.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    match (a.len(), b.len()) {
        (8..=16, 8..=16) => word(a) == word(b) && tail(a) == tail(b),
        (4..=7, 4..=7) => half(a) == half(b) && rest(a) == rest(b),
        (2, 2) => a.first_chunk::<2>() == b.first_chunk::<2>(),
        _ => a == b,
    }
}

/// The place of a map's member of that name: of its value in the map's cells.
pub(crate) fn member(rows: &Rows, map: Span, name: &str) -> Option<usize> {
    let of_name = |pair: &[Cell]| match pair.first() {
        Some(Cell::Text(span)) => rows.bytes(*span) == name.as_bytes(),
        _ => false,
    };
    rows.cells(map).chunks_exact(2).position(of_name).map(|pair| pair * 2 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::Alike;

    #[test]
    fn a_key_in_another_place_or_of_another_name_is_looked_at() {
        let mut rows = Rows::default();
        let [a, b, again] = ["a", "b", "a"].map(|name| Cell::Text(rows.heap.put(name.as_bytes())));
        let mut near = Near::default();
        for (keys, wanted) in [
            ([a, b], Some(1)),
            ([a, b], Some(1)),
            ([again, b], Some(1)),
            ([b, a], Some(3)),
            ([a, b], Some(1)),
            ([b, Cell::int(1)], None),
            ([again, a], Some(1)),
        ] {
            let cells = [keys[0], Cell::Bool(true), keys[1], Cell::Bool(false)];
            let map = rows.alloc_from(&cells);
            assert_eq!(near.find(&rows, map, "a"), wanted, "{keys:?}");
            let value = wanted.map_or(Cell::Null, |place| cells[place]);
            assert_eq!(*member_near(&rows, map, "a", &mut near), value);
        }
    }

    #[test]
    fn keys_of_one_length_are_told_apart_at_every_place() {
        for len in 1..=40 {
            let name = "k".repeat(len);
            for place in 0..len {
                let mut other = name.clone().into_bytes();
                other[place] = b'x';
                assert!(!same_bytes(name.as_bytes(), &other), "{len} {place}");
                assert!(same_bytes(name.as_bytes(), name.clone().as_bytes()));
            }
        }
    }

    #[test]
    fn members_of_maps_that_are_alike_are_where_one_has_them() {
        let mut rows = Rows::default();
        let [a, b] = ["a", "b"].map(|name| Cell::Text(rows.heap.put(name.as_bytes())));
        let maps = [0; 3].map(|_| rows.alloc_from(&[a, Cell::Null, b, Cell::Null]));
        let other = rows.alloc_from(&[b, Cell::Null, a, Cell::Null]);
        let mut alike = Alike::of(maps[0]);
        assert!(maps[1..].iter().all(|map| alike.extend(*map)));
        rows.set_alike(alike);
        let mut near = Near::default();
        for (map, wanted) in
            [(maps[0], 3), (maps[1], 3), (other, 1), (maps[0], 3), (other, 1), (maps[2], 3)]
        {
            assert_eq!(near.find(&rows, map, "b"), Some(wanted));
        }
        assert_eq!(near.find(&rows, Span { len: 2, ..maps[0] }, "b"), None);
        assert_eq!(near.find(&rows, maps[0], "b"), Some(3));
    }
}
