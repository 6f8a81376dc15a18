//! Compiles a writer's schema, and the reader's where that is another, to operations.
//!
//! Driven by the Connect schema: where that has a map that describes itself in the place of a record
//! within itself, values are compiled without a schema ("plain"). With one schema on both sides the
//! same rules apply and every choice is the writer's own.

use super::super::attributes::{KEY_FIELD, VALUE_FIELD};
use super::super::connect::{Defaults, is_anything, is_map_entry, is_recursive, map_entry};
use super::super::options::AvroOptions;
use super::super::schema::{AvroSchema, DEPTH_MAX, Enum, Field, Id, Kind, Name, Record};
use super::ops::{Adjusted, Items, Op, Program, Skip, Step, Symbols};
use super::resolve::{no_place, scalar};
use data::{Schema, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// A writer's type and the reader's, and whether the values describe themselves.
type Pair = (Id, Id, bool);

pub(super) struct Compiler<'a> {
    pub(super) writer: &'a AvroSchema,
    pub(super) reader: &'a AvroSchema,
    pub(super) options: &'a AvroOptions,
    /// Both are one schema.
    pub(super) same: bool,
    pub(super) program: Program,
    /// Records so far; those that are being compiled have a call.
    records: HashMap<Pair, Op>,
    pub(super) skipped: HashMap<Id, Skip>,
    pub(super) empty: HashMap<Id, bool>,
    pub(super) path: Vec<String>,
}

/// The operations for a schema, and the one of the whole.
///
/// # Errors
/// What of the writer's values can be nothing of the reader's, with the path.
pub(super) fn compile(
    writer: &AvroSchema,
    reader: Option<&AvroSchema>,
    options: &AvroOptions,
    schema: Option<&Arc<Schema>>,
) -> Result<(Program, Op), String> {
    let mut compiler = Compiler {
        writer,
        reader: reader.unwrap_or(writer),
        options,
        same: reader.is_none(),
        program: Program::default(),
        records: HashMap::new(),
        skipped: HashMap::new(),
        empty: HashMap::new(),
        path: Vec::new(),
    };
    let (writer, reader) = (compiler.writer.root(), compiler.reader.root());
    match compiler.value(writer, reader, schema, 1) {
        Ok(op) => Ok((compiler.program, op)),
        Err(what) if compiler.path.is_empty() => Err(what),
        Err(what) => Err(format!("{what} (at {})", compiler.path.join("."))),
    }
}

