//! The settings of EventRouter.

use config::{Config, ConfigErrors, JavaRegex, JavaReplacement, Props};

config::config_enum! {
    /// What an update of the outbox table, which is an append-only queue, leads to.
    pub(super) enum InvalidOperation {
        /// The record is dropped.
        Warn = "warn",
        /// The record is dropped.
        Error = "error",
        /// The record is refused.
        Fatal = "fatal",
    }
}

config::config_enum! {
    /// What a missing additional column leads to.
    pub(super) enum Missing {
        /// The record is refused.
        Error = "error",
        /// The column is left out.
        Ignore = "ignore",
    }
}

config::config_enum! {
    /// What becomes of nulls in a JSON payload, whose type nobody knows.
    pub(super) enum JsonNulls {
        /// The member is left out.
        Ignore = "ignore",
        /// The member becomes optional bytes.
        OptionalBytes = "optional_bytes",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(group = "Table")]
pub(super) struct EventRouterConfig {
    /// The column whose text says where an event goes.
    #[config(key = "route.by.field", default = "aggregatetype", importance = high, group = "Router",
        width = medium)]
    pub(super) route_by_field: String,
    /// Matched against the whole text of `route.by.field`; where it does not match, the text itself
    /// is the topic.
    #[config(key = "route.topic.regex", default = "(?<routedByValue>.*)", regex, importance = low,
        group = "Router", width = medium)]
    route_topic_regex: String,
    /// The topic's name, with the groups of `route.topic.regex` as `$1` or `${name}`.
    #[config(key = "route.topic.replacement", default = "outbox.event.${routedByValue}",
        importance = high, group = "Router", width = medium)]
    route_topic_replacement: String,
    /// Whether an empty payload becomes a tombstone.
    #[config(key = "route.tombstone.on.empty.payload", default = false, importance = high,
        group = "Router", width = medium)]
    pub(super) route_tombstone_on_empty_payload: bool,
    /// The column with the event's id, which becomes the header `id`.
    #[config(key = "table.field.event.id", default = "id", importance = low, width = medium)]
    pub(super) table_field_event_id: String,
    /// The column that becomes the key.
    #[config(key = "table.field.event.key", default = "aggregateid", importance = low,
        width = medium)]
    pub(super) table_field_event_key: String,
    /// The column with the event's type. Kept for configurations that set it: nothing reads it, as in
    /// Debezium.
    #[config(key = "table.field.event.type", default = "type", importance = low, width = medium)]
    _table_field_event_type: String,
    /// The column that becomes the value.
    #[config(key = "table.field.event.payload", default = "payload", importance = low,
        width = medium)]
    pub(super) table_field_event_payload: String,
    /// The column with the record's time, an INT64 of one of Debezium's types; the time of the
    /// change event if not set or null.
    #[config(key = "table.field.event.timestamp", width = medium)]
    pub(super) table_field_event_timestamp: Option<String>,
    /// More columns to pass on, as a list of `column:placement` or `column:placement:alias`. The
    /// placement is `header`, `envelope` (the value becomes a struct of the payload and these
    /// columns) or `partition`.
    #[config(key = "table.fields.additional.placement", importance = high, width = medium, repeats)]
    table_fields_additional_placement: Option<Vec<String>>,
    /// Whether a column of `table.fields.additional.placement` may be missing.
    #[config(key = "table.field.additional.missing", default = "error", case_insensitive,
        width = medium)]
    pub(super) table_field_additional_missing: Missing,
    /// The column with the version of the value's schema. Used where columns go into the envelope.
    #[config(key = "table.field.event.schema.version", importance = low, width = medium)]
    pub(super) table_field_event_schema_version: Option<String>,
    /// What an update leads to: `warn` and `error` drop it, `fatal` refuses it. Deletes are always
    /// dropped.
    #[config(key = "table.op.invalid.behavior", default = "warn", case_insensitive, width = medium)]
    pub(super) table_op_invalid_behavior: InvalidOperation,
    /// Whether a payload that is the text of a JSON object or array becomes a struct or list, under a
    /// schema found from it. What cannot be read so stays text.
    #[config(key = "table.expand.json.payload", default = false, width = medium)]
    pub(super) table_expand_json_payload: bool,
    /// What becomes of nulls when a JSON payload is expanded: `ignore` leaves them out,
    /// `optional_bytes` makes them optional bytes.
    #[config(key = "table.json.payload.null.behavior", default = "ignore", case_insensitive,
        width = medium)]
    pub(super) table_json_payload_null_behavior: JsonNulls,
    /// The column with a tracing span. There is no tracing here: nothing reads it.
    #[config(key = "tracing.span.context.field", default = "tracingspancontext", importance = high,
        group = "Tracing", width = medium)]
    _tracing_span_context_field: String,
    /// The name of the operation in traces. There is no tracing here: nothing reads it.
    #[config(key = "tracing.operation.name", default = "debezium-read", importance = high,
        group = "Tracing", width = medium)]
    _tracing_operation_name: String,
    /// Whether to trace only events with a span. There is no tracing here: nothing reads it.
    #[config(key = "tracing.with.context.field.only", default = false, importance = high,
        group = "Tracing", width = medium)]
    _tracing_with_context_field_only: bool,
}

/// Where an additional column goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Header,
    Envelope,
    Partition,
}

/// An additional column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) alias: String,
}

/// The settings, read.
pub(super) struct Settings {
    pub(super) config: EventRouterConfig,
    pub(super) columns: Vec<Column>,
    pub(super) regex: JavaRegex,
    pub(super) replacement: JavaReplacement,
}

impl Settings {
    pub(super) fn parse(props: &Props) -> Result<Settings, ConfigErrors> {
        let config = EventRouterConfig::parse(props)?;
        let list = config.table_fields_additional_placement.as_deref();
        if list.is_some_and(<[String]>::is_empty) {
            return Err(bad_placement(""));
        }
        let columns = list.unwrap_or_default().iter().map(|text| column(text));
        let columns = columns.collect::<Result<_, _>>()?;
        let regex = JavaRegex::new(&config.route_topic_regex)
            .map_err(|text| ConfigErrors::one("route.topic.regex", text))?;
        let replacement = JavaReplacement::new(&config.route_topic_replacement);
        Ok(Settings { config, columns, regex, replacement })
    }
}

fn bad_placement(text: &str) -> ConfigErrors {
    ConfigErrors::one(
        "table.fields.additional.placement",
        format!(
            "{text:?} is not column:placement or column:placement:alias with a placement of header, \
             envelope or partition"
        ),
    )
}

fn column(text: &str) -> Result<Column, ConfigErrors> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let (name, place, alias) = match parts.as_slice() {
        [name, place] => (*name, *place, *name),
        [name, place, alias] => (*name, *place, *alias),
        _ => return Err(bad_placement(text)),
    };
    let place = match place.to_ascii_lowercase().as_str() {
        "header" => Place::Header,
        "envelope" => Place::Envelope,
        "partition" => Place::Partition,
        _ => return Err(bad_placement(text)),
    };
    if name.is_empty() || alias.is_empty() {
        return Err(bad_placement(text));
    }
    Ok(Column { name: name.to_owned(), place, alias: alias.to_owned() })
}
