//! What a transform worked out for the members of a map without schema, kept for the next map of the
//! same keys in the same order: JSON of one producer mostly has one.
//!
//! Invariants: a result is only given for a map with exactly those keys; at most [`LAYOUTS_MAX`] are
//! kept, the least recently used goes.

use crate::fault::{Fault, java_class};
use crate::part::is_text;
use data::{AlikeInTurn, Cell, Rows, Span};

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

/// Where the keys lie of the map of one row set whose result was given last: keys that lie in the same
/// places are known to be equal without a look at them, and maps that are known to be alike without a
/// look at their keys. Each pass over a batch begins with a new one, and writes into maps that are not
/// shared only, once it has their results.
#[derive(Default)]
pub(crate) struct Latest {
    keys: Option<Vec<Span>>,
    /// Maps that have these keys, as was true when the pass came upon them.
    alike: AlikeInTurn,
}

impl Latest {
    #[inline]
    fn is_of(&mut self, rows: &Rows, map: Span) -> bool {
        self.alike.has(map) || self.has_keys(rows.cells(map))
    }

    #[inline(never)]
    fn has_keys(&self, cells: &[Cell]) -> bool {
        let same = |(key, pair): (&Span, &[Cell])| match pair.first() {
            Some(Cell::Text(own)) => key == own,
            _ => false,
        };
        match &self.keys {
            Some(keys) if keys.len() * 2 == cells.len() => {
                keys.iter().zip(cells.chunks_exact(2)).all(same)
            }
            _ => false,
        }
    }

    fn set(&mut self, rows: &Rows, map: Span) {
        let cells = rows.cells(map);
        let place = |pair: &[Cell]| match pair.first() {
            Some(Cell::Text(key)) => Some(*key),
            _ => None,
        };
        let mut places = self.keys.take().unwrap_or_default();
        places.clear();
        places.extend(cells.chunks_exact(2).map_while(place));
        self.keys = Some(places).filter(|places| places.len() * 2 == cells.len());
        self.alike = rows.alike_to(map);
    }
}

impl<T> LayoutCache<T> {
    /// What `make` gives for the map's keys, or gave for a map of the same keys. `latest` belongs to
    /// this cache and these rows.
    ///
    /// # Errors
    /// What `make` refuses.
    #[inline]
    pub(crate) fn get(
        &mut self,
        latest: &mut Latest,
        rows: &Rows,
        map: Span,
        make: impl FnOnce(&[Key]) -> Result<T, Fault>,
    ) -> Result<&T, Fault> {
        if !latest.is_of(rows, map) {
            *latest = Latest::default();
            self.find(rows, rows.cells(map), make)?;
            latest.set(rows, map);
        }
        match self.entries.first() {
            Some((_, result)) => Ok(result),
            None => Err(Fault::data("no keys")),
        }
    }

    /// Sees to it that the result for these keys is the first entry.
    fn find(
        &mut self,
        rows: &Rows,
        cells: &[Cell],
        make: impl FnOnce(&[Key]) -> Result<T, Fault>,
    ) -> Result<(), Fault> {
        let place = self.entries.iter().position(|(keys, _)| keys.are_of(rows, cells));
        match place {
            Some(0) => {}
            Some(place) => {
                if let Some(upto) = self.entries.get_mut(..=place) {
                    upto.rotate_right(1);
                }
            }
            None => {
                let keys = Keys::new(rows, cells);
                let result = make(&keys.keys)?;
                self.entries.truncate(LAYOUTS_MAX - 1);
                self.entries.insert(0, (keys, result));
            }
        }
        Ok(())
    }
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    Text(Box<str>),
    /// One that names no field, and its class.
    Other(&'static str),
}

impl Key {
    /// The name of a field.
    ///
    /// # Errors
    /// A key that is no text.
    pub(crate) fn name(&self) -> Result<&str, Fault> {
        match self {
            Key::Text(name) => Ok(name),
            Key::Other(class) => Err(Fault::not_text(class)),
        }
    }
}

/// The keys of a map in order.
struct Keys {
    keys: Vec<Key>,
}

impl Keys {
    fn new(rows: &Rows, cells: &[Cell]) -> Keys {
        let key = |pair: &[Cell]| match pair.first() {
            Some(Cell::Text(span)) => Key::Text(rows.text(*span).into()),
            other => Key::Other(java_class(None, other.copied().unwrap_or(Cell::Null))),
        };
        Keys { keys: cells.chunks_exact(2).map(key).collect() }
    }

