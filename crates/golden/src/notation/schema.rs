//! Schemas of the notation: a type's name, or an object with what else is set.

use super::unreadable;
use super::value::{read_value, write_value};
use crate::fault::{Fault, SCHEMA_BUILDER};
use data::{Schema, SchemaBuilder, Type};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Reads a schema; `None` for `null`.
///
/// # Errors
/// What is no notation, and Connect's own errors for schemas that cannot be built.
pub fn read_schema(node: &Json) -> Result<Option<Arc<Schema>>, Fault> {
    let name = match node {
        Json::Null => return Ok(None),
        Json::String(name) => name,
        node => node["type"].as_str().ok_or_else(|| unreadable("a schema without type", node))?,
    };
    let kind = read_type(name).ok_or_else(|| unreadable("a schema of no known type", node))?;
    let mut builder = match kind {
        Type::Array => SchemaBuilder::array(child(node, "values", "valueSchema")?),
        Type::Map => {
            let keys = child(node, "keys", "keySchema")?;
            SchemaBuilder::map(keys, child(node, "values", "valueSchema")?)
        }
        kind => SchemaBuilder::new(kind),
    };
    if node["optional"] == true {
        builder = builder.optional();
    }
    if let Some(name) = node["name"].as_str() {
        builder = builder.name(name);
    }
    if let Some(version) = node["version"].as_i64() {
        builder = builder.version(version as i32);
    }
    if let Some(doc) = node["doc"].as_str() {
        builder = builder.doc(doc);
    }
    for (name, value) in node["parameters"].as_object().into_iter().flatten() {
        builder = builder.parameter(name, value.as_str().unwrap_or_default());
    }
    for field in node["fields"].as_array().into_iter().flatten() {
        let name = field["name"].as_str().unwrap_or_default();
        let schema = read_schema(&field["schema"])?.ok_or_else(|| {
            Fault::new(SCHEMA_BUILDER, format!("fieldSchema for field {name} cannot be null."))
        })?;
        builder = builder.field(name, schema);
    }
    let Some(default) = node.get("default").filter(|default| !default.is_null()) else {
        return Ok(Some(Arc::new(builder.build()?)));
    };
    // Defaults come last: they are values of the schema as it stands.
    let shape = Arc::new(builder.clone().build()?);
    let default = read_value(default, Some(&shape))?;
    Ok(Some(Arc::new(builder.default(default).build()?)))
}

fn child(node: &Json, member: &str, what: &str) -> Result<Arc<Schema>, Fault> {
    read_schema(&node[member])?
        .ok_or_else(|| Fault::new(SCHEMA_BUILDER, format!("{what} cannot be null.")))
}

fn read_type(name: &str) -> Option<Type> {
    match name {
        "float32" => Some(Type::Float32),
        "float64" => Some(Type::Float64),
        "float" | "double" => None,
        name => Type::from_json_name(name),
    }
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Float32 => "float32",
        Type::Float64 => "float64",
        kind => kind.json_name(),
    }
}

/// Writes a schema; what is not set is left out.
pub fn write_schema(schema: Option<&Arc<Schema>>) -> Json {
    let Some(schema) = schema else { return Json::Null };
    let mut node = Map::new();
    node.insert("type".to_owned(), json!(type_name(schema.kind())));
    let mut set = |member: &str, value: Json| node.insert(member.to_owned(), value);
    if schema.is_optional() {
        set("optional", json!(true));
    }
    if let Some(name) = schema.name() {
        set("name", json!(name));
    }
    if let Some(version) = schema.version() {
        set("version", json!(version));
    }
    if let Some(doc) = schema.doc() {
        set("doc", json!(doc));
    }
    if let Some(parameters) = schema.parameters() {
        let members = parameters.iter().map(|(name, value)| (name.to_string(), json!(**value)));
        set("parameters", Json::Object(members.collect()));
    }
    match schema.kind() {
        Type::Array => {
            set("values", write_schema(schema.value_schema()));
        }
        Type::Map => {
            set("keys", write_schema(schema.key_schema()));
            set("values", write_schema(schema.value_schema()));
        }
        Type::Struct => {
            let fields = schema.fields().iter();
            let fields = fields.map(
                |field| json!({"name": *field.name, "schema": write_schema(Some(&field.schema))}),
            );
            set("fields", Json::Array(fields.collect()));
        }
        _ => {}
    }
    if let Some(default) = schema.default() {
        set("default", write_value(default, Some(schema)));
    }
    if node.len() == 1 { json!(type_name(schema.kind())) } else { Json::Object(node) }
}
