//! Repeated keys of maps: the last value stays, in the place of the first.
//!
//! Off the usual way: producers that write the same names in the same order never come here.

use super::read::Reader;
use data::{Cell, Rows};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Pairs of a map that are compared with each other rather than hashed.
const PAIRS_COMPARED_MAX: usize = 16;

impl Reader<'_> {
    /// Of pairs with one key keeps the last value, in the place of the first.
    pub(crate) fn drop_repeated(&mut self, mark: usize) {
        let cells = self.scratch.cells.get_mut(mark..).unwrap_or_default();
        let pairs = cells.len() / 2;
        if pairs < 2 {
            return;
        }
        let rows = &*self.rows;
        if pairs <= PAIRS_COMPARED_MAX && !has_repeated(rows, cells) {
            return;
        }
        let hasher = RandomState::new();
        let mut places: HashMap<u64, Vec<usize>> = HashMap::with_capacity(pairs);
        let mut kept = 0;
        for pair in 0..pairs {
            let (Some(&key), Some(&value)) = (cells.get(pair * 2), cells.get(pair * 2 + 1)) else {
                continue;
            };
            let bucket = places.entry(hasher.hash_one(key_of(rows, key))).or_default();
            let same = |&&place: &&usize| {
                let other = cells.get(place * 2).copied().unwrap_or(Cell::Null);
                key_of(rows, other) == key_of(rows, key)
            };
            let place = bucket.iter().find(same).copied().unwrap_or(kept);
            if place == kept {
                bucket.push(kept);
                kept += 1;
                cells.swap(place * 2, pair * 2);
            }
            if let Some(slot) = cells.get_mut(place * 2 + 1) {
                *slot = value;
            }
        }
        self.scratch.cells.truncate(mark + kept * 2);
    }
}

/// Whether two pairs have one key, by comparing each with each.
fn has_repeated(rows: &Rows, cells: &[Cell]) -> bool {
    let keys = || cells.iter().step_by(2).map(|key| key_of(rows, *key));
    keys().enumerate().any(|(index, key)| keys().take(index).any(|other| other == key))
}

/// What makes two map keys the same: their kind and bytes. Nested keys are only equal to
/// themselves.
fn key_of(rows: &Rows, key: Cell) -> (u8, i64, &[u8]) {
    match key {
        Cell::Null => (0, 0, &[]),
        Cell::Bool(value) => (1, i64::from(value), &[]),
        Cell::Int(value, _) => (2, value, &[]),
        Cell::Float(value) => (3, value.to_bits() as i64, &[]),
        Cell::Float32(value) => (3, i64::from(value.to_bits()), &[]),
        Cell::Text(span) => (4, 0, rows.bytes(span)),
        Cell::Bytes(span) => (5, 0, rows.bytes(span)),
        Cell::Decimal { unscaled, scale } => (6, i64::from(scale), rows.bytes(unscaled)),
        Cell::Number(span) => (7, 0, rows.bytes(span)),
        Cell::Instant(value) => (8, value, &[]),
        Cell::List(span) | Cell::Map(span) | Cell::Struct(span) => (9, span.start.into(), &[]),
        Cell::Json(span) => (10, 0, rows.bytes(span)),
    }
}
