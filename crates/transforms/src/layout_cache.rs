//! What a transform worked out for the members of a map without schema, kept for the next map of the
//! same keys in the same order: JSON of one producer mostly has one.
//!
//! Invariants: a result is only given for a map with exactly those keys, all of them text; at most
//! [`LAYOUTS_MAX`] are kept, the least recently used goes.

use crate::fault::Fault;
use data::{Cell, Rows, Span};

/// Layouts kept at a time.
const LAYOUTS_MAX: usize = 8;

/// Results by layout, the latest first.
pub(crate) struct LayoutCache<T> {
    entries: Vec<(Keys, T)>,
}

impl<T> Default for LayoutCache<T> {
    fn default() -> Self {
        LayoutCache { entries: Vec::new() }
    }
}

impl<T> LayoutCache<T> {
    /// What `make` gives for the map's keys, or gave for a map of the same keys.
    ///
    /// # Errors
    /// What `make` refuses, and a key that is no text.
    pub(crate) fn get(
        &mut self,
        rows: &Rows,
        map: Span,
        make: impl FnOnce(&[Box<str>]) -> Result<T, Fault>,
    ) -> Result<&T, Fault> {
        let cells = rows.cells(map);
        let place = self.entries.iter().position(|(keys, _)| keys.are_of(rows, cells));
        match place {
            Some(0) => {}
            Some(place) => {
                if let Some(upto) = self.entries.get_mut(..=place) {
                    upto.rotate_right(1);
                }
            }
            None => {
                let keys = Keys::new(rows, cells)?;
                let result = make(&keys.names)?;
                self.entries.truncate(LAYOUTS_MAX - 1);
                self.entries.insert(0, (keys, result));
            }
        }
        match self.entries.first() {
            Some((_, result)) => Ok(result),
            None => Err(Fault::data("no keys")),
        }
    }
}

/// The keys of a map in order.
struct Keys {
    names: Vec<Box<str>>,
}

impl Keys {
    fn new(rows: &Rows, cells: &[Cell]) -> Result<Keys, Fault> {
        let name = |pair: &[Cell]| match pair {
            [Cell::Text(span), _] => Ok(rows.text(*span).into()),
            [other, _] => Err(Fault::not_text(*other)),
            _ => Err(Fault::data("a key without a value")),
        };
        Ok(Keys { names: cells.chunks_exact(2).map(name).collect::<Result<_, _>>()? })
    }

    fn are_of(&self, rows: &Rows, cells: &[Cell]) -> bool {
        let same = |(name, pair): (&Box<str>, &[Cell])| match pair {
            [Cell::Text(span), _] => {
                span.len as usize == name.len() && same_bytes(rows.bytes(*span), name.as_bytes())
            }
            _ => false,
        };
        cells.len() == self.names.len() * 2
            && self.names.iter().zip(cells.chunks_exact(2)).all(same)
    }
}

/// Whether two texts of one length are equal. Keys are short, so that calling the general comparison
/// would cost more than comparing.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let word = |bytes: &[u8]| bytes.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    let tail = |bytes: &[u8]| bytes.last_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    let half = |bytes: &[u8]| bytes.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    let rest = |bytes: &[u8]| bytes.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    match (a.len(), b.len()) {
        (8..=16, 8..=16) => word(a) == word(b) && tail(a) == tail(b),
        (4..=7, 4..=7) => half(a) == half(b) && rest(a) == rest(b),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &mut Rows, names: &[&str]) -> Span {
        let mut cells = Vec::new();
        for name in names {
            cells.extend([Cell::Text(rows.heap.put(name.as_bytes())), Cell::Null]);
        }
        rows.alloc_from(&cells)
    }

    #[test]
    fn maps_of_the_same_keys_in_order_share_a_result() {
        let mut rows = Rows::default();
        let mut cache = LayoutCache::default();
        let mut made = 0;
        let long = "a key that is longer than two words";
        let layouts: [&[&str]; 7] =
            [&["a", "b"], &["b", "a"], &["a"], &[], &["abcd"], &["abcdefgh", "x"], &[long]];
        for round in 0..3 {
            for names in layouts {
                let map = map(&mut rows, names);
                let seen = cache.get(&rows, map, |keys| {
                    made += 1;
                    Ok(keys.join("+"))
                });
                assert_eq!(*seen.unwrap(), names.join("+"), "{round}");
            }
        }
        assert_eq!(made, layouts.len());
        for number in 0..100 {
            let map = map(&mut rows, &[&number.to_string()]);
            cache.get(&rows, map, |_| Ok(String::new())).unwrap();
        }
        assert_eq!(cache.entries.len(), LAYOUTS_MAX);
    }

    #[test]
    fn keys_of_one_length_are_told_apart_at_every_place() {
        for len in 1..=40 {
            let name = "k".repeat(len);
            for place in 0..len {
                let mut other = name.clone().into_bytes();
                other[place] = b'x';
                assert!(!same_bytes(name.as_bytes(), &other), "{len} {place}");
                assert!(same_bytes(name.as_bytes(), name.clone().as_bytes()));
            }
        }
    }

    #[test]
    fn a_key_that_is_no_text_is_refused() {
        let mut rows = Rows::default();
        let map = rows.alloc_from(&[Cell::int(1), Cell::Null]);
        let refused = LayoutCache::default().get(&rows, map, |_| Ok(())).unwrap_err();
        assert_eq!(refused.exception, "java.lang.ClassCastException");
        assert!(refused.message.ends_with("java.lang.Long"));
    }
}
