//! Cells in the form that PostgreSQL takes: text for COPY and for `text[]` parameters, binary for
//! COPY BINARY and typed arrays.
//!
//! Place in the data path: an [`Encoder`] is made once for a schema and a destination column; then it
//! is called for every value of every row and appends straight to the message that is sent.
//!
//! Invariants:
//! - nothing is allocated for a value of a scalar type; formatted values go through the stack;
//! - a value that fails leaves the output as it was;
//! - numbers keep their digits or are refused, never rounded by us where the column could tell;
//! - the binary form stores exactly what the text form stores (a test compares them on a server).
//!
//! What is not checked here is checked by the column's own input function on the server.

mod convert;
mod fast;
mod nested;
mod number;
mod numeric;
mod semantic;
mod target;
mod temporal;
mod text;
mod union;

pub use target::ColumnType;

use crate::config::{BytesEncoding, DatabaseSettings, EpochUnit, NulHandling, TypeDialect};
use crate::epoch::{micros, unit_of};
use convert::Val;
use data::{Cell, Rows, Schema, Semantic};
use fast::Fast;
use std::sync::Arc;
use target::Target;

/// What was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing: the value is null.
    Null,
    /// The value, which may be empty.
    Value,
}

/// Why a value has no form in its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The SQLSTATE that PostgreSQL uses for such an error.
    pub sqlstate: &'static str,
    /// What is wrong, without the column's name.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

pub(super) type Encoded<T = ()> = Result<T, Fault>;

/// Settings that decide about forms.
#[derive(Debug)]
pub struct ValueSettings {
    nul: NulHandling,
    bytes: BytesEncoding,
    /// `None` for UTC.
    timezone: Option<jiff::tz::TimeZone>,
    /// Times of day are moved to the time zone.
    moves_times: bool,
    /// Numbers without a sign are those of Connect, which has none of 64 bits.
    signed: bool,
}

impl ValueSettings {
    /// The settings of a connector that concern values.
    pub fn new(settings: &DatabaseSettings) -> ValueSettings {
        let timezone = &settings.timezone;
        let utc = *timezone == jiff::tz::TimeZone::UTC || timezone.iana_name() == Some("UTC");
        ValueSettings {
            nul: settings.nul_handling,
            bytes: settings.bytes_encoding,
            timezone: (!utc).then(|| timezone.clone()),
            moves_times: settings.types == TypeDialect::CJdbc,
            signed: settings.types != TypeDialect::Own,
        }
    }
}

/// Sees to NUL characters in JSON text that begins at `start` and is to become `jsonb`, as
/// `string.nul.handling` says.
///
/// # Errors
/// There are some, and they are refused.
pub(in crate::postgres) fn clean_jsonb(
    settings: &ValueSettings,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<(), Fault> {
    let rows = Rows::default();
    text::clean_json(Context { rows: &rows, settings }, true, out, start)
}

/// What every conversion needs beside the value.
#[derive(Clone, Copy)]
struct Context<'a> {
    rows: &'a Rows,
    settings: &'a ValueSettings,
}

/// Writes values of one schema into one column.
#[derive(Clone, Debug)]
pub struct Encoder {
    target: Target,
    schema: Option<Arc<Schema>>,
    settings: Arc<ValueSettings>,
    binary: bool,
    fast: Fast,
    /// Numbers, and text that is one, are points in time.
    epoch: Option<EpochUnit>,
    /// Values are of one of Debezium's types that this column has a form for.
    semantic: Option<Semantic>,
}

impl Encoder {
    /// An encoder for values of `schema` (`None`: schemaless, values describe themselves).
    pub fn new(
        schema: Option<&Arc<Schema>>,
        column: &ColumnType,
        settings: &Arc<ValueSettings>,
    ) -> Encoder {
        let target = Target::of(column);
        let binary = target.has_binary(schema.map(AsRef::as_ref));
        let epoch = schema.and_then(|s| unit_of(s)).filter(|_| target.is_calendar());
        let semantic = schema.and_then(|schema| semantic::of(schema, &target));
        let semantic = semantic.filter(|kind| *kind != Semantic::Unsigned || !settings.signed);
        let utc = settings.timezone.is_none();
        let fast = Fast::of(&target, schema.map(AsRef::as_ref), utc);
        let (schema, settings) = (schema.cloned(), Arc::clone(settings));
        Encoder { target, schema, settings, binary, fast, epoch, semantic }
    }

    /// Whether values of this schema go into this column at all.
    ///
    /// # Errors
    /// A fault that every value but null would meet. Schemaless values are not known beforehand.
    pub fn accepts(&self) -> Encoded {
        match &self.schema {
            Some(schema) if !self.target.accepts(schema) => {
                Err(convert::mismatch(convert::schema_name(schema), &self.target))
            }
            _ => Ok(()),
        }
    }

