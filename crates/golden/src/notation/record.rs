//! Records of the notation: what a sink's or source's record carries, defaults filled in.

use super::schema::{read_schema, write_schema};
use super::value::{read_value, write_value};
use crate::fault::Fault;
use data::{Schema, TimestampType, Value};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A schema and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub schema: Option<Arc<Schema>>,
    pub value: Value,
}

/// A header, one of many that may have the same key.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub key: String,
    pub pair: Pair,
}

/// What only one of the two kinds of records has.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Sink {
        timestamp_type: TimestampType,
        offset: i64,
        original_topic: Option<String>,
        original_partition: i32,
        original_offset: i64,
    },
    Source {
        partition: Value,
        offset: Value,
    },
}

/// A record with everything that a transform can see.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub kind: Kind,
    pub topic: Option<String>,
    /// A source's record need not have one.
    pub partition: Option<i32>,
    pub key: Pair,
    pub value: Pair,
    /// Milliseconds since the epoch.
    pub timestamp: Option<i64>,
    pub headers: Vec<Header>,
}

/// Reads a pair; absent and `null` are no schema and no value.
///
/// # Errors
/// As [`read_schema`] and [`read_value`].
pub fn read_pair(node: &Json) -> Result<Pair, Fault> {
    let schema = read_schema(&node["schema"])?;
    let value = read_value(&node["value"], schema.as_ref())?;
    Ok(Pair { schema, value })
}

/// Writes a pair.
pub fn write_pair(schema: Option<&Arc<Schema>>, value: &Value) -> Json {
    json!({"schema": write_schema(schema), "value": write_value(value, schema)})
}

/// Reads a record; what is left out takes its default.
///
/// # Errors
/// As [`read_pair`].
pub fn read_record(node: &Json) -> Result<Record, Fault> {
    let topic = match node.get("topic") {
        None => Some("t".to_owned()),
        Some(topic) => topic.as_str().map(str::to_owned),
    };
    let partition = node["partition"].as_i64().map(|partition| partition as i32);
    let timestamp = node["timestamp"].as_i64();
    let headers = node["headers"].as_array().into_iter().flatten().map(|header| {
        let key = header["key"].as_str().unwrap_or_default().to_owned();
        Ok(Header { key, pair: read_pair(header)? })
    });
    let headers = headers.collect::<Result<_, Fault>>()?;
    let (key, value) = (read_pair(&node["key"])?, read_pair(&node["value"])?);
    if node["kind"] == "source" {
        let part = |member: &str| read_value(&node[member], None);
        let kind =
            Kind::Source { partition: part("sourcePartition")?, offset: part("sourceOffset")? };
        return Ok(Record { kind, topic, partition, key, value, timestamp, headers });
    }
    let timestamp_type = match node["timestampType"].as_str() {
        Some("CreateTime") => TimestampType::CreateTime,
        Some("LogAppendTime") => TimestampType::LogAppendTime,
        Some(_) => TimestampType::None,
        None if timestamp.is_some() => TimestampType::CreateTime,
        None => TimestampType::None,
    };
    let offset = node["offset"].as_i64().unwrap_or(0);
    let partition = partition.unwrap_or(0);
    let original = &node["original"];
    let kind = Kind::Sink {
        timestamp_type,
        offset,
        original_topic: original["topic"].as_str().map(str::to_owned).or_else(|| topic.clone()),
        original_partition: original["partition"].as_i64().map_or(partition, |p| p as i32),
        original_offset: original["offset"].as_i64().unwrap_or(offset),
    };
    Ok(Record { kind, topic, partition: Some(partition), key, value, timestamp, headers })
}

/// Writes a record with every member.
pub fn write_record(record: &Record) -> Json {
    let headers = record.headers.iter().map(|header| {
        let mut node = json!({"key": header.key});
        node["schema"] = write_schema(header.pair.schema.as_ref());
        node["value"] = write_value(&header.pair.value, header.pair.schema.as_ref());
        node
    });
    let headers: Vec<Json> = headers.collect();
    let pair = |pair: &Pair| write_pair(pair.schema.as_ref(), &pair.value);
    let mut node = json!({
        "kind": "sink",
        "topic": record.topic,
        "partition": record.partition,
        "key": pair(&record.key),
        "value": pair(&record.value),
        "timestamp": record.timestamp,
        "headers": headers,
    });
    match &record.kind {
        Kind::Sink {
            timestamp_type,
            offset,
            original_topic,
            original_partition,
            original_offset,
        } => {
            node["timestampType"] = json!(match timestamp_type {
                TimestampType::None => "NoTimestampType",
                TimestampType::CreateTime => "CreateTime",
                TimestampType::LogAppendTime => "LogAppendTime",
            });
            node["offset"] = json!(offset);
            node["original"] = json!({
                "topic": original_topic,
                "partition": original_partition,
                "offset": original_offset,
            });
        }
        Kind::Source { partition, offset } => {
            node["kind"] = json!("source");
            node["sourcePartition"] = write_value(partition, None);
            node["sourceOffset"] = write_value(offset, None);
        }
    }
    node
}
