//! Room behind the cells of rows, for what transforms add to them.
//!
//! Place in the data path: transforms that add fields ask for room; the converter learns from the batches
//! before how much, and leaves as many cells free behind each row it makes. So a field is added where
//! its row lies, and the row is not copied to where there is room.
//!
//! Invariant: a free cell is in no value. The value that is extended over it has it from then on, and
//! values that only shared the cells in front of it do not see it.

use crate::cell::{Cell, Span};
use crate::rows::Rows;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Cells that are left free behind a row at most.
const ROOM_MAX: u32 = 16;

/// After so many batches in a row that asked for room and could not use what there was, none is left.
const USELESS_MAX: u32 = 8;

/// What the batches of one converter have asked for.
#[derive(Debug, Default)]
pub struct RoomAsked {
    cells: AtomicU32,
    useless: AtomicU32,
}

impl RoomAsked {
    /// Cells to leave free behind each row.
    pub fn cells(&self) -> usize {
        let useful = self.useless.load(Relaxed) < USELESS_MAX;
        if useful { self.cells.load(Relaxed).min(ROOM_MAX) as usize } else { 0 }
    }
}

/// What one row set is asked for; told when it is let go of. A clone is told nobody.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Cells that the transform now at work adds to a row at most.
    now: u32,
    /// The same of those before, together.
    before: u32,
    /// Whether there was room for any row.
    used: bool,
    /// Whether any was left.
    left: bool,
    asked: Option<Arc<RoomAsked>>,
}

impl Room {
    pub(crate) fn told_to(asked: &Arc<RoomAsked>) -> Room {
        Room { asked: Some(asked.clone()), ..Room::default() }
    }

    /// So many cells are added to a row by one transform.
    #[inline]
    pub(crate) fn ask(&mut self, cells: u32) {
        self.now = self.now.max(cells);
    }

    pub(crate) fn note_left(&mut self) {
        self.left = true;
    }

    #[inline]
    pub(crate) fn note_used(&mut self) {
        self.used = true;
    }

    /// The next transform begins.
    pub(crate) fn next_transform(&mut self) {
        self.before = self.before.saturating_add(std::mem::take(&mut self.now));
    }
}

impl Clone for Room {
    fn clone(&self) -> Room {
        Room::default()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.next_transform();
        let Some(asked) = &self.asked else { return };
        if self.before > 0 {
            asked.cells.fetch_max(self.before, Relaxed);
        }
        match (self.used, self.before > 0 && self.left) {
            (true, _) => asked.useless.store(0, Relaxed),
            (false, true) => {
                asked.useless.fetch_add(1, Relaxed);
            }
            (false, false) => {}
        }
    }
}

impl Rows {
    /// Tells `asked`, when these rows are let go of, how much room transforms wanted.
    pub fn tell_room(&mut self, asked: &Arc<RoomAsked>) {
        self.room = Room::told_to(asked);
    }

    /// Leaves so many cells free behind the struct or map of the last row; none where other cells lie
    /// behind it.
    #[inline]
    pub fn leave_room(&mut self, cells: usize) {
        if let Some(Cell::Struct(span) | Cell::Map(span)) = self.roots().last()
            && span.range().end == self.cells.len()
        {
            self.room.note_left();
            self.cells.extend((0..cells).map(|_| Cell::FREE));
        }
    }

    /// Says that the transform at work adds so many cells to a row, together.
    #[inline]
    pub fn ask_room(&mut self, cells: usize) {
        self.room.ask(cells as u32);
    }

    /// A struct or map with `more` nulls behind its cells: in its place where there is room, else a copy.
    /// For rows that are apart.
    #[inline]
    pub fn extended(&mut self, span: Span, more: usize) -> Span {
        match self.extended_here(span, more) {
            Some(longer) => longer,
            None => self.copy(span, more),
        }
    }

    /// The same, only where there is room.
    #[inline]
    pub fn extended_here(&mut self, span: Span, more: usize) -> Option<Span> {
        if more == 0 {
            return Some(span);
        }
        self.extended_by(span, more).map(|(longer, _)| longer)
    }

