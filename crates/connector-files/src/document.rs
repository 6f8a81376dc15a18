//! JSON and YAML documents in which no key is given twice: a reader that keeps the last of two would
//! drop a setting in silence.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// # Errors
/// Not JSON, or a key is given twice.
pub(crate) fn from_json(text: &str) -> Result<Value, String> {
    let read = serde_json::from_str(text).map(|Document(value)| value);
    read.map_err(|error| format!("JSON: {error}"))
}

/// Every document of a stream of YAML; empty ones are passed over.
///
/// # Errors
/// Not YAML, or a key is given twice.
pub(crate) fn from_yaml(text: &str) -> Result<Vec<Value>, String> {
    // The document itself looks for keys that are given twice, and says so in words for users.
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
    };
    let read = serde_saphyr::from_multiple_with_options::<Document>(text, options);
    let read = read.map_err(|error| format!("YAML: {error}"))?;
    Ok(read.into_iter().map(|Document(value)| value).collect())
}

struct Document(Value);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Document)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Document(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let Document(value) = members.next_value()?;
            if object.contains_key(&key) {
                let text = format!("the key {key} is given twice; remove one of the two");
                return Err(A::Error::custom(text));
            }
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_given_twice_is_named() {
        let json = r#"{"name":"a","config":{"topics":"a","x":[1,2.5,null,true],"topics":"b"}}"#;
        let yaml = "name: a\nconfig:\n  topics: a\n  topics: b\n";
        for error in [from_json(json).unwrap_err(), from_yaml(yaml).unwrap_err()] {
            assert!(error.contains("the key topics is given twice"), "{error}");
            assert!(!error.contains("Policy"), "{error}");
        }
        let flat = from_json(r#"{"name":"a","name":"a"}"#).unwrap_err();
        assert!(flat.contains("the key name is given twice"), "{flat}");
    }

    #[test]
    fn everything_else_is_read_as_it_is() {
        let value = json!({"a": [1, -2, 2.5, null, true, "x"], "b": {"a": {}}});
        assert_eq!(from_json(&value.to_string()).unwrap(), value);
        let yaml = "a: [1, -2, 2.5, null, true, x]\nb:\n  a: {}\n";
        assert_eq!(from_yaml(yaml).unwrap(), [value]);
        let stream = from_yaml("---\na: 1\n---\n# nothing\n---\nb: 2\n").unwrap();
        assert_eq!(stream, [json!({"a": 1}), json!({"b": 2})]);
        assert!(from_json("{").unwrap_err().starts_with("JSON: "));
        assert!(from_yaml("a: [").unwrap_err().starts_with("YAML: "));
    }
}
