//! ValueToKey: a new key of some of the value's fields.
//!
//! The key is a struct without a name under a schema, a map without one. A member that the map lacks is
//! null in the key; a field that the schema lacks is an error. Under syntax V2 the key's field has the
//! path as its name, as configured.

use api::{Transform, TransformPlugin};
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask, Roots, Rows, Run, Schema, SchemaBuilder, Span};
use std::sync::Arc;

use crate::fault::Fault;
use crate::field_path::{FieldPath, FieldSyntax, Resolved};
use crate::part::{Near, Part, Row, rewrite_apart};
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only};

#[cfg(test)]
mod tests;

const CLASS: &str = "org.apache.kafka.connect.transforms.ValueToKey";

const PURPOSE: &str = "copying fields from value to key";

/// The settings.
#[derive(Clone, Debug, Config)]
struct ValueToKeyConfig {
    /// How the fields are named: V1, by their names alone; V2, by the names on the way to them with
    /// dots between them, where a name with dots stands between backticks.
    #[config(default = "V1", case_insensitive, importance = high)]
    field_syntax_version: FieldSyntax,
    /// Names of the value's fields that the key is made of; with syntax V2 the paths to them.
    #[config(non_empty, importance = high)]
    fields: Vec<String>,
    /// Whether a field that is null and has a default in its schema is copied as the default (true) or
    /// as null.
    #[config(default = true, importance = medium)]
    replace_null_with_default: bool,
}

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["ValueToKey"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Makes a new key of some of the value's fields.",
    config_def: ValueToKeyConfig::def,
    make: |props| Ok(Box::new(ValueToKey::new(props)?)),
};

struct ValueToKey {
    paths: Vec<FieldPath>,
    replace: bool,
    plans: SchemaCache<Plan>,
}

/// The key's schema and where its fields come from.
struct Plan {
    schema: Arc<Schema>,
    fields: Vec<Resolved>,
}

impl ValueToKey {
    fn new(props: &Props) -> Result<ValueToKey, ConfigErrors> {
        let config = ValueToKeyConfig::parse_plugin(props)?;
        let path = |text: &String| FieldPath::parse("fields", text, config.field_syntax_version);
        Ok(ValueToKey {
            paths: config.fields.iter().map(path).collect::<Result<_, _>>()?,
            replace: config.replace_null_with_default,
            plans: SchemaCache::default(),
        })
    }

    fn of_map(
        &self,
        (names, nears): (&[Cell], &mut [Near]),
        keys: &mut Rows,
        values: &mut Rows,
        value: &Cell,
    ) -> Result<Span, Fault> {
        let map = map_only(PURPOSE, values, value)?;
        let key = keys.alloc(names.len() * 2);
        for (at, ((path, name), near)) in self.paths.iter().zip(names).zip(nears).enumerate() {
            let place = at * 2..at * 2 + 2;
            match path.near(values, map, near) {
                Some(cell) if keys.adopts_as_it_is(values, cell) => {
                    if let Some([own, value]) = keys.cells_mut(key).get_mut(place) {
                        (*own, *value) = (*name, *cell);
                    }
                }
                _ => {
                    let found = path.find(values, map)?;
                    let found = keys.adopt(values, found);
                    keys.set(key, place.start, *name);
                    keys.set(key, place.start + 1, found);
                }
            }
        }
        Ok(key)
    }

    fn of_struct(
        &mut self,
        keys: &mut Rows,
        values: &mut Rows,
        (schema, value): (&Arc<Schema>, Cell),
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let fields = struct_only(PURPOSE, schema, &value)?;
        let paths = &self.paths;
        let plan = self.plans.get(schema, |schema| plan(paths, schema))?;
        let key = keys.alloc(plan.fields.len());
        for (at, field) in plan.fields.iter().enumerate() {
            if let Some(cell) = field.near(values, fields)
                && keys.adopts_as_it_is(values, cell)
            {
                keys.set(key, at, *cell);
                continue;
            }
            let found = field.cell(values, fields, self.replace);
            if found.is_null()
                && let Some(field) = plan.schema.fields().get(at)
                && !field.schema.is_optional()
            {
                return Err(Fault::null_for_required(&field.name, &field.schema));
            }
            let found = keys.adopt(values, found);
            keys.set(key, at, found);
        }
        roots.push(Some(&plan.schema), Cell::Struct(key));
        Ok(())
    }
}

fn plan(paths: &[FieldPath], schema: &Schema) -> Result<Plan, Fault> {
    let mut builder = SchemaBuilder::structure();
    let mut fields = Vec::with_capacity(paths.len());
    for path in paths {
        let resolved = path.resolve(schema)?;
        let Some((resolved, schema)) =
            resolved.and_then(|found| found.schema().cloned().map(|schema| (found, schema)))
        else {
            return Err(Fault::data(format!("Field does not exist: {}", path.text())));
        };
        builder = builder.field(path.text(), schema);
        fields.push(resolved);
    }
    let schema = builder.build().map_err(|error| Fault::builder(error.0))?;
    Ok(Plan { schema: Arc::new(schema), fields })
}

impl Transform for ValueToKey {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut names = Vec::new();
        let mut nears = Near::of(self.paths.len());
        // Of the values: that of the row before, mostly.
        let mut run = Run { schema: None, start: 0, rows: 0 };
        let named = batch.values.runs().first().is_some_and(|run| run.schema.is_none());
        let cells_per_key = self.paths.len() * if named { 2 } else { 1 };
        batch.keys.reserve(0, batch.len() * cells_per_key);
        rewrite_apart(CLASS, Part::Key, batch, selected, |keys, rest, row: Row<'_>, roots| {
            let value = rest.values.root(row.number);
            if !run.range().contains(&row.number) {
                let runs = rest.values.runs();
                let at = runs.partition_point(|run| run.range().end <= row.number);
                run = runs.get(at).cloned().unwrap_or(Run { schema: None, start: 0, rows: 0 });
            }
            if let Some(schema) = &run.schema {
                return self.of_struct(keys, &mut rest.values, (schema, value), roots);
            }
            if names.is_empty() {
                let put = |path: &FieldPath| Cell::Text(keys.heap.put(path.text().as_bytes()));
                names.extend(self.paths.iter().map(put));
            }
            let key = self.of_map((&names, &mut nears), keys, &mut rest.values, &value)?;
            roots.push(None, Cell::Map(key));
            Ok(())
        });
    }
}
