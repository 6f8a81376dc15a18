//! HoistField: puts the whole key or value into a struct or map of one field.
//!
//! Without a schema a null becomes a map with a null member, so a tombstone is one no longer, as in
//! Connect.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask, SchemaBuilder};
use std::sync::Arc;

use crate::fault::Fault;
use crate::part::{Part, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;

#[cfg(test)]
mod tests;

/// The settings.
#[derive(Clone, Debug, Config)]
struct HoistFieldConfig {
    /// Field name for the single field that will be created in the resulting Struct or Map.
    #[config(importance = medium)]
    field: String,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "HoistField",
    HoistFieldConfig,
    HoistField::make,
    "Wraps the key or value in a struct (with a schema) or a map (without one) of a single field."
);

struct HoistField {
    class: &'static str,
    part: Part,
    field: String,
    schemas: SchemaCache<Arc<data::Schema>>,
}

impl HoistField {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let HoistFieldConfig { field } = HoistFieldConfig::parse(props)?;
        Ok(Box::new(HoistField { class, part, field, schemas: SchemaCache::default() }))
    }
}

impl Transform for HoistField {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let HoistField { class, part, field, schemas } = self;
        let mut name = None;
        rewrite_apart(class, *part, batch, selected, |rows, _, row, roots| {
            let Some(schema) = row.schema else {
                let name = *name.get_or_insert_with(|| rows.heap.put(field.as_bytes()));
                let map = rows.alloc_from(&[Cell::Text(name), row.cell]);
                roots.push(None, Cell::Map(map));
                return Ok(());
            };
            let hoisted = schemas.get(schema, |schema| {
                let hoisted = SchemaBuilder::structure().field(field, schema.clone()).build();
                hoisted.map(Arc::new).map_err(|error| Fault::builder(error.0))
            })?;
            if row.cell.is_null() && !schema.is_optional() {
                return Err(Fault::null_for_required(field, schema));
            }
            let inner = rows.alloc_from(&[row.cell]);
            roots.push(Some(hoisted), Cell::Struct(inner));
            Ok(())
        });
    }
}
