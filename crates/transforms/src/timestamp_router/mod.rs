//! TimestampRouter: sends a record to a topic whose name is made of its topic and its timestamp.
//!
//! The value stays raw. Names are made once for all neighbours that get the same one: a pattern of
//! days gives a new name once a day.

#[cfg(test)]
mod tests;

use api::{Transform, TransformPlugin};
use config::{Config, ConfigErrors, Props};
use data::{Batch, DAY_MS, Mask};
use std::sync::Arc;

use crate::date_pattern::DatePattern;
use crate::fault::Fault;
use crate::part::{chosen, refuse};

const CLASS: &str = "org.apache.kafka.connect.transforms.TimestampRouter";

/// The settings.
#[derive(Clone, Debug, Config)]
struct TimestampRouterConfig {
    /// The name of the new topic, in which `${topic}` and `${timestamp}` stand for the record's topic
    /// and its timestamp.
    #[config(key = "topic.format", default = "${topic}-${timestamp}", importance = high)]
    topic_format: String,
    /// The pattern of the timestamp, in the dialect of Java's SimpleDateFormat; UTC.
    #[config(key = "timestamp.format", default = "yyyyMMdd", importance = high)]
    timestamp_format: String,
}

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["TimestampRouter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Makes the record's topic of its topic and its timestamp, for example to have a table a day.",
    config_def: TimestampRouterConfig::def,
    make: TimestampRouter::make,
};

struct TimestampRouter {
    topic_format: String,
    pattern: DatePattern,
    /// Milliseconds in which the pattern gives one text.
    step_ms: i64,
}

/// The name made last.
struct Latest {
    topic: Arc<str>,
    step: i64,
    name: String,
}

impl TimestampRouter {
    fn make(props: &Props) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = TimestampRouterConfig::parse_plugin(props)?;
        let text = config.timestamp_format;
        let pattern = DatePattern::new(&text).map_err(|fault| {
            let key = "timestamp.format";
            ConfigErrors::one(key, config::invalid(key, &text, &fault))
        })?;
        let step_ms = step_ms(&text);
        Ok(Box::new(TimestampRouter { topic_format: config.topic_format, pattern, step_ms }))
    }

    fn name(&self, topic: &Arc<str>, timestamp: i64) -> Latest {
        let mut text = String::new();
        self.pattern.format(timestamp, &mut text);
        // The topic first: what its name says of a timestamp is replaced too, as in Connect.
        let name = self.topic_format.replace("${topic}", topic).replace("${timestamp}", &text);
        Latest { topic: topic.clone(), step: timestamp.div_euclid(self.step_ms), name }
    }
}

impl Transform for TimestampRouter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut latest: Option<Latest> = None;
        for row in chosen(batch, selected) {
            let Some(timestamp) = batch.timestamp(row) else {
                refuse(CLASS, batch, row, without_timestamp(batch, row));
                continue;
            };
            let topic = batch.topic(row);
            let step = timestamp.div_euclid(self.step_ms);
            let latest = match &mut latest {
                Some(known) if known.step == step && Arc::ptr_eq(&known.topic, topic) => known,
                other => other.insert(self.name(topic, timestamp)),
            };
            batch.set_topic(row, &latest.name);
        }
    }
}

fn without_timestamp(batch: &Batch, row: usize) -> Fault {
    let known = |number: Option<i64>| number.map_or("none".to_owned(), |number| number.to_string());
    Fault::data(format!(
        "Timestamp missing on record: topic {}, partition {}, offset {}",
        batch.topic(row),
        known(batch.partition(row).map(i64::from)),
        known(batch.offset(row))
    ))
}

/// How long the text of a pattern stays the same, at least, from a multiple of that time on. Letters
/// in quotes make it shorter than it could be, which costs time only.
fn step_ms(pattern: &str) -> i64 {
    let has = |letters: &[char]| pattern.contains(letters);
    match () {
        () if has(&['S']) => 1,
        () if has(&['s']) => 1_000,
        () if has(&['m']) => 60_000,
        () if has(&['a', 'H', 'h', 'K', 'k']) => 3_600_000,
        () => DAY_MS,
    }
}
