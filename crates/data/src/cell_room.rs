//! The memory that cells lie in, used again and again: batch after batch asks for as much as the one
//! before had, and to get it from the operating system would cost more than to fill it.
//!
//! Place in the data path: under every row set. Invariant: what is kept while nobody uses it is within
//! the limits below, for the whole process; it is empty.

use crate::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Smaller vectors are asked for anew: the allocator has such at hand.
const CELLS_MIN: usize = 4_096;

/// Vectors that are kept at most.
const KEPT_MAX: usize = 8;

/// Bytes that are kept at most.
const KEPT_BYTES_MAX: usize = 8 << 20;

static KEPT: Shelf = Shelf(Mutex::new(Vec::new()));

struct Shelf(Mutex<Vec<Vec<Cell>>>);

impl Shelf {
    /// The smallest vector with room for so many cells.
    fn take(&self, cells: usize) -> Option<Vec<Cell>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rooms = kept.iter().map(Vec::capacity).enumerate();
        let (at, _) = rooms.filter(|(_, room)| *room >= cells).min_by_key(|(_, room)| *room)?;
        Some(kept.swap_remove(at))
    }

    fn put(&self, mut cells: Vec<Cell>) {
        cells.clear();
        let bytes = |cells: &Vec<Cell>| cells.capacity() * size_of::<Cell>();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others: usize = kept.iter().map(bytes).sum();
        if kept.len() < KEPT_MAX && others + bytes(&cells) <= KEPT_BYTES_MAX {
            kept.push(cells);
        }
    }
}

/// The cells of a row set.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellRoom(Vec<Cell>);

impl CellRoom {
    /// Makes room for so many cells more, out of what was used before if there is any.
    pub(crate) fn make_room(&mut self, cells: usize) {
        if self.0.capacity() == 0
            && cells >= CELLS_MIN
            && let Some(kept) = KEPT.take(cells)
        {
            self.0 = kept;
        }
        self.0.reserve(cells);
    }
}

impl Deref for CellRoom {
    type Target = Vec<Cell>;

    #[inline]
    fn deref(&self) -> &Vec<Cell> {
        &self.0
    }
}

impl DerefMut for CellRoom {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<Cell> {
        &mut self.0
    }
}

impl Drop for CellRoom {
    fn drop(&mut self) {
        if self.0.capacity() >= CELLS_MIN {
            KEPT.put(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_is_enough_is_given_and_no_more_is_kept_than_the_limits() {
        let shelf = Shelf(Mutex::default());
        for cells in [3, 1, 2] {
            shelf.put(vec![Cell::Null; cells * CELLS_MIN]);
        }
        let taken = shelf.take(CELLS_MIN + 1).unwrap();
        assert_eq!((taken.len(), taken.capacity()), (0, 2 * CELLS_MIN));
        assert!(shelf.take(4 * CELLS_MIN).is_none());
        shelf.put(Vec::with_capacity(KEPT_BYTES_MAX / size_of::<Cell>() - 3 * CELLS_MIN));
        assert_eq!(shelf.0.lock().unwrap().len(), 2, "too large beside the others");
        for _ in 0..2 * KEPT_MAX {
            shelf.put(Vec::with_capacity(CELLS_MIN));
        }
        assert_eq!(shelf.0.lock().unwrap().len(), KEPT_MAX);
    }

    #[test]
    fn room_is_there_whether_any_was_kept_or_not() {
        for cells in [1, CELLS_MIN, 3 * CELLS_MIN, CELLS_MIN] {
            let mut room = CellRoom::default();
            room.make_room(cells);
            assert!(room.is_empty() && room.capacity() >= cells);
            room.push(Cell::Null);
            assert_eq!(room.clone().len(), 1);
        }
    }
}
