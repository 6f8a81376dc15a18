//! The mapping of values that have types: a struct of the mapped columns, each with its part's schema.
//!
//! Place in the data path: as the mapping's, for records of formats with schemas. Invariant: rows whose
//! parts have the same schemas have the same struct, by address.

use super::path::{Part, Source};
use super::{Entry, Fault, Record, Refused};
use crate::formats::scalar;
use data::{Cell, Schema, SchemaBuilder, Type, write_json};
use std::sync::Arc;

/// Structs that are kept: one for each set of parts that records had.
const STRUCTS_MAX: usize = 64;

/// Makes structs of parts.
pub(super) struct Typed {
    plain: Plain,
    structs: Vec<Known>,
    /// Of the row that is being made.
    cells: Vec<Cell>,
    schemas: Vec<Option<Arc<Schema>>>,
}

struct Known {
    /// One for each column; `None`: the record has no such part.
    parts: Vec<Option<Arc<Schema>>>,
    schema: Arc<Schema>,
}

/// The schemas of what says itself what it is.
struct Plain {
    text: Arc<Schema>,
    bytes: Arc<Schema>,
    int: Arc<Schema>,
    number: Arc<Schema>,
    boolean: Arc<Schema>,
    timestamp: Arc<Schema>,
}

impl Default for Typed {
    fn default() -> Typed {
        let timestamp = SchemaBuilder::timestamp().optional().build();
        let plain = Plain {
            text: scalar(Type::String),
            bytes: scalar(Type::Bytes),
            int: scalar(Type::Int64),
            number: scalar(Type::Float64),
            boolean: scalar(Type::Boolean),
            timestamp: timestamp.map_or_else(|_| scalar(Type::Int64), Arc::new),
        };
        Typed { plain, structs: Vec::new(), cells: Vec::new(), schemas: Vec::new() }
    }
}

impl Typed {
    /// The row of a record whose value has this schema.
    ///
    /// # Errors
    /// A part that cannot be had.
    pub(super) fn row(
        &mut self,
        entries: &mut [Entry],
        schema: Option<&Arc<Schema>>,
        record: &mut Record<'_>,
    ) -> Result<(Option<Arc<Schema>>, Cell), Refused> {
        self.cells.clear();
        self.schemas.clear();
        for entry in entries.iter_mut() {
            let part = self.part(entry, schema, record);
            let part = part.map_err(|fault| (fault, entry.column.clone()))?;
            let (cell, schema) = part.unzip();
            self.cells.extend(cell);
            self.schemas.push(schema);
        }
        let schema = self.structure(entries);
        Ok((Some(schema), Cell::Struct(record.rows.alloc_from(&self.cells))))
    }

    fn part(
        &self,
        entry: &mut Entry,
        schema: Option<&Arc<Schema>>,
        record: &mut Record<'_>,
    ) -> Result<Option<(Cell, Arc<Schema>)>, Fault> {
        let found = match &mut entry.source {
            Source::Value(path) => {
                let found = path.find_typed(record.rows, (record.root, schema))?;
                return Ok(found.map(|part| self.described(part, record)));
            }
            Source::Key(path) => {
                let schema = record.keys.schema(record.row).cloned();
                let root = (record.keys.root(record.row), schema.as_ref());
                let found = path.find_typed(record.keys, root)?;
                let found =
                    found.map(|(cell, schema)| (record.rows.adopt(record.keys, cell), schema));
                match found {
                    Some((Cell::Bytes(span), Some(schema))) if schema.name().is_none() => {
                        Some(Cell::Bytes(span))
                    }
                    other => return Ok(other.map(|part| self.described(part, record))),
                }
            }
            Source::Timestamp => {
                let time = record.batch.timestamp(record.row).map_or(Cell::Null, Cell::int);
                return Ok(Some((time, self.plain.timestamp.clone())));
            }
            _ => record.part(entry)?,
        };
        Ok(match found {
            Some(Cell::Bytes(span)) if !entry.bytea => {
                Some((record.text(span)?, self.plain.text.clone()))
            }
            other => other.map(|cell| self.described((cell, None), record)),
        })
    }

    /// A part with its schema; one that is found for what says itself what it is.
    fn described(&self, (cell, schema): Part<'_>, record: &mut Record<'_>) -> (Cell, Arc<Schema>) {
        if let Some(schema) = schema {
            return (cell, schema.clone());
        }
        let Plain { text, bytes, int, number, boolean, timestamp } = &self.plain;
        let (cell, schema) = match cell {
            Cell::Null | Cell::Text(_) => (cell, text),
            Cell::Bool(_) => (cell, boolean),
            Cell::Int(..) => (cell, int),
            Cell::Float(_) => (cell, number),
            Cell::Float32(value) => (Cell::Float(f64::from(value)), number),
            Cell::Bytes(_) => (cell, bytes),
            Cell::Instant(ms) => (Cell::int(ms), timestamp),
            // Digits are kept: columns of numbers and of JSON read their text.
            Cell::Number(span) | Cell::Json(span) => (Cell::Text(span), text),
            Cell::Decimal { .. } | Cell::List(_) | Cell::Map(_) | Cell::Struct(_) => {
                let mut json = Vec::new();
                write_json(record.rows, None, cell, &mut json);
                (Cell::Text(record.rows.heap.put(&json)), text)
            }
        };
        (cell, schema.clone())
    }

    /// The struct of the parts that the row has.
    fn structure(&mut self, entries: &[Entry]) -> Arc<Schema> {
        let same = |a: &Option<Arc<Schema>>, b: &Option<Arc<Schema>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let parts = &self.schemas;
        let known = self
            .structs
            .iter()
            .find(|known| known.parts.iter().zip(parts).all(|(a, b)| same(a, b)));
        if let Some(known) = known {
            return known.schema.clone();
        }
        let fields =
            entries.iter().zip(parts).filter_map(|(entry, part)| Some((entry, part.as_ref()?)));
        let builder = fields.fold(SchemaBuilder::structure(), |builder, (entry, part)| {
            builder.field(&entry.column, part.clone())
        });
        // Names of columns differ, which is all that a struct asks for.
        let schema = Arc::new(builder.build().unwrap_or_else(|_| Schema::new(Type::Struct)));
        if self.structs.len() >= STRUCTS_MAX {
            self.structs.clear();
        }
        self.structs.push(Known { parts: parts.clone(), schema: schema.clone() });
        schema
    }
}
