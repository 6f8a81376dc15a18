//! Maps that are known to have the same keys.
//!
//! Place in the data path: a converter that makes the maps of a batch from one layout says so of the
//! cells they lie in; transforms then know the keys of each map by those of one, without a look at
//! them, which would cost more than what they change.
//!
//! Invariant: whoever writes over a key there takes the word back ([`Rows::set`](crate::Rows::set)).

use crate::cell::{Cell, Span};
use crate::rows::Rows;

/// Cells in which maps lie at equal distances, whose keys are equal cells in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alike {
    /// The first map.
    start: u32,
    /// Behind the last one.
    end: u32,
    /// Cells of each map.
    len: u32,
    /// From one map to the next. Even, so that keys are told from values by their places.
    step: u32,
}

impl Alike {
    /// The first map, if there may be more like it.
    pub fn of(map: Span) -> Alike {
        Alike { start: map.start, end: map.start + map.len, len: map.len, step: 0 }
    }

    /// Takes a map in that lies behind the others and has their keys. False where it lies too near or
    /// too far.
    #[inline]
    pub fn extend(&mut self, map: Span) -> bool {
        let last = self.end - self.len;
        let step = map.start.wrapping_sub(last);
        if self.step == 0 && step >= self.len.max(1) && step.is_multiple_of(2) && map.start > last {
            self.step = step;
        }
        let fits = map.len == self.len && map.len > 0 && self.step != 0 && step == self.step;
        if fits {
            self.end = map.start + map.len;
        }
        fits
    }

    /// How many maps there are.
    pub fn maps(&self) -> u32 {
        match self.step {
            0 => u32::from(self.len > 0),
            step => (self.end - self.len - self.start) / step + 1,
        }
    }

    /// Whether a map is one of these.
    #[inline]
    pub fn has(&self, map: Span) -> bool {
        map.len == self.len
            && map.start >= self.start
            && map.start < self.end
            && self.step != 0
            && (map.start - self.start).is_multiple_of(self.step)
    }

    /// Whether the cell at this place may be a key.
    #[inline]
    pub(crate) fn has_key_at(&self, place: usize) -> bool {
        place < self.end as usize
            && place >= self.start as usize
            && (place - self.start as usize).is_multiple_of(2)
    }

    /// Forgets maps that are not wholly in front of this place.
    pub fn truncate(&mut self, place: usize) {
        if place >= self.end as usize {
            return;
        }
        let room = (place as u32).saturating_sub(self.start).checked_sub(self.len);
        match (room, self.step) {
            (Some(room), 1..) => self.end = self.start + room / self.step * self.step + self.len,
            _ => *self = Alike::default(),
        }
    }

    /// The maps.
    fn all(self) -> impl Iterator<Item = Span> {
        let step = if self.step == 0 { self.len.max(1) } else { self.step };
        let starts = (self.start..self.end).step_by(step as usize);
        starts.map(move |start| Span { start, len: self.len })
    }
}

/// The question whether a map is one of those alike, asked of one after the other: the next one mostly
/// lies behind the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlikeInTurn {
    alike: Alike,
    /// The first cell of the next map.
    next: u32,
}

impl AlikeInTurn {
    #[inline]
    pub fn has(&mut self, map: Span) -> bool {
        let Alike { end, len, step, .. } = self.alike;
        let is_next = map.start == self.next && map.start < end && map.len == len;
        let has = is_next || self.alike.has(map);
        if has {
            self.next = map.start + step;
        }
        has
    }
}

impl Rows {
    /// Says which maps have the same keys: equal texts at equal places.
    pub fn set_alike(&mut self, alike: Alike) {
        debug_assert!(self.are_alike(alike), "maps differ in their keys");
        self.alike = alike;
    }

    /// Maps that have the same keys, as it was said.
    #[inline]
    pub fn alike(&self) -> Alike {
        self.alike
    }

    /// Maps that are known to have the keys of this one: none unless it is one of those alike.
    pub fn alike_to(&self, map: Span) -> AlikeInTurn {
        match self.alike.has(map) {
            true => AlikeInTurn { alike: self.alike, next: map.start },
            false => AlikeInTurn::default(),
        }
    }

