//! The converter of COPY's formats: fields go to the columns of the relation by their places.

use super::{Column, Csv, Fault, Read, Text, bytea, decode, no_encoding, structure};
use api::{Converter, EncodeError, Encoded, Result, Side, Topics};
use data::{Batch, Cell, Rows, Schema, Span};
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Form {
    Text(Text),
    Csv(Csv),
}

/// Reads values in one of COPY's formats.
pub struct CopyConverter {
    form: Form,
    columns: Vec<Column>,
    schema: Arc<Schema>,
    /// The fields of the record that is being read.
    fields: Vec<Cell>,
    scratch: Vec<u8>,
}

impl CopyConverter {
    /// `columns`: those that COPY without a list would fill, in their order.
    pub fn text(form: Text, columns: Vec<Column>) -> CopyConverter {
        CopyConverter::new(Form::Text(form), columns)
    }

    /// As [`CopyConverter::text`].
    pub fn csv(form: Csv, columns: Vec<Column>) -> CopyConverter {
        CopyConverter::new(Form::Csv(form), columns)
    }

    fn new(form: Form, columns: Vec<Column>) -> CopyConverter {
        let schema = structure(&columns);
        let fields = Vec::with_capacity(columns.len());
        CopyConverter { form, columns, schema, fields, scratch: Vec::new() }
    }
}

impl Read for CopyConverter {
    fn columns(&self) -> usize {
        self.columns.len()
    }

    fn read(&mut self, message: &[u8], place: Span, rows: &mut Rows) -> Result<(), Fault> {
        if std::str::from_utf8(message).is_err() {
            return Err(Fault::encoding());
        }
        let CopyConverter { form, columns, schema, fields, scratch } = self;
        fields.clear();
        match form {
            Form::Text(form) => form.fields(message, place, rows, fields),
            Form::Csv(form) => form.fields(message, place, rows, fields),
        }?;
        if fields.len() > columns.len() {
            return Err(Fault::copy("extra data after last expected column"));
        }
        if let Some(column) = columns.get(fields.len()) {
            let text = format!("missing data for column \"{}\"", column.name);
            return Err(Fault::copy(text).of(column));
        }
        for (cell, column) in fields.iter_mut().zip(columns).filter(|(_, column)| column.bytea) {
            if let Cell::Text(span) = *cell {
                scratch.clear();
                bytea::read(rows.bytes(span), scratch).map_err(|fault| fault.of(column))?;
                *cell = Cell::Bytes(rows.heap.put(scratch));
            }
        }
        let span = rows.alloc_from(fields);
        rows.push(Some(schema), Cell::Struct(span));
        Ok(())
    }
}

impl Converter for CopyConverter {
    fn class(&self) -> &'static str {
        match self.form {
            Form::Text(_) => "text",
            Form::Csv(_) => "csv",
        }
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let (class, columns) = (self.class(), Read::columns(self));
        decode(side, class, batch, columns, |_, bytes, place, rows| self.read(bytes, place, rows));
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        Ok(no_encoding(rows, out, self.class()))
    }
}
