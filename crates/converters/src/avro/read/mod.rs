//! Avro's binary encoding to rows: a plan compiled once a schema, then run over every value.
//!
//! Place in the data path: payloads of a sink's batch to cells. Text and bytes stay spans of the
//! payload.
//!
//! Invariants: bytes that are no value of the schema give one error with path and position, never a
//! panic and no row; a value costs no allocation of its own but what grows once; what a value may
//! become is limited by its bytes.

mod branches;
mod compile;
mod fields;
mod input;
mod keys;
mod leaf;
mod ops;
mod passed;
mod resolve;
mod run;
mod skip;

#[cfg(test)]
mod tests;

use super::connect::to_connect;
use super::options::AvroOptions;
use super::room::with_room;
use super::schema::AvroSchema;
use data::{Cell, Rows, Schema, Span};
use ops::{Op, Program};
use run::Run;
use std::sync::Arc;

pub(crate) use run::Scratch;

/// How values of one writer's schema become rows.
#[derive(Debug)]
pub(crate) struct Plan {
    schema: Option<Arc<Schema>>,
    program: Program,
    root: Op,
    /// It is a record of plain fields.
    plain: bool,
}

/// Bytes that are no value of the schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// What is wrong, with the byte.
    pub(crate) message: String,
    /// The path of the field, as `a.b[3].c`.
    pub(crate) path: Option<String>,
}

impl Plan {
    /// Values read as they were written. `version` is the registry's number of the schema.
    ///
    /// # Errors
    /// What the schema has that Connect has not, with the path.
    pub(crate) fn new(
        writer: &AvroSchema,
        options: &AvroOptions,
        version: Option<i32>,
    ) -> Result<Plan, String> {
        with_room(|| {
            let schema = to_connect(writer, options, version)?;
            let (program, root) = compile::compile(writer, None, options, schema.as_ref())?;
            Ok(Plan::of(schema, program, root))
        })
    }

    /// Values read as those of another schema: its fields in its order, by name or alias, with its
    /// defaults for what was not written, and numbers and text promoted.
    ///
    /// # Errors
    /// What of the writer's values can be none of the reader's, with the path.
    pub(crate) fn resolved(
        writer: &AvroSchema,
        reader: &AvroSchema,
        options: &AvroOptions,
        version: Option<i32>,
    ) -> Result<Plan, String> {
        with_room(|| {
            let schema = to_connect(reader, options, version)?;
            let (program, root) = compile::compile(writer, Some(reader), options, schema.as_ref())?;
            Ok(Plan::of(schema, program, root))
        })
    }

    fn of(schema: Option<Arc<Schema>>, program: Program, root: Op) -> Plan {
        let ops = fields_of(&program, root);
        let plain = !ops.is_empty() && fields::are_plain(ops, &program.ops);
        Plan { schema, program, root, plain }
    }

    /// What some of the writer's values can be none of the reader's for, though others can.
    fn refusal(&self) -> Option<String> {
        let lacking = self.program.symbols.iter().find_map(|symbols| {
            let place = symbols.read.iter().position(Option::is_none)?;
            let symbol = symbols.written.get(place)?;
            Some(format!("The reader does not have the symbol {symbol} of an enum"))
        });
        self.program.refusals.first().cloned().or(lacking)
    }

    /// The Connect schema of the rows; `None` where values describe themselves.
    #[cfg(test)]
    pub(crate) fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// Appends the row of one value, which is the whole of `payload`; `place` is where that is in the
    /// rows' heap.
    ///
    /// # Errors
    /// What is wrong with the bytes; there is no row then, and cells may be left over.
    pub(crate) fn read(
        &self,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
        scratch: &mut Scratch,
    ) -> Result<(), Malformed> {
        if self.plain {
            let ops = fields_of(&self.program, self.root);
            if let Some(cells) = fields::whole(ops, &self.program.ops, (payload, place), rows) {
                rows.push(self.schema.as_ref(), Cell::Struct(cells));
                return Ok(());
            }
        }
        let cell = Run::new(&self.program, payload, place, rows, scratch).whole(self.root)?;
        rows.push(self.schema.as_ref(), cell);
        Ok(())
    }
}

/// The operations of a record's fields; none of anything else.
#[inline]
fn fields_of(program: &Program, root: Op) -> &[Op] {
    match root {
        Op::Record { first, len } => {
            program.ops.get(first as usize..).and_then(|ops| ops.get(..len as usize))
        }
        _ => None,
    }
    .unwrap_or_default()
}

/// Whether every value of the writer's schema can be read as one of the reader's.
///
/// # Errors
/// What cannot.
pub(crate) fn compatible(
    writer: &AvroSchema,
    reader: &AvroSchema,
    options: &AvroOptions,
) -> Result<(), String> {
    Plan::resolved(writer, reader, options, None)?.refusal().map_or(Ok(()), Err)
}
