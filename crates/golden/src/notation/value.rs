//! Values of the notation: `null`, or the class and the content.

use super::schema::{read_schema, write_schema};
use super::unreadable;
use crate::fault::Fault;
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use data::{Schema, Struct, Type, Value, Width};
use num_bigint::BigInt;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Java's decoder does not mind bits that mean nothing, nor absent padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of base64 text.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

/// Reads a value. `shape` is the schema of a struct that does not say its own.
///
/// # Errors
/// What is no notation, and Connect's error for a field that a struct does not have.
pub fn read_value(node: &Json, shape: Option<&Arc<Schema>>) -> Result<Value, Fault> {
    if node.is_null() {
        return Ok(Value::Null);
    }
    let object = node.as_object().and_then(|object| object.iter().next());
    let (tag, content) = object.ok_or_else(|| unreadable("a value without class", node))?;
    let no_content = || unreadable("a value whose content is not of its class", node);
    let simple = match tag.as_str() {
        "i8" => integer(content, Width::W8),
        "i16" => integer(content, Width::W16),
        "i32" => integer(content, Width::W32),
        "i64" => integer(content, Width::W64),
        "f32" => float(content).map(|value| Value::Float32(value as f32)),
        "f64" => float(content).map(Value::Float),
        "bool" => content.as_bool().map(Value::Bool),
        "str" => content.as_str().map(|text| Value::Text(text.to_owned())),
        "bytes" | "bytebuffer" => content.as_str().and_then(from_base64).map(Value::Bytes),
        "decimal" => decimal(content),
        "bigint" => whole(content).map(Value::BigInteger),
        "date" => content.as_i64().map(Value::Instant),
        "list" => return read_list(content.as_array().ok_or_else(no_content)?, shape),
        "map" => return read_map(content.as_array().ok_or_else(no_content)?, shape),
        "struct" => {
            let own = node.get("schema").map(read_schema).transpose()?.flatten();
            let schema = own.as_ref().or(shape).ok_or_else(no_content)?;
            return read_struct(content.as_object().ok_or_else(no_content)?, schema);
        }
        _ => None,
    };
    simple.ok_or_else(no_content)
}

fn integer(content: &Json, width: Width) -> Option<Value> {
    content.as_i64().map(|value| Value::Int(value, width))
}

fn float(content: &Json) -> Option<f64> {
    match content {
        Json::String(text) => text.parse().ok(),
        number => number.as_f64(),
    }
}

fn whole(content: &Json) -> Option<Vec<u8>> {
    let number: BigInt = content.as_str()?.parse().ok()?;
    Some(number.to_signed_bytes_be())
}

fn decimal(content: &Json) -> Option<Value> {
    let unscaled = whole(content.get(0)?)?;
    let scale = content.get(1)?.as_i64()?.try_into().ok()?;
    Some(Value::Decimal { unscaled, scale })
}

fn read_list(items: &[Json], shape: Option<&Arc<Schema>>) -> Result<Value, Fault> {
    let item = shape.filter(|shape| shape.kind() == Type::Array);
    let item = item.and_then(|shape| shape.value_schema());
    let items: Result<_, _> = items.iter().map(|node| read_value(node, item)).collect();
    items.map(Value::List)
}

fn read_map(entries: &[Json], shape: Option<&Arc<Schema>>) -> Result<Value, Fault> {
    let map = shape.filter(|shape| shape.kind() == Type::Map);
    let keys = map.and_then(|shape| shape.key_schema());
    let values = map.and_then(|shape| shape.value_schema());
    let mut read: Vec<(Value, Value)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let key = read_value(entry.get(0).unwrap_or(&Json::Null), keys)?;
        let value = read_value(entry.get(1).unwrap_or(&Json::Null), values)?;
        // As in a map of Java: a key that is there already gets the new value.
        match read.iter_mut().find(|(known, _)| *known == key) {
            Some(entry) => entry.1 = value,
            None => read.push((key, value)),
        }
    }
    Ok(Value::Map(read))
}

fn read_struct(members: &Map<String, Json>, schema: &Arc<Schema>) -> Result<Value, Fault> {
    let mut read = Struct::new(schema.clone())?;
    // A field that is null, unset or absent is one and the same.
    for (name, node) in members.iter().filter(|(_, node)| !node.is_null()) {
        let field = schema.field(name).and_then(|index| schema.fields().get(index));
        read.put(name, read_value(node, field.map(|field| &field.schema))?)?;
    }
    Ok(Value::Struct(read))
}

/// Writes a value. `shape` is the schema beside it, which a struct of that schema does not repeat.
pub fn write_value(value: &Value, shape: Option<&Arc<Schema>>) -> Json {
    let of_kind = |kind| shape.filter(|shape| shape.kind() == kind);
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!({"bool": value}),
        Value::Int(value, Width::W8) => json!({"i8": value}),
        Value::Int(value, Width::W16) => json!({"i16": value}),
        Value::Int(value, Width::W32) => json!({"i32": value}),
        Value::Int(value, Width::W64) => json!({"i64": value}),
        Value::Float32(value) => json!({"f32": write_float(f64::from(*value))}),
        Value::Float(value) => json!({"f64": write_float(*value)}),
        Value::Text(text) => json!({"str": text}),
        Value::Bytes(bytes) => json!({"bytes": STANDARD.encode(bytes)}),
        Value::Decimal { unscaled, scale } => json!({"decimal": [digits(unscaled), scale]}),
        Value::BigInteger(bytes) => json!({"bigint": digits(bytes)}),
        Value::Instant(ms) => json!({"date": ms}),
        Value::List(items) => {
            let item = of_kind(Type::Array).and_then(|shape| shape.value_schema());
            json!({"list": items.iter().map(|value| write_value(value, item)).collect::<Vec<_>>()})
        }
        Value::Map(entries) => {
            let keys = of_kind(Type::Map).and_then(|shape| shape.key_schema());
            let values = of_kind(Type::Map).and_then(|shape| shape.value_schema());
            let pair = |(key, value): &(Value, Value)| {
                json!([write_value(key, keys), write_value(value, values)])
            };
            json!({"map": entries.iter().map(pair).collect::<Vec<_>>()})
        }
        Value::Struct(value) => write_struct(value, shape),
    }
}

fn write_struct(value: &Struct, shape: Option<&Arc<Schema>>) -> Json {
    let schema = value.schema.as_ref().or(shape);
    let fields = schema.map(|schema| schema.fields()).unwrap_or_default();
    let members = fields.iter().zip(&value.values);
    let members = members
        .map(|(field, value)| (field.name.to_string(), write_value(value, Some(&field.schema))));
    let mut node = json!({"struct": members.collect::<Map<_, _>>()});
    if let Some(own) = &value.schema
        && shape != Some(own)
    {
        node["schema"] = write_schema(Some(own));
    }
    node
}

/// What JSON numbers cannot say is text.
pub(crate) fn write_float(value: f64) -> Json {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else if value == 0.0 && value.is_sign_negative() {
        json!("-0.0")
    } else {
        json!(value)
    }
}

fn digits(unscaled: &[u8]) -> String {
    BigInt::from_signed_bytes_be(unscaled).to_string()
}
