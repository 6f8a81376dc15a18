//! A struct or map with some of its fields, in their order, perhaps under other names.
//!
//! Which ones is worked out once per schema or layout. Invariants: where the kept cells lie side by side
//! the result is that place, and nothing is copied; where they do not, they close up in their own place
//! if the rows are apart, else they are copied.

use crate::fault::Fault;
use crate::layout_cache::Key;
use crate::part::with_default;
use data::{Cell, Kept, Rows, Schema, SchemaBuilder, Span};
use std::sync::Arc;

/// The fields of a struct that stay.
pub(crate) struct KeptFields {
    schema: Arc<Schema>,
    kept: Kept,
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
        Ok(KeptFields { schema: Arc::new(schema), kept: Kept::new(places), defaulted })
    }

    /// The schema of what is left.
    #[inline]
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The struct of the fields that stay; a null gives way to its default if `replace`.
    ///
    /// # Errors
    /// A null that stays where a value is required.
    // A place that is passed through memory is read back before its parts have arrived.
    #[inline(always)]
    pub(crate) fn take(&self, rows: &mut Rows, fields: Span, replace: bool) -> Result<Span, Fault> {
        let cells = rows.cells(fields);
        let is_null = |at: &usize| {
            let place = self.kept.places().get(*at).and_then(|place| cells.get(*place as usize));
            place.is_none_or(|cell| cell.is_null())
        };
        let nulls = self.defaulted.iter().any(is_null);
        if self.kept.are_together() && !nulls {
            return Ok(self.kept.slice(fields));
        }
        let taken = taken(rows, fields, &self.kept);
        if nulls {
            self.fill(rows, replace, taken)?;
        }
        Ok(taken)
    }

    #[cold]
    fn fill(&self, rows: &mut Rows, replace: bool, taken: Span) -> Result<(), Fault> {
        for at in &self.defaulted {
            let Some(field) = self.schema.fields().get(*at) else { continue };
            let cell = rows.cell(taken, *at);
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
    /// Places of their keys and values in the map.
    kept: Kept,
    together: bool,
    /// Places of new keys in the new map, and the numbers of their names.
    renamed: Vec<(usize, u32)>,
}

impl KeptMembers {
    /// The members that `keep` says yes to by their keys; it gives the number of a new name or none.
    pub(crate) fn new(keys: &[Key], keep: impl Fn(&Key) -> Option<Option<u32>>) -> Self {
        let (mut places, mut renamed) = (Vec::new(), Vec::new());
        for (key, place) in keys.iter().zip((0..).step_by(2)) {
            let Some(name) = keep(key) else { continue };
            if let Some(name) = name {
                renamed.push((places.len(), name));
            }
            places.extend([place, place + 1]);
        }
        let kept = Kept::new(places);
        let together = kept.are_together() && renamed.is_empty();
        KeptMembers { kept, together, renamed }
    }

    /// The map of the members that stay; `names` are the new names by number.
    #[inline(always)]
    pub(crate) fn take(&self, rows: &mut Rows, map: Span, names: &[Span]) -> Span {
        if self.together {
            return self.kept.slice(map);
        }
        let taken = taken(rows, map, &self.kept);
        for (at, name) in &self.renamed {
            if let Some(name) = names.get(*name as usize) {
                rows.set(taken, *at, Cell::Text(*name));
            }
        }
        taken
    }
}

/// The cells that stay of a span, side by side.
#[inline(always)]
fn taken(rows: &mut Rows, span: Span, kept: &Kept) -> Span {
    if rows.is_apart() { rows.keep(span, kept) } else { rows.gather(span, kept.places()) }
}
