//! Which cells of a struct or map stay when others leave it, and how the rest closes up.
//!
//! Place in the data path: worked out once per schema or layout, used for every row. The longest of the
//! pieces that stay does not move; those in front of it and behind it do, towards it.

use crate::cell::Span;
use crate::rows::Rows;

/// Places of cells that stay. They rise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    places: Vec<u32>,
    /// Where the first of them is afterwards.
    start: u32,
    /// From where to where cells move, in an order in which none is written over before it has moved.
    moves: Vec<(u32, u32)>,
    /// Behind the last place that is read or written.
    end: u32,
}

impl Kept {
    /// `places` rise.
    pub fn new(places: Vec<u32>) -> Kept {
        debug_assert!(places.is_sorted_by(|one, next| one < next), "places rise");
        let (first, len) = longest_piece(&places);
        let stays = places.get(first).copied().unwrap_or_default();
        let start = stays - first as u32;
        let moves = |(index, place): (usize, &u32)| (*place, start + index as u32);
        let all = || places.iter().enumerate();
        let before = all().take(first).rev().map(moves);
        let behind = all().skip(first + len).map(moves);
        let moves = before.chain(behind).collect();
        let end = places.last().map_or(0, |last| last + 1);
        Kept { start, moves, end, places }
    }

    /// Whether none has to move.
    pub fn are_together(&self) -> bool {
        self.moves.is_empty()
    }

    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Where they are in a span in which nothing had to move.
    #[inline]
    pub fn slice(&self, span: Span) -> Span {
        span.slice(self.start, self.places.len() as u32)
    }
}

/// Where in `places` the longest piece without gaps begins, and how long it is.
fn longest_piece(places: &[u32]) -> (usize, usize) {
    let pieces = places.chunk_by(|one, next| one + 1 == *next);
    let begun = pieces.scan(0, |at, piece| {
        let first = *at;
        *at += piece.len();
        Some((first, piece.len()))
    });
    begun.max_by_key(|(_, len)| *len).unwrap_or_default()
}

impl Rows {
    /// Keeps some cells of a span and gives where they are: as [`Rows::gather`], in the span's own place.
    /// For rows that are apart.
    #[inline]
    pub fn keep(&mut self, span: Span, kept: &Kept) -> Span {
        let inside = kept.end <= span.len;
        let Some(cells) = self.cells.get_mut(span.range()).filter(|_| inside) else {
            return self.gather(span, &kept.places);
        };
        for (from, to) in &kept.moves {
            if let Some(cell) = cells.get(*from as usize).copied()
                && let Some(slot) = cells.get_mut(*to as usize)
            {
                *slot = cell;
            }
        }
        kept.slice(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Cell;

    #[test]
    fn cells_that_stay_close_up_around_the_longest_piece() {
        for (places, start, moved) in [
            (vec![], 0, 0),
            (vec![0, 1, 2], 0, 0),
            (vec![2, 3], 2, 0),
            (vec![1, 3, 4, 5], 2, 1),
            (vec![0, 1, 2, 4, 6], 0, 2),
            (vec![0, 1, 3, 4, 5, 7], 1, 3),
            (vec![0, 7], 6, 1),
        ] {
            let kept = Kept::new(places.clone());
            assert_eq!((kept.start, kept.moves.len()), (start, moved), "{places:?}");
            assert_eq!(kept.are_together(), moved == 0);
            let mut rows = Rows::default();
            let fence = rows.alloc_from(&[Cell::Bool(true)]);
            let all: Vec<Cell> = (0..8).map(Cell::int).collect();
            let span = rows.alloc_from(&all);
            let next = rows.alloc_from(&[Cell::Bool(false)]);
            let some = rows.keep(span, &kept);
            let wanted: Vec<Cell> = places.iter().map(|place| Cell::int((*place).into())).collect();
            assert_eq!((some.start, rows.cells(some)), (span.start + start, &wanted[..]));
            assert_eq!(rows.cells(fence), [Cell::Bool(true)]);
            assert_eq!(rows.cells(next), [Cell::Bool(false)]);
        }
    }

    #[test]
    fn places_past_the_end_are_gathered_elsewhere() {
        let mut rows = Rows::default();
        let span = rows.alloc_from(&[1, 2].map(Cell::int));
        let beyond = rows.keep(span, &Kept::new(vec![1, 2]));
        assert_eq!((beyond.start, rows.cells(beyond)), (2, &[Cell::int(2), Cell::Null][..]));
        assert_eq!(rows.cells(span), [1, 2].map(Cell::int));
        assert_eq!(rows.keep(span, &Kept::default()).len, 0);
    }
}
