//! Sample records as JSON: read, and made into batches of one record.
//!
//! A key or value is either data (plain JSON, or a schema with its payload as the JSON converter
//! writes them) or what a topic holds (text or base64), which goes through the configured converter.

use super::json::Tree;
use super::setup::Decoders;
use crate::exit::Failure;
use crate::failures::failure;
use api::{Converter, Side};
use base64::Engine;
use data::{Batch, Origin, RawBatch, RawBatchBuilder, TimestampType, TopicPartition};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What a sample has where it says nothing.
pub(super) struct Defaults {
    pub(super) topic: String,
    /// The records are a source connector's: no offsets, mostly no partitions.
    pub(super) source: bool,
}

/// One record, not decoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) topic: String,
    pub(super) partition: Option<i32>,
    pub(super) offset: i64,
    /// Milliseconds since the epoch.
    pub(super) timestamp: Option<i64>,
    pub(super) timestamp_type: TimestampType,
    pub(super) key: Part,
    pub(super) value: Part,
    pub(super) headers: Vec<(String, Part)>,
}

/// A key, a value or a header's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// A Kafka null.
    Null,
    /// JSON without a schema.
    Plain(String),
    /// JSON of a schema and a payload.
    Envelope(String),
    /// What a topic holds.
    Wire(Vec<u8>),
}

impl Part {
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Part::Null => None,
            Part::Plain(text) | Part::Envelope(text) => Some(text.as_bytes()),
            Part::Wire(bytes) => Some(bytes),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Line {
    topic: Option<String>,
    partition: Option<i32>,
    offset: Option<i64>,
    timestamp: Option<i64>,
    key: Option<Box<RawValue>>,
    key_text: Option<String>,
    key_base64: Option<String>,
    value: Option<Box<RawValue>>,
    value_text: Option<String>,
    value_base64: Option<String>,
    headers: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct HeaderLine {
    #[serde(alias = "name")]
    key: String,
    value: Option<Box<RawValue>>,
    value_text: Option<String>,
    value_base64: Option<String>,
}

/// Reads samples: JSON objects one after the other, mostly one a line. `origin` names the file in
/// messages.
///
/// # Errors
/// Text that is no sample, with its line.
pub(super) fn read(text: &str, origin: &str, defaults: &Defaults) -> Result<Vec<Sample>, Failure> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
    let mut samples = Vec::new();
    loop {
        let at = stream.byte_offset();
        let line = || {
            let before = text.get(..at).unwrap_or_default();
            let rest = text.get(at..).unwrap_or_default();
            let blank = rest.len() - rest.trim_start().len();
            let blanks = rest.get(..blank).unwrap_or_default();
            1 + before.matches('\n').count() + blanks.matches('\n').count()
        };
        let wrong =
            |what: String| Failure::wrong_input(format!("{origin}, line {}: {what}", line()));
        let Some(item) = stream.next() else { return Ok(samples) };
        let item = item.map_err(|error| wrong(format!("not JSON: {error}")))?;
        let offset = samples.len() as i64;
        samples.push(sample(item.get(), offset, defaults).map_err(|text| {
            wrong(text).hint(
                "a record is {\"key\", \"value\", \"headers\", ...}: copycat transform test --help",
            )
        })?);
    }
}

fn sample(text: &str, offset: i64, defaults: &Defaults) -> Result<Sample, String> {
    // A list would be read as the members in their order.
    if !text.starts_with('{') {
        return Err("a record is a JSON object".to_owned());
    }
    let line: Line = serde_json::from_str(text).map_err(|error| without_place(&error))?;
    let key = part("key", line.key.as_deref(), line.key_text, line.key_base64)?;
    let value = part("value", line.value.as_deref(), line.value_text, line.value_base64)?;
    let headers = line.headers.map(|headers| self::headers(headers.get()));
    let headers = headers.transpose()?.unwrap_or_default();
    Ok(Sample {
        topic: line.topic.unwrap_or_else(|| defaults.topic.clone()),
        partition: line.partition.or((!defaults.source).then_some(0)),
        offset: line.offset.unwrap_or(offset),
        timestamp: line.timestamp,
        timestamp_type: line.timestamp.map_or(TimestampType::None, |_| TimestampType::CreateTime),
        key,
        value,
        headers,
    })
}

/// Headers as an object, or as a list where a name comes twice.
fn headers(text: &str) -> Result<Vec<(String, Part)>, String> {
    if text.starts_with('{') {
        let Tree::Object(members) = Tree::parse(text).map_err(|error| without_place(&error))?
        else {
            return Ok(Vec::new());
        };
        return Ok(members
            .iter()
            .map(|(name, tree)| (name.clone(), data(&tree.to_string())))
            .collect());
    }
    let list: Vec<HeaderLine> = serde_json::from_str(text)
        .map_err(|_| "headers are a list of {\"key\", \"value\"} or an object".to_owned())?;
    let header = |header: HeaderLine| {
        let value = part("value", header.value.as_deref(), header.value_text, header.value_base64)?;
        Ok((header.key, value))
    };
    list.into_iter().map(header).collect()
}

/// The message of an error without the line and column, which are those of one record alone.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn part(
    name: &str,
    value: Option<&RawValue>,
    text: Option<String>,
    base64: Option<String>,
) -> Result<Part, String> {
    let given = usize::from(value.is_some()) + usize::from(text.is_some());
    if given + usize::from(base64.is_some()) > 1 {
        return Err(format!("only one of {name}, {name}Text and {name}Base64 can be given"));
    }
    if let Some(text) = text {
        return Ok(Part::Wire(text.into_bytes()));
    }
    if let Some(base64) = base64 {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&base64);
        return bytes.map(Part::Wire).map_err(|_| format!("{name}Base64 is not base64"));
    }
    Ok(value.map_or(Part::Null, |value| data(value.get())))
}

