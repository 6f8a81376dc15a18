//! MessageTimestampRouter: makes the topic of a time that the message itself has.
//!
//! Confluent reads maps only; structs are read here too, times as numbers of milliseconds and as
//! Connect's timestamps as well as in text.

use api::{Transform, TransformPlugin};
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, DAY_MS, Logical, Mask, Rows, Schema};
use std::sync::Arc;

use crate::date_pattern::DatePattern;
use crate::fault::Fault;
use crate::found::{find, path};
use crate::part::{chosen, refuse};

const CLASS: &str = "io.confluent.connect.transforms.MessageTimestampRouter";

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["MessageTimestampRouter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Makes the topic's name of the old one and of a time in the message's value.",
    config_def: MessageTimestampRouterConfig::def,
    make: |props| Ok(Box::new(MessageTimestampRouter::new(props)?)),
};

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(importance = high)]
struct MessageTimestampRouterConfig {
    /// The new topic's name; `${topic}` and `${timestamp}` stand for the old one and for the time.
    #[config(key = "topic.format", default = "${topic}-${timestamp}")]
    topic_format: String,
    /// The pattern, in the form of Java's SimpleDateFormat, that the time is written in.
    #[config(key = "topic.timestamp.format", default = "yyyyMMdd")]
    topic_timestamp_format: String,
    /// The patterns, in the form of Java's SimpleDateFormat, that the message's time is read by; the
    /// first that fits counts. As in Java, a text may go on behind what its pattern reads.
    #[config(key = "message.timestamp.format", default = "yyyy-MM-dd")]
    message_timestamp_format: Vec<String>,
    /// The fields of the value that may hold the time, as paths `a.b`: the first that is there and
    /// not null counts.
    #[config(key = "message.timestamp.keys", non_empty)]
    message_timestamp_keys: Vec<String>,
}

struct MessageTimestampRouter {
    topic_format: String,
    written: DatePattern,
    read: Vec<DatePattern>,
    keys: Vec<Vec<String>>,
    /// The day that was written last, and how.
    last: Option<(i64, String)>,
}

impl MessageTimestampRouter {
    fn new(props: &Props) -> Result<MessageTimestampRouter, ConfigErrors> {
        let config = MessageTimestampRouterConfig::parse(props)?;
        let pattern = |key: &str, text: &str| {
            DatePattern::new(text).map_err(|error| ConfigErrors::one(key, error))
        };
        let read = config.message_timestamp_format.iter();
        let read = read.map(|text| pattern("message.timestamp.format", text));
        Ok(MessageTimestampRouter {
            written: pattern("topic.timestamp.format", &config.topic_timestamp_format)?,
            read: read.collect::<Result<_, _>>()?,
            keys: config.message_timestamp_keys.iter().map(|text| path(text)).collect(),
            topic_format: config.topic_format,
            last: None,
        })
    }

    fn topic(&mut self, batch: &mut Batch, row: usize) -> Result<String, Fault> {
        let rows = &mut batch.values;
        let (schema, root) = (rows.schema(row).cloned(), rows.root(row));
        let found = self.keys.iter().find_map(|key| {
            find(rows, schema.as_ref(), root, key).filter(|(_, cell)| !cell.is_null())
        });
        let Some((schema, cell)) = found else {
            let keys: Vec<String> = self.keys.iter().map(|key| key.join(".")).collect();
            let keys = keys.join(", ");
            return Err(Fault::data(format!(
                "The value has none of the fields {keys} with a time"
            )));
        };
        let ms = time(rows, schema, cell, &self.read)?;
        // Neighbours mostly have the same time as far as it is written, but only the milliseconds
        // themselves say so.
        if self.last.as_ref().is_none_or(|(last, _)| *last != ms) {
            let mut text = String::new();
            self.written.format(ms, &mut text);
            self.last = Some((ms, text));
        }
        let time = self.last.as_ref().map_or("", |(_, text)| text);
        Ok(self.topic_format.replace("${topic}", batch.topic(row)).replace("${timestamp}", time))
    }
}

/// Milliseconds since 1970.
fn time(
    rows: &Rows,
    schema: Option<&Arc<Schema>>,
    cell: Cell,
    patterns: &[DatePattern],
) -> Result<i64, Fault> {
    let logical = schema.map_or(Logical::None, |schema| schema.logical());
    match (cell, logical) {
        (Cell::Int(days, _), Logical::Date) => Ok(days.saturating_mul(DAY_MS)),
        (Cell::Int(ms, _), _) | (Cell::Instant(ms), _) => Ok(ms),
        (Cell::Text(span), _) => {
            let text = rows.text(span);
            let read = patterns.iter().find_map(|pattern| pattern.parse(text).ok());
            read.map(|date| date.epoch_ms).ok_or_else(|| {
                Fault::data("The text of the time does not fit message.timestamp.format")
            })
        }
        _ => Err(Fault::data(format!(
            "The time must be a text or a number of milliseconds, found: {}",
            crate::fault::java_class(schema.map(|schema| &**schema), cell)
        ))),
    }
}

impl Transform for MessageTimestampRouter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        for row in chosen(batch, selected) {
            match self.topic(batch, row) {
                Ok(topic) => batch.set_topic(row, &topic),
                Err(fault) => refuse(CLASS, batch, row, fault),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CLASS;
    use crate::debezium::testing::{apply, batch, props, row, row_schema, shown};
    use data::{Batch, Value};

    const KEYS: (&str, &str) = ("message.timestamp.keys", "t.when,v");

    fn map() -> Batch {
        let text = |text: &str| Value::Text(text.to_owned());
        let inner = Value::Map(vec![(text("when"), text("2024-03-01T12:00:00Z"))]);
        batch(&[(None, Value::Map(vec![(text("t"), inner)]))])
    }

    #[test]
    fn the_first_field_that_is_there_gives_the_time() {
        let mut one = map();
        apply(CLASS, &[KEYS, ("topic.format", "x-${topic}-${timestamp}")], &mut one);
        assert_eq!(&**one.topic(0), "x-s.t-20240301");
        let mut two = batch(&[(Some(row_schema()), row(1, "2024/12/31"))]);
        let formats = ("message.timestamp.format", "yyyy-MM-dd,yyyy/MM/dd");
        apply(CLASS, &[KEYS, formats, ("topic.timestamp.format", "yyyy.MM")], &mut two);
        assert_eq!(&**two.topic(0), "s.t-2024.12");
    }

    #[test]
    fn numbers_are_milliseconds() {
        let mut batch =
            batch(&[(None, Value::Map(vec![(Value::Text("v".into()), Value::int(0))]))]);
        apply(CLASS, &[KEYS], &mut batch);
        assert_eq!(&**batch.topic(0), "s.t-19700101");
    }

    #[test]
    fn a_record_without_a_time_is_refused() {
        let mut batch = batch(&[(Some(row_schema()), row(1, "soon")), (None, Value::Null)]);
        apply(CLASS, &[KEYS], &mut batch);
        assert!(shown(&batch, 0).contains("does not fit message.timestamp.format"));
        assert!(shown(&batch, 1).contains("none of the fields t.when, v"));
        assert!((super::PLUGIN.make)(&props(&[])).is_err(), "the keys are required");
    }
}
