//! Structs as records: each field of the record from a cell, or what stands for it.

use super::binary::{put_bytes, put_double, put_long};
use super::compile::Compiler;
use super::default;
use super::fault::Fault;
use super::step::{Context, Step};
use crate::avro::attributes::{KEY_FIELD, VALUE_FIELD};
use crate::avro::schema::{Field as AvroField, Id, Kind, Record};
use crate::avro::to_avro::scrubbed;
use data::{Cell, Rows, Schema};

/// A field of a record.
#[derive(Debug)]
pub(super) enum Field {
    /// A field that the struct does not have: its default, encoded.
    Constant(Box<[u8]>),
    Value {
        /// Among the struct's cells.
        index: usize,
        step: Step,
        /// What a null stands for, encoded.
        default: Option<Box<[u8]>>,
        name: Box<str>,
    },
}

/// Appends the fields of a record, whose struct has these cells.
///
/// What is most often there is written in the loop: a call for a field takes longer than its bytes.
#[inline(never)]
pub(super) fn write(
    fields: &[Field],
    context: &Context<'_>,
    cells: &[Cell],
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for field in fields {
        let (index, step, default, name) = match field {
            Field::Value { index, step, default, name } => (*index, step, default, name),
            Field::Constant(bytes) => {
                out.extend_from_slice(bytes);
                continue;
            }
        };
        let cell = cells.get(index).unwrap_or(&Cell::Null);
        match (step, cell) {
            (Step::Text, Cell::Text(span)) => put_bytes(context.rows.bytes(*span), out),
            (Step::Int(width), Cell::Int(value, own)) if width == own => put_long(*value, out),
            (Step::Double, Cell::Float(value)) => put_double(*value, out),
            (Step::Bool, Cell::Bool(value)) => out.push(u8::from(*value)),
            (Step::Clock(clock), Cell::Int(..)) => match clock.count(*cell) {
                Ok(count) => put_long(count, out),
                Err(fault) => return Err(fault.field(name)),
            },
            _ => match default {
                Some(default) if cell.is_null() => out.extend_from_slice(default),
                _ => step.write(context, *cell, out).map_err(|fault| fault.field(name))?,
            },
        }
    }
    Ok(())
}

/// A field of the record of a map's entries.
#[derive(Debug)]
pub(super) enum Slot {
    Key(Step),
    Value(Step),
    Constant(Box<[u8]>),
}

impl Slot {
    pub(super) fn write(
        &self,
        context: &Context<'_>,
        pair: &[Cell],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let (index, step, name) = match self {
            Slot::Key(step) => (0, step, KEY_FIELD),
            Slot::Value(step) => (1, step, VALUE_FIELD),
            Slot::Constant(bytes) => {
                out.extend_from_slice(bytes);
                return Ok(());
            }
        };
        let cell = pair.get(index).copied().unwrap_or(Cell::Null);
        step.write(context, cell, out).map_err(|fault| fault.field(name))
    }
}

impl Compiler<'_> {
    pub(super) fn record(&mut self, schema: &Schema, record: &Record) -> Result<Step, String> {
        let mut used = vec![false; schema.fields().len()];
        let mut fields = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            let Some(index) = self.place(schema, field, &used) else {
                fields.push(Field::Constant(self.constant(record, field)?));
                continue;
            };
            if let Some(used) = used.get_mut(index) {
                *used = true;
            }
            let Some(own) = schema.fields().get(index) else { continue };
            self.enter(&own.name);
            let step = self.step(Some(&own.schema), field.schema)?;
            let default = self.default_of(&own.schema, &step)?;
            self.leave();
            fields.push(Field::Value { index, step, default, name: (&*own.name).into() });
        }
        let left = schema.fields().iter().zip(&used).find(|(_, used)| !**used);
        if let Some((field, _)) = left.filter(|_| self.is_own()) {
            return Err(format!(
                "Two different structs are named {}: the other one has no field {}",
                record.name, field.name
            ));
        }
        Ok(Step::Record { fields: fields.into(), arity: schema.fields().len() })
    }

    /// The field of a struct that a record's field is: of its name, else of one of its aliases.
    fn place(&self, schema: &Schema, field: &AvroField, used: &[bool]) -> Option<usize> {
        let scrub = self.options.scrub_invalid_names;
        let named = |name: &str| {
            let same = |own: &str| own == name || scrubbed(own, scrub) == name;
            schema.fields().iter().position(|own| same(&own.name))
        };
        let place = named(&field.name);
        let place = place.or_else(|| field.aliases.iter().find_map(|alias| named(alias)));
        place.filter(|place| used.get(*place) == Some(&false))
    }

    fn constant(&self, record: &Record, field: &AvroField) -> Result<Box<[u8]>, String> {
        let Some(json) = &field.default else {
            return Err(format!(
                "The values have no field {} for the record {}, which has no default for it",
                field.name, record.name
            ));
        };
        let mut out = Vec::new();
        default::encode(self.avro, field.schema, json, &mut out)
            .map_err(|why| format!("{why}, at the field {} of {}", field.name, record.name))?;
        Ok(out.into())
    }

    /// What a null of a field stands for: the default of its schema, unless nulls are kept.
    pub(super) fn default_of(
        &self,
        schema: &Schema,
        step: &Step,
    ) -> Result<Option<Box<[u8]>>, String> {
        let Some(value) = schema.default().filter(|_| !self.options.ignore_default_for_nullables)
        else {
            return Ok(None);
        };
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(schema), value);
        let context = Context { avro: self.avro, rows: &rows };
        let mut out = Vec::new();
        let written = step.write(&context, cell, &mut out);
        written.map_err(|fault| format!("The default cannot be written: {fault}"))?;
        Ok(Some(out.into()))
    }

    /// A map as an array of records with its keys and values.
    pub(super) fn entries(&mut self, schema: &Schema, items: Id) -> Result<Step, String> {
        let Kind::Record(record) = self.avro.kind(items) else {
            let name = self.avro.kind(items).type_name();
            return Err(format!("A map cannot be written as an array of {name}"));
        };
        let mut slots = Vec::with_capacity(record.fields.len());
        let mut missing = vec![KEY_FIELD, VALUE_FIELD];
        for field in &record.fields {
            let of = match &*field.name {
                KEY_FIELD => schema.key_schema(),
                VALUE_FIELD => schema.value_schema(),
                _ => {
                    slots.push(Slot::Constant(self.constant(record, field)?));
                    continue;
                }
            };
            missing.retain(|name| *name != field.name);
            self.enter(&field.name);
            let step = self.step(of.map(AsRef::as_ref), field.schema)?;
            self.leave();
            slots.push(if field.name == KEY_FIELD { Slot::Key(step) } else { Slot::Value(step) });
        }
        match missing.first() {
            None => Ok(Step::Entries(slots.into())),
            Some(name) => Err(format!(
                "A map cannot be written as an array of the record {}, which has no field {name}",
                record.name
            )),
        }
    }
}
