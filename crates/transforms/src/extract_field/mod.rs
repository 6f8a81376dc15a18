//! ExtractField: the key or value gives way to one of its fields.
//!
//! Under a schema the field must be there, also for a null; a map without the member gives null
//! (KAFKA-7052), as in Connect.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask};

use crate::fault::Fault;
use crate::field_path::{FieldPath, FieldSyntax, Resolved};
use crate::part::{Near, Part, rewrite};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_or_null, struct_or_null};

#[cfg(test)]
mod tests;

const PURPOSE: &str = "field extraction";

/// The settings.
#[derive(Clone, Debug, Config)]
struct ExtractFieldConfig {
    /// Name of the field to extract; with syntax V2 the path to it.
    #[config(importance = medium)]
    field: String,
    /// How the field is named: V1, by its name alone; V2, by the names on the way to it with dots
    /// between them, where a name with dots stands between backticks.
    #[config(default = "V1", case_insensitive, importance = high)]
    field_syntax_version: FieldSyntax,
    /// Whether a field that is null and has a default in its schema gives the default (true) or null.
    #[config(default = true, importance = medium)]
    replace_null_with_default: bool,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "ExtractField",
    ExtractFieldConfig,
    ExtractField::make,
    "Puts one field of the key or value in the place of the whole."
);

struct ExtractField {
    class: &'static str,
    part: Part,
    path: FieldPath,
    replace: bool,
    resolved: SchemaCache<Resolved>,
}

impl ExtractField {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = ExtractFieldConfig::parse(props)?;
        let path = FieldPath::parse("field", &config.field, config.field_syntax_version)?;
        let replace = config.replace_null_with_default;
        Ok(Box::new(ExtractField { class, part, path, replace, resolved: SchemaCache::default() }))
    }
}

impl Transform for ExtractField {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let ExtractField { class, part, path, replace, resolved } = self;
        let mut near = Near::default();
        rewrite(class, *part, batch, selected, |rows, _, row, roots| {
            let Some(schema) = row.schema else {
                let map = map_or_null(PURPOSE, rows, &row.cell)?;
                match map.and_then(|map| path.near(rows, map, &mut near)) {
                    Some(found) => roots.push(None, *found),
                    None => {
                        let found = map.map(|map| path.find(rows, map)).transpose()?;
                        roots.push(None, found.unwrap_or(Cell::Null));
                    }
                }
                return Ok(());
            };
            let fields = struct_or_null(PURPOSE, schema, &row.cell)?;
            let resolved = resolved.get(schema, |schema| {
                path.resolve(schema)?.ok_or_else(|| {
                    Fault::illegal_argument(format!("Unknown field: {}", path.text()))
                })
            })?;
            match fields.and_then(|fields| resolved.near(rows, fields)) {
                Some(found) => roots.push(resolved.schema(), *found),
                None => {
                    let found = fields.map(|fields| resolved.cell(rows, fields, *replace));
                    roots.push(resolved.schema(), found.unwrap_or(Cell::Null));
                }
            }
            Ok(())
        });
    }
}
