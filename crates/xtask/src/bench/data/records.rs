//! The records of a pass, as the fetch thread hands them on.

use std::fmt::Write as _;
use std::sync::Arc;

use data::{Batch, RawBatch, RawBatchBuilder, TimestampType, TopicPartition};

use crate::bench::workload::{Generation, Order, SCHEMA_JSON};

/// Records in a batch, as a sink under load gets them.
pub(in crate::bench) const BATCH_ROWS: usize = 5_000;

/// How an order is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Form {
    /// As every other measurement has it, schema first.
    Envelope,
    /// The schema behind the payload.
    SchemaLast,
    /// The payload's members in another order than the schema's fields.
    EnvelopeReordered,
    /// Blanks after colons and commas, everywhere.
    EnvelopeSpaced,
    /// Without a schema, with an eighth field: 200 bytes.
    Plain,
    /// Four orders of the members in turn.
    PlainReordered,
    PlainSpaced,
}

/// Batches over memory that is not read otherwise.
#[derive(Clone)]
pub(in crate::bench) struct Fetched {
    pub(in crate::bench) batches: Arc<[Arc<RawBatch>]>,
    pub(in crate::bench) records: usize,
    /// Bytes a record as Kafka delivers it.
    pub(in crate::bench) bytes: usize,
}

impl Fetched {
    /// `records` orders; those that begin with `prefix` are kept without it.
    pub(in crate::bench) fn new(form: Form, records: usize, prefix: Option<&Arc<[u8]>>) -> Fetched {
        let mut text = String::new();
        Fetched::of(records, prefix, |id, value| {
            text.clear();
            form.write(id, &mut text);
            value.extend_from_slice(text.as_bytes());
        })
    }

    /// The same with values that `write` appends, given the record's number.
    pub(in crate::bench) fn of(
        records: usize,
        prefix: Option<&Arc<[u8]>>,
        mut write: impl FnMut(i64, &mut Vec<u8>),
    ) -> Fetched {
        let mut bytes = 0;
        let mut value = Vec::new();
        let mut batches = Vec::new();
        for first in (0..records).step_by(BATCH_ROWS) {
            let mut builder = RawBatchBuilder::new(TopicPartition::new("orders", 0));
            builder.share_prefix(prefix.cloned());
            let end = (first + BATCH_ROWS).min(records);
            for id in first as i64..end as i64 {
                value.clear();
                write(id, &mut value);
                bytes += value.len();
                let created = TimestampType::CreateTime;
                builder.push(id, id, created, None, Some(&value));
            }
            batches.push(Arc::new(builder.finish(end as i64)));
        }
        Fetched { batches: batches.into(), records, bytes: (bytes + records / 2) / records.max(1) }
    }

    /// The values one after the other.
    pub(in crate::bench) fn each_value(&self, mut read: impl FnMut(&[u8])) {
        for batch in &*self.batches {
            for row in 0..batch.len() {
                if let Some(value) = batch.value_parts(row) {
                    read(value.rest);
                }
            }
        }
    }

    /// Fresh batches, not decoded yet.
    pub(in crate::bench) fn fresh(&self) -> impl Iterator<Item = Batch> {
        self.batches.iter().map(|raw| Batch::new(raw.clone()))
    }
}

impl Form {
    fn write(self, id: i64, out: &mut String) {
        let order = Order::new(id, Generation::First);
        match self {
            Form::Envelope => order.envelope(out),
            Form::SchemaLast => {
                out.push_str("{\"payload\":");
                order.plain(out);
                // Writing to a String cannot fail.
                let _ = write!(out, ",\"schema\":{SCHEMA_JSON}}}");
            }
            Form::EnvelopeReordered => {
                let _ = write!(out, "{{\"schema\":{SCHEMA_JSON},\"payload\":");
                out.push_str(&reordered(&members(&order), 2));
                out.push('}');
            }
            Form::EnvelopeSpaced => {
                let schema = spaced(SCHEMA_JSON);
                let payload = spaced(&reordered(&members(&order), 0));
                let _ = write!(out, "{{\"schema\": {schema}, \"payload\": {payload}}}");
            }
            Form::Plain => out.push_str(&reordered(&eight(&order), 0)),
            Form::PlainReordered => {
                let turn = usize::try_from(id % 4).unwrap_or(0);
                out.push_str(&reordered(&eight(&order), 2 * turn));
            }
            Form::PlainSpaced => out.push_str(&spaced(&reordered(&eight(&order), 0))),
        }
    }
}

/// The members of an order as JSON text; no value holds a comma.
fn members(order: &Order) -> Vec<String> {
    let mut text = String::new();
    order.plain(&mut text);
    text.trim_matches(['{', '}']).split(',').map(str::to_owned).collect()
}

fn eight(order: &Order) -> Vec<String> {
    let mut members = members(order);
    members.push(format!("\"terms\":\"{}\"", order.terms()));
    members
}

/// An object of these members, the first `turned` of them at the end.
fn reordered(members: &[String], turned: usize) -> String {
    let mut members = members.to_vec();
    let turned = turned.min(members.len());
    members.rotate_left(turned);
    format!("{{{}}}", members.join(","))
}

/// With a blank after each colon and comma; no string of these texts holds either.
fn spaced(text: &str) -> String {
    text.replace(':', ": ").replace(',', ", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(form: Form, id: i64) -> String {
        let mut out = String::new();
        form.write(id, &mut out);
        out
    }

    #[test]
    fn every_form_says_the_same() {
        let value = |form, id| serde_json::from_str::<serde_json::Value>(&text(form, id)).unwrap();
        for id in [0, 1, 2, 123_456] {
            let envelope = value(Form::Envelope, id);
            for form in [Form::SchemaLast, Form::EnvelopeReordered, Form::EnvelopeSpaced] {
                assert_eq!(value(form, id), envelope, "{form:?}");
            }
            for form in [Form::PlainReordered, Form::PlainSpaced] {
                assert_eq!(value(form, id), value(Form::Plain, id), "{form:?}");
            }
        }
        assert_eq!(text(Form::Envelope, 500_000).len(), 663);
        assert_eq!(text(Form::Plain, 500_000).len(), 200);
        assert_ne!(text(Form::PlainReordered, 1)[..9], text(Form::PlainReordered, 2)[..9]);
    }

    #[test]
    fn a_shared_head_is_left_out_of_the_batches() {
        let whole = Fetched::new(Form::Envelope, 10, None);
        let head: Arc<[u8]> = text(Form::Envelope, 0).as_bytes()[..504].into();
        let cut = Fetched::new(Form::Envelope, 10, Some(&head));
        let sum = |fetched: &Fetched| {
            let mut sum = 0;
            fetched.each_value(|value| sum += value.len());
            sum
        };
        assert_eq!(sum(&whole), sum(&cut) + 10 * 504);
        assert_eq!((whole.bytes, whole.records), (cut.bytes, cut.records));
    }
}
