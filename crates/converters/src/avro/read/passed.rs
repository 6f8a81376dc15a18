//! Compiles how values are passed over that the reader has no place for.

use super::super::schema::{DEPTH_MAX, Field, Id, Kind};
use super::compile::{Compiler, within};
use super::ops::Skip;

impl Compiler<'_> {
    /// How values that the reader has no place for are passed over.
    pub(super) fn skip(&mut self, id: Id, depth: usize) -> Result<Skip, String> {
        if let Some(skip) = self.skipped.get(&id) {
            return Ok(*skip);
        }
        within(depth)?;
        let skip = match self.writer.kind(id) {
            Kind::Null => Skip::Fixed(0),
            Kind::Boolean => Skip::Fixed(1),
            Kind::Int | Kind::Long | Kind::Enum(_) => Skip::Varint,
            Kind::Float => Skip::Fixed(4),
            Kind::Double => Skip::Fixed(8),
            Kind::Bytes | Kind::String => Skip::Bytes,
            Kind::Fixed(of) => Skip::Fixed(of.size as u32),
            Kind::Record(record) => {
                let at = self.skip_list(id, Skip::Record);
                let skip = |field: &Field| self.skip(field.schema, depth + 1);
                let fields: Result<_, String> = record.fields.iter().map(skip).collect();
                self.set_skip_list(at, fields?);
                Skip::Record(at)
            }
            Kind::Union(branches) => {
                let at = self.skip_list(id, Skip::Union);
                let skip = |branch: &Id| self.skip(*branch, depth);
                let branches: Result<_, String> = branches.iter().map(skip).collect();
                self.set_skip_list(at, branches?);
                Skip::Union(at)
            }
            Kind::Array(inner) | Kind::Map(inner) => {
                let keys = matches!(self.writer.kind(id), Kind::Map(_));
                let empty = self.is_empty(*inner, 0);
                let skip = self.skip(*inner, depth + 1)?;
                self.program.skips.push(skip);
                Skip::Items { inner: self.program.skips.len() as u32 - 1, keys, empty }
            }
        };
        self.skipped.insert(id, skip);
        Ok(skip)
    }

    fn skip_list(&mut self, id: Id, of: fn(u32) -> Skip) -> u32 {
        let at = self.program.skip_lists.len() as u32;
        self.program.skip_lists.push(Vec::new());
        self.skipped.insert(id, of(at));
        at
    }

    fn set_skip_list(&mut self, at: u32, skips: Vec<Skip>) {
        if let Some(list) = self.program.skip_lists.get_mut(at as usize) {
            *list = skips;
        }
    }

    /// Whether values of a type take no bytes, and so may be there in any number.
    pub(super) fn is_empty(&mut self, id: Id, depth: usize) -> bool {
        if let Some(known) = self.empty.get(&id) {
            return *known;
        }
        // A record within itself takes bytes, or has no value at all.
        self.empty.insert(id, false);
        let empty = match self.writer.kind(id) {
            Kind::Null => true,
            Kind::Fixed(of) => of.size == 0,
            Kind::Record(record) => {
                depth < DEPTH_MAX
                    && record.fields.iter().all(|field| self.is_empty(field.schema, depth + 1))
            }
            _ => false,
        };
        self.empty.insert(id, empty);
        empty
    }
}
