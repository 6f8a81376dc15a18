//! The headers of a batch's records, decoded: names in order, duplicates kept, values as cells.
//!
//! A header is decoded only where something looks at it: most batches carry none, and most chains ask
//! for none. Until [`Headers::begin`] the headers are what the raw batch says, as bytes.
//!
//! Invariants: a record that was not touched keeps its headers in order; the cells of every header's
//! value lie in [`Headers::values`], whose own rows mean nothing.

use crate::cell::Cell;
use crate::rows::Rows;
use crate::schema::Schema;
use std::sync::Arc;

/// One header: a name, and a value with or without a schema.
#[derive(Clone, Debug)]
pub struct Header {
    pub name: Arc<str>,
    pub schema: Option<Arc<Schema>>,
    /// A cell of [`Headers::values`].
    pub value: Cell,
}

/// The headers of every record of a batch.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// What the values' cells point into.
    pub values: Rows,
    decoded: bool,
    entries: Vec<Header>,
    /// Of each row: `start..start + len` of the entries.
    places: Vec<(u32, u32)>,
}

impl Headers {
    /// No headers, and not decoded.
    pub fn undecoded(values: Rows) -> Headers {
        Headers { values, ..Headers::default() }
    }

    /// Whether the entries say what the records carry; else the raw batch does.
    pub fn is_decoded(&self) -> bool {
        self.decoded
    }

    /// Gives every row an empty list, decoded.
    pub fn begin(&mut self, rows: usize) {
        self.decoded = true;
        self.entries.clear();
        self.places.clear();
        self.places.resize(rows, (0, 0));
    }

    /// A record's headers in order.
    pub fn of(&self, row: usize) -> &[Header] {
        let Some((start, len)) = self.places.get(row) else { return &[] };
        self.entries.get(*start as usize..(start + len) as usize).unwrap_or_default()
    }

    /// The last header of that name.
    pub fn last(&self, row: usize, name: &str) -> Option<&Header> {
        self.of(row).iter().rev().find(|header| &*header.name == name)
    }

    /// Appends a header to a record.
    pub fn push(&mut self, row: usize, header: Header) {
        let end = self.entries.len() as u32;
        let Some(place) = self.places.get_mut(row) else { return };
        let (start, len) = *place;
        if len > 0 && start + len != end {
            // The list moves to the end, where it can grow.
            let old = start as usize..(start + len) as usize;
            self.entries.extend_from_within(old);
            *place = (end, len + 1);
        } else {
            *place = (end - len, len + 1);
        }
        if self.entries.is_empty() {
            // Who adds one header mostly adds it to every record.
            self.entries.reserve(self.places.len());
        }
        self.entries.push(header);
    }

    /// Keeps the headers of a record that `keep` says yes to.
    pub fn retain(&mut self, row: usize, mut keep: impl FnMut(&Header) -> bool) {
        let Some((start, len)) = self.places.get(row).copied() else { return };
        let mut kept = start as usize;
        for at in start as usize..(start + len) as usize {
            if self.entries.get(at).is_some_and(&mut keep) {
                self.entries.swap(kept, at);
                kept += 1;
            }
        }
        if let Some(place) = self.places.get_mut(row) {
            place.1 = kept as u32 - start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(headers: &Headers, row: usize) -> String {
        headers.of(row).iter().map(|h| &*h.name).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn lists_grow_and_shrink_apart_from_each_other() {
        let mut headers = Headers::default();
        assert!(!headers.is_decoded());
        headers.begin(3);
        for (row, name) in [(0, "a"), (1, "b"), (0, "c"), (2, "d"), (1, "b"), (0, "a")] {
            headers.push(row, Header { name: name.into(), schema: None, value: Cell::Null });
        }
        assert_eq!(["a,c,a", "b,b", "d"], [0, 1, 2].map(|row| names(&headers, row)));
        headers.retain(0, |h| &*h.name != "a");
        headers.retain(1, |_| false);
        headers.push(1, Header { name: "e".into(), schema: None, value: Cell::Bool(true) });
        headers.push(9, Header { name: "no".into(), schema: None, value: Cell::Null });
        assert_eq!(["c", "e", "d"], [0, 1, 2].map(|row| names(&headers, row)));
        assert_eq!(headers.last(1, "e").map(|h| h.value), Some(Cell::Bool(true)));
    }
}
