//! TimezoneConverter: moves the times of change events to a time zone.
//!
//! Records that are no change events stay as they are, as in Debezium. Schemas do not change.

mod rules;
mod zone;

use ::config::{Config, ConfigErrors, Props};
use api::{Transform, TransformPlugin};
use data::{Batch, Cell, Logical, Mask, Rows, Schema, Semantic, TimeUnit, Width};
use std::sync::Arc;

use self::rules::{Rules, Side};
use self::zone::{Zone, is_moved};
use super::envelope::{AFTER, BEFORE, SOURCE, is_envelope};
use crate::fault::Fault;
use crate::part::{Part, rewrite};
use crate::schema_cache::SchemaCache;

const CLASS: &str = "io.debezium.transforms.TimezoneConverter";

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["TimezoneConverter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Moves the timestamps of change events to a time zone.",
    config_def: TimezoneConverterConfig::def,
    make: |props| Ok(Box::new(TimezoneConverter::new(props)?)),
};

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(importance = high)]
struct TimezoneConverterConfig {
    /// The time zone: a name such as `America/New_York`, or an offset such as `+05:30`. Numbers are
    /// taken for wall clocks of the zone and become points in time; texts with an offset get the
    /// zone's.
    #[config(key = "converted.timezone", non_empty, width = medium)]
    converted_timezone: String,
    /// Only these fields are converted: rules `source:table`, `source:table:field`, `topic:name`,
    /// `topic:name:field` or `name:field`, where the name is a table's or a topic's. A field may
    /// begin with `before.`, `after.` or `source.`.
    #[config(key = "include.list", width = medium)]
    include_list: Option<Vec<String>>,
    /// These fields are not converted: rules as in `include.list`. Only one of the two may be set.
    #[config(key = "exclude.list", width = medium)]
    exclude_list: Option<Vec<String>>,
}

/// A field with a time.
struct Timed {
    place: usize,
    name: Arc<str>,
    /// `None`: Connect's own timestamp.
    semantic: Option<Semantic>,
}

/// The times of events of one schema.
struct Plan {
    /// Parts that have times: which, where, and their fields.
    sides: Vec<(Side, usize, Vec<Timed>)>,
    /// Where the table's name is: the source's place, and the name's in it.
    table: Option<(usize, usize)>,
}

struct TimezoneConverter {
    zone: Zone,
    rules: Rules,
    plans: SchemaCache<Arc<Plan>>,
}

impl TimezoneConverter {
    fn new(props: &Props) -> Result<TimezoneConverter, ConfigErrors> {
        let config = TimezoneConverterConfig::parse(props)?;
        let zone = Zone::parse(&config.converted_timezone).ok_or_else(|| {
            let text =
                "must be a time zone's name, such as America/Los_Angeles, or +hh:mm or -hh:mm";
            ConfigErrors::one("converted.timezone", text)
        })?;
        let read = |key: &str, list: &[String]| {
            rules::parse(list).map_err(|item| {
                let text = format!(
                    "{item:?} is no rule of the form source:table[:field], topic:name[:field] or \
                     name:field"
                );
                ConfigErrors::one(key, text)
            })
        };
        let rules = match (&config.include_list, &config.exclude_list) {
            (Some(_), Some(_)) => {
                let text = "must not be set together with include.list";
                return Err(ConfigErrors::one("exclude.list", text));
            }
            (Some(list), None) => Rules::Only(read("include.list", list)?),
            (None, Some(list)) => Rules::Except(read("exclude.list", list)?),
            (None, None) => Rules::All,
        };
        Ok(TimezoneConverter { zone, rules, plans: SchemaCache::default() })
    }

    /// The value of a field, moved.
    fn moved(&self, rows: &mut Rows, timed: &Timed, cell: Cell) -> Result<Cell, Fault> {
        let unit = match timed.semantic {
            Some(Semantic::Timestamp(unit)) => unit,
            _ => TimeUnit::Millis,
        };
        match (timed.semantic, cell) {
            (None | Some(Semantic::Timestamp(_)), Cell::Int(count, _)) => {
                Ok(Cell::Int(self.zone.number(unit, count), Width::W64))
            }
            (None, Cell::Instant(ms)) => Ok(Cell::Instant(self.zone.number(unit, ms))),
            (Some(semantic), Cell::Text(span)) => {
                let mut text = String::with_capacity(40);
                match semantic {
                    Semantic::ZonedTime => self.zone.time(rows.text(span), &mut text)?,
                    _ => self.zone.timestamp(rows.text(span), &mut text)?,
                }
                Ok(Cell::Text(rows.heap.put(text.as_bytes())))
            }
            (_, cell) => Ok(cell),
        }
    }

    /// The event with its times moved.
    fn event(
        &self,
        rows: &mut Rows,
        plan: &Plan,
        topic: &str,
        event: data::Span,
    ) -> Result<Cell, Fault> {
        let cell = |rows: &Rows, at: usize| rows.cells(event).get(at).copied();
        let table = plan.table.and_then(|(source, name)| {
            match rows.fields(cell(rows, source)?).get(name)? {
                Cell::Text(span) => Some(rows.text(*span).to_owned()),
                _ => None,
            }
        });
        let table = table.unwrap_or_default();
        let mut copy = None;
        for (side, outer, fields) in &plan.sides {
            let Some(Cell::Struct(inner)) = cell(rows, *outer) else { continue };
            let mut new = None;
            for timed in fields {
                let old = rows.cell(inner, timed.place);
                if old.is_null() || !self.rules.take(&table, topic, *side, &timed.name) {
                    continue;
                }
                let moved = self.moved(rows, timed, old)?;
                let span = *new.get_or_insert_with(|| rows.copy(inner, 0));
                rows.set(span, timed.place, moved);
            }
            if let Some(span) = new {
                let copy = *copy.get_or_insert_with(|| rows.copy(event, 0));
                rows.set(copy, *outer, Cell::Struct(span));
            }
        }
        Ok(Cell::Struct(copy.unwrap_or(event)))
    }
}

