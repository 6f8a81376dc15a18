//! A format for tests: values are text under a record of one field, whose type tells schemas apart.

use crate::batch::Rejection;
use crate::registered::{Format, Written};
use api::Result;
use config::{ConfigDef, Props};
use data::{Cell, Rows, Schema, SchemaBuilder, Span, Type};
use registry::{Draft, Kind, Registered};
use std::sync::Arc;

pub(super) struct Toy;

/// What readers and writers of it are: the Connect schema.
pub(super) struct Plan(Arc<Schema>);

fn text(name: &str, kind: &str) -> String {
    format!(r#"{{"type":"record","name":"{name}","fields":[{{"name":"f","type":"{kind}"}}]}}"#)
}

/// A schema of this name whose field is a `string` or a `long`.
pub(super) fn schema(name: &str, kind: &str) -> Arc<Schema> {
    let kind = if kind == "long" { Type::Int64 } else { Type::String };
    Arc::new(SchemaBuilder::new(kind).name(name).optional().build().unwrap())
}

pub(super) fn draft(schema: &Schema) -> Draft {
    let kind = if schema.kind() == Type::Int64 { "long" } else { "string" };
    let text = text(schema.name().unwrap_or("Toy"), kind);
    Draft { kind: Kind::Avro, text, references: Vec::new() }
}

impl Format for Toy {
    const CLASS: &'static str = "test.ToyConverter";
    const KIND: Kind = Kind::Avro;
    type Reader = Plan;
    type Writer = Plan;

    fn config_def() -> ConfigDef {
        ConfigDef::new()
    }

    fn new(_: &Props) -> Result<Toy> {
        Ok(Toy)
    }

    fn reader(&self, schema: &Registered) -> Result<Plan, String> {
        if schema.text.contains("broken") {
            return Err("f: it is broken".to_owned());
        }
        let mut plan = SchemaBuilder::new(Type::String).optional();
        if let Some(version) = schema.version {
            plan = plan.version(version);
        }
        Ok(Plan(Arc::new(plan.build().unwrap())))
    }

    fn record_name(&self, schema: &Registered) -> Option<String> {
        let (_, rest) = schema.text.split_once(r#""name":""#)?;
        rest.split('"').next().map(str::to_owned)
    }

    fn read(
        &mut self,
        plan: &mut Plan,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> Result<(), Rejection> {
        if payload == b"bad" {
            rows.alloc(3);
            return Err(Rejection {
                message: "it is bad".to_owned(),
                exception: "org.apache.kafka.connect.errors.DataException",
                class: Toy::CLASS,
                column: Some("f".to_owned()),
            });
        }
        rows.push(Some(&plan.0), Cell::Text(place));
        Ok(())
    }

    fn writer(
        &self,
        schema: Option<&Arc<Schema>>,
    ) -> Result<(Plan, Draft, Option<String>), String> {
        let schema = schema.ok_or("there is no schema")?;
        Ok((Plan(schema.clone()), draft(schema), schema.name().map(str::to_owned)))
    }

    fn writer_for(&self, schema: Option<&Arc<Schema>>, _: &Registered) -> Result<Plan, String> {
        schema.cloned().map(Plan).ok_or_else(|| "there is no schema".to_owned())
    }

    fn compatible(&self, draft: &Draft, target: &Registered) -> Result<(), String> {
        let fields = |text: &str| text.split_once("fields").map(|(_, fields)| fields.to_owned());
        if fields(&draft.text) == fields(&target.text) {
            return Ok(());
        }
        Err("f: it has another type there".to_owned())
    }

    fn head(_: &Plan) -> &[u8] {
        b"#"
    }

    fn write(
        &mut self,
        _: &mut Plan,
        rows: &Rows,
        _: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<Written, String> {
        match cell {
            Cell::Text(span) if rows.bytes(span) == b"unfit" => {
                out.extend_from_slice(b"half");
                Err("f: it does not fit".to_owned())
            }
            Cell::Text(span) => {
                out.extend_from_slice(rows.bytes(span));
                Ok(Written::Value)
            }
            _ => Ok(Written::Null),
        }
    }
}
