//! Where headers go in values of one schema, and the schema that comes of it.

use crate::fault::Fault;
use data::{Cell, Rows, Schema, SchemaBuilder, Span, Type};
use std::sync::Arc;

/// A field of the value, or of a struct in it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) parent: Option<String>,
    pub(super) field: String,
}

impl Target {
    pub(super) fn parse(text: &str) -> Target {
        match text.split_once('.') {
            Some((parent, field)) => {
                Target { parent: Some(parent.to_owned()), field: field.to_owned() }
            }
            None => Target { parent: None, field: text.to_owned() },
        }
    }

    /// Whether the struct that the field belongs into is null.
    pub(super) fn is_closed(&self, value: &Schema, cells: &[Cell]) -> bool {
        let place = self.parent.as_deref().and_then(|parent| value.field(parent));
        place.is_some_and(|place| cells.get(place).is_none_or(|cell| cell.is_null()))
    }
}

/// Where one header goes.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// A field of the value: the header's own, or the struct that it goes into.
    outer: usize,
    inner: Option<usize>,
}

/// What is done with values of one schema when certain headers are there.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) schema: Arc<Schema>,
    ways: Vec<Way>,
}

/// The fields of a struct that grows.
struct Growing {
    fields: Vec<(Arc<str>, Arc<Schema>)>,
}

impl Growing {
    fn of(schema: &Schema) -> Growing {
        let field = |field: &data::Field| (field.name.clone(), field.schema.clone());
        Growing { fields: schema.fields().iter().map(field).collect() }
    }

    /// The place of a field, which is added if it is not there.
    fn put(&mut self, name: &str, schema: &Arc<Schema>) -> Result<usize, Fault> {
        if let Some(place) = self.fields.iter().position(|(known, _)| **known == *name) {
            let own = self.fields.get(place).map(|(_, own)| own.kind());
            if own != Some(schema.kind()) {
                let (own, found) = (own.map_or("", Type::name), schema.kind().name());
                return Err(Fault::data(format!(
                    "Invalid value for schema with type {own}: {found} for field: \"{name}\""
                )));
            }
            return Ok(place);
        }
        self.fields.push((name.into(), schema.clone()));
        Ok(self.fields.len() - 1)
    }

    fn build(self, builder: SchemaBuilder) -> Result<Arc<Schema>, Fault> {
        let add = |builder: SchemaBuilder, (name, schema): (Arc<str>, Arc<Schema>)| {
            builder.field(&name, schema)
        };
        let built = self.fields.into_iter().fold(builder, add).build();
        built.map(Arc::new).map_err(|error| Fault::builder(error.0))
    }
}

impl Plan {
    /// `wanted`: every target, and the schema of its header if that is there.
    pub(super) fn new<'a>(
        value: &Schema,
        wanted: impl Iterator<Item = (&'a Target, &'a Option<Arc<Schema>>)>,
    ) -> Result<Plan, Fault> {
        let wanted: Vec<_> =
            wanted.filter_map(|(target, schema)| Some((target, schema.as_ref()?))).collect();
        let mut outer = Growing::of(value);
        let mut ways = vec![Way { outer: 0, inner: None }; wanted.len()];
        // Fields of the value itself come first, then those of structs in it.
        for (way, (target, schema)) in ways.iter_mut().zip(&wanted) {
            if target.parent.is_none() {
                way.outer = outer.put(&target.field, schema)?;
            }
        }
        let parents: Vec<&str> = wanted.iter().filter_map(|(t, _)| t.parent.as_deref()).collect();
        for (at, parent) in parents.iter().enumerate() {
            if parents.iter().take(at).any(|known| known == parent) {
                continue;
            }
            let old = value.field(parent).and_then(|place| value.fields().get(place));
            let old = old.map(|field| field.schema.clone());
            if old.as_ref().is_some_and(|old| old.kind() != Type::Struct) {
                return Err(Fault::data(format!(
                    "{parent} is no struct: nothing can be put into it"
                )));
            }
            let mut inner = match &old {
                Some(old) => Growing::of(old),
                None => Growing { fields: Vec::new() },
            };
            let mut places = Vec::new();
            for (target, schema) in &wanted {
                if target.parent.as_deref() == Some(*parent) {
                    places.push(inner.put(&target.field, schema)?);
                }
            }
            let schema = match &old {
                Some(old) => inner.build(SchemaBuilder::like(old, Type::Struct))?,
                None => inner.build(SchemaBuilder::structure().optional())?,
            };
            let place = outer.put(parent, &schema)?;
            if let Some(slot) = outer.fields.get_mut(place) {
                slot.1 = schema;
            }
            let mut places = places.into_iter();
            for (way, (target, _)) in ways.iter_mut().zip(&wanted) {
                if target.parent.as_deref() == Some(*parent) {
                    *way = Way { outer: place, inner: places.next() };
                }
            }
        }
        let schema = outer.build(SchemaBuilder::like(value, Type::Struct))?;
        Ok(Plan { schema, ways })
    }

    /// The value with the headers' values, which are those that are there, in order.
    pub(super) fn apply(&self, rows: &mut Rows, value: Span, headers: &[Cell]) -> Cell {
        let more = self.schema.fields().len().saturating_sub(value.len as usize);
        let copy = rows.copy(value, more);
        let mut opened: Vec<(usize, Span)> = Vec::new();
        for (way, cell) in self.ways.iter().zip(headers) {
            let Some(inner) = way.inner else {
                rows.set(copy, way.outer, *cell);
                continue;
            };
            let known = opened.iter().find(|(place, _)| *place == way.outer).map(|(_, span)| *span);
            let span = known.unwrap_or_else(|| {
                let schema = self.schema.fields().get(way.outer).map(|field| field.schema.fields());
                let len = schema.map_or(0, <[data::Field]>::len);
                let span = match rows.cells(copy).get(way.outer) {
                    Some(Cell::Struct(old)) => {
                        let old = *old;
                        rows.copy(old, len.saturating_sub(old.len as usize))
                    }
                    _ => rows.alloc(len),
                };
                rows.set(copy, way.outer, Cell::Struct(span));
                opened.push((way.outer, span));
                span
            });
            rows.set(span, inner, *cell);
        }
        Cell::Struct(copy)
    }
}
