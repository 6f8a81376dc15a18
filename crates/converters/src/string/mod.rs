//! Connect's StringConverter: text in one of several encodings.
//!
//! Invariants: text that is UTF-8 already is not copied when it is read; reading never fails, for
//! U+FFFD stands for what is no text; writing prints any value as Java's `toString` does, except
//! for bytes, which have no text form and are refused.

mod encoding;
mod tables;

use crate::batch::decode_batch_with_nulls;
use crate::kind::converter_def;
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Error, Result, Side};
use config::{ConfigDef, ConfigKey, Importance, Props, Width, java_trim};
use data::java_text::{write_date, write_decimal, write_double, write_float};
use data::{Batch, Cell, Logical, Rows, Schema, SchemaBuilder, Span, Type};
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

    fn encode(&mut self, rows: &Rows, out: &mut Encoded) -> Vec<EncodeError> {
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
                        write(rows, schema, cell, &mut text).map(|()| {
                            let text = String::from_utf8_lossy(&text);
                            self.encoding.encode(&text, &mut out.bytes);
                        })
                    }
                };
                match written {
                    Ok(()) => out.end_row(start),
                    Err(message) => {
                        out.spans.push(Span::NULL);
                        errors.push(EncodeError { row: row as u32, message });
                    }
                }
            }
        }
        errors
    }
}

/// Appends the text form of a value.
fn write(
    rows: &Rows,
    schema: Option<&Schema>,
    cell: Cell,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    const DAY_MS: i64 = 86_400_000;
    let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Cell::Int(value, _) => match schema.map(Schema::logical) {
            Some(Logical::Date) => write_date(value.saturating_mul(DAY_MS), out),
            Some(Logical::Time | Logical::Timestamp) => write_date(value, out),
            _ => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        },
        Cell::Float(value) if schema.is_some_and(|s| s.kind() == Type::Float32) => {
            write_float(value as f32, out);
        }
        Cell::Float(value) => write_double(value, out),
        Cell::Float32(value) => write_float(value, out),
        Cell::Number(span) | Cell::Text(span) | Cell::Json(span) => {
            out.extend_from_slice(rows.bytes(span));
        }
        Cell::Bytes(_) => {
            return Err("bytes have no text form: StringConverter cannot write them; use the \
                        ByteArrayConverter"
                .to_owned());
        }
        Cell::Decimal { unscaled, scale } => write_decimal(rows.bytes(unscaled), scale, out),
        Cell::Instant(ms) => write_date(ms, out),
        Cell::List(span) => {
            out.push(b'[');
            for (index, item) in rows.cells(span).iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                write(rows, values, *item, out)?;
            }
            out.push(b']');
        }
        Cell::Map(span) => {
            let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
            out.push(b'{');
            for (index, pair) in rows.cells(span).chunks_exact(2).enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                if let [key, value] = pair {
                    write(rows, keys, *key, out)?;
                    out.push(b'=');
                    write(rows, values, *value, out)?;
                }
            }
            out.push(b'}');
        }
        Cell::Struct(span) => {
            out.extend_from_slice(b"Struct{");
            let fields = schema.map(Schema::fields).unwrap_or_default();
            let set = fields.iter().zip(rows.cells(span)).filter(|(_, cell)| !cell.is_null());
            for (index, (field, cell)) in set.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(field.name.as_bytes());
                out.push(b'=');
                write(rows, Some(&field.schema), *cell, out)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}
