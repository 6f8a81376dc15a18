//! The steps of a compiled writer, and the walk over a value's cells beside them.

use super::binary::{put_bytes, put_double, put_float, put_long};
use super::clock::Clock;
use super::decimal::Decimal;
use super::fault::Fault;
use super::record::{Field, Slot};
use super::{anything, plain, record};
use crate::avro::schema::{AvroSchema, Id};
use data::java_text::class_name;
use data::{Cell, Rows, Span, Type, Width};
use foldhash::HashMap;

/// How a value of one schema is written.
#[derive(Debug)]
pub(super) enum Step {
    Bool,
    /// As int or long; the width is that of the Connect type.
    Int(Width),
    IntAsFloat(Width),
    IntAsDouble(Width),
    Clock(Clock),
    Float,
    FloatAsDouble,
    Double,
    Text,
    Bytes,
    BytesAsText,
    /// Bytes of one length.
    Fixed(usize),
    Decimal(Decimal),
    Enum(Symbols),
    Array(Box<Step>),
    /// Keys are text.
    Map(Box<Step>),
    /// A map as an array of records.
    Entries(Box<[Slot]>),
    Record {
        fields: Box<[Field]>,
        /// Cells that a struct of the schema has.
        arity: usize,
    },
    /// A type in a union with null.
    Nullable {
        null: Option<u32>,
        branch: u32,
        step: Box<Step>,
    },
    /// A struct whose first field that is not null is the value.
    Union {
        null: Option<u32>,
        branches: Box<[Branch]>,
        arity: usize,
    },
    /// A value that describes itself, as the record for such values.
    Anything,
    /// A value that describes itself, as this type.
    Plain(Id),
}

/// A branch of a union, for a field of the struct.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) name: Box<str>,
    pub(super) branch: u32,
    pub(super) step: Step,
    /// What a null of the field stands for, encoded.
    pub(super) default: Option<Box<[u8]>>,
}

/// The symbols of an enum.
#[derive(Debug)]
pub(super) struct Symbols {
    pub(super) name: Box<str>,
    pub(super) places: HashMap<Box<[u8]>, u32>,
}

/// What a walk needs beside the step and the cell.
pub(super) struct Context<'a> {
    pub(super) avro: &'a AvroSchema,
    pub(super) rows: &'a Rows,
}

impl Step {
    /// Appends a value.
    pub(super) fn write(
        &self,
        context: &Context<'_>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let rows = context.rows;
        match (self, cell) {
            (Step::Int(width), Cell::Int(value, own)) if *width == own => put_long(value, out),
            (Step::Text, Cell::Text(span)) => put_bytes(rows.bytes(span), out),
            (Step::Nullable { null: Some(null), .. }, Cell::Null) => {
                put_long(i64::from(*null), out);
            }
            (Step::Nullable { branch, step, .. }, _) => {
                put_long(i64::from(*branch), out);
                return step.write(context, cell, out);
            }
            (Step::Record { fields, arity }, Cell::Struct(span)) if span.len as usize == *arity => {
                return record::write(fields, context, rows.cells(span), out);
            }
            (Step::Bool, Cell::Bool(value)) => out.push(u8::from(value)),
            (Step::Double, Cell::Float(value)) => put_double(value, out),
            (Step::Float, Cell::Float(value)) => put_float(value as f32, out),
            (Step::Float, Cell::Float32(value)) => put_float(value, out),
            (Step::FloatAsDouble, Cell::Float(value)) => put_double(f64::from(value as f32), out),
            (Step::FloatAsDouble, Cell::Float32(value)) => put_double(f64::from(value), out),
            (Step::IntAsFloat(width), Cell::Int(value, own)) if *width == own => {
                put_float(value as f32, out);
            }
            (Step::IntAsDouble(width), Cell::Int(value, own)) if *width == own => {
                put_double(value as f64, out);
            }
            (Step::Clock(clock), _) => put_long(clock.count(cell)?, out),
            (Step::Bytes, Cell::Bytes(span)) => put_bytes(rows.bytes(span), out),
            (Step::Decimal(decimal), _) => return decimal.write(rows, cell, out),
            _ => return self.write_rest(context, cell, out),
        }
        Ok(())
    }

    fn write_rest(
        &self,
        context: &Context<'_>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let rows = context.rows;
        match (self, cell) {
            (Step::Array(step), Cell::List(span)) => step.write_list(context, span, out),
            (Step::Map(step), Cell::Map(span)) => step.write_map(context, span, out),
            (Step::Entries(slots), Cell::Map(span)) => write_entries(slots, context, span, out),
            (Step::Union { null, branches, arity }, Cell::Struct(span))
                if span.len as usize == *arity =>
            {
                write_union(*null, branches, context, span, out)
            }
            (Step::Union { null: Some(null), .. }, Cell::Null) => {
                put_long(i64::from(*null), out);
                Ok(())
            }
            (Step::Fixed(size), Cell::Bytes(span)) => {
                let bytes = rows.bytes(span);
                if bytes.len() != *size {
                    let len = bytes.len();
                    return Err(Fault::new(format!("{len} bytes where the schema has {size}")));
                }
                out.extend_from_slice(bytes);
                Ok(())
            }
            (Step::BytesAsText, Cell::Bytes(span)) => {
                let bytes = rows.bytes(span);
                if std::str::from_utf8(bytes).is_err() {
                    return Err(Fault::new("Bytes that are no UTF-8 where the schema has text"));
                }
                put_bytes(bytes, out);
                Ok(())
            }
            (Step::Enum(symbols), Cell::Text(span)) => symbols.write(rows.bytes(span), out),
            (Step::Anything, _) => anything::write(rows, cell, 0, out),
            (Step::Plain(id), _) => plain::write(context, *id, cell, 0, out),
            (_, Cell::Null) => Err(Fault::null()),
            (Step::Record { .. } | Step::Union { .. }, Cell::Struct(_)) => {
                Err(Fault::new("Mismatching struct schema"))
            }
            _ => Err(self.mismatch(cell)),
        }
    }

