//! A record as it stands between two steps, taken out of its batch.

use super::json::Tree;
use super::setup;
use crate::exit::Failure;
use api::{Converter, Encoded, Side, Topics};
use data::{Batch, Rows, Schema, Value};
use std::sync::Arc;

/// A value and its schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Datum {
    pub(super) schema: Option<Arc<Schema>>,
    pub(super) value: Value,
}

/// A record, everything in it owned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) topic: Arc<str>,
    pub(super) partition: Option<i32>,
    pub(super) offset: Option<i64>,
    pub(super) timestamp: Option<i64>,
    pub(super) key: Datum,
    pub(super) value: Datum,
    pub(super) headers: Vec<(Arc<str>, Datum)>,
}

impl Record {
    /// The only record of a batch.
    pub(super) fn of(batch: &Batch) -> Record {
        let datum = |rows: &Rows| Datum {
            schema: rows.schema(0).cloned(),
            value: rows.value(rows.schema(0), rows.root(0)),
        };
        let header = |header: data::HeaderRef<'_>| {
            let value = batch.headers.values.value(header.schema.as_ref(), header.value);
            (header.name.clone(), Datum { schema: header.schema.clone(), value })
        };
        Record {
            topic: batch.topic(0).clone(),
            partition: batch.partition(0),
            offset: batch.offset(0),
            timestamp: batch.timestamp(0),
            key: datum(&batch.keys),
            value: datum(&batch.values),
            headers: batch.headers.of(0).iter().map(header).collect(),
        }
    }
}

/// Writes records in the notation in which samples are read.
pub(super) struct Writer {
    plain: Box<dyn Converter>,
    envelope: Box<dyn Converter>,
}

impl Writer {
    /// # Errors
    /// As [`setup::json`].
    pub(super) fn new() -> Result<Writer, Failure> {
        Ok(Writer {
            plain: setup::json(Side::Value, false)?,
            envelope: setup::json(Side::Value, true)?,
        })
    }

    pub(super) fn tree(&mut self, record: &Record) -> Tree {
        let number = |value: Option<i64>| value.map_or(Tree::Null, Tree::number);
        let headers = record.headers.iter().map(|(name, datum)| {
            let value = self.datum(datum);
            Tree::Object(vec![("key".to_owned(), Tree::text(&**name)), ("value".to_owned(), value)])
        });
        let headers = Tree::List(headers.collect());
        let mut members = vec![
            ("topic", Tree::text(&*record.topic)),
            ("partition", number(record.partition.map(i64::from))),
        ];
        if let Some(offset) = record.offset {
            members.push(("offset", Tree::number(offset)));
        }
        members.push(("timestamp", number(record.timestamp)));
        members.push(("key", self.datum(&record.key)));
        members.push(("value", self.datum(&record.value)));
        members.push(("headers", headers));
        Tree::Object(members.into_iter().map(|(name, tree)| (name.to_owned(), tree)).collect())
    }

    fn datum(&mut self, datum: &Datum) -> Tree {
        let mut rows = Rows::default();
        let schema = datum.schema.as_ref();
        let cell = rows.put_value(schema.map(AsRef::as_ref), &datum.value);
        rows.push(schema, cell);
        let converter = if schema.is_some() { &mut self.envelope } else { &mut self.plain };
        let mut out = Encoded::default();
        let errors = converter.encode(Topics::One(""), &rows, &mut out);
        let good = errors.is_ok_and(|errors| errors.is_empty());
        let text = match out.get(0) {
            Some(bytes) if good => String::from_utf8_lossy(bytes).into_owned(),
            _ if datum.value.is_null() && good => return Tree::Null,
            // No form of the JSON converter: classes that no schema has, values unlike their schema.
            _ => readable(&rows, schema.map(AsRef::as_ref), cell),
        };
        let tree = Tree::parse(&text).unwrap_or(Tree::Text(text));
        match schema {
            None if tree.payload().is_some() => {
                Tree::Object(vec![("schema".to_owned(), Tree::Null), ("payload".to_owned(), tree)])
            }
            _ => tree,
        }
    }
}

fn readable(rows: &Rows, schema: Option<&Schema>, cell: data::Cell) -> String {
    let mut out = Vec::new();
    data::write_json(rows, schema, cell, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