    /// The same, and the nulls.
    #[inline]
    pub fn extended_by(&mut self, span: Span, more: usize) -> Option<(Span, &mut [Cell])> {
        let end = span.range().end;
        let free = self.cells.get_mut(end..end.saturating_add(more))?;
        // The first one by itself: loads at one distance from each other are foreseen.
        if !free.first().is_some_and(Cell::is_free) || !free.iter().all(Cell::is_free) {
            return None;
        }
        free.iter_mut().for_each(|cell| *cell = Cell::Null);
        self.room.note_used();
        let len = span.len.saturating_add(more as u32);
        Some((Span { start: span.start, len }, free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_grows_into_the_room_behind_it_and_into_no_other_cells() {
        let mut rows = Rows::default();
        let pair = [1, 2].map(Cell::int);
        for _ in 0..2 {
            let span = rows.alloc_from(&pair);
            rows.push(None, Cell::Map(span));
            rows.leave_room(3);
        }
        let [Cell::Map(one), Cell::Map(two)] = *rows.roots() else { panic!() };
        assert_eq!((one.start, two.start), (0, 5));
        let longer = rows.extended(one, 2);
        assert_eq!(rows.cells(longer), [pair[0], pair[1], Cell::Null, Cell::Null]);
        assert_eq!((longer.start, rows.cells(one).len()), (0, 2));
        let elsewhere = [rows.extended(one, 1), rows.extended(longer, 2), rows.extended(two, 4)];
        for (copy, len) in elsewhere.into_iter().zip([3, 6, 6]) {
            assert!(copy.start >= 10 && copy.len == len, "{copy:?}");
            assert!(rows.cells(copy).iter().all(|cell| !cell.is_free()));
        }
        let full = rows.extended(longer, 1);
        assert_eq!((full.start, rows.cells(full).len()), (0, 5));
        assert_eq!(rows.cells(two), pair, "the next row");
        assert_eq!(rows.extended(two, 0), two);
    }

    #[test]
    fn room_is_left_behind_the_last_cells_only() {
        let mut rows = Rows::default();
        let span = rows.alloc_from(&[Cell::int(1)]);
        let behind = rows.alloc_from(&[Cell::int(2)]);
        for root in [Cell::Struct(span), Cell::List(behind), Cell::Null] {
            rows.push(None, root);
            rows.leave_room(1);
        }
        assert_eq!(rows.cell_mark(), 2);
        rows.push(None, Cell::Struct(behind));
        rows.leave_room(1);
        assert_eq!(rows.cell_mark(), 3);
    }

    #[test]
    fn what_transforms_add_one_after_the_other_is_asked_for_together() {
        let asked = Arc::new(RoomAsked::default());
        let mut room = Room::told_to(&asked);
        for adds in [2, 1, 2] {
            room.ask(adds);
        }
        room.next_transform();
        room.ask(1);
        drop(room.clone());
        assert_eq!(asked.cells(), 0);
        drop(room);
        assert_eq!(asked.cells(), 3);
        Room::told_to(&asked).ask(1);
        assert_eq!(asked.cells(), 3, "a batch that needs less");
        Room::told_to(&asked).ask(1000);
        assert_eq!(asked.cells(), ROOM_MAX as usize);
    }

    #[test]
    fn room_that_nobody_can_use_is_given_up() {
        let asked = Arc::new(RoomAsked::default());
        let batch = |used: bool| {
            let mut room = Room::told_to(&asked);
            room.note_left();
            room.ask(1);
            if used {
                room.note_used();
            }
        };
        for _ in 0..USELESS_MAX - 1 {
            batch(false);
        }
        batch(true);
        for _ in 0..USELESS_MAX - 1 {
            batch(false);
        }
        assert_eq!(asked.cells(), 1);
        drop(Room::told_to(&asked));
        assert_eq!(asked.cells(), 1, "a batch that nobody asked anything of");
        batch(false);
        assert_eq!(asked.cells(), 0);
    }
}
