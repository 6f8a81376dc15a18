//! The copy that a transform makes of a struct or map before it changes it, or the struct or map itself
//! where nobody else looks at its cells.
//!
//! Place in the data path: inside the transforms. What is added lies behind the original where there is
//! room. Invariants: the original's cells stay as they are unless the rows are apart
//! ([`Rows::is_apart`]); the copy of a struct is one that Connect would let
//! exist, with no null where its field allows none.

use crate::fault::Fault;
use crate::part::{Near, is_text};
use data::{Cell, Rows, Schema, Span};

/// Copies the struct at `span`, which is of `schema`, and appends `more` nulls; it may be changed and
/// extended itself. Nulls of fields with a default become the default if `replace`.
///
/// # Errors
/// A null that its field does not allow.
#[inline]
pub(crate) fn copy_struct(
    rows: &mut Rows,
    schema: &Schema,
    span: Span,
    more: usize,
    replace: bool,
) -> Result<Span, Fault> {
    let copy = match rows.is_apart() {
        true => {
            rows.ask_room(more);
            rows.extended(span, more)
        }
        false => rows.copy(span, more),
    };
    if has_null(rows.cells(span)) {
        fill(rows, schema, copy, replace)?;
    }
    Ok(copy)
}

/// Whether a struct has nulls to see to. By the class of each cell alone, and without leaving early:
/// comparing whole cells, one by one, took longer than the copy.
#[inline]
pub(crate) fn has_null(cells: &[Cell]) -> bool {
    cells.iter().fold(false, |null, cell| null | cell.is_null())
}

/// Sees to the nulls of a struct's copy.
#[cold]
fn fill(rows: &mut Rows, schema: &Schema, copy: Span, replace: bool) -> Result<(), Fault> {
    for (index, field) in schema.fields().iter().enumerate() {
        if rows.cells(copy).get(index).is_some_and(|cell| !cell.is_null()) {
            continue;
        }
        match field.schema.default() {
            Some(default) if replace && !default.is_null() => {
                let cell = rows.put_value(Some(&field.schema), default);
                rows.set(copy, index, cell);
            }
            _ if field.schema.is_optional() => {}
            _ => return Err(Fault::null_for_required(&field.name, &field.schema)),
        }
    }
    Ok(())
}

/// The copy of a map, or the map itself, to change members of and add some to.
#[derive(Clone, Copy)]
pub(crate) struct MapCopy {
    /// Also the room for members to come.
    cells: Span,
    used: u32,
    /// What the map had.
    old: u32,
    /// Members that may come, for which there is room in a copy.
    more: usize,
}

impl MapCopy {
    /// Begins with the map at `span`; `more` members may come.
    #[inline]
    pub(crate) fn new(rows: &mut Rows, span: Span, more: usize) -> MapCopy {
        match rows.is_apart() {
            true => MapCopy { cells: span, used: span.len, old: span.len, more },
            false => MapCopy::with_room(rows, span, more),
        }
    }

    #[inline]
    fn with_room(rows: &mut Rows, span: Span, more: usize) -> MapCopy {
        let cells = rows.copy(span, more * 2);
        let used = cells.len - more as u32 * 2;
        MapCopy { cells, used, old: used, more }
    }

    /// The place of the value of the member of that name; `near` says where the map before had it.
    #[inline]
    pub(crate) fn find(self, rows: &Rows, name: &str, near: &mut Near) -> Option<usize> {
        near.find(rows, Span { len: self.used, ..self.cells }, name)
    }

    /// The place of the value of a member of that name that was added.
    pub(crate) fn find_added(self, rows: &Rows, name: &str) -> Option<usize> {
        let cells = rows.cells(Span { len: self.used, ..self.cells });
        let mut places = (self.old as usize..cells.len()).step_by(2);
        let place = places.find(|at| cells.get(*at).is_some_and(|key| is_text(rows, key, name)));
        place.map(|at| at + 1)
    }

    /// Where the map's cells are now.
    #[inline]
    pub(crate) fn cells(self) -> Span {
        self.cells
    }

    /// Adds a member that is not there yet, null at first, and gives the place of its value. By value,
    /// as all of this: what is changed by reference lies in memory, and is waited for there.
    #[inline(always)]
    pub(crate) fn add(self, rows: &mut Rows, name: Span) -> (MapCopy, usize) {
        let room = match self.used == self.cells.len {
            true => self.grown(rows),
            false => self,
        };
        rows.set(room.cells, room.used as usize, Cell::Text(name));
        (MapCopy { used: room.used + 2, ..room }, room.used as usize + 1)
    }

