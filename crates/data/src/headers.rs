//! The headers of a batch's records, decoded: names in order, duplicates kept, values as cells.
//!
//! A header is decoded only where something looks at it: most batches carry none, and most chains ask
//! for none. Until [`Headers::begin`] the headers are what the raw batch says, as bytes.
//!
//! Invariants: a record that was not touched keeps its headers in order; the cells of every header's
//! value lie in [`Headers::values`], whose own rows mean nothing. Records may share a list: lists change
//! by growing at the end of all, or by moving there.

use crate::cell::Cell;
use crate::rows::Rows;
use crate::schema::Schema;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// One header: a name, and a value with or without a schema.
#[derive(Clone, Debug)]
pub struct Header {
    pub name: Arc<str>,
    pub schema: Option<Arc<Schema>>,
    /// A cell of [`Headers::values`].
    pub value: Cell,
}

/// What many headers have in common.
#[derive(Clone, Debug)]
pub struct HeaderKind {
    pub name: Arc<str>,
    pub schema: Option<Arc<Schema>>,
}

/// One header of a record.
#[derive(Clone, Copy, Debug)]
pub struct HeaderRef<'a> {
    pub kind: &'a HeaderKind,
    /// A cell of [`Headers::values`].
    pub value: Cell,
}

impl Deref for HeaderRef<'_> {
    type Target = HeaderKind;

    fn deref(&self) -> &HeaderKind {
        self.kind
    }
}

/// Kinds among which that of a new header is looked for; as many as a record mostly has.
const KINDS_NEAR: usize = 8;

/// A header: the number of its kind, and its value.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: u32,
    value: Cell,
}

/// The headers of every record of a batch.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// What the values' cells point into.
    pub values: Rows,
    decoded: bool,
    kinds: Vec<HeaderKind>,
    entries: Vec<Entry>,
    /// Of each row: `start..start + len` of the entries.
    places: Vec<(u32, u32)>,
    /// Whether two rows may have entries in common.
    shared: bool,
}

/// A record's headers in order.
#[derive(Clone, Copy, Debug)]
pub struct HeaderList<'a> {
    kinds: &'a [HeaderKind],
    entries: &'a [Entry],
}

impl<'a> HeaderList<'a> {
    pub fn len(self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(self) -> bool {
        self.entries.is_empty()
    }

    pub fn first(self) -> Option<HeaderRef<'a>> {
        self.iter().next()
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = HeaderRef<'a>> + DoubleEndedIterator {
        self.entries.iter().map(move |entry| entry.of(self.kinds))
    }
}