/// Data in JSON: with a schema if it has exactly the two members that the JSON converter writes.
fn data(text: &str) -> Part {
    let is_null = text.trim() == "null";
    // A list of two would be read as the two members.
    let envelope = text.starts_with('{') && serde_json::from_str::<Envelope<'_>>(text).is_ok();
    match (is_null, envelope) {
        (true, _) => Part::Null,
        (false, true) => Part::Envelope(text.to_owned()),
        (false, false) => Part::Plain(text.to_owned()),
    }
}

/// # Errors
/// What decoding needs from outside, such as a schema, cannot be had.
fn decode(converter: &mut dyn Converter, side: Side, batch: &mut Batch) -> Result<(), Failure> {
    let prepared = converter.prepare(side, &batch.raw);
    prepared.map_err(|error| failure(&error))?;
    converter.decode(side, batch);
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow, rename = "schema")]
    _schema: &'a RawValue,
    #[serde(borrow, rename = "payload")]
    _payload: &'a RawValue,
}

impl Sample {
    /// A batch of this record, decoded; rejected where a converter refuses it.
    ///
    /// # Errors
    /// A converter is needed and not configured.
    pub(super) fn decode(&self, decoders: &mut Decoders, origin: Origin) -> Result<Batch, Failure> {
        let mut batch = Batch::new(Arc::new(self.whole()));
        batch.origin = origin;
        decode(decoders.of(Side::Key, &self.key)?, Side::Key, &mut batch)?;
        decode(decoders.of(Side::Value, &self.value)?, Side::Value, &mut batch)?;
        batch.headers.begin(1);
        for (name, part) in &self.headers {
            self.header(decoders, name, part, &mut batch)?;
        }
        Ok(batch)
    }

    /// Key and value, and headers as they are in a topic: a converter may find the id of a schema there.
    fn whole(&self) -> RawBatch {
        let headers: Vec<(&str, Option<&[u8]>)> = self
            .headers
            .iter()
            .filter(|(_, part)| matches!(part, Part::Wire(_)))
            .map(|(name, part)| (name.as_str(), part.bytes()))
            .collect();
        self.raw(self.key.bytes(), self.value.bytes(), &headers)
    }

    /// Decodes one header, in a batch of its own, and adds it.
    fn header(
        &self,
        decoders: &mut Decoders,
        name: &str,
        part: &Part,
        batch: &mut Batch,
    ) -> Result<(), Failure> {
        let raw = self.raw(None, None, &[(name, part.bytes())]);
        let mut alone = Batch::new(Arc::new(raw));
        decode(decoders.of(Side::Header, part)?, Side::Header, &mut alone)?;
        for reject in std::mem::take(&mut alone.rejects) {
            batch.reject(reject);
        }
        for header in alone.headers.of(0).iter() {
            let value = batch.headers.values.adopt(&alone.headers.values, header.value);
            batch.headers.push_of(0, &header.name, header.schema.as_ref(), value);
        }
        Ok(())
    }

