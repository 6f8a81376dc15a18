//! Bytes that are one value: a message for the only column of a relation, a key that is text.

use super::{Column, Fault, Read, decode, no_encoding, scalar, structure};
use api::{Converter, EncodeError, Encoded, Result, Side, Topics};
use data::{Batch, Cell, Rows, Schema, Span, Type};
use std::sync::Arc;

/// Puts a message as it is into the only column of a relation; as text where that is not a bytea.
pub struct OneColumn {
    schema: Arc<Schema>,
    bytea: bool,
}

impl OneColumn {
    pub fn new(column: &Column) -> OneColumn {
        OneColumn { schema: structure(std::slice::from_ref(column)), bytea: column.bytea }
    }
}

impl Read for OneColumn {
    fn columns(&self) -> usize {
        1
    }

    fn read(&mut self, message: &[u8], place: Span, rows: &mut Rows) -> Result<(), Fault> {
        let cell = if self.bytea {
            Cell::Bytes(place)
        } else if std::str::from_utf8(message).is_ok() {
            Cell::Text(place)
        } else {
            return Err(Fault::encoding());
        };
        let span = rows.alloc_from(&[cell]);
        rows.push(Some(&self.schema), Cell::Struct(span));
        Ok(())
    }
}

impl Converter for OneColumn {
    fn class(&self) -> &'static str {
        "bytea"
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        decode(side, "bytea", batch, 1, |_, bytes, place, rows| self.read(bytes, place, rows));
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        Ok(no_encoding(rows, out, "bytea"))
    }
}

/// Text as it is, for keys.
pub struct WholeText {
    schema: Arc<Schema>,
}

impl Default for WholeText {
    fn default() -> WholeText {
        WholeText { schema: scalar(Type::String) }
    }
}

impl Converter for WholeText {
    fn class(&self) -> &'static str {
        "text"
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        decode(side, "text", batch, 0, |_, bytes, place, rows| {
            if std::str::from_utf8(bytes).is_err() {
                return Err(Fault::encoding());
            }
            rows.push(Some(&self.schema), Cell::Text(place));
            Ok(())
        });
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        Ok(no_encoding(rows, out, "text"))
    }
}
