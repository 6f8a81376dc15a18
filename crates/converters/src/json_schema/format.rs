//! JSON Schema as a format of the converters with a registry.

use super::compatible;
use super::connect;
use super::options::{Options, own_def};
use super::text;
use super::tree::Json;
use super::validate::{Invalid, Validator};
use super::write::{self, Wrote};
use crate::batch::Rejection;
use crate::json::charset;
use crate::json::fault::Fault;
use crate::json::plan::Plan;
use crate::json::read::{Reader, Scratch};
use crate::json::scan::{Kind as JsonKind, Scanner};
use crate::json::write::write_plain;
use crate::registered::{Format, Written};
use api::Result as ApiResult;
use config::{ConfigDef, Props};
use data::{Cell, Rows, Schema, Span};
use registry::{Draft, Kind, Registered, SchemaId};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const CLASS: &str = "io.confluent.connect.json.JsonSchemaConverter";

pub(crate) struct JsonSchema {
    options: Options,
    scratch: Scratch,
}

/// A schema of the registry, ready to read.
pub(crate) struct SchemaReader {
    plan: Plan,
    validator: Option<Validator>,
}

/// A Connect schema, ready to write.
pub(crate) struct SchemaWriter {
    validator: Option<Validator>,
}

impl JsonSchema {
    fn validator(&self, schema: &Registered) -> Result<Option<Validator>, String> {
        self.options.validate.then(|| Validator::new(&self.options, schema)).transpose()
    }

    fn value(
        &mut self,
        reader: &SchemaReader,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> Result<Cell, Rejection> {
        let told = |fault: Fault| fault.reject_by(CLASS);
        let owned;
        let (text, base) = match charset::to_utf8(payload).map_err(told)? {
            Cow::Borrowed(rest) => (rest, place.skip((payload.len() - rest.len()) as u32)),
            Cow::Owned(text) => {
                let base = rows.heap.put(&text);
                owned = text;
                (owned.as_slice(), base)
            }
        };
        let mut scan = Scanner::new(text, 0);
        scan.blank();
        if scan.peek().is_none() {
            return Err(told(reader.plan.mismatch(JsonKind::Missing)));
        }
        let mut values =
            Reader { scan, base, rows, scratch: &mut self.scratch, replace_null: true, depth: 0 };
        let cell = values.value(&reader.plan).map_err(told)?;
        values.scan.end().map_err(told)?;
        match reader.validator.as_ref().map(|validator| validator.check(text)) {
            Some(Err(Invalid { message, column })) => {
                Err(Rejection { column, ..told(Fault::data(message)) })
            }
            _ => Ok(cell),
        }
    }
}

/// A schema that is in no registry yet.
fn unregistered(draft: &Draft) -> Registered {
    Registered {
        id: SchemaId::Id(-1),
        kind: Kind::Json,
        text: draft.text.as_str().into(),
        subject: None,
        version: None,
        references: Vec::new(),
        rules: Vec::new(),
    }
}

impl Format for JsonSchema {
    const CLASS: &'static str = CLASS;
    const KIND: Kind = Kind::Json;
    type Reader = SchemaReader;
    type Writer = SchemaWriter;

    fn config_def() -> ConfigDef {
        own_def()
    }

    fn new(props: &Props) -> ApiResult<JsonSchema> {
        Ok(JsonSchema { options: Options::new(props)?, scratch: Scratch::default() })
    }

    fn reader(&self, schema: &Registered) -> Result<SchemaReader, String> {
        let plan = connect::compile(&self.options, schema)?;
        Ok(SchemaReader { plan, validator: self.validator(schema)? })
    }

    fn record_name(&self, schema: &Registered) -> Option<String> {
        let tree = Json::parse(schema.text.as_bytes()).ok()?;
        tree.text("title").map(str::to_owned)
    }

    fn read(
        &mut self,
        reader: &mut SchemaReader,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> Result<(), Rejection> {
        let cell =
            self.value(reader, payload, place, rows).inspect_err(|_| self.scratch.clear())?;
        rows.push(Some(&reader.plan.schema), cell);
        Ok(())
    }

    fn is_tombstone(&self, schema: Option<&Arc<Schema>>) -> bool {
        schema.is_none_or(|schema| {
            let default = schema.default().is_some() && !self.options.ignore_defaults;
            !default && !schema.is_optional()
        })
    }

    fn writer(
        &self,
        schema: Option<&Arc<Schema>>,
    ) -> Result<(SchemaWriter, Draft, Option<String>), String> {
        let schema = schema.ok_or(
            "a value without a schema has no JSON Schema that could be registered; set \
             use.latest.version=true and auto.register.schemas=false to write it under one that exists",
        )?;
        let text = text::write_schema(&self.options, schema)?;
        let draft = Draft { kind: Kind::Json, text, references: Vec::new() };
        let validator = self.validator(&unregistered(&draft))?;
        // An optional schema is a combination, which has no title.
        let name = schema.name().filter(|_| !schema.is_optional() && !super::is_union(schema));
        Ok((SchemaWriter { validator }, draft, name.map(str::to_owned)))
    }

    fn writer_for(
        &self,
        _: Option<&Arc<Schema>>,
        target: &Registered,
    ) -> Result<SchemaWriter, String> {
        Ok(SchemaWriter { validator: self.validator(target)? })
    }

    fn compatible(&self, draft: &Draft, target: &Registered) -> Result<(), String> {
        let written = connect::compile(&self.options, &unregistered(draft))?;
        compatible::check(&written, &connect::compile(&self.options, target)?)
    }

    fn write(
        &mut self,
        writer: &mut SchemaWriter,
        rows: &Rows,
        schema: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<Written, String> {
        let start = out.len();
        match schema {
            Some(schema) => {
                if write::value(&self.options, rows, schema, cell, out)? == Wrote::Missing {
                    return Ok(Written::Null);
                }
            }
            None if cell.is_null() => return Ok(Written::Null),
            None => write_plain(rows, cell, out)?,
        }
        if let Some(validator) = &writer.validator {
            let written = out.get(start..).unwrap_or_default();
            validator.check(written).map_err(|invalid| match invalid.column {
                Some(column) => format!("field {column}: {}", invalid.message),
                None => invalid.message,
            })?;
        }
        Ok(Written::Value)
    }
}
