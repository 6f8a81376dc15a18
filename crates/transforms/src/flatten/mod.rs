//! Flatten: fields of nested structs or maps move to the top, under names joined by a delimiter.
//!
//! Lists stay as they are. A field is optional where a struct around it is; a default is its own, else
//! the one that the nearest struct around it has for it. A null key or value stays as it is.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask};

use crate::part::{Part, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only};
use leaves::Leaves;

mod leaves;
mod members;
#[cfg(test)]
mod tests;

const PURPOSE: &str = "flattening";

/// The settings.
#[derive(Clone, Debug, Config)]
struct FlattenConfig {
    /// What stands between the names of the fields on the way, from the outside to the inside.
    #[config(default = ".", importance = medium)]
    delimiter: String,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "Flatten",
    FlattenConfig,
    Flatten::make,
    "Moves the fields of nested structs and maps to the top, under names joined by a delimiter."
);

struct Flatten {
    class: &'static str,
    part: Part,
    delimiter: String,
    leaves: SchemaCache<Leaves>,
    cells: Vec<Cell>,
    members: members::Scratch,
}

impl Flatten {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let FlattenConfig { delimiter } = FlattenConfig::parse(props)?;
        Ok(Box::new(Flatten {
            class,
            part,
            delimiter,
            leaves: SchemaCache::default(),
            cells: Vec::new(),
            members: members::Scratch::default(),
        }))
    }
}

impl Transform for Flatten {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let Flatten { class, part, delimiter, leaves, cells, members } = self;
        rewrite_apart(class, *part, batch, selected, |rows, _, row, roots| {
            if row.cell.is_null() {
                roots.push(row.schema, Cell::Null);
                return Ok(());
            }
            let Some(schema) = row.schema else {
                let map = map_only(PURPOSE, rows, &row.cell)?;
                roots.push(None, members::flat(rows, map, delimiter, members)?);
                return Ok(());
            };
            let fields = struct_only(PURPOSE, schema, &row.cell)?;
            let leaves = leaves.get(schema, |schema| Leaves::new(schema, delimiter))?;
            let flat = leaves.take(rows, fields, cells);
            roots.push(Some(leaves.schema()), Cell::Struct(flat));
            Ok(())
        });
    }
}
