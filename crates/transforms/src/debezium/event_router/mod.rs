//! outbox.EventRouter: turns the rows of an outbox table into the messages they stand for.
//!
//! A new row's columns say topic, key, value, time and headers. Deletes of the table, which only
//! tidy it up, are dropped; updates too, or they are refused. Records that are no change events
//! stay as they are; tombstones are dropped.
//!
//! A source's record loses its partition, unless a column says it; a sink's keeps it, where Debezium
//! fails.

mod config;
mod json_payload;
mod plan;
#[cfg(test)]
mod tests;

use ::config::{Config, ConfigErrors, Props};
use api::{Transform, TransformPlugin};
use data::{Batch, Cell, Header, Mask, Origin, Roots, Rows, Schema, Span};
use std::sync::Arc;

use self::config::{EventRouterConfig, InvalidOperation, Settings};
use self::json_payload::JsonPayloads;
use self::plan::Plan;
use super::envelope::is_envelope;
use crate::fault::Fault;
use crate::part::{Part, Row, drop_row, rewrite};
use crate::schema_cache::SchemaCache;

const CLASS: &str = "io.debezium.transforms.outbox.EventRouter";

/// Value schemas kept.
const SCHEMAS_MAX: usize = 64;

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["EventRouter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Turns the change events of an outbox table into the messages that its rows stand \
              for: topic, key, value and headers come from columns.",
    config_def: EventRouterConfig::def,
    make: |props| Ok(Box::new(EventRouter::new(props)?)),
};

/// What a value's schema depends on, and the schema.
struct Known {
    plan: Arc<Plan>,
    routed: String,
    version: Option<i32>,
    payload: Arc<Schema>,
    schema: Arc<Schema>,
}

struct EventRouter {
    settings: Settings,
    plans: SchemaCache<Arc<Plan>>,
    payloads: JsonPayloads,
    known: Vec<Known>,
    id: Arc<str>,
}

/// A record's new key.
type Key = Option<(Arc<Schema>, Cell)>;

impl EventRouter {
    fn new(props: &Props) -> Result<EventRouter, ConfigErrors> {
        let settings = Settings::parse(props)?;
        let config = &settings.config;
        let nulls = config.table_json_payload_null_behavior;
        let payloads = JsonPayloads::new(&config.table_field_event_payload, nulls);
        let (plans, known) = (SchemaCache::default(), Vec::new());
        Ok(EventRouter { settings, plans, payloads, known, id: "id".into() })
    }

    /// The record's new key, or nothing if it was dropped.
    fn event(
        &mut self,
        rows: &mut Rows,
        batch: &mut Batch,
        row: Row<'_>,
        roots: &mut Roots,
    ) -> Result<Key, Fault> {
        let Some(schema) = row.schema else { return Ok(None) };
        let plan = self.plans.get(schema, |schema| Plan::new(schema, &self.settings).map(Arc::new));
        let plan = plan?.clone();
        let event = rows.fields(row.cell);
        let field = |at: usize| event.get(at).copied().unwrap_or(Cell::Null);
        let op = match field(plan.op) {
            Cell::Text(op) => rows.bytes(op),
            _ => b"",
        };
        if op == b"d" || (op == b"u" && !self.refuses_updates()) {
            drop_row(batch, row, roots);
            return Ok(None);
        }
        if op == b"u" {
            return Err(Fault {
                exception: "java.lang.IllegalStateException",
                message: "Unexpected update of the outbox table (table.op.invalid.behavior=fatal)"
                    .into(),
            });
        }
        let (after, own_time) = (field(plan.after), plan.ts_ms.map_or(Cell::Null, field));
        let Cell::Struct(span) = after else {
            return Err(Fault::not_a_struct("Read Outbox Event", None, after));
        };
        let column = plan.time.as_ref().map(|time| time.ms(rows.cells(span))).transpose()?;
        let time = match (column.flatten(), own_time) {
            (None, Cell::Int(ms, _)) => Some(ms),
            (time, _) => time,
        };
        let Cell::Text(routed) = plan.route.of(rows.cells(span)) else {
            return Err(Fault {
                exception: "java.lang.NullPointerException",
                message: format!("{} is null: no topic", self.settings.config.route_by_field)
                    .into(),
            });
        };
        let topic = self.topic(rows.text(routed))?;
        let (value_schema, value) = self.value(rows, &plan, span, routed)?;
        self.headers(rows, batch, row.number, &plan, span);
        batch.set_timestamp(row.number, time);
        batch.set_topic(row.number, &topic);
        let column = plan.partition.as_ref().map(|column| column.of(rows.cells(span)));
        match column {
            Some(Cell::Int(partition, _)) => {
                batch.set_partition(row.number, i32::try_from(partition).ok());
            }
            _ if batch.origin == Origin::Source => batch.set_partition(row.number, None),
            _ => {}
        }
        let key = batch.keys.adopt(rows, plan.key.of(rows.cells(span)));
        roots.push(value_schema.as_ref(), value);
        Ok(Some((plan.key.schema.clone(), key)))
    }