    fn are_of(&self, rows: &Rows, cells: &[Cell]) -> bool {
        let same = |(key, pair): (&Key, &[Cell])| match (key, pair.first()) {
            (Key::Text(name), Some(key @ Cell::Text(_))) => is_text(rows, key, name),
            (Key::Other(_), Some(Cell::Text(_))) | (Key::Text(_), _) => false,
            (Key::Other(_), _) => true,
        };
        cells.len() == self.keys.len() * 2 && self.keys.iter().zip(cells.chunks_exact(2)).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::Alike;

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
                let seen = cache.get(&mut Latest::default(), &rows, map, |keys| {
                    made += 1;
                    let names: Vec<&str> = keys.iter().map(|key| key.name().unwrap()).collect();
                    Ok(names.join("+"))
                });
                assert_eq!(*seen.unwrap(), names.join("+"), "{round}");
            }
        }
        assert_eq!(made, layouts.len());
        for number in 0..100 {
            let map = map(&mut rows, &[&number.to_string()]);
            cache.get(&mut Latest::default(), &rows, map, |_| Ok(String::new())).unwrap();
        }
        assert_eq!(cache.entries.len(), LAYOUTS_MAX);
    }

    #[test]
    fn keys_in_one_place_are_equal_and_others_are_looked_at() {
        let mut rows = Rows::default();
        let [a, b, again] = ["a", "b", "a"].map(|name| Cell::Text(rows.heap.put(name.as_bytes())));
        let maps = [[a, b], [a, b], [again, b], [b, a], [a, b]];
        let maps = maps.map(|[one, two]| rows.alloc_from(&[one, Cell::Null, two, Cell::Null]));
        let mut cache = LayoutCache::default();
        let mut latest = Latest::default();
        let mut made = 0;
        let seen = maps.map(|map| {
            let name = |key: &Key| key.name().unwrap().to_owned();
            let make = |keys: &[Key]| {
                made += 1;
                Ok(keys.iter().map(name).collect::<String>())
            };
            cache.get(&mut latest, &rows, map, make).unwrap().clone()
        });
        assert_eq!((seen.join(" ").as_str(), made), ("ab ab ab ba ab", 2));
    }

    #[test]
    fn keys_that_are_no_text_name_no_field() {
        let mut rows = Rows::default();
        let text = Cell::Text(rows.heap.put(b"a"));
        let [map, other] = [Cell::int(1), Cell::Bool(true)]
            .map(|key| rows.alloc_from(&[text, Cell::Null, key, Cell::Null]));
        let mut cache = LayoutCache::default();
        let mut made = 0;
        for map in [map, other] {
            let seen = cache.get(&mut Latest::default(), &rows, map, |keys| {
                made += 1;
                Ok(keys.iter().map(|key| key.name().is_ok()).collect::<Vec<_>>())
            });
            assert_eq!(*seen.unwrap(), [true, false]);
        }
        assert_eq!(made, 1);
        let mut cache = LayoutCache::<()>::default();
        let refused = cache.get(&mut Latest::default(), &rows, map, |keys| {
            keys.iter().try_for_each(|key| key.name().map(|_| ()))
        });
        let refused = refused.unwrap_err();
        assert_eq!(refused.exception, "java.lang.ClassCastException");
        assert!(refused.message.ends_with("java.lang.Long"));
    }

    #[test]
    fn maps_that_are_alike_share_a_result_until_a_key_is_another() {
        let mut rows = Rows::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| Cell::Text(rows.heap.put(name.as_bytes())));
        let maps = [0; 4].map(|_| rows.alloc_from(&[a, Cell::Null, b, Cell::Null]));
        let mut alike = Alike::of(maps[0]);
        assert!(maps[1..].iter().all(|map| alike.extend(*map)));
        rows.set_alike(alike);
        let mut cache = LayoutCache::default();
        let mut seen = |latest: &mut Latest, rows: &Rows, map: Span| {
            let name = |key: &Key| key.name().unwrap().to_owned();
            let make = |keys: &[Key]| Ok(keys.iter().map(name).collect::<String>());
            cache.get(latest, rows, map, make).unwrap().clone()
        };
        // As a transform that renames: each map has its result before it is written into.
        let mut latest = Latest::default();
        for map in maps {
            assert_eq!(seen(&mut latest, &rows, map), "ab");
            rows.set(map, 2, c);
        }
        let mut latest = Latest::default();
        let half = Span { len: 2, ..maps[0] };
        for (map, wanted) in [(maps[0], "ac"), (half, "a"), (maps[3], "ac")] {
            assert_eq!(seen(&mut latest, &rows, map), wanted);
        }
    }
}
