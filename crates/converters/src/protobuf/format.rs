//! Protobuf as a format of the converters with a registry.
//!
//! Invariant: a schema is compiled once; the messages of it that records turn out to be of are planned
//! at their first record.

use super::CLASS;
use super::compatible::compatible;
use super::compile::{Imports, compile, message_at, path_of};
use super::deep::deep;
use super::fault::Fault;
use super::options::{self, Options};
use super::plan::Plan;
use super::read::{self, Scratch};
use super::to_proto::to_proto;
use super::unfold::unfold;
use super::wire::{message_indexes, put_message_indexes};
use super::write;
use super::write_plan::{WritePlan, write_plan};
use crate::batch::Rejection;
use crate::registered::{Format, INLINE, Written};
use api::Result;
use config::{ConfigDef, Props};
use data::{Cell, Rows, Schema, Span};
use prost_reflect::{FileDescriptor, MessageDescriptor};
use registry::{Draft, Kind, Registered};
use std::sync::Arc;

/// The message that values of a given schema are, where it is not its first.
const MESSAGE: &str = "message";

pub(crate) struct Protobuf {
    options: Options,
    message: Option<String>,
    scratch: Scratch,
}

/// A schema compiled, and those of its messages that were met.
pub(crate) struct Reader {
    file: FileDescriptor,
    version: Option<i32>,
    /// The message is named in front of it.
    framed: bool,
    /// The indexes of the message, where it is not.
    path: Vec<i32>,
    /// The latest first.
    known: Vec<Known>,
}

/// A message of a schema.
struct Known {
    /// The indexes as they stand in front of the message.
    head: Vec<u8>,
    plan: std::result::Result<Plan, String>,
}

/// Messages of one schema whose plans are kept.
const KNOWN_MAX: usize = 64;

pub(crate) struct Writer {
    plan: WritePlan,
    head: Vec<u8>,
}

impl Reader {
    /// The plan of the message that begins the payload, and where its bytes begin.
    fn select(
        &mut self,
        options: &Options,
        payload: &[u8],
    ) -> std::result::Result<(&Plan, usize), Fault> {
        if !self.framed && self.known.is_empty() {
            let path = std::mem::take(&mut self.path);
            self.learn(options, &path, Vec::new());
        }
        match self.known.iter().position(|known| payload.starts_with(&known.head)) {
            Some(0) => {}
            Some(index) => self.known.swap(0, index),
            None => {
                let (path, len) = message_indexes(payload)?;
                self.learn(options, &path, payload.get(..len).unwrap_or_default().to_vec());
            }
        }
        match self.known.first() {
            Some(Known { head, plan: Ok(plan) }) => Ok((plan, head.len())),
            Some(Known { plan: Err(why), .. }) => Err(Fault::new(why.clone())),
            None => Err(Fault::new("the schema has no message".to_owned())),
        }
    }

    fn learn(&mut self, options: &Options, path: &[i32], head: Vec<u8>) {
        let message = message_at(&self.file, path);
        let plan = message.and_then(|message| unfold(options, &message, self.version));
        self.known.truncate(KNOWN_MAX - 1);
        self.known.insert(0, Known { head, plan });
    }
}

/// The indexes of a message by its full name, or by its own where that is the only one.
fn path_to(file: &FileDescriptor, name: &str) -> std::result::Result<Vec<i32>, String> {
    let mut all: Vec<MessageDescriptor> = file.messages().collect();
    let mut at = 0;
    while let Some(message) = all.get(at) {
        let inner: Vec<MessageDescriptor> = message.child_messages().collect();
        all.extend(inner);
        at += 1;
    }
    let full = all.iter().find(|message| message.full_name() == name);
    let mut by_own = all.iter().filter(|message| message.name() == name);
    match (full, by_own.next(), by_own.next()) {
        (Some(message), ..) | (None, Some(message), None) => Ok(path_of(message)),
        _ => {
            let names: Vec<&str> = all.iter().map(|message| message.full_name()).collect();
            Err(format!("it has no message {name}, but {}", names.join(", ")))
        }
    }
}

impl Format for Protobuf {
    const CLASS: &'static str = CLASS;
    const KIND: Kind = Kind::Protobuf;
    type Reader = Reader;
    type Writer = Writer;

    fn config_def() -> ConfigDef {
        options::config_def()
    }

    fn new(props: &Props) -> Result<Protobuf> {
        let message = props.get(MESSAGE).map(str::to_owned);
        Ok(Protobuf { options: Options::new(props)?, message, scratch: Scratch::default() })
    }

