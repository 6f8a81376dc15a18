//! The members of nested maps without schema, one level.
//!
//! Nothing is known of a map before it is seen: names are put together per record. Invariants: a member
//! that is null stays (KAFKA-12303); of two members that get one name the last wins, in the place of the
//! first; values that are no map stay what they are, text that nobody has read included.

use crate::fault::{Fault, java_class};
use data::{Cell, Rows, Span};

/// The flat map; the map itself where it is flat already.
pub(super) fn flat(
    rows: &mut Rows,
    map: Span,
    delimiter: &str,
    scratch: &mut Scratch,
) -> Result<Cell, Fault> {
    let mut nested = false;
    for pair in rows.cells(map).chunks_exact(2) {
        let [key, value] = pair else { continue };
        if !matches!(key, Cell::Text(_)) {
            return Err(Fault::not_text_data(java_class(None, *key)));
        }
        nested |= is_map(rows, *value) || matches!(value, Cell::Struct(_));
    }
    if !nested {
        return Ok(Cell::Map(map));
    }
    scratch.cells.clear();
    scratch.name.clear();
    let mut walk = Walk { rows, delimiter: delimiter.as_bytes(), scratch };
    walk.members(map)?;
    Ok(Cell::Map(rows.alloc_from(&scratch.cells)))
}

/// Room that is used again for each record.
#[derive(Default)]
pub(super) struct Scratch {
    cells: Vec<Cell>,
    /// The name so far, with its last delimiter.
    name: Vec<u8>,
}

fn is_map(rows: &Rows, cell: Cell) -> bool {
    match cell {
        Cell::Map(_) => true,
        Cell::Json(text) => rows.bytes(text).first() == Some(&b'{'),
        _ => false,
    }
}

struct Walk<'a> {
    rows: &'a mut Rows,
    delimiter: &'a [u8],
    scratch: &'a mut Scratch,
}

impl Walk<'_> {
    fn members(&mut self, map: Span) -> Result<(), Fault> {
        for at in (0..map.len as usize).step_by(2) {
            let Some([key, value]) = self.rows.cells(map).get(at..at + 2) else { continue };
            let (key, value) = (*key, *value);
            let Cell::Text(name) = key else {
                return Err(Fault::not_text_data(java_class(None, key)));
            };
            if let Cell::Struct(_) = value {
                return Err(Fault::data(
                    "Flatten transformation does not support STRUCT for record without schemas.",
                ));
            }
            if !is_map(self.rows, value) {
                self.leaf(name, value);
                continue;
            }
            let Cell::Map(inner) = self.rows.expand(value) else { continue };
            let before = self.scratch.name.len();
            self.scratch.name.extend_from_slice(self.rows.bytes(name));
            // No name so far, no delimiter: the key was empty.
            if !self.scratch.name.is_empty() {
                self.scratch.name.extend_from_slice(self.delimiter);
            }
            self.members(inner)?;
            self.scratch.name.truncate(before);
        }
        Ok(())
    }

    fn leaf(&mut self, name: Span, value: Cell) {
        let prefix = &self.scratch.name;
        let own = self.rows.bytes(name);
        let same = |pair: &&mut [Cell]| match pair {
            [Cell::Text(known), _] => {
                let known = self.rows.bytes(*known);
                known.len() == prefix.len() + own.len()
                    && known.starts_with(prefix)
                    && known.ends_with(own)
            }
            _ => false,
        };
        if let Some([_, slot]) = self.scratch.cells.chunks_exact_mut(2).find(same) {
            *slot = value;
            return;
        }
        let name = match prefix.is_empty() {
            true => name,
            false => {
                let own = own.to_vec();
                self.rows.heap.put_with(|out| {
                    out.extend_from_slice(prefix);
                    out.extend_from_slice(&own);
                })
            }
        };
        self.scratch.cells.extend([Cell::Text(name), value]);
    }
}
