//! A Connect schema beside an Avro schema: how values of the one are written as the other.

use super::clock::Clock;
use super::decimal::Decimal;
use super::step::{Branch, Step, Symbols};
use crate::avro::attributes::SUM_FIELD_PREFIX;
use crate::avro::connect::is_anything;
use crate::avro::markers;
use crate::avro::options::AvroOptions;
use crate::avro::schema::{AvroSchema, Enum, Id, Kind, Logical as AvroLogical};
use crate::avro::to_avro::is_union;
use data::{Logical, Schema, Type, Width};

/// Where the Avro schema comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// It was made from the Connect schema: every field has its place.
    Own,
    /// It was there before.
    Given,
}

pub(super) struct Compiler<'a> {
    pub(super) avro: &'a AvroSchema,
    pub(super) options: &'a AvroOptions,
    target: Target,
    /// The fields around; where a fault happened, they stay.
    path: Vec<String>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(
        avro: &'a AvroSchema,
        options: &'a AvroOptions,
        target: Target,
    ) -> Compiler<'a> {
        Compiler { avro, options, target, path: Vec::new() }
    }

    /// # Errors
    /// What cannot be written, with the field.
    pub(super) fn root(mut self, schema: Option<&Schema>) -> Result<Step, String> {
        let step = self.step(schema, self.avro.root());
        step.map_err(|message| match self.path.is_empty() {
            true => message,
            false => format!("{message} (field {})", self.path.join(".")),
        })
    }

    pub(super) fn is_own(&self) -> bool {
        self.target == Target::Own
    }

    pub(super) fn enter(&mut self, name: &str) {
        self.path.push(name.to_owned());
    }

    pub(super) fn leave(&mut self) {
        self.path.pop();
    }

    pub(super) fn step(&mut self, schema: Option<&Schema>, id: Id) -> Result<Step, String> {
        let Some(schema) = schema else {
            let anything = is_anything(self.avro, id);
            return Ok(if anything { Step::Anything } else { Step::Plain(id) });
        };
        let Kind::Union(branches) = self.avro.kind(id) else {
            return self.type_of(schema, id);
        };
        let null = branches.iter().position(|id| *self.avro.kind(*id) == Kind::Null);
        let null = null.filter(|_| schema.is_optional()).map(|at| at as u32);
        if is_union(schema) {
            return self.union(schema, branches, null);
        }
        let at = self.branch_for(schema, branches)?;
        let Some(id) = branches.get(at) else { return Err(self.refused(schema, id)) };
        let step = Box::new(self.type_of(schema, *id)?);
        Ok(Step::Nullable { null, branch: at as u32, step })
    }

    /// A struct that is a union: its fields are the branches of these names, else those in their
    /// place.
    fn union(
        &mut self,
        schema: &Schema,
        branches: &[Id],
        null: Option<u32>,
    ) -> Result<Step, String> {
        let others: Vec<usize> = (0..branches.len())
            .filter(|at| branches.get(*at).is_some_and(|id| *self.avro.kind(*id) != Kind::Null))
            .collect();
        let mut compiled = Vec::with_capacity(schema.fields().len());
        for (place, field) in schema.fields().iter().enumerate() {
            self.enter(&field.name);
            let rank = |at: usize| self.rank(&field.schema, *branches.get(at)?);
            let named = others.iter().copied().find(|at| {
                let is_it = branches.get(*at).is_some_and(|id| self.is_named(*id, &field.name));
                is_it && rank(*at).is_some()
            });
            let same_place =
                others.get(place).copied().filter(|at| self.is_own() || rank(*at) == Some(0));
            let at = match named.filter(|_| !self.is_own()).or(same_place) {
                Some(at) => at,
                None => self.branch_for(&field.schema, branches)?,
            };
            let Some(id) = branches.get(at) else { continue };
            let step = self.type_of(&field.schema, *id)?;
            let default = self.default_of(&field.schema, &step)?;
            self.leave();
            let name = (&*field.name).into();
            compiled.push(Branch { name, branch: at as u32, step, default });
        }
        Ok(Step::Union { null, branches: compiled.into(), arity: schema.fields().len() })
    }

    /// Whether a branch goes by this name in a union struct.
    fn is_named(&self, id: Id, field: &str) -> bool {
        if field.starts_with(SUM_FIELD_PREFIX) {
            return false;
        }
        match self.avro.node(id).name() {
            Some(name) => name.simple == field || name.full() == field,
            None => self.avro.kind(id).type_name() == field,
        }
    }

    fn refused(&self, schema: &Schema, id: Id) -> String {
        let node = self.avro.node(id);
        let own = node.name().map(|name| format!(" {name}")).unwrap_or_default();
        let what = if is_union(schema) { "A union" } else { schema.kind().name() };
        format!("{what} cannot be written as {}{own}", node.kind.type_name())
    }

    /// A type that is no union.
    fn type_of(&mut self, schema: &Schema, id: Id) -> Result<Step, String> {
        if self.rank(schema, id).is_none() {
            return Err(self.refused(schema, id));
        }
        if markers::recursive_name(schema).is_some() {
            return Ok(Step::Plain(id));
        }
        let children = schema.value_schema().map(AsRef::as_ref);
        Ok(match (schema.kind(), self.avro.kind(id)) {
            (Type::Boolean, _) => Step::Bool,
            (kind, to) if kind.is_integer() => self.integer(schema, kind, to, id)?,
            (Type::Float32, Kind::Float) => Step::Float,
            (Type::Float32, _) => Step::FloatAsDouble,
            (Type::Float64, _) => Step::Double,
            (Type::String, Kind::Enum(of)) => Step::Enum(symbols(of)),
            (Type::String, _) => Step::Text,
            (Type::Bytes, to) => self.bytes(schema, to, id)?,
            (Type::Array, Kind::Array(items)) => {
                Step::Array(Box::new(self.step(children, *items)?))
            }
            (Type::Map, Kind::Map(values)) => {
                let keys = schema.key_schema().map_or(Type::String, |keys| keys.kind());
                if keys != Type::String {
                    let name = keys.name();
                    return Err(format!("A map with keys of {name} cannot be written as a map"));
                }
                Step::Map(Box::new(self.step(children, *values)?))
            }
            (Type::Map, Kind::Array(items)) => self.entries(schema, *items)?,
            (Type::Struct, Kind::Record(record)) => self.record(schema, record)?,
            _ => return Err(self.refused(schema, id)),
        })
    }

    fn integer(&self, schema: &Schema, kind: Type, to: &Kind, id: Id) -> Result<Step, String> {
        let width = match kind {
            Type::Int8 => Width::W8,
            Type::Int16 => Width::W16,
            Type::Int32 => Width::W32,
            _ => Width::W64,
        };
        Ok(match (Clock::of(schema, self.avro.node(id))?, to) {
            (Some(clock), Kind::Int | Kind::Long) => Step::Clock(clock),
            (Some(_), _) => return Err(self.refused(schema, id)),
            (None, Kind::Float) => Step::IntAsFloat(width),
            (None, Kind::Double) => Step::IntAsDouble(width),
            (None, _) => Step::Int(width),
        })
    }

    fn bytes(&self, schema: &Schema, to: &Kind, id: Id) -> Result<Step, String> {
        let size = match to {
            Kind::Fixed(fixed) => Some(fixed.size),
            _ => None,
        };
        if let Logical::Decimal(scale) = schema.logical() {
            let scale = scale.ok_or("Invalid Decimal schema: scale parameter not found")?;
            let target = match self.avro.node(id).logical() {
                Some(AvroLogical::Decimal { scale, .. }) => i32::try_from(scale).ok(),
                _ => Some(scale),
            };
            let target = target.ok_or_else(|| self.refused(schema, id))?;
            if *to == Kind::String {
                return Err(self.refused(schema, id));
            }
            return Ok(Step::Decimal(Decimal { scale, target, size }));
        }
        Ok(match (to, size) {
            (_, Some(size)) => Step::Fixed(size),
            (Kind::String, _) => Step::BytesAsText,
            _ => Step::Bytes,
        })
    }
}

fn symbols(of: &Enum) -> Symbols {
    let places = of.symbols.iter().enumerate();
    let places = places.map(|(at, symbol)| (symbol.as_bytes().into(), at as u32)).collect();
    Symbols { name: of.name.full().into(), places }
}
