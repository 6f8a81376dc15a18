//! What kind of value a record has, as a small key that plans are found by.
//!
//! Schemas become numbers (equal schemas the same one), and the member names of schemaless objects
//! too. In steady state a row costs a comparison of its member names with the last row's.

use data::{Cell, Rows, Schema};
use foldhash::HashMap;
use std::sync::Arc;

/// The number of a schema; 0: none.
pub(crate) type SchemaId = u32;

/// The form of a key or value. Two rows of one form go the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// Kafka's null, or a null of the format.
    Null,
    Struct(SchemaId),
    /// An object with these members, by the number of their list.
    Members(u32, SchemaId),
    /// Anything else: text, numbers, bytes, lists.
    Whole(SchemaId),
}

/// Gives schemas and lists of member names their numbers.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    /// By address; the `Arc` keeps the address taken.
    by_address: HashMap<usize, (Arc<Schema>, SchemaId)>,
    by_value: HashMap<Arc<Schema>, SchemaId>,
    schemas: Vec<Arc<Schema>>,
    by_names: HashMap<Vec<u8>, u32>,
    names: Vec<Arc<[Arc<str>]>>,
    /// The lists seen last, of keys and of values.
    last: [u32; 2],
    scratch: Vec<u8>,
}

impl Shapes {
    /// More schemas or member lists than this and everything is forgotten, to bound memory.
    const ENTRIES_MAX: usize = 4096;

    /// Forgets everything where it has grown too large. True: numbers given before mean nothing now.
    pub(crate) fn trim(&mut self) -> bool {
        let large = self.by_address.len() > Self::ENTRIES_MAX
            || self.by_value.len() > Self::ENTRIES_MAX
            || self.names.len() > Self::ENTRIES_MAX;
        if large {
            *self = Shapes::default();
        }
        large
    }

    pub(crate) fn schema_id(&mut self, schema: Option<&Arc<Schema>>) -> SchemaId {
        let Some(schema) = schema else { return 0 };
        let address = Arc::as_ptr(schema) as usize;
        if let Some((_, id)) = self.by_address.get(&address) {
            return *id;
        }
        let id = match self.by_value.get(schema) {
            Some(id) => *id,
            None => {
                self.schemas.push(schema.clone());
                let id = self.schemas.len() as SchemaId;
                self.by_value.insert(schema.clone(), id);
                id
            }
        };
        self.by_address.insert(address, (schema.clone(), id));
        id
    }

    pub(crate) fn schema(&self, id: SchemaId) -> Option<&Arc<Schema>> {
        self.schemas.get((id as usize).checked_sub(1)?)
    }

    /// The member names of a [`Shape::Members`], in the order of the first such record.
    pub(crate) fn members(&self, list: u32) -> &[Arc<str>] {
        self.names.get(list as usize).map(|names| &**names).unwrap_or_default()
    }

    /// The form of a key (`side` 0) or value (1).
    pub(crate) fn of(&mut self, side: usize, rows: &Rows, schema: SchemaId, root: Cell) -> Shape {
        match root {
            Cell::Null => Shape::Null,
            Cell::Struct(_) => Shape::Struct(schema),
            Cell::Map(span) => {
                let cells = rows.cells(span);
                let last = self.last.get(side).copied().unwrap_or_default();
                if self.same_names(last, rows, cells) {
                    return Shape::Members(last, schema);
                }
                let Some(list) = self.list(rows, cells) else { return Shape::Whole(schema) };
                if let Some(slot) = self.last.get_mut(side) {
                    *slot = list;
                }
                Shape::Members(list, schema)
            }
            _ => Shape::Whole(schema),
        }
    }

    fn same_names(&self, list: u32, rows: &Rows, cells: &[Cell]) -> bool {
        let names = self.members(list);
        !names.is_empty()
            && names.len() * 2 == cells.len()
            && cells.iter().step_by(2).zip(names).all(|(cell, name)| match cell {
                Cell::Text(span) => rows.bytes(*span) == name.as_bytes(),
                _ => false,
            })
    }

    /// The number of the member list; `None` where a name is no text.
    fn list(&mut self, rows: &Rows, cells: &[Cell]) -> Option<u32> {
        self.scratch.clear();
        for cell in cells.iter().step_by(2) {
            let Cell::Text(span) = cell else { return None };
            let name = rows.bytes(*span);
            self.scratch.extend_from_slice(&(name.len() as u32).to_be_bytes());
            self.scratch.extend_from_slice(name);
        }
        if let Some(list) = self.by_names.get(self.scratch.as_slice()) {
            return Some(*list);
        }
        let names = cells.iter().step_by(2).map(|cell| match cell {
            Cell::Text(span) => Arc::from(rows.text(*span)),
            _ => Arc::from(""),
        });
        let list = self.names.len() as u32;
        self.names.push(names.collect());
        self.by_names.insert(self.scratch.clone(), list);
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{SchemaBuilder, Type};

    fn object(rows: &mut Rows, names: &[&str]) -> Cell {
        let cells: Vec<Cell> = names
            .iter()
            .flat_map(|name| [Cell::Text(rows.heap.put(name.as_bytes())), Cell::int(1)])
            .collect();
        Cell::Map(rows.alloc_from(&cells))
    }

    #[test]
    fn equal_schemas_and_member_lists_have_one_number() {
        let mut shapes = Shapes::default();
        let make = || Arc::new(SchemaBuilder::new(Type::String).build().unwrap());
        assert_eq!(shapes.schema_id(Some(&make())), shapes.schema_id(Some(&make())));
        assert_eq!(shapes.schema_id(None), 0);
        let mut rows = Rows::default();
        let forms = [&["a", "b"][..], &["a", "b"], &["ab"], &["b", "a"], &[], &["a", "b"]];
        let seen: Vec<Shape> = forms
            .iter()
            .map(|names| {
                let root = object(&mut rows, names);
                shapes.of(1, &rows, 0, root)
            })
            .collect();
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0], seen[5]);
        for (a, b) in [(0, 2), (0, 3), (2, 3), (0, 4)] {
            assert_ne!(seen[a], seen[b]);
        }
        assert_eq!(shapes.of(1, &rows, 0, Cell::int(1)), Shape::Whole(0));
    }
}
