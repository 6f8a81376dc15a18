//! `Values`: text and data, and data of one type as data of another.

use super::{at, settled};
use crate::fault::{At, Fault};
use crate::notation::{read_pair, read_value, write_pair, write_schema, write_value};
use data::{Schema, SchemaError, Value, values};
use serde_json::{Value as Json, json};
use std::sync::Arc;

pub(super) fn parse_string(input: &Json) -> Json {
    let parsed = input["text"].as_str().and_then(values::parse_string);
    match parsed {
        Some((schema, value)) => write_pair(schema.as_ref(), &value),
        None => json!({"none": true}),
    }
}

pub(super) fn infer_schema(input: &Json) -> Json {
    let inferred = read_value(&input["value"], None)
        .map(|value| json!({"schema": write_schema(data::infer_schema(&value).as_ref())}));
    settled(inferred.map_err(at(At::Input)))
}

type Conversion = fn(Option<&Arc<Schema>>, &Value) -> Result<Value, SchemaError>;

/// The conversion to a type, by the end of its name; a decimal also takes a scale.
fn conversion(target: &str) -> Option<Conversion> {
    Some(match target {
        "Boolean" => values::convert_to_boolean,
        "Byte" => values::convert_to_byte,
        "Short" => values::convert_to_short,
        "Integer" => values::convert_to_integer,
        "Long" => values::convert_to_long,
        "Float" => values::convert_to_float,
        "Double" => values::convert_to_double,
        "String" => values::convert_to_string,
        "Date" => values::convert_to_date,
        "Time" => values::convert_to_time,
        "Timestamp" => values::convert_to_timestamp,
        "List" => values::convert_to_list,
        "Map" => values::convert_to_map,
        "Struct" => values::convert_to_struct,
        _ => return None,
    })
}

/// `None`: there is no such conversion.
pub(super) fn convert(target: &str, input: &Json) -> Option<Json> {
    let pair = match read_pair(input) {
        Ok(pair) => pair,
        Err(fault) => return Some(fault.answer(At::Input)),
    };
    let schema = pair.schema.as_ref();
    let converted = if target == "Decimal" {
        let scale = input["scale"].as_i64().and_then(|scale| scale.try_into().ok()).unwrap_or(0);
        values::convert_to_decimal(schema, &pair.value, scale)
    } else {
        conversion(target)?(schema, &pair.value)
    };
    let answer = converted.map(|value| json!({"value": write_value(&value, None)}));
    Some(settled(answer.map_err(Fault::from).map_err(at(At::Apply))))
}
