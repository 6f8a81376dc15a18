//! Compiles unions: of the writer, of the reader, or of both.

use super::super::connect::flattened;
use super::super::schema::{Id, Kind};
use super::compile::Compiler;
use super::ops::{Branch, Op, Union};
use super::resolve::{branch_for, no_place};
use data::Schema;
use std::sync::Arc;

impl<'a> Compiler<'a> {
    /// A union that was written.
    pub(super) fn union(
        &mut self,
        branches: &'a [Id],
        reader: Id,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Op, String> {
        let mut list = Vec::with_capacity(branches.len());
        let mut refused = None;
        let mut len = 0;
        for (at, branch) in branches.iter().enumerate() {
            match self.branch(at, *branch, reader, schema, depth) {
                Ok((branch, fields)) => {
                    len = fields;
                    list.push(branch);
                }
                Err(what) if self.same => return Err(what),
                Err(what) => {
                    list.push(Branch::Value(self.refuse(what.clone())));
                    refused.get_or_insert(what);
                }
            }
        }
        let all = list.iter().all(|branch| matches!(branch, Branch::Value(Op::Refused(_))));
        if let Some(what) = refused.filter(|_| all) {
            return Err(what);
        }
        if let [Branch::Null, Branch::Value(op)] | [Branch::Value(op), Branch::Null] = list[..] {
            let null = u8::from(matches!(list[1], Branch::Null));
            return Ok(Op::Optional { null, inner: self.push(op) });
        }
        self.program.unions.push(Union { branches: list, len });
        Ok(Op::Union(self.program.unions.len() as u32 - 1))
    }

    /// What becomes of one branch of a written union, and how many fields the reader's union has.
    fn branch(
        &mut self,
        at: usize,
        writer: Id,
        reader: Id,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<(Branch, usize), String> {
        let path = self.path.len();
        let found = match self.reader.kind(reader) {
            Kind::Union(branches) => {
                let place = if self.same { Some(at) } else { None };
                self.of_union(writer, branches, place, schema, depth)
            }
            _ if matches!(self.writer.kind(writer), Kind::Null) => {
                Err(no_place(self.writer.node(writer), self.reader.node(reader)))
            }
            _ => self.value(writer, reader, schema, depth).map(|op| (Branch::Value(op), 0)),
        };
        if !self.same {
            self.path.truncate(path);
        }
        found
    }

    /// A value that was written as no union and is one of the reader's.
    pub(super) fn as_branch(
        &mut self,
        writer: Id,
        branches: &'a [Id],
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Op, String> {
        match self.of_union(writer, branches, None, schema, depth)? {
            (Branch::Null, _) => Ok(Op::Null),
            (Branch::Value(op), _) => Ok(op),
            (branch, len) => {
                self.program.unions.push(Union { branches: vec![branch], len });
                Ok(Op::Wrapped(self.program.unions.len() as u32 - 1))
            }
        }
    }

    /// A value as a branch of the reader's union: itself, or a field of the struct that stands for it.
    fn of_union(
        &mut self,
        writer: Id,
        branches: &'a [Id],
        place: Option<usize>,
        schema: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<(Branch, usize), String> {
        let place = place.or_else(|| branch_for(self.writer, writer, self.reader, branches));
        let Some(to) = place.and_then(|place| branches.get(place)) else {
            let what = self.writer.kind(writer).type_name();
            return Err(format!("A value of type {what} is none of the types of the union"));
        };
        if matches!(self.reader.kind(*to), Kind::Null) {
            return Ok((Branch::Null, field_count(schema)));
        }
        if schema.is_none() || flattened(self.reader, self.options, branches).is_some() {
            let op = self.value(writer, *to, schema, depth)?;
            return Ok((Branch::Value(op), 0));
        }
        let is_null = |id: &&Id| matches!(self.reader.kind(**id), Kind::Null);
        let before = branches.iter().take(place.unwrap_or(0));
        let slot = before.filter(|id| !is_null(id)).count();
        let fields = schema.map(|schema| schema.fields()).unwrap_or_default();
        let inner = fields.get(slot).map(|field| &field.schema);
        let op = self.value(writer, *to, inner, depth)?;
        Ok((Branch::Field { op, slot: slot as u32 }, fields.len()))
    }
}

fn field_count(schema: Option<&Arc<Schema>>) -> usize {
    schema.map_or(0, |schema| schema.fields().len())
}
