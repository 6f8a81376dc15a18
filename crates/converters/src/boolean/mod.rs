//! Connect's BooleanConverter: one byte, 1 or 0.

use crate::batch::{Rejection, decode_batch_with_nulls};
use crate::kind::converter_def;
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Result, Side, Topics};
use data::java_text::cell_class;
use data::{Batch, Cell, Rows, Schema, Span, Type};
use std::sync::Arc;

const CLASS: &str = "org.apache.kafka.connect.converters.BooleanConverter";

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: CLASS,
    aliases: &["BooleanConverter", "Boolean"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: converter_def,
    make: |_, _| Ok(Box::new(BooleanConverter { schema: Schema::optional_of(Type::Boolean) })),
};

struct BooleanConverter {
    schema: Arc<Schema>,
}

impl Converter for BooleanConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        decode_batch_with_nulls(side, batch, |record, rows| {
            let cell = match record.map(|(bytes, _)| bytes) {
                None => Cell::Null,
                Some([0]) => Cell::Bool(false),
                Some([1]) => Cell::Bool(true),
                Some(_) => {
                    return Err(Rejection {
                        message: "Failed to deserialize boolean: ".to_owned(),
                        exception: "org.apache.kafka.connect.errors.DataException",
                        class: CLASS,
                        column: None,
                    });
                }
            };
            rows.push(Some(&self.schema), cell);
            Ok(())
        });
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        let mut errors = Vec::new();
        for run in rows.runs() {
            let schema = run.schema.as_deref();
            for row in run.range() {
                let message = match (schema.map(Schema::kind), rows.root(row)) {
                    (Some(kind), _) if kind != Type::Boolean => {
                        format!("Invalid schema type for BooleanConverter: {}", kind.name())
                    }
                    (_, Cell::Null) => {
                        out.spans.push(Span::NULL);
                        continue;
                    }
                    (_, Cell::Bool(value)) => {
                        let start = out.bytes.len();
                        out.bytes.push(u8::from(value));
                        out.end_row(start);
                        continue;
                    }
                    (_, other) => format!(
                        "BooleanConverter is not compatible with objects of type {}",
                        cell_class(schema, other)
                    ),
                };
                out.spans.push(Span::NULL);
                errors.push(EncodeError { row: row as u32, message });
            }
        }
        Ok(errors)
    }
}
