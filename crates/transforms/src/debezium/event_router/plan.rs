//! Where the columns of an outbox table are, worked out once for each schema of its change events.

use super::config::{Column, Missing, Place, Settings};
use crate::debezium::envelope::{AFTER, OP};
use crate::fault::Fault;
use data::{Cell, Schema, SchemaBuilder, Type};
use std::sync::Arc;

const CONNECT: &str = "org.apache.kafka.connect.errors.ConnectException";

/// A column of the table.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) place: usize,
    pub(super) schema: Arc<Schema>,
}

impl Found {
    /// The column's value in a row's cells.
    pub(super) fn of(&self, cells: &[Cell]) -> Cell {
        cells.get(self.place).copied().unwrap_or(Cell::Null)
    }
}

/// A unit of time since 1970, as what a value is divided by to get milliseconds.
pub(super) struct Time {
    pub(super) column: Found,
    pub(super) per_ms: i64,
}

pub(super) struct Plan {
    pub(super) op: usize,
    pub(super) after: usize,
    /// The event's own time, which a record gets unless a column says it.
    pub(super) ts_ms: Option<usize>,
    row: Arc<Schema>,
    pub(super) route: Found,
    pub(super) id: Found,
    pub(super) key: Found,
    pub(super) payload: Found,
    pub(super) time: Option<Time>,
    pub(super) version: Option<Found>,
    pub(super) headers: Vec<(Arc<str>, Found)>,
    pub(super) partition: Option<Found>,
    /// Columns beside the payload; `None`: the payload is the value.
    pub(super) envelope: Option<Vec<(String, Found)>>,
}

impl Plan {
    pub(super) fn new(event: &Schema, settings: &Settings) -> Result<Plan, Fault> {
        let (op, after) = (column(event, OP)?, column(event, AFTER)?);
        let (row, config) = (after.schema.clone(), &settings.config);
        if row.kind() != Type::Struct {
            return Err(Fault::not_a_struct("Read Outbox Event", Some(&row), Cell::Null));
        }
        let route = typed(&row, &config.route_by_field, Type::String)?;
        let time = match config.table_field_event_timestamp.as_deref() {
            Some(name) if !name.is_empty() => Some(time(&row, name)?),
            _ => None,
        };
        let payload = find(&row, &config.table_field_event_payload)
            .ok_or_else(|| unknown("payload field", &config.table_field_event_payload))?;
        let version = config.table_field_event_schema_version.as_deref();
        let mut plan = Plan {
            op: op.place,
            after: after.place,
            ts_ms: event.field("ts_ms"),
            route,
            id: column(&row, &config.table_field_event_id)?,
            key: column(&row, &config.table_field_event_key)?,
            payload,
            time,
            version: version.and_then(|name| typed(&row, name, Type::Int32).ok()),
            headers: Vec::new(),
            partition: None,
            envelope: None,
            row: row.clone(),
        };
        if plan.time.is_none() && plan.ts_ms.is_none() {
            return Err(Fault::data("ts_ms is not a valid field name"));
        }
        for column in &settings.columns {
            plan.add(column, config.table_field_additional_missing)?;
        }
        Ok(plan)
    }

    fn add(&mut self, wanted: &Column, missing: Missing) -> Result<(), Fault> {
        let found = find(&self.row, &wanted.name);
        if wanted.place == Place::Envelope {
            self.envelope.get_or_insert_default();
        }
        let Some(found) = found else {
            return match (missing, wanted.place) {
                (Missing::Ignore, _) => Ok(()),
                (Missing::Error, Place::Envelope) => Err(unknown("field", &wanted.name)),
                (Missing::Error, _) => Err(invalid(&wanted.name)),
            };
        };
        match wanted.place {
            Place::Header => self.headers.push((wanted.alias.as_str().into(), found)),
            Place::Envelope => {
                self.envelope.get_or_insert_default().push((wanted.alias.clone(), found));
            }
            Place::Partition => {
                self.partition = Some(typed(&self.row, &wanted.name, Type::Int32)?);
            }
        }
        Ok(())
    }

    /// The schema of a value that holds the payload and columns beside it.
    pub(super) fn value_schema(
        &self,
        routed: &str,
        version: Option<i32>,
        payload: &Arc<Schema>,
    ) -> Result<Schema, Fault> {
        let name = match self.row.name().map(|name| (name, name.rsplit_once('.'))) {
            None => routed.to_owned(),
            Some((name, None)) => format!("{routed}.{name}"),
            Some((_, Some((before, last)))) => format!("{before}.{routed}.{last}"),
        };
        let mut builder = SchemaBuilder::structure().name(&name).field("payload", payload.clone());
        if let Some(version) = version {
            builder = builder.version(version);
        }
        for (alias, found) in self.envelope.iter().flatten() {
            builder = builder.field(alias, found.schema.clone());
        }
        builder.build().map_err(|error| Fault::builder(error.0))
    }
}

fn unknown(what: &str, name: &str) -> Fault {
    Fault { exception: CONNECT, message: format!("Unable to find {what} {name} in event").into() }
}

fn invalid(name: &str) -> Fault {
    Fault::data(format!("{name} is not a valid field name"))
}

fn find(row: &Schema, name: &str) -> Option<Found> {
    let place = row.field(name)?;
    row.fields().get(place).map(|field| Found { place, schema: field.schema.clone() })
}

fn column(row: &Schema, name: &str) -> Result<Found, Fault> {
    find(row, name).ok_or_else(|| invalid(name))
}

fn typed(row: &Schema, name: &str, kind: Type) -> Result<Found, Fault> {
    let found = column(row, name)?;
    if found.schema.kind() != kind {
        return Err(Fault::data(format!("Field '{name}' is not of type {}", kind.name())));
    }
    Ok(found)
}

fn time(row: &Schema, name: &str) -> Result<Time, Fault> {
    let column = find(row, name).ok_or_else(|| unknown("timestamp field", name))?;
    if column.schema.kind() != Type::Int64 {
        return Err(Fault::data(format!("Field '{name}' is not of type INT64")));
    }
    let per_ms = match column.schema.name() {
        // Connect's own type is not read by Debezium, which fails there; the value is clear.
        Some("io.debezium.time.Timestamp" | data::TIMESTAMP) => 1,
        Some("io.debezium.time.MicroTimestamp") => 1000,
        Some("io.debezium.time.NanoTimestamp") => 1_000_000,
        // Zero: nothing can be read but a null.
        _ => 0,
    };
    Ok(Time { column, per_ms })
}

impl Time {
    /// Milliseconds since 1970; nothing for a null.
    pub(super) fn ms(&self, cells: &[Cell]) -> Result<Option<i64>, Fault> {
        match (self.column.of(cells), self.per_ms) {
            (Cell::Null, _) => Ok(None),
            (Cell::Int(value, _), per_ms) if per_ms > 0 => Ok(Some(value.div_euclid(per_ms))),
            (Cell::Instant(value), _) => Ok(Some(value)),
            _ => Err(Fault {
                exception: CONNECT,
                message: format!(
                    "Unsupported field type {} ({} logical schema name) for event timestamp",
                    self.column.schema.kind().name(),
                    self.column.schema.name().unwrap_or("without"),
                )
                .into(),
            }),
        }
    }
}
