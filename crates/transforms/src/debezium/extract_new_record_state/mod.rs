//! ExtractNewRecordState: the row that a change event is about takes the event's place.
//!
//! Records that are no change events stay as they are; events without a row, such as truncates and
//! logical messages, are dropped. Which event is a delete is decided by whether it has an `after`,
//! not by its `op`, as in Debezium. Where nothing is added or dropped, the row's own cells are kept.

mod added;
mod config;
mod dropped;
mod shape;
#[cfg(test)]
mod tests;

use ::config::{Config, ConfigErrors, Props};
use api::{Transform, TransformPlugin};
use data::{Batch, Cell, Header, Mask, Roots, Rows, Schema};
use std::sync::Arc;

use self::added::Found;
use self::config::{Deletes, ExtractNewRecordStateConfig, Settings};
use self::dropped::Dropped;
use self::shape::Shape;
use super::envelope::{AFTER, BEFORE, OP, is_envelope};
use crate::fault::Fault;
use crate::part::{Part, Row, drop_row, rewrite};
use crate::schema_cache::SchemaCache;

const CLASS: &str = "io.debezium.transforms.ExtractNewRecordState";

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["ExtractNewRecordState", "io.debezium.transforms.UnwrapFromEnvelope"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Puts the row of a Debezium change event in the event's place. Records that are no \
              change events stay as they are. The SQL sinks read change events without it.",
    config_def: ExtractNewRecordStateConfig::def,
    make: |props| Ok(Box::new(ExtractNewRecordState::new(props)?)),
};

/// What is known of events of a schema.
struct Plan {
    before: usize,
    after: usize,
    /// For rows of `after`, and for those of `before`.
    shapes: [Arc<Shape>; 2],
    /// The schemas of `after` and of `before`, as the event has them.
    schemas: [Arc<Schema>; 2],
    headers: Vec<(Arc<str>, Found)>,
    /// The field with the topic, of `after` and of `before`.
    routes: [Option<Result<usize, Fault>>; 2],
}

struct ExtractNewRecordState {
    settings: Settings,
    plans: SchemaCache<Arc<Plan>>,
    dropped: Option<Dropped>,
    /// What the header of a tombstone has for a schema.
    required_text: Arc<Schema>,
    scratch: Vec<Cell>,
}

impl ExtractNewRecordState {
    fn new(props: &Props) -> Result<ExtractNewRecordState, ConfigErrors> {
        let settings = Settings::parse(props)?;
        Ok(ExtractNewRecordState {
            dropped: Dropped::new(&settings.config),
            settings,
            plans: SchemaCache::default(),
            required_text: Arc::new(Schema::new(data::Type::String)),
            scratch: Vec::new(),
        })
    }

    fn tombstone(&self, batch: &mut Batch, row: Row<'_>, roots: &mut Roots) {
        if !self.settings.keep_tombstones {
            return drop_row(batch, row, roots);
        }
        for item in self.settings.headers.iter().filter(|item| item.is_operation()) {
            let value = Cell::Text(batch.headers.values.heap.put(b"d"));
            let schema = Some(self.required_text.clone());
            batch.headers.push(row.number, Header { name: item.name.clone(), schema, value });
        }
        roots.push(row.schema, row.cell);
    }

    fn shape(
        &mut self,
        plan: &Plan,
        side: usize,
        batch: &Batch,
        row: usize,
        event: &Arc<Schema>,
    ) -> Result<Arc<Shape>, Fault> {
        let [after, before] = &plan.shapes;
        let own = if side == 0 { after } else { before };
        let [after, before] = &plan.schemas;
        let schema = if side == 0 { after } else { before };
        let Some(dropped) = &mut self.dropped else { return Ok(own.clone()) };
        let wish = &self.settings.wish;
        let other = dropped.shape(batch, row, event, (side, schema), wish)?;
        Ok(other.unwrap_or_else(|| own.clone()))
    }

