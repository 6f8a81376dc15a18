//! Defaults of Avro's fields, as JSON in the schema, to the binary form.

use super::binary::{put_bytes, put_double, put_float, put_long};
use crate::avro::schema::{AvroSchema, Id, Kind};
use serde_json::Value as Json;

/// Appends a default. Of a union it is the first branch that takes it.
///
/// # Errors
/// It is no value of the type.
pub(super) fn encode(
    avro: &AvroSchema,
    id: Id,
    json: &Json,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let wrong = || format!("{json} is no default of the type {}", avro.kind(id).type_name());
    match avro.kind(id) {
        Kind::Null if json.is_null() => {}
        Kind::Boolean => out.push(u8::from(json.as_bool().ok_or_else(wrong)?)),
        Kind::Int => {
            let value = json.as_i64().and_then(|value| i32::try_from(value).ok());
            put_long(i64::from(value.ok_or_else(wrong)?), out);
        }
        Kind::Long => put_long(json.as_i64().ok_or_else(wrong)?, out),
        Kind::Float => put_float(json.as_f64().ok_or_else(wrong)? as f32, out),
        Kind::Double => put_double(json.as_f64().ok_or_else(wrong)?, out),
        Kind::String => put_bytes(json.as_str().ok_or_else(wrong)?.as_bytes(), out),
        Kind::Bytes => put_bytes(&latin1(json).ok_or_else(wrong)?, out),
        Kind::Fixed(fixed) => {
            let bytes = latin1(json).filter(|bytes| bytes.len() == fixed.size);
            out.extend_from_slice(&bytes.ok_or_else(wrong)?);
        }
        Kind::Enum(of) => {
            let symbol = json.as_str().ok_or_else(wrong)?;
            let at = of.symbols.iter().position(|known| known == symbol);
            put_long(at.ok_or_else(wrong)? as i64, out);
        }
        Kind::Array(items) => {
            let list = json.as_array().ok_or_else(wrong)?;
            if !list.is_empty() {
                put_long(list.len() as i64, out);
            }
            list.iter().try_for_each(|item| encode(avro, *items, item, out))?;
            put_long(0, out);
        }
        Kind::Map(values) => {
            let map = json.as_object().ok_or_else(wrong)?;
            if !map.is_empty() {
                put_long(map.len() as i64, out);
            }
            for (key, value) in map {
                put_bytes(key.as_bytes(), out);
                encode(avro, *values, value, out)?;
            }
            put_long(0, out);
        }
        Kind::Record(record) => {
            let object = json.as_object().ok_or_else(wrong)?;
            for field in &record.fields {
                let value = object.get(&field.name).or(field.default.as_ref());
                encode(avro, field.schema, value.ok_or_else(wrong)?, out)?;
            }
        }
        Kind::Union(branches) => {
            let start = out.len();
            for (at, branch) in branches.iter().enumerate() {
                put_long(at as i64, out);
                if encode(avro, *branch, json, out).is_ok() {
                    return Ok(());
                }
                out.truncate(start);
            }
            return Err(wrong());
        }
        Kind::Null => return Err(wrong()),
    }
    Ok(())
}

/// Each character is one byte.
fn latin1(json: &Json) -> Option<Vec<u8>> {
    json.as_str()?.chars().map(|c| u8::try_from(c).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: &str, json: &str) -> Result<Vec<u8>, String> {
        let avro = AvroSchema::parse(schema).unwrap();
        let mut out = Vec::new();
        encode(&avro, avro.root(), &serde_json::from_str(json).unwrap(), &mut out).map(|()| out)
    }

    #[test]
    fn every_type_has_a_default() {
        let fixed = r#"{"type":"fixed","name":"f","size":2}"#;
        let symbols = r#"{"type":"enum","name":"e","symbols":["A","B"]}"#;
        let record = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":"x"}]}"#;
        for (schema, json, wanted) in [
            (r#""null""#, "null", &[][..]),
            (r#""boolean""#, "true", &[1]),
            (r#""int""#, "-2", &[3]),
            (r#""float""#, "1", &[0, 0, 0x80, 0x3f]),
            (r#""bytes""#, r#""\u00ff""#, &[2, 0xff]),
            (fixed, r#""\u0001\u0002""#, &[1, 2]),
            (symbols, r#""B""#, &[2]),
            (r#"{"type":"array","items":"int"}"#, "[1,2]", &[4, 2, 4, 0]),
            (r#"{"type":"array","items":"int"}"#, "[]", &[0]),
            (r#"{"type":"map","values":"int"}"#, r#"{"k":1}"#, &[2, 2, b'k', 2, 0]),
            (record, r#"{"a":1}"#, &[2, 2, b'x']),
            (r#"["null","int"]"#, "null", &[0]),
            (r#"["null","int"]"#, "1", &[2, 2]),
        ] {
            assert_eq!(of(schema, json).as_deref(), Ok(wanted), "{schema}");
        }
        for (schema, json) in [
            (r#""int""#, "3000000000"),
            (r#""bytes""#, r#""\u0100""#),
            (fixed, r#""a""#),
            (symbols, r#""C""#),
            (record, "{}"),
            (r#"["null","int"]"#, r#""x""#),
        ] {
            assert!(of(schema, json).unwrap_err().contains("is no default of the type"));
        }
    }
}
