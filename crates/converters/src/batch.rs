//! The walk over a batch that all converters share: one row a record, rejects for what cannot be
//! read.
//!
//! Invariant: after it, the side has exactly as many rows as the batch has records (headers: as many
//! lists). Rows without a
//! value of their own (dead already, or rejected now) are nulls of the run before them, so that a
//! bad record does not cut a run in two.

use crate::ahead::Ahead;
use api::Side;
use data::{Batch, Cell, Headers, RawBatch, Reject, RoomAsked, Rows, Span, Stage, ValueParts};
use std::borrow::Cow;
use std::sync::Arc;

/// Cells a row that are reserved beforehand, so that a wide record does not cost the next batch
/// memory it may not need.
const CELLS_RESERVED_MAX: usize = 256;

/// Why a record was refused.
pub(crate) struct Rejection {
    pub(crate) message: String,
    pub(crate) exception: &'static str,
    pub(crate) class: &'static str,
    /// The field it is about, as `outer.inner`.
    pub(crate) column: Option<String>,
}

/// What the rows of a converter are expected to need, as those before did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    cells_per_row: usize,
    /// Of transforms that add to the rows.
    room: Arc<RoomAsked>,
}

impl Needs {
    /// Learns what the rows of a batch took.
    pub(crate) fn learn(&mut self, rows: &Rows) {
        self.cells_per_row = rows.cell_mark().div_ceil(rows.len().max(1));
    }
}

/// Gives each live record's bytes, as they are kept, to `read`, which appends the row. A Kafka null is
/// a null without a schema.
pub(crate) fn decode_batch(
    side: Side,
    batch: &mut Batch,
    needs: &Needs,
    mut read: impl FnMut(ValueParts<'_>, &mut Rows) -> Result<(), Rejection>,
) {
    decode_batch_by_row(side, batch, needs, |_, parts, rows| read(parts, rows));
}

/// The same where `read` looks at other parts of the record, which is the row of this number.
pub(crate) fn decode_batch_by_row(
    side: Side,
    batch: &mut Batch,
    needs: &Needs,
    mut read: impl FnMut(usize, ValueParts<'_>, &mut Rows) -> Result<(), Rejection>,
) {
    walk(side, batch, Some(needs), |row, record, rows| match record {
        Some(parts) => read(row, parts, rows),
        None => {
            rows.push(None, Cell::Null);
            Ok(())
        }
    });
}

/// Gives a value's whole bytes to `read`; put together in the heap where they are kept in two parts.
pub(crate) fn whole<T>(
    parts: ValueParts<'_>,
    rows: &mut Rows,
    read: impl FnOnce(&[u8], Span, &mut Rows) -> T,
) -> T {
    match parts.prefix {
        None => read(parts.rest, parts.place, rows),
        Some(prefix) => {
            let bytes = [prefix, parts.rest].concat();
            let place = rows.heap.put(&bytes);
            read(&bytes, place, rows)
        }
    }
}

/// The same with whole values, where a Kafka null is a row of the converter's own schema.
pub(crate) fn decode_batch_with_nulls(
    side: Side,
    batch: &mut Batch,
    mut read: impl FnMut(Option<(&[u8], Span)>, &mut Rows) -> Result<(), Rejection>,
) {
    walk(side, batch, None, |_, record, rows| match record {
        Some(parts) => whole(parts, rows, |bytes, place, rows| read(Some((bytes, place)), rows)),
        None => read(None, rows),
    });
}

fn walk(
    side: Side,
    batch: &mut Batch,
    needs: Option<&Needs>,
    mut read: impl FnMut(usize, Option<ValueParts<'_>>, &mut Rows) -> Result<(), Rejection>,
) {
    if side == Side::Header {
        return walk_headers(batch, read);
    }
    let raw = Arc::clone(&batch.raw);
    let mut rows = Rows::over(Arc::clone(raw.arena()));
    let mut ahead = Ahead::default();
    let mut room = 0;
    if let Some(needs) = needs {
        let cells = needs.cells_per_row.min(CELLS_RESERVED_MAX);
        rows.reserve(raw.len(), raw.len().saturating_mul(cells));
        rows.tell_room(&needs.room);
        room = needs.room.cells();
    }
    for (row, record) in raw.records().iter().enumerate() {
        if !batch.alive.is_alive(row) {
            push_dead(&mut rows);
            continue;
        }
        let parts = match side {
            Side::Value => raw.value_parts(row),
            Side::Key | Side::Header => part_at(&raw, record.key),
        };
        if let Some(parts) = &parts {
            ahead.reach(raw.arena(), parts.place.start as usize);
        }
        match read(row, parts, &mut rows) {
            Ok(()) if room > 0 => rows.leave_room(room),
            Ok(()) => {}
            Err(rejection) => {
                push_dead(&mut rows);
                batch.reject(reject(row, side, rejection));
            }
        }
    }
    // A record's cells are made of its own bytes.
    rows.set_apart(true);
    match side {
        Side::Value => batch.values = rows,
        Side::Key | Side::Header => batch.keys = rows,
    }
}

/// One row a header in the headers' own row set, and from it the lists of the records.
fn walk_headers(
    batch: &mut Batch,
    mut read: impl FnMut(usize, Option<ValueParts<'_>>, &mut Rows) -> Result<(), Rejection>,
) {
    let raw = Arc::clone(&batch.raw);
    let mut headers = Headers::undecoded(Rows::over(Arc::clone(raw.arena())));
    headers.begin(raw.len());
    let mut names: Vec<Arc<str>> = Vec::new();
    for row in (0..raw.len()).filter(|_| raw.has_headers()) {
        if !batch.alive.is_alive(row) {
            continue;
        }
        for (name, value) in raw.header_places(row) {
            if let Err(rejection) = read(row, part_at(&raw, value), &mut headers.values) {
                push_dead(&mut headers.values);
                batch.reject(reject(row, Side::Header, rejection));
                break;
            }
            let last = headers.values.len() - 1;
            let (schema, value) = (headers.values.schema(last).cloned(), headers.values.root(last));
            headers.push_of(row, &interned(&mut names, name), schema.as_ref(), value);
        }
    }
    batch.headers = headers;
}

/// Most records of a batch carry the same few names.
fn interned(names: &mut Vec<Arc<str>>, name: &str) -> Arc<str> {
    const NAMES_MAX: usize = 32;
    if let Some(known) = names.iter().find(|known| ***known == *name) {
        return known.clone();
    }
    let name: Arc<str> = name.into();
    if names.len() < NAMES_MAX {
        names.push(name.clone());
    }
    name
}

fn part_at(raw: &RawBatch, place: Span) -> Option<ValueParts<'_>> {
    raw.get(place).map(|rest| ValueParts { prefix: None, rest, place })
}

fn push_dead(rows: &mut Rows) {
    let schema = rows.runs().last().and_then(|run| run.schema.clone());
    rows.push(schema.as_ref(), Cell::Null);
}

fn reject(row: usize, side: Side, rejection: Rejection) -> Reject {
    let stage = match side {
        Side::Key => Stage::KeyConverter,
        Side::Value => Stage::ValueConverter,
        Side::Header => Stage::HeaderConverter,
    };
    Reject {
        exception: Cow::Borrowed(rejection.exception),
        column: rejection.column,
        ..Reject::data(row, stage, rejection.class, rejection.message)
    }
}
