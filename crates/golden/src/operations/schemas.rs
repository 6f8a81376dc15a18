//! Schemas: built, compared, asked whether they hold a value, projected; and structs by their fields.

use super::{at, settled};
use crate::fault::{At, Fault};
use crate::notation::{read_pair, read_schema, read_value, write_schema, write_value};
use data::{Schema, Struct, Type};
use serde_json::{Value as Json, json};
use std::sync::Arc;

pub(super) fn build(input: &Json) -> Json {
    let built = read_schema(&input["schema"]);
    let written = built.map(|schema| json!({"schema": write_schema(schema.as_ref())}));
    settled(written.map_err(at(At::Apply)))
}

fn required(node: &Json) -> Result<Arc<Schema>, (Fault, At)> {
    let schema = read_schema(node).map_err(at(At::Input))?;
    schema.ok_or_else(|| (Fault::data("there is no schema"), At::Apply))
}

pub(super) fn equals(input: &Json) -> Json {
    let compared = required(&input["a"]).and_then(|a| {
        let b = read_schema(&input["b"]).map_err(at(At::Input))?;
        Ok(json!({"result": Some(a) == b}))
    });
    settled(compared)
}

pub(super) fn validate(input: &Json) -> Json {
    let validated = required(&input["schema"]).and_then(|schema| {
        let pair = read_pair(input).map_err(at(At::Input))?;
        let valid = schema.validate(input["name"].as_str(), &pair.value);
        valid.map_err(Fault::from).map_err(at(At::Apply))?;
        Ok(json!({"ok": true}))
    });
    settled(validated)
}

pub(super) fn project(input: &Json) -> Json {
    let projected = required(&input["source"]).and_then(|source| {
        let target = required(&input["target"])?;
        let value = read_value(&input["value"], Some(&source)).map_err(at(At::Input))?;
        let projected = data::project(&source, &value, &target);
        let projected = projected.map_err(Fault::from).map_err(at(At::Apply))?;
        Ok(json!({"value": write_value(&projected, Some(&target))}))
    });
    settled(projected)
}

pub(super) fn structs(input: &Json) -> Json {
    let answered = required(&input["schema"]).and_then(|schema| {
        let made = Struct::new(schema.clone()).map_err(Fault::from).map_err(at(At::Apply));
        let mut made = made?;
        let calls = input["calls"].as_array().into_iter().flatten();
        let results: Vec<Json> = calls
            .map(|call| {
                called(&mut made, &schema, call).unwrap_or_else(
                    |fault| json!({"error": {"class": fault.class, "message": fault.message}}),
                )
            })
            .collect();
        Ok(json!({"results": results}))
    });
    settled(answered)
}

/// The type that a typed getter is about.
fn typed(call: &str) -> Option<Type> {
    Some(match call {
        "getInt8" => Type::Int8,
        "getInt16" => Type::Int16,
        "getInt32" => Type::Int32,
        "getInt64" => Type::Int64,
        "getFloat32" => Type::Float32,
        "getFloat64" => Type::Float64,
        "getBoolean" => Type::Boolean,
        "getString" => Type::String,
        "getBytes" => Type::Bytes,
        "getArray" => Type::Array,
        "getMap" => Type::Map,
        "getStruct" => Type::Struct,
        _ => return None,
    })
}

fn called(made: &mut Struct, schema: &Arc<Schema>, call: &Json) -> Result<Json, Fault> {
    let name = call[1].as_str().unwrap_or_default();
    let value = match call[0].as_str().unwrap_or_default() {
        "put" => {
            let field = schema.field(name).and_then(|index| schema.fields().get(index));
            let value = read_value(&call[2], field.map(|field| &field.schema))?;
            made.put(name, value)?;
            return Ok(json!({"ok": true}));
        }
        "validate" => {
            made.validate()?;
            return Ok(json!({"ok": true}));
        }
        "toString" => return Ok(json!({"text": made.to_string()})),
        "get" => made.get(name)?,
        "getWithoutDefault" => made.get_without_default(name)?,
        other => {
            let kind = typed(other);
            made.get_as(name, kind.ok_or_else(|| Fault::new("unknown", format!("no {other}")))?)?
        }
    };
    Ok(json!({"value": write_value(value, None)}))
}