impl<'a> Compiler<'a> {
    /// The operation for a value; `schema` is its Connect schema if it has one.
    pub(super) fn value(
        &mut self,
        writer: Id,
        reader: Id,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Op, String> {
        within(depth)?;
        let schema = schema.filter(|schema| !is_recursive(schema));
        match (self.writer.kind(writer), self.reader.kind(reader)) {
            (Kind::Union(branches), _) => self.union(branches, reader, schema, depth),
            (_, Kind::Union(branches)) => self.as_branch(writer, branches, schema, depth),
            (Kind::Record(_), Kind::Record(_)) => self.record(writer, reader, schema, depth),
            (Kind::Array(from), Kind::Array(to)) => self.array(*from, *to, schema, depth),
            (Kind::Map(from), Kind::Map(to)) => {
                let inner = schema.and_then(|schema| schema.value_schema());
                let op = self.value(*from, *to, inner, depth + 1)?;
                Ok(Op::Map(self.items(op, *from)))
            }
            (Kind::Enum(from), Kind::Enum(to)) => self.symbols(from, to),
            _ => {
                let (writer, reader) = (self.writer.node(writer), self.reader.node(reader));
                scalar(writer, reader, schema.map(AsRef::as_ref))
            }
        }
    }

    pub(super) fn push(&mut self, op: Op) -> u32 {
        self.program.ops.push(op);
        self.program.names.push(Arc::default());
        self.program.ops.len() as u32 - 1
    }

    fn items(&mut self, op: Op, from: Id) -> Items {
        Items { inner: self.push(op), empty: self.is_empty(from, 0) }
    }

    fn array(
        &mut self,
        from: Id,
        to: Id,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Op, String> {
        let is_map = schema.is_none_or(|schema| schema.kind() == Type::Map);
        if is_map && is_map_entry(self.reader.node(to)) {
            return self.entries(from, to, schema, depth);
        }
        let inner = schema.and_then(|schema| schema.value_schema());
        let op = self.value(from, to, inner, depth + 1)?;
        Ok(Op::List(self.items(op, from)))
    }

    /// Keys and values of a map that is an array.
    fn entries(
        &mut self,
        from: Id,
        to: Id,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Op, String> {
        let (Kind::Record(writer), Some(_)) = (self.writer.kind(from), map_entry(self.reader, to))
        else {
            return Err(no_place(self.writer.node(from), self.reader.node(to)));
        };
        let Kind::Record(reader) = self.reader.kind(to) else {
            return Err(no_place(self.writer.node(from), self.reader.node(to)));
        };
        let of = |slot: usize| {
            let schema = schema?;
            let key = reader.fields.get(slot).is_some_and(|field| field.name == KEY_FIELD);
            if key { schema.key_schema() } else { schema.value_schema() }
        };
        let mut adjusted = self.adjusted(writer, reader, of, depth + 1)?;
        // Keys first, however the record has them.
        if reader.fields.first().is_some_and(|field| field.name == VALUE_FIELD) {
            adjusted.names.reverse();
            for step in &mut adjusted.steps {
                if let Step::Read { slot, .. } = step {
                    *slot = 1 - (*slot).min(1);
                }
            }
            for (slot, ..) in &mut adjusted.defaults {
                *slot = 1 - (*slot).min(1);
            }
        }
        self.program.adjusted.push(adjusted);
        let adjusted = self.program.adjusted.len() as u32 - 1;
        Ok(Op::Entries { adjusted, empty: self.is_empty(from, 0) })
    }

    fn record(
        &mut self,
        writer: Id,
        reader: Id,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Op, String> {
        let plain = schema.is_none();
        if plain {
            match (is_anything(self.writer, writer), is_anything(self.reader, reader)) {
                (true, true) => return Ok(Op::Anything),
                (false, false) => {}
                _ => return Err(no_place(self.writer.node(writer), self.reader.node(reader))),
            }
        }
        let pair = (writer, reader, plain);
        if let Some(op) = self.records.get(&pair) {
            return Ok(*op);
        }
        let (Kind::Record(from), Kind::Record(to)) =
            (self.writer.kind(writer), self.reader.kind(reader))
        else {
            return Err(no_place(self.writer.node(writer), self.reader.node(reader)));
        };
        let call = self.program.calls.len();
        if plain {
            self.program.calls.push(Op::Null);
            self.records.insert(pair, Op::Call(call as u32));
        }
        let of = |slot: usize| schema?.fields().get(slot).map(|of| &of.schema);
        let adjusted = self.adjusted(from, to, of, depth);
        let op = match adjusted {
            Ok(adjusted) => self.complete(adjusted, plain),
            Err(what) => {
                // Records that refer to this one may stay where a union has other branches.
                let refused = self.refuse(what.clone());
                self.set_call(call, plain, refused);
                self.records.remove(&pair);
                return Err(what);
            }
        };
        self.set_call(call, plain, op);
        self.records.insert(pair, op);
        Ok(op)
    }

    fn set_call(&mut self, call: usize, plain: bool, op: Op) {
        if let Some(slot) = self.program.calls.get_mut(call).filter(|_| plain) {
            *slot = op;
        }
    }

    pub(super) fn refuse(&mut self, what: String) -> Op {
        self.program.refusals.push(what);
        Op::Refused(self.program.refusals.len() as u32 - 1)
    }

    /// The operation of a record from its steps: the short one where nothing is out of place.
    fn complete(&mut self, adjusted: Adjusted, plain: bool) -> Op {
        let in_place = |(at, step): (usize, &Step)| match step {
            Step::Read { op, slot } if *slot as usize == at => Some(*op),
            _ => None,
        };
        let ops: Option<Vec<Op>> = adjusted.steps.iter().enumerate().map(in_place).collect();
        match ops {
            Some(ops) if !plain && ops.len() == adjusted.len => {
                let first = self.program.ops.len() as u32;
                let len = ops.len() as u32;
                self.program.ops.extend(ops);
                self.program.names.extend(adjusted.names);
                Op::Record { first, len }
            }
            _ => {
                self.program.adjusted.push(adjusted);
                let at = self.program.adjusted.len() as u32 - 1;
                if plain { Op::Plain(at) } else { Op::Adjusted(at) }
            }
        }
    }

    /// What becomes of each field that was written, and what the others have.
    fn adjusted<'s>(
        &mut self,
        writer: &'a Record,
        reader: &'a Record,
        schema_of: impl Fn(usize) -> Option<&'s Arc<Schema>>,
        depth: usize,
    ) -> Result<Adjusted, String> {
        let mut adjusted = Adjusted { len: reader.fields.len(), ..Adjusted::default() };
        let mut taken = vec![false; reader.fields.len()];
        for (at, field) in writer.fields.iter().enumerate() {
            let Some(slot) = self.slot(at, field, reader, &taken) else {
                let skip = self.skip(field.schema, depth + 1)?;
                adjusted.steps.push(Step::Skip(skip));
                continue;
            };
            taken[slot] = true;
            let to = &reader.fields[slot];
            self.path.push(to.name.clone());
            let op = self.value(field.schema, to.schema, schema_of(slot), depth + 1)?;
            self.path.pop();
            adjusted.steps.push(Step::Read { op, slot: slot as u32 });
        }
        self.defaults(reader, &taken, schema_of, &mut adjusted)?;
        adjusted.names = reader.fields.iter().map(|field| field.name.as_str().into()).collect();
        Ok(adjusted)
    }

    /// The reader's field that a writer's is: of the same name, or with that name as an alias.
    fn slot(&self, at: usize, field: &Field, reader: &Record, taken: &[bool]) -> Option<usize> {
        if self.same {
            return Some(at);
        }
        let free = |found: &usize| taken.get(*found) == Some(&false);
        let place = |is: &dyn Fn(&Field) -> bool| reader.fields.iter().position(is).filter(free);
        place(&|of| of.name == field.name).or_else(|| place(&|of| of.aliases.contains(&field.name)))
    }

    fn defaults<'s>(
        &self,
        reader: &Record,
        taken: &[bool],
        schema_of: impl Fn(usize) -> Option<&'s Arc<Schema>>,
        adjusted: &mut Adjusted,
    ) -> Result<(), String> {
        let missing = reader.fields.iter().enumerate().zip(taken).filter(|(_, taken)| !**taken);
        for ((slot, field), _) in missing {
            let name = &field.name;
            let Some(json) = &field.default else {
                return Err(format!(
                    "The written values have no field {name}, and it has no default"
                ));
            };
            let schema = schema_of(slot);
            let defaults = Defaults { avro: self.reader, options: self.options };
            let value = defaults.value(field.schema, schema.map(AsRef::as_ref), json);
            let Some(value) = value else {
                return Err(format!("The default of the field {name} is no value of its type"));
            };
            adjusted.defaults.push((slot, schema.cloned(), value));
        }
        Ok(())
    }

    fn symbols(&mut self, writer: &Enum, reader: &Enum) -> Result<Op, String> {
        let aliased = reader.aliases.contains(&writer.name);
        if !self.same && writer.name.simple != reader.name.simple && !aliased {
            let (from, to) = (&writer.name, &reader.name);
            return Err(format!("A value of the enum {from} cannot be read as one of {to}"));
        }
        let read = |symbol: &String| {
            let known = self.same || reader.symbols.contains(symbol);
            let symbol = if known { Some(symbol) } else { reader.default.as_ref() };
            symbol.map(|symbol| symbol.as_str().into())
        };
        let symbols = Symbols {
            read: writer.symbols.iter().map(read).collect(),
            written: writer.symbols.iter().map(|symbol| symbol.as_str().into()).collect(),
        };
        self.program.symbols.push(symbols);
        Ok(Op::Enum(self.program.symbols.len() as u32 - 1))
    }
}

pub(super) fn within(depth: usize) -> Result<(), String> {
    match depth > DEPTH_MAX {
        true => Err(format!("The schema has types nested deeper than {DEPTH_MAX} levels")),
        false => Ok(()),
    }
}

/// Whether a reader's type goes by the name of a writer's.
pub(super) fn same_name(writer: &Name, reader: &Name, aliases: &[Name]) -> bool {
    writer == reader || aliases.contains(writer)
}
