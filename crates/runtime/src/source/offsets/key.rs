//! The key of an offset record, and when two of them mean the same partition.

use api::SourceMap;
use data::java_json::{read_json, write_json};
use serde_json::Value;

/// A connector's name and one of its source partitions, as they stand in an offset record's key.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetKey {
    pub connector: String,
    pub partition: SourceMap,
}

impl OffsetKey {
    /// Reads a record's key; `None` where it is no array of a text and an object.
    pub fn parse(bytes: &[u8]) -> Option<OffsetKey> {
        match read_json(bytes).ok()? {
            Value::Array(parts) => match <[Value; 2]>::try_from(parts).ok()? {
                [Value::String(connector), Value::Object(partition)] => {
                    Some(OffsetKey { connector, partition })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The bytes of a key that was not seen before.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = [Value::String(self.connector.clone()), Value::Object(self.partition.clone())];
        let mut out = Vec::new();
        write_json(&Value::Array(parts.into()), &mut out);
        out
    }
}

/// A text that is the same for every way to write one partition.
pub(super) fn canonical(partition: &SourceMap) -> String {
    let mut members: Vec<(&String, String)> =
        partition.iter().map(|(name, value)| (name, canonical_value(value))).collect();
    members.sort();
    let members: Vec<String> =
        members.into_iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    members.join(",")
}

fn canonical_value(value: &Value) -> String {
    match value {
        // 1 and 1.0 are one number to whoever asks for it.
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                format!("{}", float as i64)
            }
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(json: &str) -> SourceMap {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn member_order_and_number_forms_are_one_partition() {
        let one = canonical(&map(r#"{"a":1,"b":"x"}"#));
        assert_eq!(one, canonical(&map(r#"{"b":"x","a":1.0}"#)));
        for other in
            [r#"{"a":2,"b":"x"}"#, r#"{"a":"1","b":"x"}"#, r#"{"a":1}"#, r#"{"a":1,"b":null}"#]
        {
            assert_ne!(one, canonical(&map(other)), "{other}");
        }
    }

    #[test]
    fn only_pairs_of_text_and_object_are_keys() {
        let key = OffsetKey::parse(br#"["c",{"filename":"/tmp/t"}]"#).unwrap();
        assert_eq!(key.to_bytes(), br#"["c",{"filename":"/tmp/t"}]"#);
        for bad in ["", "{}", "[]", r#"["c"]"#, r#"["c",null]"#, r#"[1,{}]"#, r#"["c",{},1]"#] {
            assert_eq!(OffsetKey::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