    /// The same with room for all members to come, for one at least.
    #[inline]
    fn grown(self, rows: &mut Rows) -> MapCopy {
        let added = (self.used - self.old) as usize;
        let more = (self.more * 2).saturating_sub(added).max(2);
        rows.ask_room(added + more);
        let here = if rows.is_apart() { rows.extended_here(self.cells, more) } else { None };
        match here {
            Some(cells) => MapCopy { cells, ..self },
            None => self.elsewhere(rows),
        }
    }

    #[inline(never)]
    fn elsewhere(self, rows: &mut Rows) -> MapCopy {
        let old = self.old;
        MapCopy { old, ..MapCopy::with_room(rows, self.cells, self.more.max(1)) }
    }

    /// The map.
    #[inline]
    pub(crate) fn finish(self) -> Cell {
        Cell::Map(Span { len: self.used, ..self.cells })
    }
}

/// Texts that are put into a batch's heap once, when the first row needs one of them.
#[derive(Default)]
pub(crate) struct Names {
    places: Vec<Span>,
}

impl Names {
    /// The place of the text with that index; `all` gives every text in order.
    pub(crate) fn get<'a>(
        &mut self,
        rows: &mut Rows,
        index: usize,
        all: impl Iterator<Item = &'a str>,
    ) -> Span {
        if self.places.is_empty() {
            self.places = all.map(|name| rows.heap.put(name.as_bytes())).collect();
        }
        self.places.get(index).copied().unwrap_or(Span::EMPTY)
    }

    /// The places of all texts that were put into the heap.
    pub(crate) fn all(&self) -> &[Span] {
        &self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{SchemaBuilder, Type, Value};
    use std::sync::Arc;

    #[test]
    fn nulls_become_defaults_only_if_asked_and_required_ones_are_refused() {
        let with_default = SchemaBuilder::new(Type::Int32).default(Value::Int(9, data::Width::W32));
        let optional = Arc::new(with_default.clone().optional().build().unwrap());
        let required = Arc::new(with_default.build().unwrap());
        let of = |field: &Arc<Schema>| {
            SchemaBuilder::structure().field("a", field.clone()).build().unwrap()
        };
        let mut rows = Rows::default();
        let null = rows.alloc(1);
        for (field, replace, wanted) in [
            (&optional, true, Ok(Cell::Int(9, data::Width::W32))),
            (&optional, false, Ok(Cell::Null)),
            (&required, true, Ok(Cell::Int(9, data::Width::W32))),
            (&required, false, Err(())),
        ] {
            let copy = copy_struct(&mut rows, &of(field), null, 1, replace);
            let seen = copy.map(|copy| rows.cells(copy)[0]).map_err(|_| ());
            assert_eq!(seen, wanted, "{field:?} {replace}");
        }
        assert_eq!(rows.cells(null), [Cell::Null]);
    }

    #[test]
    fn members_are_found_and_added_behind() {
        let mut rows = Rows::default();
        let value = Value::Map(vec![
            (Value::int(1), Value::Null),
            (Value::Text("a".into()), Value::Null),
            (Value::Text("b".into()), Value::Bool(true)),
        ]);
        let Cell::Map(map) = rows.put_value(None, &value) else { panic!() };
        let copy = MapCopy::new(&mut rows, map, 2);
        for (name, place) in [("b", Some(5)), ("", None), ("a", Some(3))] {
            let mut near = Near::default();
            assert_eq!(copy.find(&rows, name, &mut near), place);
            assert_eq!(copy.find(&rows, name, &mut near), place);
        }
        assert_eq!(rows.cell(copy.cells(), 5), Cell::Bool(true));
        rows.set(copy.cells(), 5, Cell::Bool(false));
        let mut names = Names::default();
        let name = names.get(&mut rows, 1, ["x", "c"].into_iter());
        let (copy, place) = copy.add(&mut rows, name);
        assert_eq!(place, 7);
        assert_eq!(copy.find(&rows, "c", &mut Near::default()), Some(7));
        assert_eq!((copy.find_added(&rows, "c"), copy.find_added(&rows, "a")), (Some(7), None));
        let Cell::Map(new) = copy.finish() else { panic!() };
        assert_eq!(rows.cells(new).len(), 8);
        assert_eq!(rows.cells(map)[5], Cell::Bool(true));
    }
}