    fn refuses_updates(&self) -> bool {
        self.settings.config.table_op_invalid_behavior == InvalidOperation::Fatal
    }

    fn topic(&self, routed: &str) -> Result<String, Fault> {
        let Settings { regex, replacement, .. } = &self.settings;
        let topic = regex.replace_first_if_whole_match(routed, replacement);
        let topic = topic.map_err(|fault| Fault {
            exception: fault.java_class(),
            message: fault.to_string().into(),
        })?;
        Ok(topic.unwrap_or_else(|| routed.to_owned()))
    }

    fn value(
        &mut self,
        rows: &mut Rows,
        plan: &Arc<Plan>,
        row: Span,
        routed: Span,
    ) -> Result<(Option<Arc<Schema>>, Cell), Fault> {
        let config = &self.settings.config;
        let mut payload = plan.payload.of(rows.cells(row));
        let empty = match payload {
            Cell::Null => true,
            Cell::Text(span) => rows.text(span).trim().is_empty(),
            _ => false,
        };
        if empty && config.route_tombstone_on_empty_payload {
            return Ok((None, Cell::Null));
        }
        let mut schema = plan.payload.schema.clone();
        if let (Cell::Text(span), true) = (payload, config.table_expand_json_payload) {
            let text = rows.text(span).to_owned();
            if let Some(expanded) = self.payloads.expand(rows, &text) {
                (schema, payload) = expanded;
            }
        }
        let Some(columns) = &plan.envelope else { return Ok((Some(schema), payload)) };
        let version = match plan.version.as_ref().map(|column| column.of(rows.cells(row))) {
            Some(Cell::Int(version, _)) => i32::try_from(version).ok(),
            _ => None,
        };
        let schema = self.schema(plan, rows.text(routed), version, schema)?;
        let place = rows.alloc(columns.len() + 1);
        rows.set(place, 0, payload);
        for (at, (_, column)) in columns.iter().enumerate() {
            let cell = column.of(rows.cells(row));
            rows.set(place, at + 1, cell);
        }
        Ok((Some(schema), Cell::Struct(place)))
    }

    fn schema(
        &mut self,
        plan: &Arc<Plan>,
        routed: &str,
        version: Option<i32>,
        payload: Arc<Schema>,
    ) -> Result<Arc<Schema>, Fault> {
        let same = |known: &&Known| {
            Arc::ptr_eq(&known.plan, plan)
                && known.routed == routed
                && known.version == version
                && Arc::ptr_eq(&known.payload, &payload)
        };
        if let Some(known) = self.known.iter().find(same) {
            return Ok(known.schema.clone());
        }
        let schema = Arc::new(plan.value_schema(routed, version, &payload)?);
        self.known.truncate(SCHEMAS_MAX - 1);
        let (plan, routed) = (plan.clone(), routed.to_owned());
        self.known.insert(0, Known { plan, routed, version, payload, schema: schema.clone() });
        Ok(schema)
    }

    fn headers(&self, rows: &Rows, batch: &mut Batch, number: usize, plan: &Plan, row: Span) {
        let own = std::iter::once((&self.id, &plan.id));
        let more = plan.headers.iter().map(|(name, column)| (name, column));
        for (name, column) in own.chain(more) {
            let value = batch.headers.values.adopt(rows, column.of(rows.cells(row)));
            let (name, schema) = (name.clone(), Some(column.schema.clone()));
            batch.headers.push(number, Header { name, schema, value });
        }
    }
}

impl Transform for EventRouter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut keys: Vec<Key> = vec![None; batch.len()];
        rewrite(CLASS, Part::Value, batch, selected, |rows, batch, row, roots| {
            if row.cell.is_null() {
                drop_row(batch, row, roots);
            } else if !is_envelope(row.schema) {
                roots.push(row.schema, row.cell);
            } else {
                let key = self.event(rows, batch, row, roots)?;
                if let Some(slot) = keys.get_mut(row.number) {
                    *slot = key;
                }
            }
            Ok(())
        });
        let old = batch.keys.take_roots();
        let mut new = Roots::default();
        for (number, key) in keys.iter().enumerate() {
            match key {
                Some((schema, cell)) => new.push(Some(schema), *cell),
                None => new.push(old.schema(number), old.get(number)),
            }
        }
        batch.keys.set_roots(new);
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
