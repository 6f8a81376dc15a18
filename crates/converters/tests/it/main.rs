//! Tests of the converters through the crate's public interface.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not see the helpers of an integration test as tests"
)]

mod allocations;
mod decode;
mod encode;
mod json_schema;
mod prefix;
mod properties;
mod protobuf;
mod simple;

use api::{ConverterPlugin, Side};
use config::Props;
use data::{Batch, RawBatchBuilder, Rows, TimestampType, TopicPartition};
use std::sync::Arc;

pub(crate) const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

pub(crate) fn plugin(name: &str) -> &'static ConverterPlugin {
    converters::find(name).unwrap_or_else(|| panic!("no converter {name}"))
}

pub(crate) fn converter(name: &str, settings: &[(&str, &str)]) -> Box<dyn api::Converter> {
    let props: Props = settings.iter().copied().collect();
    (plugin(name).make)(&props, Side::Value).unwrap()
}

/// A batch of these values, not decoded yet.
pub(crate) fn batch(values: &[Option<&[u8]>]) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for (offset, value) in values.iter().enumerate() {
        builder.push(offset as i64, 0, TimestampType::CreateTime, *value, *value);
    }
    Batch::new(Arc::new(builder.finish(values.len() as i64)))
}

/// The value of a row as JSON text; digits of numbers that are not looked at are kept.
pub(crate) fn json(rows: &Rows, row: usize) -> String {
    let mut out = Vec::new();
    data::write_json(rows, rows.schema(row).map(AsRef::as_ref), rows.root(row), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn converters_are_found_by_every_spelling() {
    for (class, simple, pruned) in [
        (JSON, "JsonConverter", "Json"),
        ("org.apache.kafka.connect.storage.StringConverter", "StringConverter", "String"),
        (
            "org.apache.kafka.connect.converters.ByteArrayConverter",
            "ByteArrayConverter",
            "ByteArray",
        ),
        ("org.apache.kafka.connect.converters.LongConverter", "LongConverter", "Long"),
        (
            "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            "SimpleHeaderConverter",
            "Simple",
        ),
    ] {
        for name in [class, simple, pruned] {
            assert_eq!(converters::find(name).unwrap().class, class);
        }
    }
    assert!(converters::find("json").is_none());
    for plugin in converters::plugins() {
        assert_eq!(converters::find(plugin.class).unwrap().class, plugin.class);
        assert!(plugin.aliases.iter().all(|name| converters::find(name).is_some()));
    }
}
