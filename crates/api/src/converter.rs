//! Converters: bytes of a record's key or value to rows and back, a batch at a time.

use data::{Batch, Rows, Span};
use std::sync::Arc;

/// Which part of a record a converter instance or a transform serves. Connect's `converter.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Key,
    Value,
    /// The values of headers.
    Header,
}

/// Encoded records: `spans` has one entry a row, `Span::NULL` for a Kafka null (a tombstone).
#[derive(Debug, Default)]
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub spans: Vec<Span>,
}

impl Encoded {
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let span = *self.spans.get(row)?;
        if span.is_null() {
            return None;
        }
        self.bytes.get(span.start as usize..span.start as usize + span.len as usize)
    }

    /// Ends a row: everything appended to `bytes` since `start` is its value.
    pub fn end_row(&mut self, start: usize) {
        let len = (self.bytes.len() - start) as u32;
        self.spans.push(Span { start: start as u32, len });
    }
}

/// A row that has no encoded form, and why. Its span is `Span::NULL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    pub row: u32,
    pub message: String,
}

/// One instance serves one side of one task and may keep caches (schemas seen).
pub trait Converter: Send {
    /// The Connect class name, for error reports.
    fn class(&self) -> &'static str;

    /// Fills `batch.keys` or `batch.values` with exactly one row a record, in order; or
    /// `batch.headers`, where it rejects a record whose header it cannot read. A record that
    /// cannot be read is rejected ([`Batch::reject`]) and gets a null row; rows that are dead
    /// already get a null row too. Text and bytes that need no change stay spans of the raw bytes.
    fn decode(&mut self, side: Side, batch: &mut Batch);

    /// Whether there are bytes that it cannot read. Headers that nobody looks at are decoded only by
    /// converters that might refuse them.
    fn refuses(&self) -> bool {
        true
    }

    /// Bytes that the next records probably begin with and that say nothing new, as a schema before
    /// each payload does. Records that begin with exactly these bytes may then be kept without them
    /// ([`data::RawBatch::value_parts`]). Stays the same `Arc` as long as it is any good.
    fn value_prefix(&self) -> Option<Arc<[u8]>> {
        None
    }

    /// Appends one span a row of `rows` to `out`.
    fn encode(&mut self, rows: &Rows, out: &mut Encoded) -> Vec<EncodeError>;
}
