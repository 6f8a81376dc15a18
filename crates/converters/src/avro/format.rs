//! Avro as a format of the converters with a registry.

use super::options::AvroOptions;
use super::read::{self, Plan, Scratch};
use super::schema::{AvroSchema, Name, Parser};
use super::write::Writer;
use crate::batch::Rejection;
use crate::registered::{Format, Written};
use api::{Error, Result as ApiResult};
use config::{ConfigDef, Props};
use data::{Cell, Rows, Schema, Span};
use registry::{Draft, Kind, Registered};
use std::sync::Arc;

pub(super) const CLASS: &str = "io.confluent.connect.avro.AvroConverter";

pub(crate) struct Avro {
    options: AvroOptions,
    scratch: Scratch,
}

/// The schema with what it refers to.
fn parse(schema: &Registered) -> Result<AvroSchema, String> {
    let mut parser = Parser::default();
    refer(&mut parser, schema)?;
    parser.parse(&schema.text)
}

/// Makes known what a schema refers to, innermost first. The registry's client refuses cycles.
fn refer(parser: &mut Parser, schema: &Registered) -> Result<(), String> {
    for (reference, of) in &schema.references {
        refer(parser, of)?;
        parser
            .refer(&of.text)
            .map_err(|why| format!("in the reference {}: {why}", reference.name))?;
    }
    Ok(())
}

/// The name of a record, an enum or a fixed that is the whole of a schema.
fn name(schema: &AvroSchema) -> Option<String> {
    schema.node(schema.root()).name().map(Name::full)
}

impl Format for Avro {
    const CLASS: &'static str = CLASS;
    const KIND: Kind = Kind::Avro;
    type Reader = Plan;
    type Writer = Writer;

    fn config_def() -> ConfigDef {
        AvroOptions::config_def()
    }

    fn new(props: &Props) -> ApiResult<Avro> {
        let parsed = AvroOptions::config_def().parse(props).into_result().map_err(|errors| {
            let texts: Vec<String> = errors.errors.into_iter().map(|e| e.message).collect();
            Error::config(texts.join("; "))
        })?;
        Ok(Avro { options: AvroOptions::from_parsed(&parsed), scratch: Scratch::default() })
    }

    fn reader(&self, schema: &Registered) -> Result<Plan, String> {
        Plan::new(&parse(schema)?, &self.options, schema.version)
    }

    fn record_name(&self, schema: &Registered) -> Option<String> {
        parse(schema).ok().as_ref().and_then(name)
    }

    fn read(
        &mut self,
        reader: &mut Plan,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> Result<(), Rejection> {
        reader.read(payload, place, rows, &mut self.scratch).map_err(|malformed| Rejection {
            message: format!("The bytes are no value of the Avro schema: {}", malformed.message),
            exception: "org.apache.kafka.connect.errors.DataException",
            class: CLASS,
            column: malformed.path,
        })
    }

    fn writer(
        &self,
        schema: Option<&Arc<Schema>>,
    ) -> Result<(Writer, Draft, Option<String>), String> {
        let writer = Writer::new(schema.map(AsRef::as_ref), &self.options)?;
        let (text, name) = (writer.schema().text(), name(writer.schema()));
        Ok((writer, Draft { kind: Kind::Avro, text, references: Vec::new() }, name))
    }

    fn writer_for(
        &self,
        schema: Option<&Arc<Schema>>,
        target: &Registered,
    ) -> Result<Writer, String> {
        Writer::under(schema.map(AsRef::as_ref), Arc::new(parse(target)?), &self.options)
    }

    fn compatible(&self, draft: &Draft, target: &Registered) -> Result<(), String> {
        read::compatible(&AvroSchema::parse(&draft.text)?, &parse(target)?, &self.options)
    }

    fn write(
        &mut self,
        writer: &mut Writer,
        rows: &Rows,
        _: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<Written, String> {
        if cell.is_null() {
            return Ok(Written::Null);
        }
        writer.write(rows, cell, out).map(|()| Written::Value)
    }
}
