//! Defaults: Connect's values as Avro's JSON, and whether a type takes them.

use super::super::options::AvroOptions;
use super::super::schema::{AvroBuilder, Id, Kind};
use super::{fixed_size, is_union, scrubbed};
use data::java_text::{value_class, write_float};
use data::{DAY_MS, Logical, Schema, Struct, Type, Value};
use serde_json::{Map, Number, Value as Json};

/// A default in the form that Avro's JSON has for the type. A struct that is a union is its first
/// branch, which is what defaults of unions are in Avro.
///
/// # Errors
/// A value that is none of the schema's.
pub(super) fn json(options: &AvroOptions, schema: &Schema, value: &Value) -> Result<Json, String> {
    let wrong = || {
        let (kind, class) = (schema.kind().name(), value_class(value));
        Err(format!("Invalid type used for default value of {kind} field: {class}"))
    };
    Ok(match (schema.kind(), value) {
        (_, Value::Null) => Json::Null,
        (_, Value::Instant(ms)) => match schema.logical() {
            Logical::Date => Json::from(ms.div_euclid(DAY_MS)),
            Logical::Time | Logical::Timestamp => Json::from(*ms),
            _ => return wrong(),
        },
        (Type::Bytes, Value::Decimal { unscaled, .. }) => {
            let size = fixed_size(schema).and_then(|size| size.parse().ok());
            Json::String(latin1(&padded(unscaled, size.unwrap_or(0))))
        }
        (Type::Bytes, Value::Bytes(bytes)) => Json::String(latin1(bytes)),
        (kind, Value::Int(value, _)) if kind.is_integer() => Json::from(*value),
        (Type::Float32, Value::Float32(value)) => float(*value),
        (Type::Float64, Value::Float(value)) => double(*value),
        (Type::Boolean, Value::Bool(value)) => Json::from(*value),
        (Type::String, Value::Text(text)) => Json::from(text.as_str()),
        (Type::Array, Value::List(items)) => {
            let items = items.iter().map(|item| element(options, schema.value_schema(), item));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        (Type::Map, Value::Map(entries)) => map(options, schema, entries)?,
        (Type::Struct, Value::Struct(value)) => structure(options, schema, value)?,
        _ => return wrong(),
    })
}

fn element(
    options: &AvroOptions,
    schema: Option<&std::sync::Arc<Schema>>,
    value: &Value,
) -> Result<Json, String> {
    match schema {
        Some(schema) => json(options, schema, value),
        None => Err("A default with elements of an unknown schema has no form in Avro".to_owned()),
    }
}

fn map(options: &AvroOptions, schema: &Schema, entries: &[(Value, Value)]) -> Result<Json, String> {
    let keys = schema.key_schema();
    let is_text = keys.is_some_and(|keys| {
        keys.kind() == Type::String && (!keys.is_optional() || options.allow_optional_map_keys)
    });
    if !is_text {
        let pair = |(key, value): &(Value, Value)| {
            let value = element(options, schema.value_schema(), value)?;
            Ok(Json::Array(vec![element(options, keys, key)?, value]))
        };
        return Ok(Json::Array(entries.iter().map(pair).collect::<Result<_, String>>()?));
    }
    let mut object = Map::new();
    for (key, value) in entries {
        let Value::Text(key) = key else {
            return Err(format!("Invalid type for STRING: {}", value_class(key)));
        };
        object.insert(key.clone(), element(options, schema.value_schema(), value)?);
    }
    Ok(Json::Object(object))
}

fn structure(options: &AvroOptions, schema: &Schema, value: &Struct) -> Result<Json, String> {
    let mut object = Map::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let value = value.values.get(index).filter(|value| !value.is_null());
        let value = value.or(field.schema.default()).unwrap_or(&Value::Null);
        let value = json(options, &field.schema, value)?;
        if is_union(schema) {
            return Ok(value);
        }
        object.insert(scrubbed(&field.name, options.scrub_invalid_names).into_owned(), value);
    }
    Ok(Json::Object(object))
}

/// At least so many bytes: a default of a fixed has its size.
fn padded(unscaled: &[u8], size: usize) -> Vec<u8> {
    let negative = unscaled.first().is_some_and(|byte| byte & 0x80 != 0);
    let missing = size.saturating_sub(unscaled.len());
    let mut bytes = vec![if negative { 0xff } else { 0 }; missing];
    bytes.extend_from_slice(unscaled);
    bytes
}

/// Each byte is one character.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// With the digits of 32 bits, not those of the double that it is in JSON.
fn float(value: f32) -> Json {
    let mut text = Vec::new();
    write_float(value, &mut text);
    let digits = std::str::from_utf8(&text).unwrap_or_default();
    double(digits.parse().unwrap_or(f64::from(value)))
}

/// JSON has no numbers that are infinite or none: they are text, which no type takes as a default.
fn double(value: f64) -> Json {
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => Json::from("NaN"),
        None if value > 0.0 => Json::from("Infinity"),
        None => Json::from("-Infinity"),
    }
}

/// Whether Avro's library takes this as the default of a field of the type. For a union that is any
/// branch.
pub(super) fn is_valid(builder: &AvroBuilder, id: Id, json: &Json) -> bool {
    match &builder.node(id).kind {
        Kind::Null => json.is_null(),
        Kind::Boolean => json.is_boolean(),
        Kind::Int => json.as_i64().is_some_and(|value| i32::try_from(value).is_ok()),
        Kind::Long => json.as_i64().is_some(),
        Kind::Float | Kind::Double => json.is_number(),
        Kind::String | Kind::Bytes | Kind::Enum(_) | Kind::Fixed(_) => json.is_string(),
        Kind::Array(items) => {
            let list = json.as_array();
            list.is_some_and(|list| list.iter().all(|item| is_valid(builder, *items, item)))
        }
        Kind::Map(values) => {
            let object = json.as_object();
            object.is_some_and(|map| map.values().all(|item| is_valid(builder, *values, item)))
        }
        Kind::Union(branches) => branches.iter().any(|branch| is_valid(builder, *branch, json)),
        Kind::Record(record) => json.as_object().is_some_and(|object| {
            record.fields.iter().all(|field| {
                let value = object.get(&field.name).or(field.default.as_ref());
                value.is_some_and(|value| is_valid(builder, field.schema, value))
            })
        }),
    }
}
