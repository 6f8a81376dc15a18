//! Connect's number converters: big-endian integers and IEEE floats of a fixed length.
//!
//! Invariants: no number is widened or narrowed; a value's class alone decides, whatever type its
//! schema names, as in Connect.

use crate::batch::{Rejection, decode_batch_with_nulls};
use crate::kind::converter_def;
use api::{Converter, ConverterPlugin, EncodeError, Encoded, Result, Side, Topics};
use data::java_text::{cell_class, class_name};
use data::{Batch, Cell, Rows, Schema, Span, Type, Width};
use std::sync::Arc;

/// The registry entry of one of the converters.
macro_rules! plugin {
    ($(#[$doc:meta])* $entry:ident, $class:literal, $alias:literal, $word:literal, $kind:ident) => {
        $(#[$doc])*
        pub(crate) const $entry: ConverterPlugin = ConverterPlugin {
            class: concat!("org.apache.kafka.connect.converters.", $class),
            aliases: &[$class, $alias],
            version: env!("CARGO_PKG_VERSION"),
            config_def: converter_def,
            make: |_, _| {
                Ok(Box::new(NumberConverter {
                    class: concat!("org.apache.kafka.connect.converters.", $class),
                    word: $word,
                    kind: Type::$kind,
                    schema: Schema::optional_of(Type::$kind),
                }))
            },
        };
    };
}

plugin!(
    /// Two bytes.
    SHORT, "ShortConverter", "Short", "short", Int16
);
plugin!(
    /// Four bytes.
    INTEGER, "IntegerConverter", "Integer", "integer", Int32
);
plugin!(
    /// Eight bytes.
    LONG, "LongConverter", "Long", "long", Int64
);
plugin!(
    /// Four bytes, IEEE 754.
    FLOAT, "FloatConverter", "Float", "float", Float32
);
plugin!(
    /// Eight bytes, IEEE 754.
    DOUBLE, "DoubleConverter", "Double", "double", Float64
);

struct NumberConverter {
    class: &'static str,
    /// Its name in messages.
    word: &'static str,
    kind: Type,
    schema: Arc<Schema>,
}

impl NumberConverter {
    fn read(&self, bytes: &[u8]) -> Option<Cell> {
        let wide = |width: Width, value: i64| Cell::Int(value, width);
        Some(match self.kind {
            Type::Int16 => wide(Width::W16, i16::from_be_bytes(bytes.try_into().ok()?).into()),
            Type::Int32 => wide(Width::W32, i32::from_be_bytes(bytes.try_into().ok()?).into()),
            Type::Int64 => wide(Width::W64, i64::from_be_bytes(bytes.try_into().ok()?)),
            Type::Float32 => Cell::Float(f32::from_be_bytes(bytes.try_into().ok()?).into()),
            _ => Cell::Float(f64::from_be_bytes(bytes.try_into().ok()?)),
        })
    }

    /// Appends a number of this converter's class; `false` for any other value.
    fn write(&self, schema: Option<&Schema>, cell: Cell, out: &mut Vec<u8>) -> bool {
        if cell_class(schema, cell) != class_name(self.own(cell)) {
            return false;
        }
        match (self.kind, cell) {
            (Type::Int16, Cell::Int(value, _)) => {
                out.extend_from_slice(&(value as i16).to_be_bytes());
            }
            (Type::Int32, Cell::Int(value, _)) => {
                out.extend_from_slice(&(value as i32).to_be_bytes());
            }
            (Type::Int64, Cell::Int(value, _)) => out.extend_from_slice(&value.to_be_bytes()),
            (Type::Float32, Cell::Float32(value)) => out.extend_from_slice(&value.to_be_bytes()),
            (Type::Float32, Cell::Float(value)) => {
                out.extend_from_slice(&(value as f32).to_be_bytes());
            }
            (Type::Float64, Cell::Float(value)) => out.extend_from_slice(&value.to_be_bytes()),
            _ => return false,
        }
        true
    }

    /// A cell of the class that this converter takes.
    fn own(&self, cell: Cell) -> Cell {
        match (self.kind, cell) {
            (Type::Int16, _) => Cell::Int(0, Width::W16),
            (Type::Int32, _) => Cell::Int(0, Width::W32),
            (Type::Int64, _) => Cell::Int(0, Width::W64),
            (Type::Float32, _) => Cell::Float32(0.0),
            _ => Cell::Float(0.0),
        }
    }
}

impl Converter for NumberConverter {
    fn class(&self) -> &'static str {
        self.class
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        decode_batch_with_nulls(side, batch, |record, rows| {
            let cell = match record {
                None => Cell::Null,
                Some((bytes, _)) => self.read(bytes).ok_or_else(|| Rejection {
                    message: format!("Failed to deserialize {}: ", self.word),
                    exception: "org.apache.kafka.connect.errors.DataException",
                    class: self.class,
                    column: None,
                })?,
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
                let cell = rows.root(row);
                let start = out.bytes.len();
                if !cell.is_null() && self.write(schema, cell, &mut out.bytes) {
                    out.end_row(start);
                    continue;
                }
                out.spans.push(Span::NULL);
                if !cell.is_null() {
                    let (word, class) = (self.word, cell_class(schema, cell));
                    let message = format!("Failed to serialize to {word} (was {class}): ");
                    errors.push(EncodeError { row: row as u32, message });
                }
            }
        }
        Ok(errors)
    }
}