    /// Whether a row came out of the event.
    fn event(
        &mut self,
        rows: &mut Rows,
        batch: &mut Batch,
        row: Row<'_>,
        roots: &mut Roots,
    ) -> Result<bool, Fault> {
        let Some(schema) = row.schema else { return Ok(false) };
        let plan = self.plans.get(schema, |schema| plan(schema, &self.settings).map(Arc::new))?;
        let plan = plan.clone();
        let field = |at: usize| rows.fields(row.cell).get(at).copied().unwrap_or(Cell::Null);
        let (before, after) = (field(plan.before), field(plan.after));
        let deleted = after.is_null();
        if deleted && (before.is_null() || self.settings.deletes == Deletes::Drop) {
            drop_row(batch, row, roots);
            return Ok(false);
        }
        let side = usize::from(deleted);
        let state = if deleted { before } else { after };
        if !matches!(state, Cell::Struct(_)) {
            return Err(Fault::not_a_struct("source field insertion", None, state));
        }
        let topic = match plan.routes.get(side).and_then(Option::as_ref) {
            Some(Ok(place)) => topic(rows, &plan, side, state, *place),
            Some(Err(fault)) => return Err(fault.clone()),
            None => None,
        };
        let made = match self.settings.deletes {
            Deletes::Tombstone if deleted => (plan.schemas.first().cloned(), Cell::Null),
            Deletes::BareTombstone if deleted => (None, Cell::Null),
            _ => {
                let shape = self.shape(&plan, side, batch, row.number, schema)?;
                let flag = if deleted { "true" } else { "false" };
                let flag = match self.settings.deletes {
                    Deletes::Rewrite => Cell::Text(rows.heap.put(flag.as_bytes())),
                    _ => Cell::Null,
                };
                let cell = shape.row(rows, row.cell, state, flag, &mut self.scratch)?;
                (Some(shape.schema.clone()), cell)
            }
        };
        for (name, found) in &plan.headers {
            let value = batch.headers.values.adopt(rows, found.of(rows, row.cell));
            let (name, schema) = (name.clone(), Some(found.schema.clone()));
            batch.headers.push(row.number, Header { name, schema, value });
        }
        if let Some(topic) = topic {
            batch.set_topic(row.number, rows.text(topic));
        }
        roots.push(made.0.as_ref(), made.1);
        Ok(true)
    }
}

/// Works out what is needed for events of a schema.
fn plan(schema: &Arc<Schema>, settings: &Settings) -> Result<Plan, Fault> {
    if schema.field(OP).is_none() {
        return Err(Fault::data("op is not a valid field name"));
    }
    let of = |name: &str| {
        let place = schema.field(name);
        let place = place.and_then(|at| schema.fields().get(at).map(|f| (at, f.schema.clone())));
        place.ok_or_else(|| Fault::illegal_argument(format!("Unknown field: {name}")))
    };
    let ((after, after_schema), (before, before_schema)) = (of(AFTER)?, of(BEFORE)?);
    let shape = Arc::new(Shape::new(schema, &after_schema, &settings.wish, |_| false)?);
    let other = match after_schema == before_schema {
        true => shape.clone(),
        false => Arc::new(Shape::new(schema, &before_schema, &settings.wish, |_| false)?),
    };
    let mut headers = Vec::new();
    for item in &settings.headers {
        if let Some(found) = item.find(schema)? {
            headers.push((item.name.clone(), found));
        }
    }
    let name = &settings.config.route_by_field;
    let route = |row: &Schema| (!name.is_empty()).then(|| route(row, name));
    let routes = [route(&after_schema), route(&before_schema)];
    let schemas = [after_schema, before_schema];
    Ok(Plan { before, after, shapes: [shape, other], schemas, headers, routes })
}

fn route(row: &Schema, name: &str) -> Result<usize, Fault> {
    let place =
        row.field(name).ok_or_else(|| Fault::data(format!("{name} is not a valid field name")))?;
    match row.fields().get(place).map(|field| field.schema.kind()) {
        Some(data::Type::String) => Ok(place),
        _ => Err(Fault::data(format!("Field '{name}' is not of type STRING"))),
    }
}

/// The text that names the topic, if there is any.
fn topic(
    rows: &mut Rows,
    plan: &Plan,
    side: usize,
    state: Cell,
    place: usize,
) -> Option<data::Span> {
    let cell = rows.fields(state).get(place).copied()?;
    let schema = plan.shapes.get(side).and_then(|shape| shape.schema.fields().get(place));
    let cell = crate::part::with_default(rows, schema.map(|field| &*field.schema), cell, true);
    match cell {
        Cell::Text(span) if span.len > 0 => Some(span),
        _ => None,
    }
}

impl Transform for ExtractNewRecordState {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut opened = vec![false; if self.dropped.is_some() { batch.len() } else { 0 }];
        rewrite(CLASS, Part::Value, batch, selected, |rows, batch, row, roots| {
            if row.cell.is_null() {
                self.tombstone(batch, row, roots);
            } else if !is_envelope(row.schema) {
                roots.push(row.schema, row.cell);
            } else if self.event(rows, batch, row, roots)?
                && let Some(slot) = opened.get_mut(row.number)
            {
                *slot = true;
            }
            Ok(())
        });
        if let Some(dropped) = &mut self.dropped {
            dropped.keys(CLASS, batch, &opened);
        }
    }

    fn uses_headers(&self) -> bool {
        !self.settings.headers.is_empty() || self.dropped.is_some()
    }
}
