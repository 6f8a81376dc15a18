//! Offsets that somebody wants, read as Connect reads them.

use api::{Error, Result, SourceMap};
use data::TopicPartition;
use serde_json::Value;
use std::collections::BTreeMap;

/// One partition's wanted offset; without one it is to be forgotten.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    pub partition: Option<SourceMap>,
    pub offset: Option<SourceMap>,
}

/// Numbers in offsets are never NaN.
impl Eq for Change {}

/// What is to happen to a connector's offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetsChange {
    Alter(Vec<Change>),
    /// All are forgotten.
    Reset,
}

/// The changes of a source; what they mean is the connector's to check.
pub(super) fn of_source(changes: &[Change]) -> Result<Vec<(SourceMap, Option<SourceMap>)>> {
    let of = |change: &Change| {
        let partition = change.partition.clone();
        let partition =
            partition.ok_or_else(|| Error::config("Partition objects cannot be null"))?;
        Ok((partition, change.offset.clone()))
    };
    changes.iter().map(of).collect()
}

/// The changes of a sink; of a partition that is named twice the last counts.
pub(super) fn of_sink(changes: &[Change]) -> Result<BTreeMap<TopicPartition, Option<i64>>> {
    let of = |change: &Change| Ok((partition(change)?, offset(change)?));
    changes.iter().map(of).collect()
}

fn partition(change: &Change) -> Result<TopicPartition> {
    let Some(members) = &change.partition else {
        let text = "The partition for a sink connector offset cannot be null or missing";
        return Err(Error::config(text));
    };
    let (Some(topic), Some(partition)) =
        (members.get("kafka_topic"), members.get("kafka_partition"))
    else {
        return Err(Error::config(
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and \
             'kafka_partition'",
        ));
    };
    if topic.is_null() {
        let text = "Kafka topic names must be valid strings and may not be null";
        return Err(Error::config(text));
    }
    if partition.is_null() {
        return Err(Error::config("Kafka partitions must be valid numbers and may not be null"));
    }
    let number = text(partition);
    let parsed = number.parse::<i32>().ok().filter(|number| *number >= 0).ok_or_else(|| {
        Error::config(format!(
            "Failed to parse the following Kafka partition value in the provided offsets: \
             '{number}'. Partition values for sink connectors need to be integers."
        ))
    })?;
    Ok(TopicPartition::new(text(topic), parsed))
}

fn offset(change: &Change) -> Result<Option<i64>> {
    let Some(members) = &change.offset else { return Ok(None) };
    let Some(value) = members.get("kafka_offset") else {
        return Err(Error::config(
            "The offset for a sink connector should either be null or contain the key \
             'kafka_offset'",
        ));
    };
    let number = text(value);
    let parsed = number.parse::<i64>().map_err(|_| {
        Error::config(format!(
            "Failed to parse the following Kafka offset value in the provided offsets: '{number}'. \
             Offset values for sink connectors need to be integers."
        ))
    })?;
    if parsed < 0 {
        return Err(Error::config(format!("Kafka offsets are not negative, as {parsed} is")));
    }
    Ok(Some(parsed))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(partition: Value, offset: Value) -> std::result::Result<Option<i64>, String> {
        let map = |value: Value| match value {
            Value::Object(map) => Some(map),
            _ => None,
        };
        let change = Change { partition: map(partition), offset: map(offset) };
        let read = of_sink(&[change]).map_err(|error| error.message)?;
        Ok(read.into_values().next().flatten())
    }

    #[test]
    fn numbers_may_be_text_and_everything_else_is_named() {
        let place = json!({"kafka_topic": "t", "kafka_partition": "0"});
        assert_eq!(read(place.clone(), json!({"kafka_offset": "2"})), Ok(Some(2)));
        assert_eq!(read(place.clone(), Value::Null), Ok(None));
        for (partition, offset, part) in [
            (Value::Null, json!({"kafka_offset": 1}), "cannot be null or missing"),
            (json!({"kafka_partition": 0}), Value::Null, "must contain the keys"),
            (json!({"kafka_topic": null, "kafka_partition": 0}), Value::Null, "topic names"),
            (json!({"kafka_topic": "t", "kafka_partition": "x"}), Value::Null, "'x'"),
            (json!({"kafka_topic": "t", "kafka_partition": -1}), Value::Null, "'-1'"),
            (place.clone(), json!({"offset": 1}), "'kafka_offset'"),
            (place.clone(), json!({"kafka_offset": null}), "'null'"),
            (place.clone(), json!({"kafka_offset": 1.5}), "'1.5'"),
            (place, json!({"kafka_offset": -1}), "-1"),
        ] {
            let error = read(partition, offset).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