fn plan(schema: &Schema) -> Plan {
    let mut sides = Vec::new();
    for (side, name) in [(Side::Before, BEFORE), (Side::After, AFTER), (Side::Source, SOURCE)] {
        let Some(place) = schema.field(name) else { continue };
        let fields = schema.fields().get(place).map(|field| field.schema.fields());
        let fields = fields.unwrap_or_default().iter().enumerate();
        let timed = fields.filter_map(|(place, field)| {
            let semantic = match field.schema.logical() {
                Logical::Timestamp => None,
                _ => Some(Semantic::of(&field.schema).filter(|semantic| is_moved(*semantic))?),
            };
            Some(Timed { place, name: field.name.clone(), semantic })
        });
        let timed: Vec<Timed> = timed.collect();
        if !timed.is_empty() {
            sides.push((side, place, timed));
        }
    }
    let table = schema.field(SOURCE).and_then(|source| {
        let inner = &schema.fields().get(source)?.schema;
        let name = ["table", "collection"].iter().find_map(|name| inner.field(name))?;
        Some((source, name))
    });
    Plan { sides, table }
}

impl Transform for TimezoneConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        rewrite(CLASS, Part::Value, batch, selected, |rows, batch, row, roots| {
            let (Some(schema), Cell::Struct(event), true) =
                (row.schema, row.cell, is_envelope(row.schema))
            else {
                roots.push(row.schema, row.cell);
                return Ok(());
            };
            let plan = self.plans.get(schema, |schema| Ok(Arc::new(plan(schema))))?.clone();
            let cell = self.event(rows, &plan, batch.topic(row.number), event)?;
            roots.push(row.schema, cell);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::CLASS;
    use crate::debezium::testing::{apply, batch, props, shown};
    use data::{Batch, Schema, SchemaBuilder, Type, Value};
    use std::sync::Arc;

    fn timed() -> Batch {
        let ts = SchemaBuilder::new(Type::Int64).name("io.debezium.time.Timestamp").optional();
        let zt =
            SchemaBuilder::new(Type::String).name("io.debezium.time.ZonedTimestamp").optional();
        let row = SchemaBuilder::structure()
            .field("ts", Arc::new(ts.build().unwrap()))
            .field("zt", Arc::new(zt.build().unwrap()))
            .field("n", Arc::new(Schema::new(Type::Int64)));
        let row = Arc::new(row.optional().build().unwrap());
        let text = Arc::new(Schema::new(Type::String));
        let source = SchemaBuilder::structure().field("table", text).build().unwrap();
        let envelope = SchemaBuilder::structure()
            .name("s.t.Envelope")
            .field("before", row.clone())
            .field("after", row.clone())
            .field("source", Arc::new(source));
        let text = |text: &str| Value::Text(text.to_owned());
        let value = Value::fields(vec![
            Value::int(1_700_000_000_000),
            text("2023-11-14T22:13:20Z"),
            Value::int(5),
        ]);
        let source = Value::fields(vec![text("t")]);
        batch(&[
            (
                Some(Arc::new(envelope.build().unwrap())),
                Value::fields(vec![Value::Null, value.clone(), source]),
            ),
            (Some(row), value),
        ])
    }

    fn converted(list: &[(&str, &str)]) -> Batch {
        let mut batch = timed();
        apply(CLASS, &[&[("converted.timezone", "+05:30")], list].concat(), &mut batch);
        batch
    }

    #[test]
    fn the_times_of_events_are_moved_and_nothing_else() {
        let batch = converted(&[]);
        let moved =
            r#""after":{"ts":"2023-11-14T16:43:20","zt":"2023-11-15T03:43:20+05:30","n":5}"#;
        assert!(shown(&batch, 0).contains(moved), "{}", shown(&batch, 0));
        let stays = r#"{"ts":"2023-11-14T22:13:20","zt":"2023-11-14T22:13:20Z","n":5}"#;
        assert_eq!(shown(&batch, 1), stays);
    }

    #[test]
    fn rules_choose_fields() {
        let only = converted(&[("include.list", "source:t:ts")]);
        let seen = r#""after":{"ts":"2023-11-14T16:43:20","zt":"2023-11-14T22:13:20Z","n":5}"#;
        assert!(shown(&only, 0).contains(seen));
        let except = converted(&[("exclude.list", "s.t:ts")]);
        let seen = r#""after":{"ts":"2023-11-14T22:13:20","zt":"2023-11-15T03:43:20+05:30","n":5}"#;
        assert!(shown(&except, 0).contains(seen));
        let none = converted(&[("exclude.list", "topic:s.t")]);
        assert_eq!(none.values.root(0), timed().values.root(0));
    }

    #[test]
    fn bad_settings_are_refused() {
        let zone = ("converted.timezone", "UTC");
        for config in [
            vec![],
            vec![("converted.timezone", "Nope")],
            vec![zone, ("include.list", "us")],
            vec![zone, ("include.list", "a:b"), ("exclude.list", "a:c")],
        ] {
            assert!((super::PLUGIN.make)(&props(&config)).is_err(), "{config:?}");
        }
    }
}
