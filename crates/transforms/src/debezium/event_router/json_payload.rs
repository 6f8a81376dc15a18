//! JSON text as a struct or list, under a schema found from the text itself.
//!
//! Members are optional. Integers are INT32 if they fit, else INT64, else doubles; elements of a list
//! must be of one type, objects among them are merged. A text that has no such schema stays text.
//!
//! Deliberately better than Debezium, which at the top level gives a list its schema and leaves
//! the text for its value, forgets members that only some elements of a list have below their first
//! level, and does the same with integers beyond 64 bits: see `docs/compatibility.md`.

use super::config::JsonNulls;
use data::{Cell, Rows, Schema, SchemaBuilder, Type, Width};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Schemas kept, so that payloads of one form share one.
const SCHEMAS_MAX: usize = 16;

pub(super) struct JsonPayloads {
    name: String,
    nulls: JsonNulls,
    known: Vec<Arc<Schema>>,
}

/// Why there is no schema.
enum No {
    /// Nothing is known of the type: the member is left out.
    Type,
    /// The text cannot be expanded.
    Way,
}

impl JsonPayloads {
    /// `name` is the name of the payload's schema.
    pub(super) fn new(name: &str, nulls: JsonNulls) -> JsonPayloads {
        JsonPayloads { name: name.to_owned(), nulls, known: Vec::new() }
    }

    /// The schema and value of a text; nothing where it stays text.
    pub(super) fn expand(&mut self, rows: &mut Rows, text: &str) -> Option<(Arc<Schema>, Cell)> {
        if !text.starts_with(['{', '[']) {
            return None;
        }
        // What stands behind the first value is not looked at, as in Debezium.
        let json = serde_json::Deserializer::from_str(text).into_iter::<Json>().next()?.ok()?;
        let schema = self.schema(&[&json], &self.name).ok()?;
        let schema = match self.known.iter().find(|known| ***known == *schema) {
            Some(known) => known.clone(),
            None => {
                self.known.truncate(SCHEMAS_MAX - 1);
                self.known.insert(0, schema.clone());
                schema
            }
        };
        let cell = cell(rows, &schema, &json);
        Some((schema, cell))
    }

    /// The schema that all of these values have.
    fn schema(&self, values: &[&Json], name: &str) -> Result<Arc<Schema>, No> {
        let mut some = values.iter().copied().filter(|value| !value.is_null());
        let Some(first) = some.next() else {
            return match self.nulls {
                JsonNulls::OptionalBytes if !values.is_empty() => optional(Type::Bytes),
                _ => Err(No::Type),
            };
        };
        let kind = kind(first);
        if some.any(|value| self::kind(value) != kind) {
            return Err(No::Way);
        }
        match kind {
            Type::Array => self.list(values, name),
            Type::Struct => self.object(values, name),
            kind => optional(kind),
        }
    }

    fn list(&self, values: &[&Json], name: &str) -> Result<Arc<Schema>, No> {
        let items: Vec<&Json> = values.iter().filter_map(|v| v.as_array()).flatten().collect();
        let name = if values.len() > 1 { "" } else { name };
        let item = match self.schema(&items, name) {
            Err(No::Type) if items.is_empty() => return Err(No::Type),
            Err(_) => return Err(No::Way),
            Ok(item) => item,
        };
        built(SchemaBuilder::array(item).optional())
    }

    fn object(&self, values: &[&Json], name: &str) -> Result<Arc<Schema>, No> {
        let objects: Vec<&Map<String, Json>> =
            values.iter().filter_map(|value| value.as_object()).collect();
        let mut names: Vec<&String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for key in objects.iter().flat_map(|object| object.keys()) {
            if seen.insert(key) {
                names.push(key);
            }
        }
        let mut builder = SchemaBuilder::structure();
        if !name.is_empty() {
            builder = builder.name(name);
        }
        let mut alike = true;
        for key in names {
            let members: Vec<&Json> = objects.iter().filter_map(|object| object.get(key)).collect();
            let below = if name.is_empty() { String::new() } else { format!("{name}.{key}") };
            match self.schema(&members, &below) {
                Ok(schema) => {
                    alike &= members.len() == objects.len() && members.iter().all(|m| has_type(m));
                    builder = builder.field(key, schema);
                }
                Err(No::Type) => {}
                Err(No::Way) => return Err(No::Way),
            }
        }
        built(if alike || objects.len() == 1 { builder.optional() } else { builder })
    }
}

/// Whether a value says its type.
fn has_type(value: &Json) -> bool {
    !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty())
}

fn kind(value: &Json) -> Type {
    match value {
        Json::Null => Type::Bytes,
        Json::Bool(_) => Type::Boolean,
        Json::String(_) => Type::String,
        Json::Array(_) => Type::Array,
        Json::Object(_) => Type::Struct,
        Json::Number(number) => match number.as_i64() {
            Some(value) if i32::try_from(value).is_ok() => Type::Int32,
            Some(_) => Type::Int64,
            None => Type::Float64,
        },
    }
}

fn optional(kind: Type) -> Result<Arc<Schema>, No> {
    built(SchemaBuilder::new(kind).optional())
}

fn built(builder: SchemaBuilder) -> Result<Arc<Schema>, No> {
    builder.build().map(Arc::new).map_err(|_| No::Way)
}

/// A value under the schema that was found from it.
fn cell(rows: &mut Rows, schema: &Schema, value: &Json) -> Cell {
    match value {
        Json::Null => Cell::Null,
        Json::Bool(value) => Cell::Bool(*value),
        Json::String(text) => Cell::Text(rows.heap.put(text.as_bytes())),
        Json::Number(number) => match (schema.kind(), number.as_i64()) {
            (Type::Int32, Some(value)) => Cell::Int(value, Width::W32),
            (Type::Int64, Some(value)) => Cell::Int(value, Width::W64),
            _ => Cell::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::Array(items) => {
            let Some(item) = schema.value_schema() else { return Cell::Null };
            let cells: Vec<Cell> = items.iter().map(|value| cell(rows, item, value)).collect();
            Cell::List(rows.alloc_from(&cells))
        }
        Json::Object(members) => {
            let of = |field: &data::Field| members.get(&*field.name).unwrap_or(&Json::Null);
            let fields = schema.fields().iter();
            let cells: Vec<Cell> =
                fields.map(|field| cell(rows, &field.schema, of(field))).collect();
            Cell::Struct(rows.alloc_from(&cells))
        }
    }
}
