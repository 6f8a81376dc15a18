//! A schema that is given in place of a registry: every message is the bare value of it, or begins with
//! an id that nobody looks up.

use super::format::{Format, Written};
use super::reject;
use crate::batch::{Needs, Rejection, decode_batch, whole};
use api::{Converter, EncodeError, Encoded, Error, Result, Side, Topics};
use config::Props;
use data::{Batch, Rows, Schema, Span};
use registry::{Registered, SchemaId};
use std::sync::Arc;

/// The id of a schema that is in no registry. Nothing stands in front of its values.
pub(crate) const INLINE: SchemaId = SchemaId::Id(-1);

/// Schemas whose writers are kept at a time.
const WRITERS_MAX: usize = 16;

/// Whether messages begin with an id.
const FRAMED_KEY: &str = "framed";

/// The id of a schema that is in no registry, where something stands in front of its values all the same.
const FRAMED: SchemaId = SchemaId::Id(-2);

/// A converter of values of one schema; `props` has the format's own settings. With `framed` they begin
/// with an id, whichever it is.
///
/// # Errors
/// `Config`: the text is no schema of the format, or a setting is wrong.
pub(crate) fn inline<F: Format>(text: &str, props: &Props) -> Result<Box<dyn Converter>> {
    let framed = props.get(FRAMED_KEY) == Some("true");
    let schema = Registered {
        id: if framed { FRAMED } else { INLINE },
        kind: F::KIND,
        text: text.into(),
        subject: None,
        version: None,
        references: Vec::new(),
        rules: Vec::new(),
    };
    let format = F::new(props)?;
    let reader = format.reader(&schema);
    let reader = reader.map_err(|why| {
        Error::config(format!("the given schema is no {} schema: {why}", F::KIND))
    })?;
    let (writers, needs) = (Vec::new(), Needs::default());
    Ok(Box::new(Inline { format, reader, schema, framed, writers, needs }))
}

type Kept<W> = (Option<Arc<Schema>>, Result<W, String>);

struct Inline<F: Format> {
    format: F,
    reader: F::Reader,
    schema: Registered,
    framed: bool,
    /// The latest first.
    writers: Vec<Kept<F::Writer>>,
    needs: Needs,
}

impl<F: Format> Inline<F> {
    /// Puts the writer of a schema first.
    fn select(&mut self, schema: Option<&Arc<Schema>>) {
        let same = |known: &Option<Arc<Schema>>| match (known, schema) {
            (Some(known), Some(schema)) => Arc::ptr_eq(known, schema),
            (None, None) => true,
            _ => false,
        };
        match self.writers.iter().position(|(known, _)| same(known)) {
            Some(index) => self.writers.swap(0, index),
            None => {
                self.writers.truncate(WRITERS_MAX - 1);
                let writer = self.format.writer_for(schema, &self.schema);
                self.writers.insert(0, (schema.cloned(), writer));
            }
        }
    }
}

/// What follows the id.
fn behind_id<F: Format>(
    bytes: &[u8],
    place: Span,
) -> std::result::Result<(&[u8], Span), Rejection> {
    let (_, payload) =
        registry::framing::read(bytes).map_err(|unframed| reject::<F>(unframed.to_string()))?;
    let skipped = (bytes.len() - payload.len()) as u32;
    Ok((payload, place.skip(skipped)))
}

impl<F: Format> Converter for Inline<F> {
    fn class(&self) -> &'static str {
        F::CLASS
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let (format, reader, framed) = (&mut self.format, &mut self.reader, self.framed);
        decode_batch(side, batch, &self.needs, |parts, rows| {
            whole(parts, rows, |bytes, place, rows| {
                let (bytes, place) = match framed {
                    true => behind_id::<F>(bytes, place)?,
                    false => (bytes, place),
                };
                let mark = rows.cell_mark();
                let read = format.read(reader, bytes, place, rows);
                read.inspect_err(|_| rows.truncate_cells(mark))
            })
        });
        let rows = if side == Side::Key { &batch.keys } else { &batch.values };
        self.needs.learn(rows);
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        let mut errors = Vec::new();
        for run in rows.runs() {
            let schema = run.schema.as_ref();
            self.select(schema);
            for row in run.range() {
                let cell = rows.root(row);
                let start = out.bytes.len();
                let Some((_, writer)) = self.writers.first_mut() else { continue };
                let written = match writer {
                    _ if cell.is_null() && self.format.is_tombstone(schema) => Ok(Written::Null),
                    Ok(writer) => {
                        out.bytes.extend_from_slice(F::head(writer));
                        self.format.write(writer, rows, schema, cell, &mut out.bytes)
                    }
                    Err(why) => Err(why.clone()),
                };
                match written {
                    Ok(Written::Value) => {
                        out.end_row(start);
                        continue;
                    }
                    Ok(Written::Null) => {}
                    Err(message) => errors.push(EncodeError { row: row as u32, message }),
                }
                out.bytes.truncate(start);
                out.spans.push(Span::NULL);
            }
        }
        Ok(errors)
    }
}
