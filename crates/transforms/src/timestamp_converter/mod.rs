//! TimestampConverter: points in time as text, as a Unix time or as one of Connect's logical types, from
//! any of these to any other. Everything is in UTC.
//!
//! Unlike in Connect, what a Unix time or a text says below the millisecond is kept where the target
//! can say it: in text, and in a Unix time of micro- or nanoseconds.

mod moment;
#[cfg(test)]
mod tests;

use api::Transform;
use config::{Config, ConfigErrors, Props, config_enum};
use data::{Batch, Cell, Mask, Roots, Rows, Schema, SchemaBuilder, SchemaError, Span, Type};
use std::sync::Arc;

use crate::copied::{MapCopy, Names, copy_struct};
use crate::date_pattern::DatePattern;
use crate::fault::Fault;
use crate::part::{Near, Part, Row, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_or_null, struct_or_null};
use moment::{Format, Source};

const PURPOSE: &str = "converting timestamp formats";

config_enum! {
    /// What timestamps become.
    enum Target {
        /// Text.
        Text = "string",
        /// A number since the epoch.
        Unix = "unix",
        /// Connect's Date.
        Date = "Date",
        /// Connect's Time.
        Time = "Time",
        /// Connect's Timestamp.
        Timestamp = "Timestamp",
    }
}

config_enum! {
    /// What a Unix time counts.
    enum Precision {
        /// 10^-9 s.
        Nanoseconds = "nanoseconds",
        /// 10^-6 s.
        Microseconds = "microseconds",
        /// 10^-3 s.
        Milliseconds = "milliseconds",
        /// Seconds.
        Seconds = "seconds",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
struct TimestampConverterConfig {
    /// The field with the timestamp; empty if the whole value is one.
    #[config(default = "", importance = high)]
    field: String,
    /// What timestamps become: text, a Unix time (a number since 1970), or Connect's Date, Time or
    /// Timestamp.
    #[config(key = "target.type", importance = high)]
    target_type: Target,
    /// The pattern of text, in the dialect of Java's SimpleDateFormat. Needed if the target is text or
    /// the timestamps are.
    #[config(default = "", importance = medium)]
    format: String,
    /// What a Unix time counts, in what is read and in what is written: seconds, milliseconds,
    /// microseconds or nanoseconds.
    #[config(key = "unix.precision", default = "milliseconds", importance = low)]
    unix_precision: Precision,
    /// Whether to replace fields that have a default value and that are null to the default value.
    /// When set to true, the default value is used, otherwise null is used.
    #[config(key = "replace.null.with.default", default = true, importance = medium)]
    replace_null_with_default: bool,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "TimestampConverter",
    TimestampConverterConfig,
    TimestampConverter::make,
    "Converts timestamps between text, Unix time and Connect's Date, Time and Timestamp: a field, or the \
     whole key or value."
);

/// What a struct's schema becomes.
struct Plan {
    schema: Arc<Schema>,
    /// The field and what it holds, or why that is no timestamp.
    field: Option<(usize, Result<Source, Fault>)>,
}

struct TimestampConverter {
    class: &'static str,
    part: Part,
    field: String,
    format: Format,
    /// The target's schema, required and optional.
    targets: [Arc<Schema>; 2],
    replace: bool,
    schemas: SchemaCache<Plan>,
}

impl TimestampConverter {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = TimestampConverterConfig::parse_plugin(props)?;
        let text = config.format.as_str();
        let pattern = match text {
            "" if config.target_type == Target::Text => {
                return Err(ConfigErrors::one(
                    "format",
                    "TimestampConverter requires format option to be specified when using string \
                     timestamps",
                ));
            }
            "" => None,
            text => Some(DatePattern::new(text).map_err(|fault| {
                ConfigErrors::one("format", config::invalid("format", &text, &fault))
            })?),
        };
        let targets = target_schemas(config.target_type)
            .map_err(|error| ConfigErrors::one("target.type", error.to_string()))?;
        let format = Format::new(config.target_type, config.unix_precision, text, pattern);
        Ok(Box::new(TimestampConverter {
            class,
            part,
            field: config.field,
            format,
            targets,
            replace: config.replace_null_with_default,
            schemas: SchemaCache::default(),
        }))
    }
}

fn target_schemas(target: Target) -> Result<[Arc<Schema>; 2], SchemaError> {
    let builder = match target {
        Target::Text => SchemaBuilder::new(Type::String),
        Target::Unix => SchemaBuilder::new(Type::Int64),
        Target::Date => SchemaBuilder::date(),
        Target::Time => SchemaBuilder::time(),
        Target::Timestamp => SchemaBuilder::timestamp(),
    };
    Ok([Arc::new(builder.clone().build()?), Arc::new(builder.optional().build()?)])
}

impl Transform for TimestampConverter {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (class, part) = (self.class, self.part);
        let mut known = (Names::default(), Near::default());
        let bytes = self.format.text_bytes(batch.len());
        part.rows_mut(batch).heap.reserve(bytes);
        rewrite_apart(class, part, batch, selected, |rows, _, row, roots| {
            match (row.schema, self.field.is_empty()) {
                (Some(schema), true) => self.whole(rows, row, schema, roots),
                (Some(schema), false) => self.in_struct(rows, row, schema, roots),
                (None, true) => {
                    let cell = self.format.convert_bare(rows, row.cell)?;
                    roots.push(None, cell);
                    Ok(())
                }
                (None, false) => self.in_map(rows, row, &mut known, roots),
            }
        });
    }
}

