//! The copy that a transform makes of a struct or map before it changes it.
//!
//! Place in the data path: inside the transforms. Invariants: the original's cells stay as they are;
//! the copy of a struct is one that Connect would let exist, with no null where its field allows none.

use crate::fault::Fault;
use crate::part::is_text;
use data::{Cell, Rows, Schema, Span};

/// Copies the struct at `span`, which is of `schema`, and appends `more` nulls. Nulls of fields with
/// a default become the default if `replace`.
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
    let copy = rows.copy(span, more);
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

/// The copy of a map, to change members of and add some to.
pub(crate) struct MapCopy {
    /// Also the room for members to come.
    cells: Span,
    used: u32,
}

impl MapCopy {
    /// Copies the map at `span`; there is room for `more` members.
    #[inline]
    pub(crate) fn new(rows: &mut Rows, span: Span, more: usize) -> MapCopy {
        let cells = rows.copy(span, more * 2);
        MapCopy { cells, used: cells.len - more as u32 * 2 }
    }

    /// The place of the value of the member of that name. Looked for first where `hint` says that the
    /// map before had it; there it mostly is again.
    #[inline]
    pub(crate) fn find(&self, rows: &Rows, name: &str, hint: &mut usize) -> Option<usize> {
        let cells = rows.cells(Span { len: self.used, ..self.cells });
        let at = |pair: usize| cells.get(pair * 2).is_some_and(|key| is_text(rows, key, name));
        if !at(*hint) {
            *hint = (0..cells.len() / 2).find(|pair| at(*pair))?;
        }
        Some(*hint * 2 + 1)
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn get(&self, rows: &Rows, place: usize) -> Cell {
        rows.cell(self.cells, place)
    }

    /// Writes the value at a place that was found.
    #[inline]
    pub(crate) fn set(&self, rows: &mut Rows, place: usize, value: Cell) {
        rows.set(self.cells, place, value);
    }

    /// Adds a member that is not there yet.
    pub(crate) fn add(&mut self, rows: &mut Rows, name: Span, value: Cell) {
        rows.set(self.cells, self.used as usize, Cell::Text(name));
        rows.set(self.cells, self.used as usize + 1, value);
        self.used += 2;
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
    fn members_are_found_wherever_the_hint_points_and_added_behind() {
        let mut rows = Rows::default();
        let value = Value::Map(vec![
            (Value::int(1), Value::Null),
            (Value::Text("a".into()), Value::Null),
            (Value::Text("b".into()), Value::Bool(true)),
        ]);
        let Cell::Map(map) = rows.put_value(None, &value) else { panic!() };
        let mut copy = MapCopy::new(&mut rows, map, 2);
        for start in [0, 1, 2, 3, 99] {
            let mut hint = start;
            assert_eq!(copy.find(&rows, "b", &mut hint), Some(5));
            assert_eq!(hint, 2);
            assert_eq!(copy.find(&rows, "", &mut hint), None);
            assert_eq!(copy.find(&rows, "a", &mut hint), Some(3));
        }
        assert_eq!(copy.get(&rows, 5), Cell::Bool(true));
        copy.set(&mut rows, 5, Cell::Bool(false));
        let mut names = Names::default();
        let name = names.get(&mut rows, 1, ["x", "c"].into_iter());
        copy.add(&mut rows, name, Cell::int(4));
        assert_eq!(copy.find(&rows, "c", &mut 0), Some(7));
        let Cell::Map(new) = copy.finish() else { panic!() };
        assert_eq!(rows.cells(new).len(), 8);
        assert_eq!(rows.cells(map)[5], Cell::Bool(true));
    }
}
