//! Connect's JsonConverter: JSON with or without a schema envelope.
//!
//! Place in the data path: fetched bytes to rows in a sink, rows to bytes in a source. A batch is
//! decoded record by record straight into cells; text without escapes stays where it was fetched.
//!
//! Invariants: one record never affects another; equal schemas are one `Arc` for the life of the
//! converter; whatever Connect's converter reads as another value than the one written (words as
//! zero, integers cut to size) is a data error here.

pub(crate) mod charset;
mod envelope;
pub(crate) mod fault;
mod keys;
pub(crate) mod number;
pub(crate) mod options;
pub(crate) mod plain;
pub(crate) mod plan;
pub(crate) mod read;
mod repair;
pub(crate) mod scan;
mod schema_read;
pub(crate) mod strings;
pub(crate) mod token;
pub(crate) mod write;

use crate::batch::{Needs, decode_batch, whole};
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Result, Side, Topics};
use config::Props;
use data::{Batch, Cell, Rows, Schema, Span, ValueParts};
use envelope::{Recent, Schemas, split};
use fault::Fault;
pub(crate) use number::{rescale, shortest};
use options::Options;
use plain::Shape;
use plan::Plan;
use read::{Reader, Scratch};
use scan::{Kind, Scanner};
use std::borrow::Cow;
use std::sync::Arc;
use write::{write_schema, write_value};

const CLASS: &str = "org.apache.kafka.connect.json.JsonConverter";

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: CLASS,
    aliases: &["JsonConverter", "Json"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: options::config_def,
    make: |props, _| Ok(Box::new(JsonConverter::new(props)?)),
};

struct JsonConverter {
    options: Options,
    /// The plan of `schema.content`.
    fixed: Option<Plan>,
    schemas: Schemas,
    recent: Recent,
    shape: Shape,
    scratch: Scratch,
    heads: Heads,
    needs: Needs,
}

impl JsonConverter {
    fn new(props: &Props) -> Result<JsonConverter> {
        let options = Options::new(props)?;
        let fixed = match &options.schema_content {
            Some(schema) if options.schemas_enable => {
                let plan = Plan::new(schema, 0);
                Some(plan.map_err(|fault| api::Error::config(fault.message().to_owned()))?)
            }
            _ => None,
        };
        Ok(JsonConverter {
            fixed,
            schemas: Schemas::new(options.schemas_cache_size, options.replace_null_with_default),
            recent: Recent::default(),
            shape: Shape::default(),
            scratch: Scratch::default(),
            heads: Heads::default(),
            needs: Needs::default(),
            options,
        })
    }

    /// Reads a record that may be kept without the head of its envelope.
    #[inline]
    fn parts(&mut self, parts: ValueParts<'_>, rows: &mut Rows) -> Result<(), Fault> {
        if let Some(head) = parts.prefix {
            for index in 0..self.recent.list().len() {
                let known = self.recent.list().get(index);
                let Some(scan) = known.and_then(|k| k.rest(head, parts.rest)) else { continue };
                if self.payload(index, scan, parts.place, rows) {
                    return Ok(());
                }
                break;
            }
        }
        whole(parts, rows, |record, base, rows| self.record(record, base, rows))
    }

    /// Reads one record and appends its row, or leaves `rows` without it.
    fn record(&mut self, record: &[u8], base: Span, rows: &mut Rows) -> Result<(), Fault> {
        let (record, base) = match charset::to_utf8(record)? {
            Cow::Borrowed(rest) => (rest, base.skip((record.len() - rest.len()) as u32)),
            Cow::Owned(text) => {
                let base = rows.heap.put(&text);
                return self.utf8(&text, base, rows);
            }
        };
        self.utf8(record, base, rows)
    }

    fn utf8(&mut self, record: &[u8], base: Span, rows: &mut Rows) -> Result<(), Fault> {
        if self.fixed.is_none() && self.options.schemas_enable {
            return self.envelope(record, base, rows);
        }
        let mut scan = Scanner::new(record, 0);
        scan.blank();
        let empty = scan.peek().is_none();
        let mut reader = self.options.reader(scan, base, rows, &mut self.scratch, 0);
        let (schema, cell) = match &self.fixed {
            Some(plan) if empty => return Err(plan.mismatch(Kind::Missing)),
            Some(plan) => (Some(&plan.schema), reader.value(plan)?),
            None if empty => (None, Cell::Null),
            None => (None, reader.plain(&mut self.shape)?),
        };
        reader.scan.end()?;
        rows.push(schema, cell);
        Ok(())
    }

    /// Reads a record in an envelope: only its payload where the envelope is known.
    fn envelope(&mut self, record: &[u8], base: Span, rows: &mut Rows) -> Result<(), Fault> {
        for index in 0..self.recent.list().len() {
            let known = self.recent.list().get(index);
            let Some(scan) = known.and_then(|known| known.payload(record)) else { continue };
            if self.payload(index, scan, base, rows) {
                return Ok(());
            }
            break;
        }
        self.whole_envelope(record, base, rows)
    }

