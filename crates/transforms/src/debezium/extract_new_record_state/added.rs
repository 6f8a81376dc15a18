//! The metadata that `add.fields` and `add.headers` name: how an item is read, and where an event
//! has it.
//!
//! An item is `field`, `struct.field` or either with `:new_name` behind it. A plain name is looked
//! for in the event itself, then in its `source`; the three names of a transaction's block in
//! `transaction`. What the event's schema does not have is left out.

use crate::debezium::envelope::{OP, SOURCE, TRANSACTION};
use crate::fault::Fault;
use data::{Cell, Rows, Schema, SchemaBuilder};
use std::sync::Arc;

/// Names that belong to the block of a transaction.
const IN_TRANSACTION: [&str; 3] = ["id", "total_order", "data_collection_order"];

/// One item of the list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    parent: Option<String>,
    field: String,
    /// The name it gets, prefix included.
    pub(super) name: Arc<str>,
}

impl Item {
    /// Reads an item.
    ///
    /// # Errors
    /// More than one colon.
    pub(super) fn parse(text: &str, prefix: &str) -> Result<Item, String> {
        let mut parts = text.split(':');
        let path = parts.next().unwrap_or_default();
        let given = parts.next().filter(|name| !name.is_empty());
        if parts.next().is_some() {
            return Err(format!("Unexpected field name: {text}"));
        }
        let (parent, field) = match path.split_once('.') {
            Some((parent, "")) => (None, parent),
            Some((parent, field)) => (Some(parent.to_owned()), field),
            None => (None, path),
        };
        let own = match &parent {
            Some(parent) => format!("{parent}_{field}"),
            None => field.to_owned(),
        };
        let name = format!("{prefix}{}", given.unwrap_or(&own)).into();
        Ok(Item { parent, field: field.to_owned(), name })
    }

    /// Whether it asks for the operation, the one thing that is known of a tombstone.
    pub(super) fn is_operation(&self) -> bool {
        self.field == OP
    }

    /// Where events of this schema have it; nothing if they do not.
    pub(super) fn find(&self, event: &Schema) -> Result<Option<Found>, Fault> {
        let top = event.field(&self.field);
        let parent = match &self.parent {
            _ if self.is_operation() => None,
            Some(parent) => Some(parent.as_str()),
            None if IN_TRANSACTION.contains(&self.field.as_str()) => Some(TRANSACTION),
            None if top.is_some() => None,
            None => Some(SOURCE),
        };
        let Some(parent) = parent else {
            return Ok(top.and_then(|at| found(event, None, at)));
        };
        let Some(outer) = event.field(parent) else {
            if self.parent.is_none() && self.field.starts_with("ts_") {
                return Ok(None);
            }
            return Err(Fault {
                exception: "java.lang.NullPointerException",
                message: format!("The change event has no field {parent}, so no {}", self.name)
                    .into(),
            });
        };
        let Some(inner) = event.fields().get(outer) else { return Ok(None) };
        let at = inner.schema.field(&self.field);
        Ok(at.and_then(|at| found(&inner.schema, Some(outer), at)))
    }
}

/// A piece of metadata: where it is, and the schema it gets.
#[derive(Clone, Debug)]
pub(super) struct Found {
    parent: Option<usize>,
    field: usize,
    pub(super) schema: Arc<Schema>,
}

fn found(schema: &Schema, parent: Option<usize>, field: usize) -> Option<Found> {
    let own = &schema.fields().get(field)?.schema;
    Some(Found { parent, field, schema: optional(own)? })
}

impl Found {
    pub(super) fn of(&self, rows: &Rows, event: Cell) -> Cell {
        let outer = match self.parent {
            None => event,
            Some(parent) => rows.fields(event).get(parent).copied().unwrap_or(Cell::Null),
        };
        rows.fields(outer).get(self.field).copied().unwrap_or(Cell::Null)
    }
}

/// The schema as an optional one without a default.
fn optional(schema: &Schema) -> Option<Arc<Schema>> {
    let mut builder = SchemaBuilder::copy(schema);
    if schema.default().is_some() {
        builder = SchemaBuilder::like(schema, schema.kind());
        let (keys, values) = (schema.key_schema(), schema.value_schema());
        // A default of these is rare; their children are all that `like` leaves out.
        builder = match (schema.kind(), keys, values) {
            (data::Type::Array, _, Some(items)) => SchemaBuilder::array(items.clone()),
            (data::Type::Map, Some(keys), Some(values)) => {
                SchemaBuilder::map(keys.clone(), values.clone())
            }
            _ => builder,
        };
        for field in schema.fields() {
            builder = builder.field(&field.name, field.schema.clone());
        }
    }
    builder.optional().build().ok().map(Arc::new)
}
