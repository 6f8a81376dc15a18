//! Converters, both ways: bytes of a key, value or header, and what they stand for.

use super::{at, props, settled};
use crate::fault::{At, CONFIG, DATA, Fault};
use crate::notation::{Pair, read_pair, write_pair};
use crate::text;
use api::{Converter, Encoded, ErrorKind, Side, Topics};
use data::{Batch, RawBatchBuilder, Rows, TimestampType, TopicPartition};
use serde_json::Value as Json;
use std::sync::Arc;

fn side(input: &Json) -> Side {
    match input["use"].as_str() {
        Some("key") => Side::Key,
        Some("header") => Side::Header,
        _ => Side::Value,
    }
}

fn topic(input: &Json) -> &str {
    input["topic"].as_str().unwrap_or("t")
}

fn make(input: &Json) -> Result<Box<dyn Converter>, (Fault, At)> {
    let class = input["class"].as_str().unwrap_or_default();
    let plugin = converters::find(class)
        .ok_or_else(|| (Fault::new("unknown", format!("no converter {class}")), At::Configure))?;
    let made = (plugin.make)(&props(&input["config"]), side(input));
    made.map_err(|error| {
        let class = if error.kind == ErrorKind::Data { DATA } else { CONFIG };
        (Fault::new(class, error.message), At::Configure)
    })
}

pub(super) fn to_connect(input: &Json) -> Json {
    settled(make(input).and_then(|mut converter| decode(&mut *converter, input)))
}

fn decode(converter: &mut dyn Converter, input: &Json) -> Result<Json, (Fault, At)> {
    let bytes = text::read_bytes(input).map_err(at(At::Input))?;
    let (side, bytes) = (side(input), bytes.as_deref());
    let mut builder = RawBatchBuilder::new(TopicPartition::new(topic(input), 0));
    if side == Side::Header {
        builder.header(input["header"].as_str().unwrap_or("h"), bytes);
    }
    builder.push(0, 0, TimestampType::CreateTime, bytes, bytes);
    let mut batch = Batch::new(Arc::new(builder.finish(1)));
    let prepared = converter.prepare(side, &batch.raw);
    prepared.map_err(|error| (Fault::data(error.message), At::Apply))?;
    converter.decode(side, &mut batch);
    if let Some(reject) = batch.rejects.first() {
        let fault = Fault::new(reject.exception.to_string(), reject.message.clone());
        return Err((fault, At::Apply));
    }
    let of_rows = |rows: &Rows| {
        let schema = rows.schema(0);
        (schema.cloned(), rows.value(schema, rows.root(0)))
    };
    let (schema, value) = match side {
        Side::Key => of_rows(&batch.keys),
        Side::Value => of_rows(&batch.values),
        Side::Header => {
            let header = batch.headers.of(0).first();
            let header = header.ok_or_else(|| {
                (Fault::new("bug", "the header is not there after decoding"), At::Apply)
            })?;
            (
                header.schema.clone(),
                batch.headers.values.value(header.schema.as_ref(), header.value),
            )
        }
    };
    Ok(write_pair(schema.as_ref(), &value))
}

pub(super) fn from_connect(input: &Json) -> Json {
    let answer = make(input).and_then(|mut converter| {
        let pair = read_pair(input).map_err(at(At::Input))?;
        encode(&mut *converter, topic(input), &pair).map_err(at(At::Apply))
    });
    settled(answer)
}

fn encode(converter: &mut dyn Converter, topic: &str, pair: &Pair) -> Result<Json, Fault> {
    let mut rows = Rows::default();
    let cell = rows.put_value(pair.schema.as_deref(), &pair.value);
    rows.push(pair.schema.as_ref(), cell);
    let mut out = Encoded::default();
    let errors = converter.encode(Topics::One(topic), &rows, &mut out);
    let errors = errors.map_err(|error| Fault::data(error.message))?;
    match errors.first() {
        Some(error) => Err(Fault::data(error.message.clone())),
        None => Ok(text::write_bytes(out.get(0))),
    }
}