    /// Reads the payload of a known envelope. False, and no row, where anything is wrong or odd: the
    /// long way finds out what.
    #[inline]
    fn payload(&mut self, index: usize, scan: Scanner<'_>, base: Span, rows: &mut Rows) -> bool {
        let Some(known) = self.recent.list().get(index) else { return false };
        let mark = rows.cell_mark();
        let mut reader = self.options.reader(scan, base, rows, &mut self.scratch, 1);
        let read = match &known.plan {
            Some(plan) => reader.value(plan),
            None => reader.plain(&mut self.shape),
        };
        if let Ok(cell) = read
            && known.end(&mut reader.scan).is_ok()
        {
            rows.push(known.plan.as_ref().map(|plan| &plan.schema), cell);
            self.recent.touch(index);
            return true;
        }
        rows.truncate_cells(mark);
        self.scratch.clear();
        self.shape.forget_order(mark);
        false
    }

    fn whole_envelope(&mut self, record: &[u8], base: Span, rows: &mut Rows) -> Result<(), Fault> {
        let parts = split(record)?;
        let plan = self.schemas.get(record.get(parts.schema.clone()).unwrap_or_default())?;
        let inner = record.get(..parts.payload.end).unwrap_or_default();
        let scan = Scanner::new(inner, parts.payload.start);
        let mut reader = self.options.reader(scan, base, rows, &mut self.scratch, 1);
        let cell = match &plan {
            Some(plan) => reader.value(plan)?,
            None => reader.plain(&mut self.shape)?,
        };
        rows.push(plan.as_ref().map(|plan| &plan.schema), cell);
        if parts.plain {
            self.recent.learn(record, &parts, plan.as_ref());
        }
        Ok(())
    }
}

impl Options {
    fn reader<'a>(
        &self,
        scan: Scanner<'a>,
        base: Span,
        rows: &'a mut Rows,
        scratch: &'a mut Scratch,
        depth: usize,
    ) -> Reader<'a> {
        let replace_null = self.replace_null_with_default;
        Reader { scan, base, rows, scratch, replace_null, depth }
    }
}

impl Converter for JsonConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        self.shape.begin_batch();
        let needs = self.needs.clone();
        decode_batch(side, batch, &needs, |parts, rows| {
            let mark = rows.cell_mark();
            self.parts(parts, rows).map_err(|fault| {
                rows.truncate_cells(mark);
                self.scratch.clear();
                self.shape.forget_order(mark);
                fault.reject()
            })
        });
        let rows = match side {
            Side::Key => &mut batch.keys,
            Side::Value => &mut batch.values,
            Side::Header => return,
        };
        rows.set_alike(self.shape.alike());
        self.needs.learn(rows);
    }

    fn value_prefix(&self) -> Option<Arc<[u8]>> {
        self.recent.shared().cloned()
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
            let head = self.heads.get(&self.options, schema);
            for row in run.range() {
                let cell = rows.root(row);
                if schema.is_none() && cell.is_null() {
                    out.spans.push(Span::NULL);
                    continue;
                }
                let start = out.bytes.len();
                let written = head.clone().and_then(|(head, tail)| {
                    out.bytes.extend_from_slice(head);
                    let schema = schema.map(AsRef::as_ref);
                    write_value(&self.options, rows, schema, cell, &mut out.bytes)
                        .map(|()| out.bytes.extend_from_slice(tail))
                        .map_err(Cow::Owned)
                });
                match written {
                    Ok(()) => out.end_row(start),
                    Err(message) => {
                        out.bytes.truncate(start);
                        out.spans.push(Span::NULL);
                        let message = message.into_owned();
                        errors.push(EncodeError { row: row as u32, message });
                    }
                }
            }
        }
        Ok(errors)
    }
}

/// What stands in front of the payloads of the schemas written last, the latest first.
#[derive(Default)]
struct Heads {
    list: Vec<(Option<Arc<Schema>>, Head)>,
}

/// The bytes, or why the schema cannot be written.
type Head = Result<Vec<u8>, String>;

/// Schemas whose text is kept at a time.
const HEADS_MAX: usize = 16;

impl Heads {
    /// The bytes around a payload of this schema, in front and behind.
    fn get(
        &mut self,
        options: &Options,
        schema: Option<&Arc<Schema>>,
    ) -> Result<(&[u8], &[u8]), Cow<'_, str>> {
        if !options.schemas_enable {
            return Ok((b"", b""));
        }
        let same = |known: &Option<Arc<Schema>>| match (known, schema) {
            (Some(known), Some(schema)) => Arc::ptr_eq(known, schema),
            (None, None) => true,
            _ => false,
        };
        match self.list.iter().position(|(known, _)| same(known)) {
            Some(0) => {}
            Some(index) => self.list.swap(0, index),
            None => {
                self.list.truncate(HEADS_MAX - 1);
                self.list.insert(0, (schema.cloned(), head(options, schema)));
            }
        }
        match self.list.first() {
            Some((_, Ok(head))) => Ok((head, b"}")),
            Some((_, Err(message))) => Err(Cow::Borrowed(message)),
            None => Ok((b"", b"")),
        }
    }
}

fn head(options: &Options, schema: Option<&Arc<Schema>>) -> Head {
    let mut out = b"{\"schema\":".to_vec();
    match schema {
        Some(schema) => write_schema(options, schema, None, &mut out)?,
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"payload\":");
    Ok(out)
}
