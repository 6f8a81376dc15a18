//! Connect's ByteArrayConverter: bytes as they are.
//!
//! Invariant: decoding copies nothing; a cell is the span of the fetched bytes.

use crate::batch::decode_batch_with_nulls;
use crate::kind::converter_def;
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Result, Side, Topics};
use data::java_text::cell_class;
use data::{Batch, Cell, Rows, Schema, SchemaBuilder, Span, Type};
use std::sync::{Arc, LazyLock};

const CLASS: &str = "org.apache.kafka.connect.converters.ByteArrayConverter";

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: CLASS,
    aliases: &["ByteArrayConverter", "ByteArray"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: converter_def,
    make: |_, _| Ok(Box::new(ByteArrayConverter)),
};

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let schema = SchemaBuilder::new(Type::Bytes).optional().build();
    Arc::new(schema.unwrap_or_else(|_| Schema::new(Type::Bytes)))
});

struct ByteArrayConverter;

impl Converter for ByteArrayConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn refuses(&self) -> bool {
        false
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        decode_batch_with_nulls(side, batch, |record, rows| {
            let cell = record.map_or(Cell::Null, |(_, span)| Cell::Bytes(span));
            rows.push(Some(&SCHEMA), cell);
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
            let kind = run.schema.as_deref().map(Schema::kind);
            for row in run.range() {
                let fault = match (kind, rows.root(row)) {
                    (Some(kind), _) if kind != Type::Bytes => {
                        format!("Invalid schema type for ByteArrayConverter: {}", kind.name())
                    }
                    (_, Cell::Null) => {
                        out.spans.push(Span::NULL);
                        continue;
                    }
                    (_, Cell::Bytes(span)) => {
                        let start = out.bytes.len();
                        out.bytes.extend_from_slice(rows.bytes(span));
                        out.end_row(start);
                        continue;
                    }
                    (_, other) => format!(
                        "ByteArrayConverter is not compatible with objects of type {}",
                        cell_class(run.schema.as_deref(), other)
                    ),
                };
                out.spans.push(Span::NULL);
                errors.push(EncodeError { row: row as u32, message: fault });
            }
        }
        Ok(errors)
    }
}
