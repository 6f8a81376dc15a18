//! A struct or map with some of its fields, in their order, perhaps under other names.
//!
//! Which ones is worked out once per schema or layout. Invariant: where the kept cells lie side by side
//! the result is that place, and nothing is copied.

use crate::fault::Fault;
use crate::layout_cache::Key;
use crate::part::with_default;
use data::{Cell, Rows, Schema, SchemaBuilder, Span};
use std::sync::Arc;

/// The fields of a struct that stay.
pub(crate) struct KeptFields {
    schema: Arc<Schema>,
    places: Vec<u32>,
    together: bool,
    /// Places in the new struct of the fields that have a default.
    defaulted: Vec<usize>,
}

impl KeptFields {
    /// Adds to `builder` the fields that `name` gives a name to.
    pub(crate) fn new<'a>(
        mut builder: SchemaBuilder,
        old: &'a Schema,
        name: impl Fn(&'a str) -> Option<&'a str>,
    ) -> Result<KeptFields, Fault> {
        let mut places = Vec::new();
        let mut defaulted = Vec::new();
        for (place, field) in (0..).zip(old.fields()) {
            let Some(name) = name(&field.name) else { continue };
            if field.schema.default().is_some() {
                defaulted.push(places.len());
            }
            places.push(place);
            builder = builder.field(name, field.schema.clone());
        }
        let schema = builder.build().map_err(|error| Fault::builder(error.0))?;
        let together = side_by_side(&places);
        Ok(KeptFields { schema: Arc::new(schema), places, together, defaulted })
    }

    /// The schema of what is left.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The struct of the fields that stay; a null gives way to its default if `replace`.
    ///
    /// # Errors
    /// A null that stays where a value is required.
    pub(crate) fn take(&self, rows: &mut Rows, fields: Span, replace: bool) -> Result<Cell, Fault> {
        let cells = rows.cells(fields);
        let of = |place: &u32| cells.get(*place as usize).copied().unwrap_or(Cell::Null);
        let is_null = |at: &usize| self.places.get(*at).is_some_and(|place| of(place).is_null());
        let nulls = self.defaulted.iter().any(is_null);
        if self.together && !nulls {
            let start = self.places.first().copied().unwrap_or_default();
            return Ok(Cell::Struct(fields.slice(start, self.places.len() as u32)));
        }
        let taken = rows.gather(fields, &self.places);
        if nulls {
            self.fill(rows, replace, taken)?;
        }
        Ok(Cell::Struct(taken))
    }

    fn fill(&self, rows: &mut Rows, replace: bool, taken: Span) -> Result<(), Fault> {
        for at in &self.defaulted {
            let Some(field) = self.schema.fields().get(*at) else { continue };
            let cell = rows.cells(taken).get(*at).copied().unwrap_or(Cell::Null);
            let cell = with_default(rows, Some(&field.schema), cell, replace);
            if cell.is_null() && !field.schema.is_optional() {
                return Err(Fault::null_for_required(&field.name, &field.schema));
            }
            rows.set(taken, *at, cell);
        }
        Ok(())
    }
}

/// The members of a map that stay.
pub(crate) struct KeptMembers {
    /// Place of the member among the members, and the number of its new name.
    members: Vec<(u32, Option<u32>)>,
    together: bool,
}

impl KeptMembers {
    /// The members that `keep` says yes to by their keys; it gives the number of a new name or none.
    pub(crate) fn new(keys: &[Key], keep: impl Fn(&Key) -> Option<Option<u32>>) -> Self {
        let kept = (0..).zip(keys).filter_map(|(place, key)| Some((place, keep(key)?)));
        let members: Vec<(u32, Option<u32>)> = kept.collect();
        let places: Vec<u32> = members.iter().map(|(place, _)| *place).collect();
        let together = side_by_side(&places) && members.iter().all(|(_, name)| name.is_none());
        KeptMembers { members, together }
    }

    /// The map of the members that stay; `names` are the new names by number.
    pub(crate) fn take(
        &self,
        rows: &mut Rows,
        map: Span,
        names: &[Span],
        scratch: &mut Vec<Cell>,
    ) -> Cell {
        if self.together {
            let start = self.members.first().map_or(0, |(place, _)| *place);
            return Cell::Map(map.slice(start * 2, self.members.len() as u32 * 2));
        }
        let cells = rows.cells(map);
        scratch.clear();
        for (place, name) in &self.members {
            let at = *place as usize * 2;
            let Some([key, value]) = cells.get(at..at + 2) else { continue };
            let renamed = name.and_then(|name| names.get(name as usize));
            scratch.extend([renamed.map_or(*key, |name| Cell::Text(*name)), *value]);
        }
        Cell::Map(rows.alloc_from(scratch))
    }
}

fn side_by_side(places: &[u32]) -> bool {
    places.iter().zip(places.iter().skip(1)).all(|(one, next)| one + 1 == *next)
}
