//! Cast: the whole key or value, or some of its fields, as another primitive type.
//!
//! What a value becomes is Java's: integers wrap, floats are cut towards zero, text has to be a number
//! and nothing else. Fields get a plain schema of the new type; a whole value keeps its schema's name.

mod convert;
mod numbers;
mod spec;
#[cfg(test)]
mod tests;

use api::Transform;
use config::{Config, ConfigErrors, Props, Validator};
use data::{Batch, Cell, Mask, Roots, Rows, Schema, SchemaBuilder, Struct, Type, Value, Width};
use std::sync::Arc;

use crate::copied::{MapCopy, Names, copy_struct};
use crate::fault::Fault;
use crate::part::{Near, Part, Row, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only};
use convert::{cast, cast_at};
use spec::Spec;

const PURPOSE: &str = "cast types";

/// The settings.
#[derive(Clone, Debug, Config)]
struct CastConfig {
    /// What to cast to what: `field:type` for fields of structs and maps, separated by commas, or a
    /// single `type` for the whole value. Types are int8, int16, int32, int64, float32, float64,
    /// boolean and string; what is cast may also be bytes (to string only) or of a logical type.
    #[config(importance = high, validator = spec_validator())]
    spec: Vec<String>,
    /// Whether to replace fields that have a default value and that are null to the default value.
    /// When set to true, the default value is used, otherwise null is used.
    #[config(key = "replace.null.with.default", default = true, importance = medium)]
    replace_null_with_default: bool,
}

fn spec_validator() -> Validator {
    Validator::custom(|key, value| match value {
        config::Value::List(items) => Spec::parse(key, items).map(|_| ()),
        _ => Err(spec::EMPTY.to_owned()),
    })
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "Cast",
    CastConfig,
    Cast::make,
    "Casts fields, or the whole key or value, to a type, for example to make an integer of text or to \
     narrow one.",
    &["Cast$Key", "io.confluent.connect.transforms.Cast$Key"],
    &["Cast$Value", "io.confluent.connect.transforms.Cast$Value"]
);

/// What a schema becomes.
struct Plan {
    schema: Arc<Schema>,
    /// Of a struct: the fields to cast.
    fields: Vec<(usize, Type)>,
}

struct Cast {
    class: &'static str,
    part: Part,
    spec: Spec,
    replace: bool,
    schemas: SchemaCache<Plan>,
}

impl Cast {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = CastConfig::parse_plugin(props)?;
        let spec = Spec::parse("spec", &config.spec)
            .map_err(|message| ConfigErrors::one("spec", message))?;
        Ok(Box::new(Cast {
            class,
            part,
            spec,
            replace: config.replace_null_with_default,
            schemas: SchemaCache::default(),
        }))
    }
}

impl Transform for Cast {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (class, part) = (self.class, self.part);
        let mut names = Names::default();
        let mut nears = Near::of(self.spec.fields().len());
        rewrite_apart(class, part, batch, selected, |rows, _, row, roots| {
            if row.cell.is_null() {
                roots.push(row.schema, Cell::Null);
                return Ok(());
            }
            match row.schema {
                Some(schema) => self.with_schema(rows, row, schema, roots),
                None => self.without_schema(rows, row, (&mut names, &mut nears), roots),
            }
        });
    }
}

impl Cast {
    fn with_schema(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        schema: &Arc<Schema>,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        if let Spec::Whole(target) = self.spec {
            let plan = self.schemas.get(schema, |schema| whole_plan(schema, target))?;
            let cell = match cast(rows, Some(schema), row.cell, target)? {
                // The name stayed, but this is no date any more.
                Cell::Int(value, _) if plan.schema.logical().is_temporal() => {
                    Cell::Int(value, Width::W8)
                }
                cell => cell,
            };
            roots.push(Some(&plan.schema), cell);
            return Ok(());
        }
        let span = struct_only(PURPOSE, schema, &row.cell)?;
        let spec = &self.spec;
        let plan = self.schemas.get(schema, |schema| struct_plan(schema, spec))?;
        let copy = copy_struct(rows, schema, span, 0, self.replace)?;
        for (index, target) in &plan.fields {
            let field = schema.fields().get(*index).map(|field| &*field.schema);
            cast_at(rows, field, (copy, *index), *target)?;
        }
        roots.push(Some(&plan.schema), Cell::Struct(copy));
        Ok(())
    }

    fn without_schema(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        (names, nears): (&mut Names, &mut [Near]),
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        if let Spec::Whole(target) = self.spec {
            let cell = cast(rows, None, row.cell, target)?;
            roots.push(None, cell);
            return Ok(());
        }
        let span = map_only(PURPOSE, rows, &row.cell)?;
        let fields = self.spec.fields();
        let mut copy = MapCopy::new(rows, span, fields.len());
        for (index, ((field, target), near)) in fields.iter().zip(nears).enumerate() {
            match copy.find(rows, field, near) {
                Some(place) => cast_at(rows, None, (copy.cells(), place), *target)?,
                None => {
                    let all = fields.iter().map(|(field, _)| field.as_str());
                    let name = names.get(rows, index, all);
                    (copy, _) = copy.add(rows, name);
                }
            }
        }
        roots.push(None, copy.finish());
        Ok(())
    }
}

fn whole_plan(schema: &Arc<Schema>, target: Type) -> Result<Plan, Fault> {
    let mut builder = SchemaBuilder::like(schema, target);
    if schema.is_optional() {
        builder = builder.optional();
    }
    if let Some(default) = schema.default() {
        builder = builder.default(cast_value(schema, default, target)?);
    }
    let schema = builder.build().map_err(Fault::from_schema)?;
    Ok(Plan { schema: Arc::new(schema), fields: Vec::new() })
}

fn struct_plan(schema: &Arc<Schema>, spec: &Spec) -> Result<Plan, Fault> {
    let mut builder = SchemaBuilder::like(schema, Type::Struct);
    let mut fields = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let Some(target) = spec.target(&field.name) else {
            builder = builder.field(&field.name, field.schema.clone());
            continue;
        };
        fields.push((index, target));
        let mut new = SchemaBuilder::new(target);
        if field.schema.is_optional() {
            new = new.optional();
        }
        if let Some(default) = field.schema.default() {
            new = new.default(cast_value(&field.schema, default, target)?);
        }
        let new = new.build().map_err(Fault::from_schema)?;
        builder = builder.field(&field.name, Arc::new(new));
    }
    if schema.is_optional() {
        builder = builder.optional();
    }
    if let Some(Value::Struct(default)) = schema.default() {
        builder = builder.default(cast_fields(schema, default, &fields)?);
    }
    let schema = builder.build().map_err(Fault::from_schema)?;
    Ok(Plan { schema: Arc::new(schema), fields })
}

/// The default of a struct whose fields are cast.
fn cast_fields(
    schema: &Schema,
    default: &Struct,
    fields: &[(usize, Type)],
) -> Result<Value, Fault> {
    let mut values = default.values.clone();
    for (index, target) in fields {
        if let (Some(value), Some(field)) = (values.get_mut(*index), schema.fields().get(*index)) {
            *value = cast_value(&field.schema, value, *target)?;
        }
    }
    Ok(Value::fields(values))
}

/// The same cast of an owned value, a default.
fn cast_value(schema: &Schema, value: &Value, target: Type) -> Result<Value, Fault> {
    let mut rows = Rows::default();
    let old = rows.put_value(Some(schema), value);
    let new = cast(&mut rows, Some(schema), old, target)?;
    Ok(rows.value(Some(&Schema::required_of(target)), new))
}
