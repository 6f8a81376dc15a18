//! Fields that a header of the record says to leave out.
//!
//! The list differs from record to record, in practice it is one of few: what was worked out for a
//! list and a schema is kept.

use super::config::ExtractNewRecordStateConfig;
use super::shape::{Shape, Wish};
use crate::fault::Fault;
use crate::part::{Part, rewrite};
use data::{Batch, Cell, Field, Mask, Schema};
use std::sync::Arc;

/// Lists kept at a time.
const LISTS_MAX: usize = 64;

/// What was worked out for a list and a schema.
struct Known<T> {
    schema: Arc<Schema>,
    list: Vec<String>,
    made: T,
}

fn known<'a, T>(all: &'a [Known<T>], schema: &Arc<Schema>, list: &[String]) -> Option<&'a T> {
    let same = |seen: &&Known<T>| {
        (Arc::ptr_eq(&seen.schema, schema) || seen.schema == *schema) && seen.list == list
    };
    all.iter().find(same).map(|seen| &seen.made)
}

fn remember<T>(all: &mut Vec<Known<T>>, schema: &Arc<Schema>, list: Vec<String>, made: T) {
    if all.len() == LISTS_MAX {
        all.remove(0);
    }
    all.push(Known { schema: schema.clone(), list, made });
}

pub(super) struct Dropped {
    header: String,
    from_key: bool,
    only_optional: bool,
    /// For rows of `after`, and for those of `before`; by the event's schema.
    values: [Vec<Known<Arc<Shape>>>; 2],
    keys: Vec<Known<(Arc<Schema>, Vec<usize>)>>,
}

impl Dropped {
    pub(super) fn new(config: &ExtractNewRecordStateConfig) -> Option<Dropped> {
        let header = config.drop_fields_header_name.clone().filter(|name| !name.is_empty())?;
        Some(Dropped {
            header,
            from_key: config.drop_fields_from_key,
            only_optional: config.drop_fields_keep_schema_compatible,
            values: [Vec::new(), Vec::new()],
            keys: Vec::new(),
        })
    }

    /// The names that the record's first header of that name lists.
    fn list(&self, batch: &Batch, row: usize) -> Result<Vec<String>, Fault> {
        let headers = batch.headers.of(row);
        let Some(header) = headers.iter().find(|header| *header.name == *self.header) else {
            return Ok(Vec::new());
        };
        let values = &batch.headers.values;
        match header.value {
            Cell::Null => Ok(Vec::new()),
            Cell::List(span) => Ok(texts(values, values.cells(span))),
            Cell::Json(_) => {
                let mut values = values.clone();
                match values.expand(header.value) {
                    Cell::List(span) => Ok(texts(&values, values.cells(span))),
                    _ => Err(self.no_list()),
                }
            }
            _ => Err(self.no_list()),
        }
    }

    fn no_list(&self) -> Fault {
        Fault {
            exception: "java.lang.ClassCastException",
            message: format!("The header {} is no list of field names", self.header).into(),
        }
    }

    /// The shape of a record's row, which is the event's `after` (side 0) or `before`; nothing
    /// where no field is dropped.
    pub(super) fn shape(
        &mut self,
        batch: &Batch,
        row: usize,
        event: &Arc<Schema>,
        (side, schema): (usize, &Arc<Schema>),
        wish: &Wish,
    ) -> Result<Option<Arc<Shape>>, Fault> {
        let list = self.list(batch, row)?;
        if list.is_empty() {
            return Ok(None);
        }
        let all = self.values.get(side).map(Vec::as_slice).unwrap_or_default();
        if let Some(shape) = known(all, event, &list) {
            return Ok(Some(shape.clone()));
        }
        let dropped = |field: &Field| self.drops(&list, field);
        let shape = Arc::new(Shape::new(event, schema, wish, dropped)?);
        if let Some(all) = self.values.get_mut(side) {
            remember(all, event, list, shape.clone());
        }
        Ok(Some(shape))
    }

    fn drops(&self, list: &[String], field: &Field) -> bool {
        list.iter().any(|name| **name == *field.name)
            && (!self.only_optional || field.schema.is_optional())
    }

    /// Takes the listed fields out of the keys of the rows that were opened.
    pub(super) fn keys(&mut self, class: &'static str, batch: &mut Batch, opened: &[bool]) {
        if !self.from_key {
            return;
        }
        let all = Mask::all(batch.len());
        rewrite(class, Part::Key, batch, &all, |rows, batch, row, roots| {
            let list = match opened.get(row.number) {
                Some(true) => self.list(batch, row.number)?,
                _ => Vec::new(),
            };
            let nothing = list.is_empty() || row.cell.is_null();
            let (Some(schema), false) = (row.schema, nothing) else {
                roots.push(row.schema, row.cell);
                return Ok(());
            };
            if schema.kind() != data::Type::Struct {
                return Err(Fault::data("Cannot list fields on non-struct type"));
            }
            let (schema, places) = self.key(schema, list)?;
            let cells = rows.fields(row.cell);
            let kept = places.iter().map(|at| cells.get(*at).copied().unwrap_or(Cell::Null));
            let kept: Vec<Cell> = kept.collect();
            let cell = match row.cell {
                Cell::Struct(_) => Cell::Struct(rows.alloc_from(&kept)),
                other => other,
            };
            roots.push(Some(&schema), cell);
            Ok(())
        });
    }

    fn key(
        &mut self,
        schema: &Arc<Schema>,
        list: Vec<String>,
    ) -> Result<(Arc<Schema>, Vec<usize>), Fault> {
        if let Some(made) = known(&self.keys, schema, &list) {
            return Ok(made.clone());
        }
        let mut builder = data::SchemaBuilder::like(schema, data::Type::Struct);
        if schema.is_optional() {
            builder = builder.optional();
        }
        let mut places = Vec::new();
        for (place, field) in schema.fields().iter().enumerate() {
            if !self.drops(&list, field) {
                builder = builder.field(&field.name, field.schema.clone());
                places.push(place);
            }
        }
        let made = builder.build().map_err(|error| Fault::builder(error.0))?;
        let made = (Arc::new(made), places);
        remember(&mut self.keys, schema, list, made.clone());
        Ok(made)
    }
}

fn texts(rows: &data::Rows, cells: &[Cell]) -> Vec<String> {
    let text = |cell: &Cell| match cell {
        Cell::Text(span) => Some(rows.text(*span).to_owned()),
        _ => None,
    };
    cells.iter().filter_map(text).collect()
}