impl TimestampConverter {
    fn whole(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        schema: &Schema,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let source = Source::of(schema)?;
        let cell = self.format.convert(rows, source, schema, row.cell)?;
        let [required, optional] = &self.targets;
        roots.push(Some(if schema.is_optional() { optional } else { required }), cell);
        Ok(())
    }

    fn in_struct(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        schema: &Arc<Schema>,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let span = struct_or_null(PURPOSE, schema, &row.cell)?;
        let TimestampConverter { field, targets, format, replace, .. } = self;
        let plan =
            self.schemas.get(schema, |schema| plan(schema, field, targets, format, *replace))?;
        let Some(span) = span else {
            roots.push(Some(&plan.schema), Cell::Null);
            return Ok(());
        };
        let copy = copy_struct(rows, schema, span, 0, *replace)?;
        plan.convert(rows, schema, format, copy)?;
        roots.push(Some(&plan.schema), Cell::Struct(copy));
        Ok(())
    }

    fn in_map(
        &mut self,
        rows: &mut Rows,
        row: Row<'_>,
        (names, near): &mut (Names, Near),
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let Some(span) = map_or_null(PURPOSE, rows, &row.cell)? else {
            roots.push(None, Cell::Null);
            return Ok(());
        };
        let mut copy = MapCopy::new(rows, span, 1);
        match copy.find(rows, &self.field, near) {
            Some(place) => {
                self.format.convert_bare_at(rows, (copy.cells(), place))?;
            }
            None => {
                let name = names.get(rows, 0, [self.field.as_str()].into_iter());
                (copy, _) = copy.add(rows, name);
            }
        }
        roots.push(None, copy.finish());
        Ok(())
    }
}

fn plan(
    schema: &Arc<Schema>,
    name: &str,
    [required, optional]: &[Arc<Schema>; 2],
    format: &mut Format,
    replace: bool,
) -> Result<Plan, Fault> {
    if schema.kind() != Type::Struct {
        return Err(Fault::not_a_struct(PURPOSE, Some(schema), Cell::Null));
    }
    let mut builder = SchemaBuilder::like(schema, Type::Struct);
    let mut converted = None;
    for (index, field) in schema.fields().iter().enumerate() {
        let mut new = &field.schema;
        if &*field.name == name {
            new = if field.schema.is_optional() { optional } else { required };
            converted = Some((index, Source::of(&field.schema)));
        }
        builder = builder.field(&field.name, new.clone());
    }
    if schema.is_optional() {
        builder = builder.optional();
    }
    let bare = builder.clone().build().map_err(Fault::from_schema)?;
    let mut plan = Plan { schema: Arc::new(bare), field: converted };
    if let Some(default) = schema.default() {
        let mut rows = Rows::default();
        if let Cell::Struct(span) = rows.put_value(Some(schema), default) {
            let new = copy_struct(&mut rows, schema, span, 0, replace)?;
            plan.convert(&mut rows, schema, format, new)?;
            let default = rows.value(Some(&plan.schema), Cell::Struct(new));
            let built = builder.default(default).build().map_err(Fault::from_schema)?;
            plan.schema = Arc::new(built);
        }
    }
    Ok(plan)
}

impl Plan {
    /// Converts the field of a struct that may be changed.
    #[inline]
    fn convert(
        &self,
        rows: &mut Rows,
        schema: &Schema,
        format: &mut Format,
        span: Span,
    ) -> Result<(), Fault> {
        if let Some((index, source)) = &self.field
            && let Some(field) = schema.fields().get(*index)
        {
            match source {
                Ok(source) => format.convert_at(rows, *source, &field.schema, (span, *index))?,
                Err(fault) => return Err(fault.clone()),
            }
        }
        Ok(())
    }
}
