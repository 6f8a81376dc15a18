//! Converters of the formats that only consumers have: COPY's text and csv, and raw bytes.
//!
//! Place in the data path: at the start of a lane, a batch at a time; `worker/format.rs` chooses. A
//! value becomes a struct whose fields are the columns of the relation, so that the rest of the way
//! knows nothing of these formats.
//!
//! Invariants: what COPY makes of the same bytes is what these make of them (a test asks a server);
//! text that needs no change stays in the fetched bytes; one record is one row: a message that has
//! more than one line is refused, with that reason.

mod bytea;
mod copy;
mod csv;
mod line;
mod routed;
mod stated;
mod text;
mod whole;

pub use copy::CopyConverter;
pub use csv::Csv;
pub use routed::Routed;
pub(crate) use stated::Stated;
pub use text::Text;
pub use whole::{OneColumn, WholeText};

pub use crate::control::Column;
use api::{Converter, Side};
use data::{Batch, Cell, Reject, Rows, Schema, SchemaBuilder, Stage, Type};
use std::borrow::Cow;
use std::sync::Arc;

/// Why a record was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) sqlstate: &'static str,
    pub(crate) message: String,
    pub(crate) column: Option<String>,
}

impl Fault {
    fn new(sqlstate: &'static str, message: impl Into<String>) -> Fault {
        Fault { sqlstate, message: message.into(), column: None }
    }

    /// Bad COPY data.
    fn copy(message: impl Into<String>) -> Fault {
        Fault::new("22P04", message)
    }

    fn encoding() -> Fault {
        Fault::new("22021", "the bytes are no UTF-8 text")
    }

    fn of(self, column: &Column) -> Fault {
        Fault { column: Some(column.name.clone()), ..self }
    }

    fn reject(self, row: usize, side: Side, class: &'static str) -> Reject {
        let stage = match side {
            Side::Key => Stage::KeyConverter,
            Side::Value => Stage::ValueConverter,
            Side::Header => Stage::HeaderConverter,
        };
        Reject {
            sqlstate: Some(self.sqlstate.to_owned()),
            column: self.column,
            exception: Cow::Borrowed("DataException"),
            ..Reject::data(row, stage, class, self.message)
        }
    }
}

/// An optional schema of a scalar.
pub(crate) fn scalar(kind: Type) -> Arc<Schema> {
    let built = SchemaBuilder::new(kind).optional().build();
    Arc::new(built.unwrap_or_else(|_| Schema::new(kind)))
}

/// The struct of a relation's columns.
fn structure(columns: &[Column]) -> Arc<Schema> {
    let (text, bytes) = (scalar(Type::String), scalar(Type::Bytes));
    let builder = columns.iter().fold(SchemaBuilder::structure(), |builder, column| {
        let schema = if column.bytea { &bytes } else { &text };
        builder.field(&column.name, schema.clone())
    });
    // Names of columns differ, which is all that a struct asks for.
    Arc::new(builder.build().unwrap_or_else(|_| Schema::new(Type::Struct)))
}

/// What reads a message as the row of one relation.
pub(crate) trait Read: Converter {
    /// The columns that a message fills.
    fn columns(&self) -> usize;

    /// Pushes exactly one row, or none where it refuses. `place`: where the message is in the batch.
    fn read(&mut self, message: &[u8], place: data::Span, rows: &mut Rows) -> Result<(), Fault>;
}

/// The walk over a batch: one row a record, nulls for what is dead or null, rejects for what `read`
/// refuses. It is given the number of the record in the batch first.
fn decode(
    side: Side,
    class: &'static str,
    batch: &mut Batch,
    cells_per_row: usize,
    mut read: impl FnMut(usize, &[u8], data::Span, &mut Rows) -> Result<(), Fault>,
) {
    let raw = Arc::clone(&batch.raw);
    let mut rows = Rows::over(Arc::clone(raw.arena()));
    rows.reserve(raw.len(), raw.len().saturating_mul(cells_per_row.min(CELLS_RESERVED_MAX)));
    for (row, record) in raw.records().iter().enumerate() {
        let found = match side {
            Side::Value => raw.value_parts(row).map(|parts| (parts.rest, parts.place)),
            Side::Key | Side::Header => raw.get(record.key).map(|bytes| (bytes, record.key)),
        };
        let outcome = match found {
            Some((bytes, place)) if batch.alive.is_alive(row) => read(row, bytes, place, &mut rows),
            Some(_) => {
                push_dead(&mut rows);
                continue;
            }
            None => {
                rows.push(None, Cell::Null);
                continue;
            }
        };
        if let Err(fault) = outcome {
            push_dead(&mut rows);
            batch.reject(fault.reject(row, side, class));
        }
    }
    match side {
        Side::Value => batch.values = rows,
        Side::Key | Side::Header => batch.keys = rows,
    }
}

/// A wide relation does not cost a batch memory that it may not need.
const CELLS_RESERVED_MAX: usize = 256;

/// A null of the run before, so that a bad record does not cut a run in two.
fn push_dead(rows: &mut Rows) {
    let schema = rows.runs().last().and_then(|run| run.schema.clone());
    rows.push(schema.as_ref(), Cell::Null);
}

/// These formats are only read.
fn no_encoding(rows: &Rows, out: &mut api::Encoded, class: &str) -> Vec<api::EncodeError> {
    let error = |row: usize| api::EncodeError {
        row: row as u32,
        message: format!("the format {class} is only read"),
    };
    out.spans.extend((0..rows.len()).map(|_| data::Span::NULL));
    (0..rows.len()).map(error).collect()
}
