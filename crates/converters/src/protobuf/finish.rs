//! What is done with a record when all its bytes have been read: chains become lists, entries become
//! maps of distinct keys, messages are checked and filled up.
//!
//! Invariant: things are closed in the reverse order of their opening, so each is complete before the
//! one it is in.

use super::fault::Fault;
use super::read::{NONE, Open, Reader};
use data::{Cell, Rows, Span};
use std::cmp::Ordering;

/// Where a value is while a record is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A slot of some cells.
    Slot(Span, u32),
    /// An element of a list that is not closed.
    Node(u32),
}

impl Reader<'_> {
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        while let Some(open) = self.scratch.open.pop() {
            match open {
                Open::List { cells, slot, head, len, map, .. } => {
                    let cell = self.close(head, len, map);
                    self.rows.set(cells, slot as usize, cell);
                }
                Open::Loose { place, plan } => {
                    if let Cell::Struct(cells) = self.get(place) {
                        let cell = self.loosen(cells, plan);
                        self.put(place, cell);
                    }
                }
                Open::End { place, cells, plan } => {
                    // A member of a oneof that another one replaced is not looked at.
                    if self.get(place) == Cell::Struct(cells) {
                        self.end(cells, plan)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, head: u32, len: u32, map: bool) -> Cell {
        self.scratch.cells.clear();
        self.scratch.cells.reserve(len as usize);
        let mut next = head;
        while next != NONE
            && let Some(node) = self.scratch.nodes.get(next as usize)
        {
            self.scratch.cells.push(node.cell);
            next = node.next;
        }
        if !map {
            return Cell::List(self.rows.alloc_from(&self.scratch.cells));
        }
        last_of_each_key(self.rows, &mut self.scratch.cells, &mut self.scratch.order);
        Cell::Map(self.rows.alloc_from(&self.scratch.cells))
    }

    /// A struct as a map of its fields' names to those values that are not null.
    fn loosen(&mut self, cells: Span, plan: usize) -> Cell {
        self.scratch.cells.clear();
        let plan = self.plan.messages.get(plan);
        for (slot, key) in
            plan.and_then(|plan| plan.keys.as_ref()).into_iter().flatten().enumerate()
        {
            let cell = self.rows.cell(cells, slot);
            if !cell.is_null() {
                let key = Cell::Text(key.span(self.rows));
                self.scratch.cells.extend([key, cell]);
            }
        }
        Cell::Map(self.rows.alloc_from(&self.scratch.cells))
    }

    fn end(&mut self, cells: Span, plan: usize) -> Result<(), Fault> {
        let Some(plan) = self.plan.messages.get(plan) else { return Ok(()) };
        for (slot, name) in &plan.required {
            if self.rows.cell(cells, *slot as usize).is_null() {
                return Err(Fault::new(format!("the required field {name} is missing")));
            }
        }
        for (slot, fallback) in &plan.fill {
            if self.rows.cell(cells, *slot as usize).is_null() {
                self.fall_back(fallback, Place::Slot(cells, *slot));
            }
        }
        Ok(())
    }
}

/// Of entries with one key only the last is kept.
fn last_of_each_key(rows: &Rows, cells: &mut Vec<Cell>, order: &mut Vec<u32>) {
    let entries = cells.len() / 2;
    if entries < 2 {
        return;
    }
    let key = |cells: &[Cell], entry: u32| *cells.get(entry as usize * 2).unwrap_or(&Cell::Null);
    order.clear();
    order.extend(0..entries as u32);
    order.sort_unstable_by(|a, b| compare(rows, key(cells, *a), key(cells, *b)).then(a.cmp(b)));
    let mut dropped = 0;
    for index in 1..order.len() {
        let (Some(&a), Some(&b)) = (order.get(index - 1), order.get(index)) else { continue };
        if is_key(key(cells, a)) && compare(rows, key(cells, a), key(cells, b)).is_eq() {
            if let Some(slot) = order.get_mut(index - 1) {
                *slot = a | DROPPED;
            }
            dropped += 1;
        }
    }
    if dropped == 0 {
        return;
    }
    order.retain(|entry| entry & DROPPED == 0);
    order.sort_unstable();
    for (to, from) in order.iter().enumerate() {
        let from = *from as usize * 2;
        cells.copy_within(from..from + 2, to * 2);
    }
    cells.truncate(order.len() * 2);
}

/// Marks an entry that a later one replaces; there are never so many entries.
const DROPPED: u32 = 1 << 31;

fn is_key(cell: Cell) -> bool {
    matches!(cell, Cell::Text(_) | Cell::Int(..) | Cell::Bool(_))
}

/// Keys of a map are of one kind; what cannot be a key of Protobuf's maps is equal to nothing.
fn compare(rows: &Rows, a: Cell, b: Cell) -> Ordering {
    match (a, b) {
        (Cell::Text(a), Cell::Text(b)) => rows.bytes(a).cmp(rows.bytes(b)),
        (Cell::Int(a, _), Cell::Int(b, _)) => a.cmp(&b),
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(&b),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_stays() {
        let rows = Rows::default();
        let mut cells: Vec<Cell> =
            [1, 10, 2, 20, 1, 11, 3, 30, 2, 21, 1, 12].map(Cell::int).to_vec();
        last_of_each_key(&rows, &mut cells, &mut Vec::new());
        assert_eq!(cells, [3, 30, 2, 21, 1, 12].map(Cell::int));
        let mut structs = vec![Cell::Null; 6];
        last_of_each_key(&rows, &mut structs, &mut Vec::new());
        assert_eq!(structs.len(), 6, "keys that are none are all kept");
    }
}