    fn reader(&self, schema: &Registered) -> std::result::Result<Reader, String> {
        let file = file_of(schema)?;
        let framed = schema.id != INLINE;
        let path = match &self.message {
            Some(name) if !framed => path_to(&file, name)?,
            _ => vec![0],
        };
        Ok(Reader { file, version: schema.version, framed, path, known: Vec::new() })
    }

    fn record_name(&self, schema: &Registered) -> Option<String> {
        let message = file_of(schema).ok()?.messages().next()?;
        Some(message.full_name().to_owned())
    }

    fn read(
        &mut self,
        reader: &mut Reader,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> std::result::Result<(), Rejection> {
        let (plan, start) = reader.select(&self.options, payload).map_err(Fault::reject)?;
        let mut reader = read::Reader { plan, base: place, rows, scratch: &mut self.scratch };
        let cell = reader.record(payload, start).map_err(Fault::reject)?;
        rows.push(Some(&plan.schema), cell);
        Ok(())
    }

    fn writer(
        &self,
        schema: Option<&Arc<Schema>>,
    ) -> std::result::Result<(Writer, Draft, Option<String>), String> {
        let schema = schema.ok_or_else(no_schema)?;
        let proto = deep(|| to_proto(&self.options, schema).map_err(|fault| fault.text()))?;
        let file = compile(&proto.text, Imports::new())?;
        let message = file.parent_pool().get_message_by_name(&proto.name);
        let message = message.ok_or_else(|| format!("there is no message {}", proto.name))?;
        let writer = self.plan(schema, &message, true)?;
        let draft = Draft { kind: Kind::Protobuf, text: proto.text, references: Vec::new() };
        Ok((writer, draft, Some(proto.name)))
    }

    fn writer_for(
        &self,
        schema: Option<&Arc<Schema>>,
        target: &Registered,
    ) -> std::result::Result<Writer, String> {
        let schema = schema.ok_or_else(no_schema)?;
        let file = file_of(target)?;
        let message = message_for(&self.options, schema, &file)?;
        self.plan(schema, &message, target.id != INLINE)
    }

    fn compatible(&self, draft: &Draft, target: &Registered) -> std::result::Result<(), String> {
        let written = compile(&draft.text, Imports::new())?;
        compatible(&written, &file_of(target)?)
    }

    fn head(writer: &Writer) -> &[u8] {
        &writer.head
    }

    fn write(
        &mut self,
        writer: &mut Writer,
        rows: &Rows,
        _: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> std::result::Result<Written, String> {
        if cell.is_null() {
            return Ok(Written::Null);
        }
        let writer = write::Writer { plan: &writer.plan, rows };
        writer.record(cell, out).map_err(|fault| fault.text())?;
        Ok(Written::Value)
    }
}

impl Protobuf {
    fn plan(
        &self,
        schema: &Schema,
        message: &MessageDescriptor,
        framed: bool,
    ) -> std::result::Result<Writer, String> {
        let scrub = self.options.scrub_invalid_names;
        let plan = deep(|| write_plan(scrub, schema, message).map_err(|fault| fault.text()))?;
        let mut head = Vec::new();
        if framed {
            put_message_indexes(&path_of(message), &mut head);
        }
        Ok(Writer { plan, head })
    }
}

fn no_schema() -> String {
    "a value without a schema cannot be written as Protobuf".to_owned()
}

/// The message of a file that values of a schema are written as: the one that they would be written
/// as anyway, else one of its simple name, else the first.
fn message_for(
    options: &Options,
    schema: &Arc<Schema>,
    file: &FileDescriptor,
) -> std::result::Result<MessageDescriptor, String> {
    let name = deep(|| to_proto(options, schema).map(|proto| proto.name).map_err(|f| f.text()));
    let name = name.unwrap_or_default();
    let simple = super::names_of::simple_name(&name);
    let pool = file.parent_pool();
    let own = |message: &MessageDescriptor| message.parent_file() == *file;
    let found = pool.get_message_by_name(&name).filter(own);
    let found = found.or_else(|| file.messages().find(|message| message.name() == simple));
    let found = found.or_else(|| file.messages().next());
    found.ok_or_else(|| "the schema has no message".to_owned())
}

fn file_of(schema: &Registered) -> std::result::Result<FileDescriptor, String> {
    let mut imports = Imports::new();
    let mut rest: Vec<&Registered> = vec![schema];
    while let Some(next) = rest.pop() {
        for (reference, target) in &next.references {
            if !imports.contains_key(&reference.name) {
                imports.insert(reference.name.clone(), target.text.to_string());
                rest.push(target);
            }
        }
    }
    compile(&schema.text, imports)
}
