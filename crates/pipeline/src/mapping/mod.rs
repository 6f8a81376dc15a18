//! The mapping of a consumer: each column gets a part of the record.
//!
//! Place in the data path: the last step of a lane's chain, before rows are bound. A value becomes an
//! object with the mapped columns as members, or a struct of them where its parts have types
//! (`typed.rs`). What the path of a column does not lead to is left out, so that the column gets its
//! default; a null that is there is a null. Sources that begin with `=` are SQL and computed by the
//! server (crate `sql`).
//!
//! Invariants: a record without a value stays one; bytes are copied only where a text has escapes or
//! comes from another part of the record.

mod json;
mod path;
mod typed;

use crate::control::Column;
use api::Transform;
use data::{Batch, Cell, Logical, Mask, Reject, Roots, Rows, Run, Semantic, Span, Stage};
use path::{Path, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use typed::Typed;

const CLASS: &str = "mapping";

/// A mapping as a step of a chain.
pub(crate) struct Mapping {
    entries: Vec<Entry>,
    /// The cells of the row that is being made.
    cells: Vec<Cell>,
    typed: Typed,
}

struct Entry {
    column: String,
    /// Bytes stay bytes; elsewhere they have to be text.
    bytea: bool,
    source: Source,
}

/// Why a record has no row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    sqlstate: &'static str,
    message: String,
}

impl Mapping {
    /// `columns`: of the relation, as far as they are known.
    ///
    /// # Errors
    /// A source that is none; the definition was checked before, so it is of another version.
    pub(crate) fn new(
        sources: &BTreeMap<String, String>,
        columns: &[Column],
    ) -> Result<Mapping, String> {
        let plain = sources.iter().filter(|(_, source)| !source.starts_with('='));
        let entry = |(column, source): (&String, &String)| {
            let source = Source::parse(source)
                .ok_or_else(|| format!("mapping: {source} is no source for the column {column}"))?;
            let bytea = columns.iter().any(|known| known.bytea && known.name == *column);
            Ok(Entry { column: column.clone(), bytea, source })
        };
        let entries: Vec<Entry> = plain.map(entry).collect::<Result<_, String>>()?;
        let cells = Vec::with_capacity(entries.len() * 2);
        Ok(Mapping { cells, entries, typed: Typed::default() })
    }
}

impl Transform for Mapping {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut rows = std::mem::take(&mut batch.values);
        let mut keys = std::mem::take(&mut batch.keys);
        let entries = self.entries.iter();
        let names: Vec<Span> =
            entries.map(|entry| rows.heap.put(entry.column.as_bytes())).collect();
        let topic = rows.heap.put(batch.raw.topic().as_bytes());
        let typed_keys = self.takes_keys() && keys.runs().iter().any(has_types);
        let old = rows.take_roots();
        let mut new = Roots::default();
        new.reserve(old.len());
        for run in old.runs() {
            let typed = typed_keys || has_types(run);
            for row in run.range() {
                let root = old.get(row);
                if root.is_null() || !selected.is_alive(row) || !batch.alive.is_alive(row) {
                    new.push(None, Cell::Null);
                    continue;
                }
                let (rows, keys) = (&mut rows, &mut keys);
                let mut record = Record { batch, rows, keys, row, root, topic };
                let made = match typed {
                    true => self.typed.row(&mut self.entries, run.schema.as_ref(), &mut record),
                    false => self.object(&names, &mut record).map(|cell| (None, cell)),
                };
                match made {
                    Ok((schema, cell)) => new.push(schema.as_ref(), cell),
                    Err((fault, column)) => {
                        new.push(None, Cell::Null);
                        batch.reject(fault.reject(row, column));
                    }
                }
            }
        }
        rows.set_roots(new);
        batch.values = rows;
        batch.keys = keys;
    }
}

/// Whether the schema says more of values than their cells do.
fn has_types(run: &Run) -> bool {
    run.schema.as_ref().is_some_and(|schema| {
        !schema.is_primitive()
            || schema.logical() != Logical::None
            || Semantic::meaning(schema).is_some()
    })
}

/// Why there is no row, and the column that it was found at.
type Refused = (Fault, String);

impl Mapping {
    fn takes_keys(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.source, Source::Key(_)))
    }

    /// An object of the parts, which describe themselves.
    #[inline]
    fn object(&mut self, names: &[Span], record: &mut Record<'_>) -> Result<Cell, Refused> {
        let Mapping { entries, cells, .. } = self;
        cells.clear();
        for (entry, name) in entries.iter_mut().zip(names) {
            match record.part(entry) {
                Ok(Some(cell)) => cells.extend([Cell::Text(*name), cell]),
                Ok(None) => {}
                Err(fault) => return Err((fault, entry.column.clone())),
            }
        }
        Ok(Cell::Map(record.rows.alloc_from(cells)))
    }
}

impl Fault {
    #[cold]
    fn reject(self, row: usize, column: String) -> Reject {
        Reject {
            sqlstate: Some(self.sqlstate.to_owned()),
            column: Some(column),
            exception: Cow::Borrowed("DataException"),
            ..Reject::data(row, Stage::Transformation, CLASS, self.message)
        }
    }
}

/// A record that is being mapped.
struct Record<'a> {
    batch: &'a Batch,
    rows: &'a mut Rows,
    keys: &'a mut Rows,
    row: usize,
    root: Cell,
    topic: Span,
}

impl Record<'_> {
    /// The part that an entry asks for; `None`: the record has none.
    #[inline]
    fn part(&mut self, entry: &mut Entry) -> Result<Option<Cell>, Fault> {
        let found = match &mut entry.source {
            Source::Value(path) => path.find(self.rows, self.root)?,
            Source::Key(path) => self.key(path)?,
            Source::Header(name) => self.header(name),
            Source::Topic => Some(Cell::Text(self.topic)),
            Source::Partition => Some(Cell::int(i64::from(self.batch.raw.partition()))),
            Source::Offset => self.batch.offset(self.row).map(Cell::int),
            Source::Timestamp => {
                Some(self.batch.timestamp(self.row).map_or(Cell::Null, Cell::Instant))
            }
        };
        match found {
            Some(Cell::Bytes(span)) if !entry.bytea => self.text(span).map(Some),
            other => Ok(other),
        }
    }

    fn key(&mut self, path: &mut Path) -> Result<Option<Cell>, Fault> {
        let root = self.keys.root(self.row);
        let found = path.find(self.keys, root)?;
        Ok(found.map(|cell| self.rows.adopt(self.keys, cell)))
    }

    /// The last header of that name.
    fn header(&mut self, name: &str) -> Option<Cell> {
        let mut places = self.batch.raw.header_places(self.row).rev();
        let (_, place) = places.find(|(known, _)| *known == name)?;
        // The value is in the fetched bytes, which the rows lie over too.
        Some(if place.is_null() { Cell::Null } else { Cell::Bytes(place) })
    }

    fn text(&self, span: Span) -> Result<Cell, Fault> {
        match std::str::from_utf8(self.rows.bytes(span)) {
            Ok(_) => Ok(Cell::Text(span)),
            Err(_) => Err(Fault {
                sqlstate: "22021",
                message: "the bytes are no UTF-8 text, and the column is not of type bytea"
                    .to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
