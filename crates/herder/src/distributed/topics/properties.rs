//! A connector's or task's settings as a record holds them: in an order, and with nulls.

use super::Unusable;
use super::json::Writer;
use config::{Given, Props};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Settings in the order in which they stand in the record. Cheap to clone.
///
/// Invariant: a key stands there once. `Debug` shows keys only.
#[derive(Clone, Default)]
pub struct Properties(Arc<[(String, Option<String>)]>);

impl Properties {
    /// In the order given; the last of a key's values counts.
    pub fn new(pairs: impl IntoIterator<Item = (String, Option<String>)>) -> Properties {
        let mut map: Map<String, Value> = Map::new();
        for (key, value) in pairs {
            map.insert(key, value.map_or(Value::Null, Value::String));
        }
        Properties::of(map)
    }

    /// What is no text becomes its text: to a Java worker such a value is an error later on.
    pub(super) fn of(map: Map<String, Value>) -> Properties {
        let text = |value| match value {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        Properties(map.into_iter().map(|(key, value)| (key, text(value))).collect())
    }

    /// The settings in a record's member `properties`.
    pub(super) fn of_record(mut members: Map<String, Value>) -> Result<Properties, Unusable> {
        match members.remove("properties") {
            Some(Value::Object(map)) => Ok(Properties::of(map)),
            _ => Err(Unusable::new("its member 'properties' is no JSON object")),
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// The value of a key; a null is as good as none.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(name, _)| *name == key)?.1
    }

    /// The settings without order; nulls count as absent.
    pub fn to_props(&self) -> Props {
        self.iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The settings without order, and which are null.
    pub fn to_given(&self) -> Given {
        let mut given = Given::default();
        for (key, value) in self.iter() {
            given.insert(key.to_owned(), value.map(str::to_owned));
        }
        given
    }

    /// In the order in which Java's `HashMap` gives them out, which is how task configurations stand
    /// in records: those of the connector in their order, then those that the worker adds, went in. The
    /// order means nothing; it is kept so that records are the same byte for byte.
    #[must_use]
    pub fn in_map_order(&self) -> Properties {
        // A copy of n entries is made in the table for n / 0.75 + 1, rounded up to a power of two.
        let table = (self.0.len() * 4 / 3 + 1).next_power_of_two();
        let bucket = |key: &str| {
            let hash = java_hash(key);
            (hash ^ (hash >> 16)) as usize & (table - 1)
        };
        let mut pairs: Vec<_> = self.0.to_vec();
        pairs.sort_by_key(|(key, _)| bucket(key));
        Properties(pairs.into())
    }

    /// `{"properties":{…}}`.
    pub(super) fn to_record(&self) -> Vec<u8> {
        let inner = self.iter().fold(Writer::new(), |out, (key, value)| out.text(key, value));
        Writer::new().object("properties", inner).finish()
    }
}

/// `String.hashCode`.
fn java_hash(text: &str) -> u32 {
    text.encode_utf16().fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

/// The order means nothing.
impl PartialEq for Properties {
    fn eq(&self, other: &Properties) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.len() == other.0.len() && self.to_given() == other.to_given()
    }
}

impl Eq for Properties {}

impl From<&Props> for Properties {
    fn from(props: &Props) -> Properties {
        let pairs = props.iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned())));
        Properties(pairs.collect())
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(key, _)| key)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(keys: &[&str]) -> Properties {
        Properties::new(keys.iter().map(|key| ((*key).to_owned(), Some(String::new()))))
    }

    #[test]
    fn task_settings_stand_in_the_order_of_javas_maps() {
        // The connector's own, in their order, then what the worker adds.
        let given = [
            "connector.class",
            "file",
            "topics",
            "tasks.max",
            "value.converter",
            "consumer.override.auto.offset.reset",
            "transforms",
            "transforms.r.type",
            "name",
            "task.class",
        ];
        let wanted = [
            "connector.class",
            "transforms.r.type",
            "file",
            "consumer.override.auto.offset.reset",
            "task.class",
            "topics",
            "tasks.max",
            "transforms",
            "name",
            "value.converter",
        ];
        let seen = named(&given).in_map_order();
        assert_eq!(seen.iter().map(|(key, _)| key).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn the_order_means_nothing_and_the_last_value_of_a_key_counts() {
        assert_eq!(named(&["a", "b"]), named(&["b", "a"]));
        assert_ne!(named(&["a"]), named(&["b"]));
        let twice = [("a", Some("1")), ("b", None), ("a", Some("2"))];
        let twice = twice.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
        let twice = Properties::new(twice);
        assert_eq!(twice.to_record(), br#"{"properties":{"a":"2","b":null}}"#);
        assert_eq!((twice.get("a"), twice.get("b")), (Some("2"), None));
        assert_eq!(twice.to_props().len(), 1);
        assert_eq!(format!("{twice:?}"), r#"{"a", "b"}"#);
    }
}
