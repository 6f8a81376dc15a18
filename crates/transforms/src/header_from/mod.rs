//! HeaderFrom: fields of the key or value become headers, and leave it or stay.
//!
//! A header is appended, whatever headers of its name there are. A member that a map lacks gives a
//! header that is null; a field that a schema lacks is a data error, a null pointer in Connect.

use api::Transform;
use config::{Config, ConfigError, ConfigErrors, Props};
use data::{Batch, Cell, Headers, Mask, Roots, Rows, Schema, SchemaBuilder, Span};
use std::sync::Arc;

use crate::fault::Fault;
use crate::kept::{KeptFields, KeptMembers};
use crate::layout_cache::{Key, Latest, LayoutCache};
use crate::part::{Part, Row, rewrite_apart, with_default};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only, with_basics};

#[cfg(test)]
mod tests;

config::config_enum! {
    /// What happens to the fields.
    enum Operation {
        /// They leave the key or value.
        Move = "move",
        /// They stay in it.
        Copy = "copy",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(check = HeaderFromConfig::check)]
struct HeaderFromConfig {
    /// Names of the fields that become headers.
    #[config(repeats, non_empty, importance = high)]
    fields: Vec<String>,
    /// Names of the headers, in the order of the fields.
    #[config(repeats, non_empty, importance = high)]
    headers: Vec<String>,
    /// What happens to the fields: move (they leave the key or value) or copy (they stay).
    #[config(importance = high)]
    operation: Operation,
    /// Whether a field that is null and has a default in its schema is copied as the default (true) or
    /// as null.
    #[config(default = true, importance = medium)]
    replace_null_with_default: bool,
}

impl HeaderFromConfig {
    fn check(&self) -> Vec<ConfigError> {
        let same = self.fields.len() == self.headers.len();
        let text = "'fields' config must have the same number of elements as 'headers' config.";
        (!same).then(|| ConfigError::new("headers", text)).into_iter().collect()
    }
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "HeaderFrom",
    HeaderFromConfig,
    HeaderFrom::make,
    "Makes headers of fields of the key or value, which are moved or copied."
);

struct HeaderFrom {
    class: &'static str,
    part: Part,
    fields: Vec<String>,
    headers: Vec<Arc<str>>,
    moves: bool,
    purpose: &'static str,
    replace: bool,
    plans: SchemaCache<Plan>,
    members: LayoutCache<Members>,
}

/// Where a struct's fields are, and what is left of it.
struct Plan {
    fields: Vec<(usize, Arc<Schema>)>,
    kept: Option<KeptFields>,
}

/// Where a map's members are, and what is left of it.
struct Members {
    places: Vec<Option<usize>>,
    kept: Option<KeptMembers>,
}

impl Members {
    fn new(keys: &[Key], fields: &[String], moves: bool) -> Members {
        let is = |key: &Key, field: &String| key.name().is_ok_and(|name| name == field);
        let place = |field| keys.iter().position(|key| is(key, field)).map(|pair| pair * 2 + 1);
        let stays = |key: &Key| (!fields.iter().any(|field| is(key, field))).then_some(None);
        let kept = moves.then(|| KeptMembers::new(keys, stays));
        Members { places: fields.iter().map(place).collect(), kept }
    }
}

impl HeaderFrom {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = HeaderFromConfig::parse(props)?;
        let moves = config.operation == Operation::Move;
        Ok(Box::new(HeaderFrom {
            class,
            part,
            fields: config.fields,
            headers: config.headers.iter().map(|name| name.as_str().into()).collect(),
            moves,
            purpose: if moves { "header move" } else { "header copy" },
            replace: config.replace_null_with_default,
            plans: SchemaCache::default(),
            members: LayoutCache::default(),
        }))
    }

    fn of_map(
        &mut self,
        rows: &mut Rows,
        headers: &mut Headers,
        row: Row<'_>,
        latest: &mut Latest,
    ) -> Result<Span, Fault> {
        let map = map_only(self.purpose, rows, &row.cell)?;
        let (fields, moves) = (&self.fields, self.moves);
        let make = |keys: &[Key]| Ok(Members::new(keys, fields, moves));
        let members = self.members.get(latest, rows, map, make)?;
        for (place, name) in members.places.iter().zip(&self.headers) {
            let found = place.and_then(|place| rows.cells(map).get(place)).unwrap_or(&Cell::Null);
            if headers.values.adopts_as_it_is(rows, found) {
                headers.push_of(row.number, name, None, *found);
            } else {
                let value = headers.values.adopt(rows, *found);
                headers.push_of(row.number, name, None, value);
            }
        }
        Ok(members.kept.as_ref().map_or(map, |kept| kept.take(rows, map, &[])))
    }

    fn of_struct(
        &mut self,
        rows: &mut Rows,
        headers: &mut Headers,
        (schema, row): (&Arc<Schema>, Row<'_>),
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let fields = struct_only(self.purpose, schema, &row.cell)?;
        let (names, moves) = (&self.fields, self.moves);
        let plan = self.plans.get(schema, |schema| plan(names, moves, schema))?;
        for ((index, schema), name) in plan.fields.iter().zip(&self.headers) {
            if let Some(cell) = rows.cells(fields).get(*index)
                && !cell.is_null()
                && headers.values.adopts_as_it_is(rows, cell)
            {
                headers.push_of(row.number, name, Some(schema), *cell);
                continue;
            }
            let cell = rows.cell(fields, *index);
            let cell = with_default(rows, Some(schema), cell, self.replace);
            let value = headers.values.adopt(rows, cell);
            headers.push_of(row.number, name, Some(schema), value);
        }
        match &plan.kept {
            Some(kept) => {
                let left = kept.take(rows, fields, self.replace)?;
                roots.push(Some(kept.schema()), Cell::Struct(left));
            }
            None => roots.push(Some(schema), row.cell),
        }
        Ok(())
    }
}

fn plan(names: &[String], moves: bool, schema: &Schema) -> Result<Plan, Fault> {
    let mut fields = Vec::with_capacity(names.len());
    for name in names {
        let index = schema.field(name);
        let field = index.and_then(|index| Some((index, schema.fields().get(index)?)));
        let Some((index, field)) = field else {
            return Err(Fault::data(format!("Unknown field: {name}")));
        };
        fields.push((index, field.schema.clone()));
    }
    let stays = |name: &str| !names.iter().any(|field| field == name);
    let kept = moves.then(|| {
        let builder = with_basics(SchemaBuilder::structure(), schema);
        KeptFields::new(builder, schema, |name| stays(name).then_some(name))
    });
    Ok(Plan { fields, kept: kept.transpose()? })
}

impl Transform for HeaderFrom {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (class, part) = (self.class, self.part);
        let mut latest = Latest::default();
        rewrite_apart(class, part, batch, selected, |rows, rest, row, roots| {
            let headers = &mut rest.headers;
            if let Some(schema) = row.schema {
                return self.of_struct(rows, headers, (schema, row), roots);
            }
            let left = self.of_map(rows, headers, row, &mut latest)?;
            roots.push(None, Cell::Map(left));
            Ok(())
        });
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
