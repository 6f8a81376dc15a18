//! MaskField: puts an empty value, or a configured one, in the place of fields.
//!
//! The new value has the class of the old one, so the schema stays; a decimal has the scale that its
//! schema asks for. Nulls stay nulls. A field that a map does not have is added as null.

mod replacement;
#[cfg(test)]
mod tests;

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask, Roots, Rows, Schema, Span};
use std::sync::Arc;

use crate::copied::{MapCopy, Names, copy_struct};
use crate::fault::Fault;
use crate::part::{Near, Part, Row, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only};
use replacement::{Class, New, Replacement};

const PURPOSE: &str = "mask fields";

/// The settings.
#[derive(Clone, Debug, Config)]
struct MaskFieldConfig {
    /// Names of fields to mask.
    #[config(importance = high, non_empty)]
    fields: Vec<String>,
    /// Custom value replacement, that will be applied to all 'fields' values (numeric or non-empty
    /// string values only).
    #[config(importance = low, non_empty)]
    replacement: Option<String>,
    /// Whether to replace fields that have a default value and that are null to the default value.
    /// When set to true, the default value is used, otherwise null is used.
    #[config(key = "replace.null.with.default", default = true, importance = medium)]
    replace_null_with_default: bool,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "MaskField",
    MaskFieldConfig,
    MaskField::make,
    "Masks fields with the empty value of their type (0, false, empty text), or with a replacement for \
     numbers and texts."
);

/// A field to mask.
struct Masked {
    name: String,
    /// The class that it had in the last map, and what such a value becomes.
    latest: Option<(Class, Result<New, Fault>)>,
}

struct MaskField {
    class: &'static str,
    part: Part,
    fields: Vec<Masked>,
    replacement: Option<Replacement>,
    replace: bool,
    /// Which of a schema's fields get what, or why they cannot.
    schemas: SchemaCache<Vec<(usize, Result<New, Fault>)>>,
}

/// What lies in a batch's heap once for all rows.
#[derive(Default)]
struct Texts {
    replacement: Option<Span>,
    names: Names,
    nears: Vec<Near>,
}

impl MaskField {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = MaskFieldConfig::parse_plugin(props)?;
        Ok(Box::new(MaskField {
            class,
            part,
            fields: config.fields.into_iter().map(|name| Masked { name, latest: None }).collect(),
            replacement: config.replacement.map(Replacement::new),
            replace: config.replace_null_with_default,
            schemas: SchemaCache::default(),
        }))
    }
}

impl Transform for MaskField {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (class, part) = (self.class, self.part);
        let mut texts = Texts { nears: Near::of(self.fields.len()), ..Texts::default() };
        rewrite_apart(class, part, batch, selected, |rows, _, row, roots| match row.schema {
            Some(schema) => self.in_struct(rows, row, schema, &mut texts, roots),
            None => self.in_map(rows, row, &mut texts, roots),
        });
    }
}

impl MaskField {
    fn in_struct(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        schema: &Arc<Schema>,
        texts: &mut Texts,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let span = struct_only(PURPOSE, schema, &row.cell)?;
        let (fields, replacement) = (&self.fields, self.replacement.as_ref());
        let plan = self.schemas.get(schema, |schema| Ok(plan(schema, fields, replacement)))?;
        let copy = copy_struct(rows, schema, span, 0, self.replace)?;
        for (index, new) in plan {
            if rows.cells(copy).get(*index).is_some_and(|cell| !cell.is_null()) {
                put(rows, (copy, *index), new, replacement, texts)?;
            }
        }
        roots.push(Some(schema), Cell::Struct(copy));
        Ok(())
    }

    fn in_map(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        texts: &mut Texts,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let span = map_only(PURPOSE, rows, &row.cell)?;
        let replacement = self.replacement.as_ref();
        let mut copy = MapCopy::new(rows, span, self.fields.len());
        for index in 0..self.fields.len() {
            let Some(field) = self.fields.get_mut(index) else { break };
            let Some(near) = texts.nears.get_mut(index) else { break };
            let Some(place) = copy.find(rows, &field.name, near) else {
                let all = self.fields.iter().map(|field| field.name.as_str());
                let name = texts.names.get(rows, index, all);
                (copy, _) = copy.add(rows, name);
                continue;
            };
            let old = rows.cells(copy.cells()).get(place);
            if let Some(old) = old.filter(|old| !old.is_null()) {
                let class = Class::of_cell(rows, old);
                if field.latest.as_ref().is_none_or(|(known, _)| *known != class) {
                    field.latest = Some((class, replacement::new_value(class, replacement)));
                }
                let Some((_, new)) = &field.latest else { continue };
                put(rows, (copy.cells(), place), new, replacement, texts)?;
            }
        }
        roots.push(None, copy.finish());
        Ok(())
    }
}

fn plan(
    schema: &Schema,
    fields: &[Masked],
    replacement: Option<&Replacement>,
) -> Vec<(usize, Result<New, Fault>)> {
    let places = fields.iter().filter_map(|field| schema.field(&field.name));
    let of_field = |index: usize| {
        let field = schema.fields().get(index)?;
        Some((index, replacement::new_value(Class::of_schema(&field.schema), replacement)))
    };
    places.filter_map(of_field).collect()
}

/// Writes a new value into its place.
#[inline]
fn put(
    rows: &mut Rows,
    (span, index): (Span, usize),
    new: &Result<New, Fault>,
    replacement: Option<&Replacement>,
    texts: &mut Texts,
) -> Result<(), Fault> {
    match new {
        Ok(New::Cell(cell)) => rows.set(span, index, *cell),
        Ok(New::Text) => {
            let text = replacement.map_or("", Replacement::text);
            let place = &mut texts.replacement;
            let text = *place.get_or_insert_with(|| rows.heap.put(text.as_bytes()));
            rows.set(span, index, Cell::Text(text));
        }
        Ok(New::Decimal { unscaled, scale }) => {
            let unscaled = rows.heap.put(unscaled);
            rows.set(span, index, Cell::Decimal { unscaled, scale: *scale });
        }
        Ok(New::Digits(digits)) => {
            let digits = rows.heap.put(digits.as_bytes());
            rows.set(span, index, Cell::Number(digits));
        }
        Err(fault) => return Err(fault.clone()),
    }
    Ok(())
}
