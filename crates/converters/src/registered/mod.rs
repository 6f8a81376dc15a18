//! The converters whose schemas are in a Schema Registry: what they have in common.
//!
//! Place in the data path: as any converter. A [`Format`] knows a language of schemas and how values
//! are written in it; this folder knows the wire formats, the registry, subjects, and which schema is
//! used for what.
//!
//! Invariants:
//! - the registry is asked in `prepare`, and in `encode` for a schema that was not written before to
//!   that topic; never in the loop over records;
//! - a schema is compiled once an instance;
//! - that the registry is away says nothing about a record: `prepare` and `encode` fail as a whole.

mod asking;
mod format;
mod inline;
mod options;
mod readers;
mod writers;

#[cfg(test)]
mod tests;

pub(crate) use format::{Format, Written};
pub(crate) use inline::{INLINE, inline};

use crate::batch::{Needs, Rejection, decode_batch_by_row, whole};
use api::{Cancel, Check, Checking, Converter, EncodeError, Encoded, Error, Result, Side, Topics};
use asking::Asking;
use config::{ConfigDef, Props};
use data::{Batch, RawBatch, Rows, SchemaNames, Span};
use options::Options;
use readers::{Known, Named, Readers};
use registry::{Registry, SchemaId, Settings};
use std::sync::Arc;
use writers::Writers;

/// The settings of a converter of this format: of the registry, of schemas, and the format's own.
pub(crate) fn config_def<F: Format>() -> ConfigDef {
    options::sides(F::CLASS)
        .merge(registry::settings::config_def())
        .merge(options::def())
        .merge(F::config_def())
}

/// Makes a converter of this format.
///
/// # Errors
/// `Config`: a setting is missing or wrong, a file of certificates cannot be read, or it is to serve
/// headers.
pub(crate) fn make<F: Format>(props: &Props, side: Side) -> Result<Box<dyn Converter>> {
    if side == Side::Header {
        return Err(Error::config(options::no_headers(F::CLASS)).hint(options::HEADERS_HINT));
    }
    let options = Options::from_props(props)?;
    let registry = Asking::new(Registry::shared(&Settings::from_props(props)?)?);
    let format = F::new(props)?;
    Ok(Box::new(RegisteredConverter {
        readers: Readers::new(options.schemas_max),
        writers: Writers::new(options.schemas_max),
        format,
        registry,
        options,
        key: side == Side::Key,
        needs: Needs::default(),
    }))
}

struct RegisteredConverter<F: Format> {
    format: F,
    registry: Asking,
    options: Options,
    readers: Readers<F::Reader>,
    writers: Writers<F::Writer>,
    /// Which side it serves when it writes.
    key: bool,
    needs: Needs,
}

impl<F: Format> Converter for RegisteredConverter<F> {
    fn class(&self) -> &'static str {
        F::CLASS
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        self.registry.set_cancel(cancelled);
    }

    fn check(&mut self, side: Side, asked: &Checking) -> Vec<Check> {
        self.registry.check((&self.options, F::KIND), side == Side::Key, asked)
    }

    fn prepare(&mut self, side: Side, raw: &RawBatch) -> Result<()> {
        let topic = raw.topic();
        let key = side == Side::Key;
        self.readers.begin();
        let in_header = self.options.side(key).id_from_header && raw.has_headers();
        let (mut row, mut last) = (0, None);
        while row < raw.len() {
            let id = readers::id_of(&self.options, side, raw, row);
            if let Some(id) = id.filter(|id| last != Some(*id)) {
                if !self.readers.touch(id, topic) {
                    let (registry, options) = (&self.registry, &self.options);
                    let known = readers::learn(&self.format, registry, options, (topic, key), id)?;
                    self.readers.insert(id, topic, known);
                }
                last = Some(id);
            }
            row = match id {
                // A number lies in the bytes that records are known to have in common.
                Some(SchemaId::Id(_)) if !in_header => readers::next_other(side, raw, row),
                _ => row + 1,
            };
        }
        Ok(())
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let raw = Arc::clone(&batch.raw);
        let (format, readers, options) = (&mut self.format, &mut self.readers, &self.options);
        let in_header = options.side(side == Side::Key).id_from_header && raw.has_headers();
        let mut names = SchemaNames::default();
        let (mut last, mut head) = (None, None);
        decode_batch_by_row(side, batch, &self.needs, |row, parts, rows| {
            whole(parts, rows, |bytes, place, rows| {
                if let (Some(last), Some(head)) = (last, &head)
                    && let Some((own, payload)) = bytes.split_first_chunk::<5>()
                    && own == head
                    && let Some(known) = readers.at(last)
                {
                    return read(format, known, (payload, place.skip(own.len() as u32)), rows);
                }
                let header = if in_header { readers::header(side, &raw, row) } else { None };
                let refuse = |why| reject::<F>(unnamed(why, options, side, &raw));
                let named = readers::split(header, bytes);
                let named = named.map_err(|unframed| refuse(unframed.to_string()))?;
                let (this, known) = readers.get(named.id, raw.topic(), last).map_err(refuse)?;
                last = Some(this);
                // Where a header may name another schema the head says nothing.
                head = if in_header { None } else { this.head() };
                names.begin(row, &known.name);
                read_named(format, known, &named, (bytes, place), rows)
            })
        });
        if side == Side::Value {
            batch.schemas = names;
        }
        let rows = if side == Side::Key { &batch.keys } else { &batch.values };
        self.needs.learn(rows);
    }

    fn encode(
        &mut self,
        topics: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        let asked =
            writers::Asked { registry: &self.registry, options: &self.options, key: self.key };
        self.writers.encode(&mut self.format, &asked, topics, rows, out)
    }
}

/// Reads one record, or leaves `rows` as they were.
#[inline]
fn read<F: Format>(
    format: &mut F,
    known: &mut Known<F::Reader>,
    (payload, place): (&[u8], Span),
    rows: &mut Rows,
) -> Result<(), Rejection> {
    let mark = rows.cell_mark();
    let read = match &mut known.reader {
        Ok(reader) => format.read(reader, payload, place, rows),
        Err(why) => Err(reject::<F>(why.clone())),
    };
    read.map_err(|rejection| {
        rows.truncate_cells(mark);
        let message = format!("{} ({})", rejection.message, known.name);
        Rejection { message, ..rejection }
    })
}

/// The same of a record whose parts are told apart.
fn read_named<F: Format>(
    format: &mut F,
    known: &mut Known<F::Reader>,
    named: &Named<'_>,
    (bytes, place): (&[u8], Span),
    rows: &mut Rows,
) -> Result<(), Rejection> {
    if named.head.is_empty() {
        let skipped = bytes.len() - named.payload.len();
        return read(format, known, (named.payload, place.skip(skipped as u32)), rows);
    }
    let joined = [named.head, named.payload].concat();
    let place = rows.heap.put(&joined);
    read(format, known, (&joined, place), rows)
}

/// Why no schema is known of a record, with the subject that it should be in.
fn unnamed(why: String, options: &Options, side: Side, raw: &RawBatch) -> String {
    let key = side == Side::Key;
    // A subject that is made from a record's name is known only with the schema.
    match options.side(key).strategy.subject(raw.topic(), key, None) {
        Ok(subject) => format!("{why} (subject {subject})"),
        Err(_) => why,
    }
}

/// A record that cannot be read.
fn reject<F: Format>(message: String) -> Rejection {
    Rejection {
        message,
        exception: "org.apache.kafka.connect.errors.DataException",
        class: F::CLASS,
        column: None,
    }
}