    /// Takes the word back if there is a key at this place, which is to be written over; behind a map
    /// there may be room for more.
    #[inline(never)]
    pub(crate) fn write_over_key(&mut self, place: usize) {
        if let Some(Cell::Text(_)) = self.cells.get(place) {
            self.alike = Alike::default();
        }
    }

    fn are_alike(&self, alike: Alike) -> bool {
        let keys = |map: Span| self.cells(map).iter().step_by(2);
        let text = |key: &Cell| matches!(key, Cell::Text(_));
        let same = |one: Span, map: Span| keys(map).all(text) && keys(map).eq(keys(one));
        alike.all().next().is_none_or(|one| alike.all().all(|map| same(one, map)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_maps_of_the_same_size_at_the_same_distance_are_alike() {
        let map = |start, len| Span { start, len };
        let mut alike = Alike::of(map(10, 4));
        assert!(!alike.has(map(10, 4)), "one alone says nothing of others");
        for odd in [map(10, 4), map(12, 4), map(15, 4), map(6, 4)] {
            assert!(!alike.extend(odd), "{odd:?}");
        }
        assert!(alike.extend(map(16, 4)) && alike.extend(map(22, 4)));
        for odd in [map(27, 4), map(28, 2), map(30, 4), map(22, 4), map(0, 4)] {
            assert!(!alike.extend(odd), "{odd:?}");
        }
        assert_eq!(alike.maps(), 3);
        for inside in [10, 16, 22] {
            assert!(alike.has(map(inside, 4)));
        }
        for outside in [map(4, 4), map(12, 4), map(28, 4), map(16, 2), map(16, 6)] {
            assert!(!alike.has(outside), "{outside:?}");
        }
        assert!(alike.all().eq([10, 16, 22].map(|start| map(start, 4))));
        let keys: Vec<_> = (8..28).filter(|place| alike.has_key_at(*place)).collect();
        assert_eq!(keys, [10, 12, 14, 16, 18, 20, 22, 24]);
        let mut in_turn = AlikeInTurn { alike, next: 10 };
        for (start, has) in
            [(10, true), (16, true), (17, false), (10, true), (22, true), (28, false)]
        {
            assert_eq!(in_turn.has(map(start, 4)), has, "{start}");
            assert!(!in_turn.has(map(start + 6, 3)));
        }
        assert!(![Span::EMPTY, map(0, 4)].iter().any(|map| AlikeInTurn::default().has(*map)));
        for (place, maps) in [(30, 3), (26, 3), (25, 2), (20, 2), (19, 1), (14, 1), (13, 0)] {
            alike.truncate(place);
            assert_eq!(alike.maps(), maps, "{place}");
        }
        assert_eq!(alike, Alike::default());
        assert!(!alike.has(Span::EMPTY));
    }

    #[test]
    fn a_key_that_is_written_over_takes_the_word_back_and_a_value_does_not() {
        let mut rows = Rows::default();
        let key = Cell::Text(rows.heap.put(b"a"));
        let mut alike = Alike::default();
        for row in 0..3 {
            let map = rows.alloc_from(&[key, Cell::int(row)]);
            rows.push(None, Cell::Map(map));
            rows.leave_room(2);
            if row == 0 {
                alike = Alike::of(map);
            } else {
                assert!(alike.extend(map));
            }
        }
        let Cell::Map(map) = rows.root(1) else { panic!() };
        rows.set_alike(alike);
        rows.set(map, 1, key);
        let longer = rows.extended(map, 2);
        rows.set(longer, 2, key);
        rows.set(longer, 3, key);
        let far = rows.alloc(2);
        rows.set(far, 0, key);
        rows.cells_mut(far);
        rows.truncate_cells(far.start as usize);
        assert_eq!(rows.alike(), alike);
        assert!(rows.alike().has(map) && !rows.alike().has(longer));
        rows.set(map, 0, key);
        assert_eq!(rows.alike(), Alike::default());
        rows.set_alike(alike);
        rows.cells_mut(map);
        assert_eq!(rows.alike().maps(), 1);
        rows.set_alike(alike);
        rows.truncate_cells(map.start as usize);
        assert_eq!(rows.alike().maps(), 1);
    }
}