    /// True if [`Encoder::binary`] and [`Encoder::copy_binary`] may be used.
    pub fn has_binary(&self) -> bool {
        self.binary
    }

    /// Appends the column type's text form: what its input function reads, without any escapes.
    ///
    /// # Errors
    /// A [`Fault`] of this value; nothing has been appended.
    pub fn text(&self, cell: Cell, rows: &Rows, out: &mut Vec<u8>) -> Encoded<Form> {
        self.with(cell, rows, out, |context, target, value, out| {
            convert::write_text(context, target, value, out)
        })
    }

    /// Appends a field of COPY's text format: `\N` for null, escapes where they are needed. Tabs
    /// between fields and line ends are the caller's.
    ///
    /// # Errors
    /// A [`Fault`] of this value; nothing has been appended.
    #[inline]
    pub fn copy_text(&self, cell: Cell, rows: &Rows, out: &mut Vec<u8>) -> Encoded {
        let plain = self.epoch.is_none() && self.semantic.is_none();
        if let (Cell::Text(span), true, true) = (cell, plain, self.target.takes_any_text()) {
            let bytes = rows.bytes(span);
            if !text::needs_care(bytes) {
                out.extend_from_slice(bytes);
                return Ok(());
            }
        }
        let start = out.len();
        match self.text(cell, rows, out)? {
            Form::Null => out.extend_from_slice(b"\\N"),
            Form::Value if convert::is_plain(cell) => {}
            Form::Value => text::escape_for_copy(out, start),
        }
        Ok(())
    }

    /// Appends the column type's binary form. Only if [`Encoder::has_binary`].
    ///
    /// # Errors
    /// A [`Fault`] of this value; nothing has been appended.
    pub fn binary(&self, cell: Cell, rows: &Rows, out: &mut Vec<u8>) -> Encoded<Form> {
        self.with(cell, rows, out, |context, target, value, out| {
            convert::write_binary(context, target, value, out)
        })
    }

    /// Appends a field of COPY's binary format, or an element of a binary array: the length (-1 for
    /// null) and the binary form.
    ///
    /// # Errors
    /// A [`Fault`] of this value; nothing has been appended.
    #[inline]
    pub fn copy_binary(&self, cell: Cell, rows: &Rows, out: &mut Vec<u8>) -> Encoded {
        if self.copy_usual(&cell, rows, out) { Ok(()) } else { self.any_binary(cell, rows, out) }
    }

    /// The same for the most common cells, where they lie; false, and nothing appended, for others.
    #[inline]
    pub fn copy_usual(&self, cell: &Cell, rows: &Rows, out: &mut Vec<u8>) -> bool {
        self.fast.write(cell, rows, out)
    }

    fn any_binary(&self, cell: Cell, rows: &Rows, out: &mut Vec<u8>) -> Encoded {
        let start = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        match self.binary(cell, rows, out) {
            Ok(Form::Null) => Ok(()),
            Ok(Form::Value) => {
                let len = out.len() - start - 4;
                // The message's own limit is 1 GiB and is checked before it is sent.
                let len = i32::try_from(len).unwrap_or(i32::MAX);
                if let Some(field) = out.get_mut(start..).and_then(|b| b.first_chunk_mut::<4>()) {
                    *field = len.to_be_bytes();
                }
                Ok(())
            }
            Err(fault) => {
                out.truncate(start);
                Err(fault)
            }
        }
    }

    #[inline]
    fn with(
        &self,
        cell: Cell,
        rows: &Rows,
        out: &mut Vec<u8>,
        write: impl FnOnce(Context<'_>, &Target, Val<'_>, &mut Vec<u8>) -> Encoded,
    ) -> Encoded<Form> {
        let schema = self.schema.as_deref();
        let value = match self.epoch.and_then(|unit| micros(unit, cell, rows)) {
            Some(micros) => Some(Val::Micros(micros)),
            None => match (self.semantic, schema) {
                (Some(semantic), Some(schema)) => {
                    semantic::value(semantic, rows, schema, cell, &self.target)
                }
                _ => convert::value(rows, schema, cell, &self.target),
            },
        };
        let Some(value) = value else { return Ok(Form::Null) };
        let start = out.len();
        match write(Context { rows, settings: &self.settings }, &self.target, value, out) {
            Ok(()) => Ok(Form::Value),
            Err(fault) => {
                out.truncate(start);
                Err(fault)
            }
        }
    }
}

#[cfg(test)]
mod semantic_tests;
#[cfg(test)]
mod tests;
