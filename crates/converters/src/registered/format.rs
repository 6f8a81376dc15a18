//! What a language of schemas brings to a converter with a registry.

use crate::batch::Rejection;
use api::Result;
use config::{ConfigDef, Props};
use data::{Cell, Rows, Schema, Span};
use registry::{Draft, Kind, Registered};
use std::sync::Arc;

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Its bytes were appended; there may be none.
    Value,
    /// It is a Kafka null.
    Null,
}

/// A language of schemas and the encoding of values in it. One instance a converter.
pub(crate) trait Format: Sized + Send + 'static {
    /// The converter's class name.
    const CLASS: &'static str;
    const KIND: Kind;

    /// A writer's schema with its references, compiled: the Connect schema and how to get there.
    type Reader: Send;
    /// A Connect schema, compiled: how its values are written.
    type Writer: Send;

    /// The format's own settings; what all formats share is not among them.
    fn config_def() -> ConfigDef;

    /// # Errors
    /// `Config`: a setting is wrong.
    fn new(props: &Props) -> Result<Self>;

    /// Compiles a schema of the registry.
    ///
    /// # Errors
    /// What in it cannot be read, with the path there.
    fn reader(&self, schema: &Registered) -> Result<Self::Reader, String>;

    /// The full name of the record that a schema is of, for subjects that are made from it.
    fn record_name(&self, schema: &Registered) -> Option<String>;

    /// Appends exactly one row; where it refuses, none (cells are taken back by the caller).
    /// `place` is where `payload` is in the batch: text and bytes stay spans of it. What stands between
    /// the id and the value (Protobuf's message indexes) is the beginning of the payload, also where
    /// it came in a header.
    ///
    /// # Errors
    /// Why the bytes are no value of the schema; the field in `column`. Schema and subject are added by
    /// the caller.
    fn read(
        &mut self,
        reader: &mut Self::Reader,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> Result<(), Rejection>;

    /// Whether a null under this schema is a Kafka null; then nothing is asked of the registry for it.
    fn is_tombstone(&self, _schema: Option<&Arc<Schema>>) -> bool {
        true
    }

    /// How values of a Connect schema (none: of any shape) are written, the schema that says so to
    /// others, and the full name of its record if it is one.
    ///
    /// # Errors
    /// What in the schema has no counterpart, with the path there.
    fn writer(
        &self,
        schema: Option<&Arc<Schema>>,
    ) -> Result<(Self::Writer, Draft, Option<String>), String>;

    /// How values of a Connect schema are written under a schema that exists already.
    ///
    /// # Errors
    /// What of it has no place there, with the path.
    fn writer_for(
        &self,
        schema: Option<&Arc<Schema>>,
        target: &Registered,
    ) -> Result<Self::Writer, String>;

    /// Whether whoever reads with `target` can read what is written with `draft`; asked before
    /// [`writer_for`](Format::writer_for) unless `latest.compatibility.strict` (or, for a schema that is
    /// given by its id, `id.compatibility.strict`) is false.
    ///
    /// # Errors
    /// What is incompatible, with the path there.
    fn compatible(&self, draft: &Draft, target: &Registered) -> Result<(), String>;

    /// The bytes between the id and the values of a writer. They go where the id goes, and are not
    /// written by [`write`](Format::write).
    fn head(_writer: &Self::Writer) -> &[u8] {
        &[]
    }

    /// Appends a value. On an error what was appended is taken back by the caller.
    ///
    /// # Errors
    /// Why the value does not fit, with the path to the field.
    fn write(
        &mut self,
        writer: &mut Self::Writer,
        rows: &Rows,
        schema: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<Written, String>;
}
