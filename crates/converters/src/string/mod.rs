//! Connect's StringConverter: text in one of several encodings.
//!
//! Invariants: text that is UTF-8 already is not copied when it is read; reading never fails, for
//! U+FFFD stands for what is no text; writing prints any value as Java's `toString` does, except
//! for bytes, which have no text form and are refused.

mod encoding;
mod tables;

use crate::batch::decode_batch_with_nulls;
use crate::kind::converter_def;
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Error, Result, Side, Topics};
use config::{ConfigDef, ConfigKey, Importance, Props, Width, java_trim};
use data::java_text::write_cell;
use data::{Batch, Cell, Rows, Schema, SchemaBuilder, Span, Type};
pub(crate) use encoding::decode_utf8;
use encoding::{Encoding, NAMES};
use std::sync::{Arc, LazyLock};

const CLASS: &str = "org.apache.kafka.connect.storage.StringConverter";

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: CLASS,
    aliases: &["StringConverter", "String"],
    version: env!("CARGO_PKG_VERSION"),
    config_def,
    make: |props, _| Ok(Box::new(StringConverter::new(props)?)),
};

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let schema = SchemaBuilder::new(Type::String).optional().build();
    Arc::new(schema.unwrap_or_else(|_| Schema::new(Type::String)))
});

fn config_def() -> ConfigDef {
    let mut def = converter_def();
    def.define(ConfigKey {
        default: Some(Some("UTF-8".to_owned())),
        importance: Importance::High,
        width: Width::Medium,
        display_name: "Encoding".to_owned(),
        documentation: format!("The character encoding of the text. One of {NAMES}."),
        ..ConfigKey::new("converter.encoding", config::Type::String)
    });
    def
}

struct StringConverter {
    encoding: Encoding,
}

impl StringConverter {
    fn new(props: &Props) -> Result<StringConverter> {
        let name = props.get("converter.encoding").unwrap_or("UTF-8");
        let name = java_trim(name);
        let encoding = Encoding::from_name(name).ok_or_else(|| {
            Error::config(format!("Unsupported encoding {name}"))
                .hint(format!("set converter.encoding to one of {NAMES}"))
        })?;
        Ok(StringConverter { encoding })
    }
}

impl Converter for StringConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn refuses(&self) -> bool {
        false
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let encoding = self.encoding;
        decode_batch_with_nulls(side, batch, |record, rows| {
            let cell = match record {
                None => Cell::Null,
                Some((bytes, span)) if encoding.is_text(bytes) => Cell::Text(span),
                Some((bytes, _)) => {
                    Cell::Text(rows.heap.put_with(|out| encoding.decode(bytes, out)))
                }
            };
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
        let mut text = Vec::new();
        for run in rows.runs() {
            let schema = run.schema.as_deref();
            for row in run.range() {
                let start = out.bytes.len();
                let written = match rows.root(row) {
                    Cell::Null => {
                        out.spans.push(Span::NULL);
                        continue;
                    }
                    Cell::Text(span) => {
                        self.encoding.encode(rows.text(span), &mut out.bytes);
                        Ok(())
                    }
                    cell => {
                        text.clear();
                        write_cell(rows, schema, cell, &mut text).map(|()| {
                            let text = String::from_utf8_lossy(&text);
                            self.encoding.encode(&text, &mut out.bytes);
                        })
                    }
                };
                match written {
                    Ok(()) => out.end_row(start),
                    Err(no_text) => {
                        out.spans.push(Span::NULL);
                        let message = format!(
                            "{no_text}: StringConverter cannot write them; use the \
                             ByteArrayConverter"
                        );
                        errors.push(EncodeError { row: row as u32, message });
                    }
                }
            }
        }
        Ok(errors)
    }
}
