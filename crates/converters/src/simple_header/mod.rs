//! Connect's SimpleHeaderConverter, the default one of headers: text that says data.
//!
//! Invariant: reading never fails. What is no literal is a string, and bytes that are no UTF-8 have
//! U+FFFD in their place.

use crate::batch::decode_batch_with_nulls;
use crate::string::decode_utf8;
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Result, Side, Topics};
use config::ConfigDef;
use data::{Batch, Cell, Rows, Schema, Span, Type, values};
use std::sync::Arc;

const CLASS: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: CLASS,
    aliases: &["SimpleHeaderConverter", "Simple"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: ConfigDef::new,
    make: |_, _| Ok(Box::new(SimpleHeaderConverter { text: Schema::required_of(Type::String) })),
};

struct SimpleHeaderConverter {
    text: Arc<Schema>,
}

impl SimpleHeaderConverter {
    fn read(&self, bytes: &[u8], place: Span, rows: &mut Rows) {
        if is_plain_text(bytes) {
            rows.push(Some(&self.text), Cell::Text(place));
            return;
        }
        let mut text = String::new();
        decode_utf8(bytes, &mut |c| text.push(c));
        match values::parse_string(&text) {
            Some((schema, value)) => {
                let cell = rows.put_value(schema.as_deref(), &value);
                rows.push(schema.as_ref(), cell);
            }
            None => rows.push(None, Cell::Null),
        }
    }
}

/// Text that cannot be a literal by its first letter, as most headers are. It is not copied.
fn is_plain_text(bytes: &[u8]) -> bool {
    let first = bytes.first().copied().unwrap_or(b'a');
    first.is_ascii_alphabetic()
        && !matches!(first, b't' | b'f' | b'n')
        && std::str::from_utf8(bytes).is_ok()
}

impl Converter for SimpleHeaderConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn refuses(&self) -> bool {
        false
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        decode_batch_with_nulls(side, batch, |record, rows| {
            match record {
                Some((bytes, place)) => self.read(bytes, place, rows),
                None => rows.push(None, Cell::Null),
            }
            Ok(())
        });
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        for run in rows.runs() {
            let schema = run.schema.as_ref();
            for row in run.range() {
                let start = out.bytes.len();
                match rows.root(row) {
                    Cell::Null => {
                        out.spans.push(Span::NULL);
                        continue;
                    }
                    Cell::Text(span) => out.bytes.extend_from_slice(rows.bytes(span)),
                    cell => {
                        let value = rows.value(schema, cell);
                        values::write_string(schema.map(AsRef::as_ref), &value, &mut out.bytes);
                    }
                }
                out.end_row(start);
            }
        }
        Ok(Vec::new())
    }
}
