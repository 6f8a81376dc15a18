//! SetSchemaMetadata: gives the schema of the key or value another name, another version, or both.
//!
//! Works on schemas of every type, where Connect's own accepts structs only. A value whose schema gets
//! or loses the name of a logical type keeps its number or bytes, and is read by the new name.

#[cfg(test)]
mod tests;

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Logical, Mask, Roots, Rows, Schema, SchemaBuilder, Type, Width};
use std::sync::Arc;

use crate::copied::{copy_struct, has_null};
use crate::fault::Fault;
use crate::part::{Part, Row, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;

/// The settings.
#[derive(Clone, Debug, Config)]
struct SetSchemaMetadataConfig {
    /// Schema name to set.
    #[config(key = "schema.name", importance = high)]
    schema_name: Option<String>,
    /// Schema version to set.
    #[config(key = "schema.version", importance = high)]
    schema_version: Option<i32>,
    /// Whether to replace fields that have a default value and that are null to the default value.
    /// When set to true, the default value is used, otherwise null is used.
    #[config(key = "replace.null.with.default", default = true, importance = medium)]
    replace_null_with_default: bool,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "SetSchemaMetadata",
    SetSchemaMetadataConfig,
    SetSchemaMetadata::make,
    "Sets the schema name, version or both on the record's key or value schema."
);

struct SetSchemaMetadata {
    class: &'static str,
    part: Part,
    name: Option<String>,
    version: Option<i32>,
    replace: bool,
    schemas: SchemaCache<Arc<Schema>>,
}

impl SetSchemaMetadata {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = SetSchemaMetadataConfig::parse_plugin(props)?;
        if config.schema_name.is_none() && config.schema_version.is_none() {
            let text = "Neither schema name nor version configured";
            return Err(ConfigErrors::one("schema.name", text));
        }
        Ok(Box::new(SetSchemaMetadata {
            class,
            part,
            name: config.schema_name,
            version: config.schema_version,
            replace: config.replace_null_with_default,
            schemas: SchemaCache::default(),
        }))
    }
}

impl Transform for SetSchemaMetadata {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (class, part) = (self.class, self.part);
        rewrite_apart(class, part, batch, selected, |rows, _, row, roots| {
            self.set(rows, row, roots)
        });
    }
}

impl SetSchemaMetadata {
    fn set(&mut self, rows: &mut Rows, row: Row<'_>, roots: &mut Roots) -> Result<(), Fault> {
        let Some(schema) = row.schema else {
            if row.cell.is_null() {
                roots.push(None, row.cell);
                return Ok(());
            }
            return Err(Fault::data("Schema required for [updating schema metadata]"));
        };
        let (name, version) = (self.name.as_deref(), self.version);
        let renamed = self.schemas.get(schema, |schema| rename(schema, name, version))?;
        let cell = match row.cell {
            // Shared with the record as it was, unless there are nulls to see to.
            Cell::Struct(span) if has_null(rows.cells(span)) => {
                Cell::Struct(copy_struct(rows, schema, span, 0, self.replace)?)
            }
            cell if schema.logical() == renamed.logical() => cell,
            cell => reread(schema, renamed, cell),
        };
        roots.push(Some(renamed), cell);
        Ok(())
    }
}

fn rename(schema: &Schema, name: Option<&str>, version: Option<i32>) -> Result<Arc<Schema>, Fault> {
    let set = |mut builder: SchemaBuilder| {
        if let Some(name) = name {
            builder = builder.name(name);
        }
        if let Some(version) = version {
            builder = builder.version(version);
        }
        builder.build().map_err(Fault::from_schema)
    };
    let renamed = set(SchemaBuilder::copy(schema))?;
    let Some(default) = schema.default().filter(|_| renamed.logical() != schema.logical()) else {
        return Ok(Arc::new(renamed));
    };
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(schema), default);
    let default = rows.value(Some(&Arc::new(renamed.clone())), reread(schema, &renamed, cell));
    set(SchemaBuilder::copy(schema).default(default)).map(Arc::new)
}

/// The cell of a value that is of another logical type now: what encodes it stays.
fn reread(old: &Schema, new: &Schema, cell: Cell) -> Cell {
    match (cell, new.logical()) {
        (Cell::Decimal { unscaled, .. }, logical) if !matches!(logical, Logical::Decimal(_)) => {
            Cell::Bytes(unscaled)
        }
        (Cell::Decimal { unscaled, .. }, Logical::Decimal(Some(scale))) => {
            Cell::Decimal { unscaled, scale }
        }
        (Cell::Bytes(unscaled), Logical::Decimal(Some(scale))) => Cell::Decimal { unscaled, scale },
        (Cell::Int(value, _), _) => {
            let width = if old.kind() == Type::Int32 { Width::W32 } else { Width::W64 };
            Cell::Int(value, width)
        }
        (cell, _) => cell,
    }
}
