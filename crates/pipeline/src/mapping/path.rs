//! Sources of a mapping, and the way from a value to a part of it.

use super::{Fault, json};
use data::{Cell, Rows, Schema};
use std::sync::Arc;

/// What a column is filled with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    Value(Path),
    Key(Path),
    Header(String),
    Topic,
    Partition,
    Offset,
    Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A member of an object or struct, and where among its cells the last one had it.
    Member(String, usize),
    /// An element of a list, from 0.
    Index(usize),
}

/// The way to a part of a value; empty: the value itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

impl Source {
    /// Reads `$`, `$.a.b[0]`, `key`, `key.a`, `headers.x`, `topic`, `partition`, `offset` or
    /// `timestamp`.
    pub(super) fn parse(text: &str) -> Option<Source> {
        Some(match text {
            "topic" => Source::Topic,
            "partition" => Source::Partition,
            "offset" => Source::Offset,
            "timestamp" => Source::Timestamp,
            _ => {
                if let Some(name) = text.strip_prefix("headers.").filter(|name| !name.is_empty()) {
                    return Some(Source::Header(name.to_owned()));
                }
                if let Some(path) = text.strip_prefix('$') {
                    return Path::parse(path).map(Source::Value);
                }
                Source::Key(Path::parse(text.strip_prefix("key")?)?)
            }
        })
    }
}

impl Path {
    fn parse(text: &str) -> Option<Path> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let (index, after) = after.split_once(']')?;
                steps.push(Step::Index(index.parse().ok()?));
                rest = after;
            } else {
                let after = rest.strip_prefix('.')?;
                let end = after.find(['.', '[', ']']).unwrap_or(after.len());
                let (name, after) =
                    after.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
                steps.push(Step::Member(name.to_owned(), 0));
                rest = after;
            }
        }
        Some(Path(steps))
    }

    /// The part of a value; `None` where there is none.
    ///
    /// # Errors
    /// A text that is none.
    #[inline]
    pub(super) fn find(&mut self, rows: &mut Rows, root: Cell) -> Result<Option<Cell>, Fault> {
        let mut cell = root;
        for step in &mut self.0 {
            let found = match (step, cell) {
                (Step::Member(name, place), Cell::Map(map)) => member(rows, map, name, place),
                (Step::Index(index), Cell::List(list)) => rows.cells(list).get(*index).copied(),
                (Step::Member(name, _), Cell::Json(text)) => json::member(rows, text, name)?,
                (Step::Index(index), Cell::Json(text)) => json::element(rows, text, *index)?,
                _ => None,
            };
            let Some(found) = found else { return Ok(None) };
            cell = found;
        }
        Ok(Some(cell))
    }
}

/// A part of a value, and its schema where it has one.
pub(super) type Part<'a> = (Cell, Option<&'a Arc<Schema>>);

impl Path {
    /// The part of a value of this schema; `None` where there is none.
    ///
    /// # Errors
    /// As [`Path::find`].
    pub(super) fn find_typed<'a>(
        &mut self,
        rows: &mut Rows,
        root: Part<'a>,
    ) -> Result<Option<Part<'a>>, Fault> {
        let (mut cell, mut schema) = root;
        for step in &mut self.0 {
            let items = schema.and_then(|schema| schema.value_schema());
            let found = match (step, cell, schema) {
                (Step::Member(name, place), Cell::Struct(span), Some(of)) => {
                    let Some(field) = field(of, name, place) else { return Ok(None) };
                    let schema = of.fields().get(field).map(|field| &field.schema);
                    Some((rows.cell(span, field), schema))
                }
                (Step::Member(name, place), Cell::Map(map), _) => {
                    member(rows, map, name, place).map(|cell| (cell, items))
                }
                (Step::Index(index), Cell::List(list), _) => {
                    rows.cells(list).get(*index).map(|cell| (*cell, items))
                }
                (Step::Member(name, _), Cell::Json(text), _) => {
                    json::member(rows, text, name)?.map(|cell| (cell, None))
                }
                (Step::Index(index), Cell::Json(text), _) => {
                    json::element(rows, text, *index)?.map(|cell| (cell, None))
                }
                _ => None,
            };
            let Some(found) = found else { return Ok(None) };
            (cell, schema) = found;
        }
        Ok(Some((cell, schema)))
    }
}

/// The place of a field; where the last one was is looked at first.
fn field(schema: &Schema, name: &str, place: &mut usize) -> Option<usize> {
    if schema.fields().get(*place).is_none_or(|field| *field.name != *name) {
        *place = schema.field(name)?;
    }
    Some(*place)
}

/// Members that repeat: the last one counts, as in jsonb. The converter leaves one of each.
fn member(rows: &Rows, map: data::Span, name: &str, place: &mut usize) -> Option<Cell> {
    let cells = rows.cells(map);
    let is = |cell: &Cell| matches!(cell, Cell::Text(span) if rows.bytes(*span) == name.as_bytes());
    if !cells.get(*place).is_some_and(is) {
        *place = cells.iter().step_by(2).position(is)? * 2;
    }
    cells.get(*place + 1).copied()
}
