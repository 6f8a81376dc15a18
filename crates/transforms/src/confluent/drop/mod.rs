//! Drop: sets the key or value to null, and does with its schema what is asked.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask, Schema, SchemaBuilder};
use std::sync::Arc;

use crate::fault::Fault;
use crate::part::{Part, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;

config::config_enum! {
    /// What becomes of the schema.
    enum SchemaBehavior {
        /// It goes too.
        Nullify = "nullify",
        /// It stays, optional or not.
        Retain = "retain",
        /// It stays, and must be optional.
        Validate = "validate",
        /// It stays and becomes optional.
        ForceOptional = "force_optional",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
struct DropConfig {
    /// What becomes of the schema: `nullify` drops it too, `retain` keeps it, `validate` keeps it and
    /// refuses records where it is not optional, `force_optional` makes it optional.
    #[config(key = "schema.behavior", default = "nullify", case_insensitive)]
    schema_behavior: SchemaBehavior,
}

key_and_value!(
    "io.confluent.connect.transforms",
    "Drop",
    DropConfig,
    Drop::make,
    "Sets the key or value to null."
);

struct Drop {
    class: &'static str,
    part: Part,
    behavior: SchemaBehavior,
    optional: SchemaCache<Arc<Schema>>,
}

impl Drop {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let behavior = DropConfig::parse(props)?.schema_behavior;
        Ok(Box::new(Drop { class, part, behavior, optional: SchemaCache::default() }))
    }
}

impl Transform for Drop {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let Drop { class, part, behavior, optional } = self;
        rewrite_apart(class, *part, batch, selected, |_, _, row, roots| {
            let schema = match (&behavior, row.schema) {
                (SchemaBehavior::Nullify, _) | (_, None) => None,
                (SchemaBehavior::Retain, schema) => schema.cloned(),
                (_, Some(schema)) if schema.is_optional() => Some(schema.clone()),
                (SchemaBehavior::Validate, Some(_)) => {
                    return Err(Fault::data(
                        "The schema is not optional, so there is no null of it",
                    ));
                }
                (SchemaBehavior::ForceOptional, Some(schema)) => {
                    let made = optional.get(schema, |schema| {
                        let made = SchemaBuilder::copy(schema).optional().build();
                        made.map(Arc::new).map_err(|error| Fault::builder(error.0))
                    })?;
                    Some(made.clone())
                }
            };
            roots.push(schema.as_ref(), Cell::Null);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::debezium::testing::{apply, batch, row, row_schema, shown};
    use data::{Schema, Type, Value};
    use std::sync::Arc;

    #[test]
    fn the_value_goes_and_the_schema_as_asked() {
        let required = Arc::new(Schema::new(Type::String));
        for (behavior, kept) in [
            ("nullify", [None, None]),
            ("retain", [Some(true), Some(false)]),
            ("force_optional", [Some(true), Some(true)]),
        ] {
            let mut batch = batch(&[
                (Some(row_schema()), row(1, "a")),
                (Some(required.clone()), Value::Text("x".to_owned())),
            ]);
            let config = [("schema.behavior", behavior)];
            apply("io.confluent.connect.transforms.Drop$Value", &config, &mut batch);
            let seen =
                [0, 1].map(|row| batch.values.schema(row).map(|schema| schema.is_optional()));
            assert_eq!(seen, kept, "{behavior}");
            assert_eq!([0, 1].map(|row| shown(&batch, row)), ["null", "null"]);
        }
        let mut batch = batch(&[(Some(required), Value::Text("x".to_owned()))]);
        let config = [("schema.behavior", "validate")];
        apply("io.confluent.connect.transforms.Drop$Value", &config, &mut batch);
        assert!(shown(&batch, 0).contains("not optional"));
    }
}
