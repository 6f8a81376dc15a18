//! Converters: bytes of a record's key or value to rows and back, a batch at a time.

use crate::check::{Check, Checking};
use crate::error::Result;
use crate::sink::Cancel;
use data::{Batch, RawBatch, Rows, Span};
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
    /// Headers that go with records, in row order: where a converter puts the id of a schema.
    pub headers: Vec<IdHeader>,
}

/// A header that a converter adds to a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdHeader {
    pub row: u32,
    pub name: &'static str,
    pub value: Arc<[u8]>,
}

impl Encoded {
    /// Empties it, to be filled again.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.headers.clear();
    }

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

/// The topics that the rows of an encode go to.
#[derive(Clone, Copy, Debug)]
pub enum Topics<'a> {
    /// All rows to one.
    One(&'a str),
    /// One entry a row.
    Each(&'a [&'a str]),
}

impl<'a> Topics<'a> {
    /// Empty for a row that there is not.
    pub fn of(self, row: usize) -> &'a str {
        match self {
            Topics::One(topic) => topic,
            Topics::Each(topics) => topics.get(row).copied().unwrap_or_default(),
        }
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

    /// Given before anything else is called: waits for what lies outside end with
    /// `ErrorKind::Cancelled` soon after this turns true.
    fn set_cancel(&mut self, _cancelled: Cancel) {}

    /// Looks at what lies outside and is needed for records of these topics: is it there, does it let
    /// us in, does it know them. Changes nothing outside and ends at the deadline; only where a user
    /// asks (`copycat.validate.connect`). Keys of failures are without the converter's prefix.
    fn check(&mut self, _side: Side, _asked: &Checking) -> Vec<Check> {
        Vec::new()
    }

    /// Gets from outside what decoding these records will need, such as the schemas that they name.
    /// Called before each `decode`, for the same records; may block for as long as its limits say,
    /// so that no record is decoded while something is fetched. What a record names and what is not
    /// there is no error here: `decode` rejects the record.
    ///
    /// # Errors
    /// `Retriable`: the place is down or busy, nothing was decided about any record; `Config`: it
    /// refuses us.
    fn prepare(&mut self, _side: Side, _raw: &RawBatch) -> Result<()> {
        Ok(())
    }

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

    /// Appends one span a row of `rows` to `out`; `topics` are those of the rows. May block while it
    /// registers a schema that it has not seen before.
    ///
    /// # Errors
    /// `Retriable` and `Config` as in [`prepare`](Converter::prepare): nothing is in `out` that counts,
    /// and the same rows may be given again.
    fn encode(
        &mut self,
        topics: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>>;
}
