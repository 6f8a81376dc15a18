//! Fields of structs and members of maps under other names; their values stay where they are.
//!
//! Only the outermost names change. A struct's cells are not touched at all: its schema says the names,
//! and is made anew once.

use data::{Batch, Cell, Mask, Schema, SchemaBuilder, Type};
use std::sync::Arc;

use crate::fault::Fault;
use crate::part::{Part, rewrite_apart};
use crate::schema_cache::SchemaCache;

/// Gives names their new form.
pub(super) struct Renamer {
    pub(super) class: &'static str,
    pub(super) part: Part,
    pub(super) schemas: SchemaCache<Arc<Schema>>,
}

impl Renamer {
    pub(super) fn new(class: &'static str, part: Part) -> Renamer {
        Renamer { class, part, schemas: SchemaCache::default() }
    }

    /// Renames what the selected rows have.
    pub(super) fn apply(
        &mut self,
        batch: &mut Batch,
        selected: &Mask,
        name: impl Fn(&str) -> Result<String, Fault>,
    ) {
        let Renamer { class, part, schemas } = self;
        rewrite_apart(class, *part, batch, selected, |rows, _, row, roots| {
            if let (Some(schema), Cell::Struct(_)) = (row.schema, row.cell) {
                let made = schemas.get(schema, |schema| renamed(schema, &name))?;
                roots.push(Some(made), row.cell);
                return Ok(());
            }
            let cell = match rows.expand(row.cell) {
                Cell::Map(span) => {
                    let copy = rows.copy(span, 0);
                    for at in (0..span.len as usize).step_by(2) {
                        if let Some(Cell::Text(old)) = rows.cells(copy).get(at).copied() {
                            let new = name(rows.text(old))?;
                            let new = Cell::Text(rows.heap.put(new.as_bytes()));
                            rows.set(copy, at, new);
                        }
                    }
                    Cell::Map(copy)
                }
                _ => row.cell,
            };
            roots.push(row.schema, cell);
            Ok(())
        });
    }
}

fn renamed(
    schema: &Schema,
    name: impl Fn(&str) -> Result<String, Fault>,
) -> Result<Arc<Schema>, Fault> {
    let mut builder = SchemaBuilder::like(schema, Type::Struct);
    if schema.is_optional() {
        builder = builder.optional();
    }
    for field in schema.fields() {
        builder = builder.field(&name(&field.name)?, field.schema.clone());
    }
    builder.build().map(Arc::new).map_err(|error| Fault::builder(error.0))
}