impl Entry {
    /// Invariant: an entry's kind is one of its own headers', which lose none while they have entries.
    fn of(self, kinds: &[HeaderKind]) -> HeaderRef<'_> {
        HeaderRef { kind: &kinds[self.kind as usize], value: self.value }
    }
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
        self.shared = false;
        self.kinds.clear();
        self.entries.clear();
        self.places.clear();
        self.places.resize(rows, (0, 0));
    }

    /// A record's headers in order.
    pub fn of(&self, row: usize) -> HeaderList<'_> {
        let entries = self.entries.get(self.range(row)).unwrap_or_default();
        HeaderList { kinds: &self.kinds, entries }
    }

    fn range(&self, row: usize) -> Range<usize> {
        let (start, len) = self.places.get(row).copied().unwrap_or_default();
        start as usize..(start + len) as usize
    }

    /// The last header of that name.
    pub fn last(&self, row: usize, name: &str) -> Option<HeaderRef<'_>> {
        self.of(row).iter().rev().find(|header| &*header.name == name)
    }

    /// Appends a header to a record.
    pub fn push(&mut self, row: usize, header: Header) {
        self.push_of(row, &header.name, header.schema.as_ref(), header.value);
    }

    /// The same from parts, which are not counted again for each record.
    #[inline]
    pub fn push_of(
        &mut self,
        row: usize,
        name: &Arc<str>,
        schema: Option<&Arc<Schema>>,
        value: Cell,
    ) {
        let kind = self.kind(name, schema);
        self.push_entry(row, Entry { kind, value });
    }

    /// Appends the same header to several records.
    pub fn push_all(&mut self, rows: impl IntoIterator<Item = usize>, header: &Header) {
        let kind = self.kind(&header.name, header.schema.as_ref());
        let entry = Entry { kind, value: header.value };
        let mut list = None;
        for row in rows {
            match self.places.get_mut(row) {
                Some(place) if place.1 == 0 => {
                    let start = *list.get_or_insert_with(|| {
                        self.entries.push(entry);
                        self.entries.len() as u32 - 1
                    });
                    *place = (start, 1);
                    self.shared = true;
                }
                Some(_) => self.push_entry(row, entry),
                None => {}
            }
        }
    }

    /// The number of a kind, looked for by address among the latest.
    #[inline]
    fn kind(&mut self, name: &Arc<str>, schema: Option<&Arc<Schema>>) -> u32 {
        let is = |kind: &HeaderKind| {
            let same_schema = match (&kind.schema, schema) {
                (Some(own), Some(schema)) => Arc::ptr_eq(own, schema),
                (None, None) => true,
                _ => false,
            };
            Arc::ptr_eq(&kind.name, name) && same_schema
        };
        let mut near = self.kinds.iter().enumerate().rev().take(KINDS_NEAR);
        let known = near.find(|(_, kind)| is(kind)).map(|(number, _)| number as u32);
        known.unwrap_or_else(|| self.learn(name, schema))
    }

    #[cold]
    fn learn(&mut self, name: &Arc<str>, schema: Option<&Arc<Schema>>) -> u32 {
        self.kinds.push(HeaderKind { name: name.clone(), schema: schema.cloned() });
        self.kinds.len() as u32 - 1
    }

    #[inline]
    fn push_entry(&mut self, row: usize, entry: Entry) {
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
        self.entries.push(entry);
    }

    /// Keeps the headers of a record that `keep` says yes to.
    pub fn retain(&mut self, row: usize, mut keep: impl FnMut(&HeaderRef<'_>) -> bool) {
        if self.shared && !self.of(row).is_empty() {
            // Others may have the list too: this record gets one of its own.
            let end = self.entries.len();
            self.entries.extend_from_within(self.range(row));
            if let Some(place) = self.places.get_mut(row) {
                place.0 = end as u32;
            }
        }
        let range = self.range(row);
        let mut kept = range.start;
        for at in range.clone() {
            if self.entries.get(at).is_some_and(|entry| keep(&entry.of(&self.kinds))) {
                self.entries.swap(kept, at);
                kept += 1;
            }
        }
        if let Some(place) = self.places.get_mut(row) {
            place.1 = (kept - range.start) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(headers: &Headers, row: usize) -> String {
        headers.of(row).iter().map(|h| &*h.kind.name).collect::<Vec<_>>().join(",")
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

    #[test]
    fn a_list_that_records_share_changes_for_one_alone() {
        let mut headers = Headers::default();
        headers.begin(4);
        let header =
            |name: &str| Header { name: name.into(), schema: None, value: Cell::Bool(true) };
        headers.push(1, header("own"));
        headers.push_all([0, 1, 2, 3, 9], &header("all"));
        assert_eq!(["all", "own,all", "all", "all"], [0, 1, 2, 3].map(|row| names(&headers, row)));
        headers.push(0, header("x"));
        headers.push_all([0, 2], &header("y"));
        headers.retain(3, |h| &*h.name != "all");
        headers.retain(2, |h| &*h.name == "y");
        headers.push(3, header("z"));
        let seen = [0, 1, 2, 3].map(|row| names(&headers, row));
        assert_eq!(seen, ["all,x,y", "own,all", "y", "z"]);
        assert_eq!(headers.of(0).first().map(|h| h.value), Some(Cell::Bool(true)));
        headers.begin(1);
        assert!(headers.of(0).is_empty());
    }

    #[test]
    fn kinds_are_kept_apart_by_name_and_schema() {
        let mut headers = Headers::default();
        headers.begin(2);
        let name: Arc<str> = "n".into();
        let schemas = [None, Some(Schema::required_of(crate::Type::Int64))];
        for round in 0..20 {
            for schema in &schemas {
                headers.push_of(0, &name, schema.as_ref(), Cell::int(round));
            }
            headers.push_of(0, &format!("{round}").as_str().into(), None, Cell::Null);
        }
        let of_name = headers.of(0).iter().filter(|h| &*h.name == "n");
        let seen: Vec<_> = of_name.map(|h| (h.schema.is_some(), h.value)).collect();
        let wanted = (0..20).flat_map(|at| [(false, Cell::int(at)), (true, Cell::int(at))]);
        assert_eq!(seen, wanted.collect::<Vec<_>>());
        assert!(headers.kinds.len() < 20 + 2 * (20 / KINDS_NEAR + 2), "{}", headers.kinds.len());
    }
}