    fn write_list(
        &self,
        context: &Context<'_>,
        span: Span,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let cells = context.rows.cells(span);
        if !cells.is_empty() {
            put_long(cells.len() as i64, out);
        }
        for (index, cell) in cells.iter().enumerate() {
            self.write(context, *cell, out).map_err(|fault| fault.item(index))?;
        }
        put_long(0, out);
        Ok(())
    }

    fn write_map(&self, context: &Context<'_>, span: Span, out: &mut Vec<u8>) -> Result<(), Fault> {
        let cells = context.rows.cells(span);
        if !cells.is_empty() {
            put_long(cells.len() as i64 / 2, out);
        }
        for pair in cells.chunks_exact(2) {
            let [key, value] = pair else { continue };
            let Cell::Text(key) = *key else {
                return Err(Fault::new(match key {
                    Cell::Null => "Found null key in a map with text keys".to_owned(),
                    key => format!("Invalid type for a map's key: {}", class_name(*key)),
                }));
            };
            put_bytes(context.rows.bytes(key), out);
            self.write(context, *value, out).map_err(|fault| fault.key(context.rows.text(key)))?;
        }
        put_long(0, out);
        Ok(())
    }

    /// The Connect type that the step is for, in messages.
    fn kind(&self) -> Type {
        match self {
            Step::Bool => Type::Boolean,
            Step::Int(width) | Step::IntAsFloat(width) | Step::IntAsDouble(width) => match width {
                Width::W8 => Type::Int8,
                Width::W16 => Type::Int16,
                Width::W32 => Type::Int32,
                Width::W64 => Type::Int64,
            },
            Step::Float | Step::FloatAsDouble => Type::Float32,
            Step::Double => Type::Float64,
            Step::Text | Step::Enum(_) => Type::String,
            Step::Array(_) => Type::Array,
            Step::Map(_) | Step::Entries(_) => Type::Map,
            Step::Record { .. } | Step::Union { .. } | Step::Anything | Step::Plain(_) => {
                Type::Struct
            }
            Step::Bytes | Step::BytesAsText | Step::Fixed(_) | Step::Decimal(_) => Type::Bytes,
            Step::Clock(_) => Type::Int64,
            Step::Nullable { step, .. } => step.kind(),
        }
    }

    #[cold]
    fn mismatch(&self, cell: Cell) -> Fault {
        let kind = self.kind();
        // What a double becomes that got under FLOAT32.
        let class = match (cell, kind) {
            (Cell::Number(_), Type::Float32) => "class java.lang.Double",
            _ => class_name(cell),
        };
        Fault::new(format!("Invalid type for {}: {class}", kind.name()))
    }
}

impl Symbols {
    fn write(&self, symbol: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(place) = self.places.get(symbol) else {
            const SHOWN_MAX: usize = 60;
            let shown: String = String::from_utf8_lossy(symbol).chars().take(SHOWN_MAX).collect();
            return Err(Fault::new(format!("{shown:?} is no symbol of the enum {}", self.name)));
        };
        put_long(i64::from(*place), out);
        Ok(())
    }
}

/// A map as an array of records of its entries.
fn write_entries(
    slots: &[Slot],
    context: &Context<'_>,
    span: Span,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let cells = context.rows.cells(span);
    if !cells.is_empty() {
        put_long(cells.len() as i64 / 2, out);
    }
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        let written = slots.iter().try_for_each(|slot| slot.write(context, pair, out));
        written.map_err(|fault| fault.item(index))?;
    }
    put_long(0, out);
    Ok(())
}

/// The first field that has a value; one with a default always has.
fn write_union(
    null: Option<u32>,
    branches: &[Branch],
    context: &Context<'_>,
    span: Span,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for (cell, branch) in context.rows.cells(span).iter().zip(branches) {
        match (cell, &branch.default) {
            (Cell::Null, Some(default)) => {
                put_long(i64::from(branch.branch), out);
                out.extend_from_slice(default);
                return Ok(());
            }
            (Cell::Null, None) => {}
            _ => {
                put_long(i64::from(branch.branch), out);
                let written = branch.step.write(context, *cell, out);
                return written.map_err(|fault| fault.field(&branch.name));
            }
        }
    }
    let null = null.ok_or_else(Fault::null)?;
    put_long(i64::from(null), out);
    Ok(())
}
