//! What becomes of an event's row: its new schema, and where each field of it comes from. Worked
//! out once for each schema.

use super::added::{Found, Item};
use crate::fault::Fault;
use data::{Cell, Field, Rows, Schema, SchemaBuilder, Type};
use std::sync::Arc;

/// The field that tells deletes from other rows.
const DELETED: &str = "__deleted";

/// What the settings ask for, for every schema alike.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) fields: Vec<Item>,
    /// Deletes become rows.
    pub(super) rewrite: bool,
    /// Nulls become their fields' defaults; matters for rewritten rows only, as in Debezium.
    pub(super) replace_nulls: bool,
}

/// A field of the row that stays.
#[derive(Clone, Debug)]
struct Kept {
    place: usize,
    schema: Arc<Schema>,
    name: Arc<str>,
}

/// How rows of a schema are rewritten.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) schema: Arc<Schema>,
    kept: Vec<Kept>,
    added: Vec<Found>,
    rewrite: bool,
    replace_nulls: bool,
    /// Every field stays where it is and nothing is added: the row's own cells will do.
    same: bool,
    /// Fields of `kept` that may not be null or that have a default.
    strict: Vec<usize>,
}

impl Shape {
    /// The shape of rows under `row`, without the fields that `dropped` says yes to.
    pub(super) fn new(
        event: &Schema,
        row: &Arc<Schema>,
        wish: &Wish,
        dropped: impl Fn(&Field) -> bool,
    ) -> Result<Shape, Fault> {
        let mut builder = SchemaBuilder::like(row, Type::Struct);
        let mut kept = Vec::new();
        for (place, field) in row.fields().iter().enumerate() {
            if !dropped(field) {
                builder = builder.field(&field.name, field.schema.clone());
                let (schema, name) = (field.schema.clone(), field.name.clone());
                kept.push(Kept { place, schema, name });
            }
        }
        if wish.rewrite {
            builder = builder.field(DELETED, optional_text()?);
        }
        let mut added = Vec::new();
        for item in &wish.fields {
            if let Some(found) = item.find(event)? {
                builder = builder.field(&item.name, found.schema.clone());
                added.push(found);
            }
        }
        let schema = builder.build().map_err(|error| Fault::builder(error.0))?;
        let strict = |(_, kept): &(usize, &Kept)| !kept.schema.is_optional() || has_default(kept);
        let strict = kept.iter().enumerate().filter(strict).map(|(at, _)| at).collect();
        let same = !wish.rewrite && added.is_empty() && kept.len() == row.fields().len();
        let (rewrite, replace_nulls) = (wish.rewrite, wish.rewrite && wish.replace_nulls);
        Ok(Shape { schema: Arc::new(schema), kept, added, rewrite, replace_nulls, same, strict })
    }

    /// The row in its new shape. `out` is room to work in.
    pub(super) fn row(
        &self,
        rows: &mut Rows,
        event: Cell,
        row: Cell,
        deleted: Cell,
        out: &mut Vec<Cell>,
    ) -> Result<Cell, Fault> {
        let cells = rows.fields(row);
        let at = |kept: &Kept| cells.get(kept.place).copied().unwrap_or(Cell::Null);
        out.clear();
        out.extend(self.kept.iter().map(at));
        let mut replaced = false;
        for &place in &self.strict {
            let (Some(slot), Some(kept)) = (out.get_mut(place), self.kept.get(place)) else {
                continue;
            };
            if !slot.is_null() {
                continue;
            }
            match kept.schema.default() {
                Some(default) if self.replace_nulls => {
                    *slot = rows.put_value(Some(&kept.schema), default);
                    replaced = true;
                }
                _ if kept.schema.is_optional() => {}
                _ => return Err(null_in_required(kept)),
            }
        }
        if self.same && !replaced {
            return Ok(row);
        }
        if self.rewrite {
            out.push(deleted);
        }
        out.extend(self.added.iter().map(|found| found.of(rows, event)));
        Ok(Cell::Struct(rows.alloc_from(out)))
    }
}

fn has_default(kept: &Kept) -> bool {
    kept.schema.default().is_some()
}

fn null_in_required(kept: &Kept) -> Fault {
    let kind = kept.schema.kind().name();
    Fault::data(format!(
        "Invalid value: null used for required field: \"{}\", schema type: {kind}",
        kept.name
    ))
}

fn optional_text() -> Result<Arc<Schema>, Fault> {
    let text = SchemaBuilder::new(Type::String).optional().build();
    text.map(Arc::new).map_err(|error| Fault::builder(error.0))
}
