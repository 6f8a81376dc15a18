//! HeaderFrom: fields of the key or value become headers, and leave it or stay.
//!
//! A header is appended, whatever headers of its name there are. A member that a map lacks gives a
//! header that is null; a field that a schema lacks is a data error, a null pointer in Connect.

use api::Transform;
use config::{Config, ConfigError, ConfigErrors, Props};
use data::{Batch, Cell, Header, Headers, Mask, Roots, Rows, Schema, SchemaBuilder};
use std::sync::Arc;

use crate::fault::Fault;
use crate::kept::{KeptFields, KeptMembers};
use crate::layout_cache::{Key, Latest, LayoutCache};
use crate::part::{Part, Row, member_near, rewrite, with_default};
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
    kept: LayoutCache<KeptMembers>,
    /// Where the last map had the fields.
    places: Vec<usize>,
}

/// Where a struct's fields are, and what is left of it.
struct Plan {
    fields: Vec<(usize, Arc<Schema>)>,
    kept: Option<KeptFields>,
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
            places: vec![0; config.fields.len()],
            fields: config.fields,
            headers: config.headers.iter().map(|name| name.as_str().into()).collect(),
            moves,
            purpose: if moves { "header move" } else { "header copy" },
            replace: config.replace_null_with_default,
            plans: SchemaCache::default(),
            kept: LayoutCache::default(),
        }))
    }

    fn of_map(
        &mut self,
        rows: &mut Rows,
        headers: &mut Headers,
        row: Row<'_>,
        latest: &mut Latest,
    ) -> Result<Cell, Fault> {
        let map = map_only(self.purpose, rows, row.cell)?;
        let places = self.places.iter_mut();
        for ((field, name), place) in self.fields.iter().zip(&self.headers).zip(places) {
            let found = member_near(rows, map, field, place);
            let value = headers.values.adopt(rows, found);
            headers.push(row.number, Header { name: name.clone(), schema: None, value });
        }
        if !self.moves {
            return Ok(Cell::Map(map));
        }
        let fields = &self.fields;
        let goes = |key: &Key| key.name().is_ok_and(|key| fields.iter().any(|field| field == key));
        let stays = |key: &Key| (!goes(key)).then_some(None);
        let kept = self.kept.get(latest, rows, map, |keys| Ok(KeptMembers::new(keys, stays)))?;
        Ok(kept.take(rows, map, &[]))
    }

    fn of_struct(
        &mut self,
        rows: &mut Rows,
        headers: &mut Headers,
        (schema, row): (&Arc<Schema>, Row<'_>),
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let fields = struct_only(self.purpose, schema, row.cell)?;
        let (names, moves) = (&self.fields, self.moves);
        let plan = self.plans.get(schema, |schema| plan(names, moves, schema))?;
        for ((index, schema), name) in plan.fields.iter().zip(&self.headers) {
            let cell = rows.cell(fields, *index);
            let cell = match cell {
                Cell::Null => with_default(rows, Some(schema), cell, self.replace),
                _ => cell,
            };
            let value = headers.values.adopt(rows, cell);
            let schema = Some(schema.clone());
            headers.push(row.number, Header { name: name.clone(), schema, value });
        }
        match &plan.kept {
            Some(kept) => {
                let left = kept.take(rows, fields, self.replace)?;
                roots.push(Some(kept.schema()), left);
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
        rewrite(class, part, batch, selected, |rows, rest, row, roots| {
            let headers = &mut rest.headers;
            if let Some(schema) = row.schema {
                return self.of_struct(rows, headers, (schema, row), roots);
            }
            roots.push(None, self.of_map(rows, headers, row, &mut latest)?);
            Ok(())
        });
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
