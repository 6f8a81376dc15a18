//! Values of a Connect schema as Avro's binary form.
//!
//! A schema is compiled once, together with the Avro schema it is written as, into a tree of steps;
//! a record is a walk over its cells beside those steps. Defaults are encoded when the schema is
//! compiled.
//!
//! Invariants: in the steady state nothing is allocated for a record but room in the output; a value
//! that does not fit is refused with the path to its field, and what was appended before is the
//! caller's to take back.

mod anything;
mod binary;
mod choose;
mod clock;
mod compile;
mod decimal;
mod default;
mod fault;
mod plain;
mod record;
mod step;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(in crate::avro) use binary::put_long;

use super::options::AvroOptions;
use super::room::with_room;
use super::schema::AvroSchema;
use super::to_avro;
use compile::{Compiler, Target};
use data::{Cell, Rows, Schema};
use std::sync::Arc;
use step::Step;

/// A Connect schema, compiled for one Avro schema.
#[derive(Debug)]
pub(crate) struct Writer {
    step: Step,
    avro: Arc<AvroSchema>,
}

impl Writer {
    /// Writes values under the Avro schema that is made from their Connect schema; `None`: values
    /// without one.
    ///
    /// # Errors
    /// What of the schema Avro cannot express, with the field.
    pub(crate) fn new(schema: Option<&Schema>, options: &AvroOptions) -> Result<Writer, String> {
        with_room(|| {
            let avro = Arc::new(to_avro::to_avro(schema, options)?);
            Writer::compile(schema, avro, options, Target::Own)
        })
    }

    /// Writes values under an Avro schema that exists already: fields are found by name, what it
    /// does not have is left out, what the values do not have takes its default.
    ///
    /// # Errors
    /// What of the values has no place there or is missing, with the field.
    pub(crate) fn under(
        schema: Option<&Schema>,
        avro: Arc<AvroSchema>,
        options: &AvroOptions,
    ) -> Result<Writer, String> {
        with_room(|| Writer::compile(schema, avro, options, Target::Given))
    }

    fn compile(
        schema: Option<&Schema>,
        avro: Arc<AvroSchema>,
        options: &AvroOptions,
        target: Target,
    ) -> Result<Writer, String> {
        let step = Compiler::new(&avro, options, target).root(schema)?;
        Ok(Writer { step, avro })
    }

    /// The Avro schema that values are written under.
    pub(crate) fn schema(&self) -> &AvroSchema {
        &self.avro
    }

    /// Appends a value.
    ///
    /// # Errors
    /// Why it does not fit, with the field.
    pub(crate) fn write(&self, rows: &Rows, cell: Cell, out: &mut Vec<u8>) -> Result<(), String> {
        let context = step::Context { avro: &self.avro, rows };
        let written = match (&self.step, cell) {
            (Step::Record { fields, arity }, Cell::Struct(span)) if span.len as usize == *arity => {
                record::write(fields, &context, rows.cells(span), out)
            }
            (step, cell) => step.write(&context, cell, out),
        };
        written.map_err(|fault| fault.to_string())
    }
}