    fn raw(
        &self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&str, Option<&[u8]>)],
    ) -> RawBatch {
        let tp = TopicPartition::new(self.topic.as_str(), self.partition.unwrap_or(-1));
        let mut builder = RawBatchBuilder::new(tp);
        for (name, value) in headers {
            builder.header(name, *value);
        }
        builder.push(self.offset, self.timestamp.unwrap_or(-1), self.timestamp_type, key, value);
        builder.finish(self.offset.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(text: &str) -> Result<Vec<Sample>, String> {
        let defaults = Defaults { topic: "t".to_owned(), source: false };
        read(text, "f", &defaults).map_err(|failure| failure.message)
    }

    #[test]
    fn every_way_to_write_a_part() {
        let text = r#"
            {"key": 1, "value": {"a": 1.10}, "headers": {"h": "x", "n": null}}
            {"topic": "u", "partition": 3, "offset": 9, "timestamp": 5, "keyText": "k",
             "value": {"payload": 1, "schema": {"type": "int32"}}}
            {"keyBase64": "/wA=", "headers": [{"key": "a", "valueText": "1"}, {"name": "a"}]}
            {"value": {"schema": null, "payload": 1, "more": 2}}"#;
        let seen = samples(text).unwrap();
        let plain = |text: &str| Part::Plain(text.to_owned());
        assert_eq!((&seen[0].key, &seen[0].value), (&plain("1"), &plain(r#"{"a": 1.10}"#)));
        assert_eq!(seen[0].headers, [("h".into(), plain("\"x\"")), ("n".into(), Part::Null)]);
        let second = &seen[1];
        assert_eq!((&*second.topic, second.partition, second.offset), ("u", Some(3), 9));
        assert_eq!((&second.key, second.timestamp), (&Part::Wire(b"k".to_vec()), Some(5)));
        assert!(matches!(second.value, Part::Envelope(_)), "{:?}", second.value);
        assert_eq!((&seen[2].key, seen[2].offset), (&Part::Wire(vec![255, 0]), 2));
        assert_eq!(
            seen[2].headers,
            [("a".into(), Part::Wire(b"1".to_vec())), ("a".into(), Part::Null)]
        );
        assert!(matches!(seen[3].value, Part::Plain(_)));
    }

    #[test]
    fn lists_are_lists_and_digits_stay() {
        let text = r#"{"value": [1, 2], "headers": {"h": 12345678901234567890123, "i": 1.10}}"#;
        let seen = samples(text).unwrap();
        let plain = |text: &str| Part::Plain(text.to_owned());
        assert_eq!(seen[0].value, plain("[1, 2]"));
        let headers = [("h".into(), plain("12345678901234567890123")), ("i".into(), plain("1.10"))];
        assert_eq!(seen[0].headers, headers);
    }

    #[test]
    fn converters_of_keys_and_values_see_the_headers_of_a_topic() {
        let text = r#"{"valueText": "v", "headers": [{"key": "__value_schema_id", "valueBase64": "AQI="},
            {"key": "h", "value": "x"}]}"#;
        let raw = samples(text).unwrap()[0].whole();
        assert_eq!(raw.header(0, "__value_schema_id"), Some(Some(&[1, 2][..])));
        assert_eq!((raw.header(0, "h"), raw.value(0).as_deref()), (None, Some(&b"v"[..])));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, part) in [
            ("{}\n\n{\"vale\":1}", "f, line 3: unknown field `vale`"),
            ("{}\n[1]", "f, line 2: a record is a JSON object"),
            ("{}\n{", "f, line 2: not JSON"),
            (r#"{"value":1,"valueText":"x"}"#, "only one of value, valueText and valueBase64"),
            (r#"{"keyBase64":"?"}"#, "keyBase64 is not base64"),
            (r#"{"headers":3}"#, "headers are a list"),
        ] {
            let error = samples(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
