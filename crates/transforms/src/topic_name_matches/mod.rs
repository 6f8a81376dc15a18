//! TopicNameMatches: the records whose topic's whole name a regular expression matches.

use api::{Predicate, PredicatePlugin};
use config::{Config, ConfigErrors, JavaRegex, Props};
use data::{Batch, Mask};
use std::sync::Arc;

const CLASS: &str = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches";

/// The settings.
#[derive(Clone, Debug, Config)]
struct TopicNameMatchesConfig {
    /// Regular expression, in Java's dialect, that the whole name of a topic must match.
    #[config(non_empty, regex, importance = medium)]
    pattern: String,
}

pub(crate) static PLUGIN: PredicatePlugin = PredicatePlugin {
    class: CLASS,
    aliases: &["TopicNameMatches"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Matches records whose topic's whole name a regular expression matches.",
    config_def: TopicNameMatchesConfig::def,
    make: |props: &Props| {
        let TopicNameMatchesConfig { pattern } = TopicNameMatchesConfig::parse(props)?;
        let pattern =
            JavaRegex::new(&pattern).map_err(|fault| ConfigErrors::one("pattern", fault))?;
        Ok(Box::new(TopicNameMatches { pattern }))
    },
};

struct TopicNameMatches {
    pattern: JavaRegex,
}

impl Predicate for TopicNameMatches {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn select(&mut self, batch: &Batch, mask: &mut Mask) {
        let mut last: Option<(&Arc<str>, bool)> = None;
        for row in 0..batch.len() {
            let topic = batch.topic(row);
            let matches = match last {
                Some((known, matches)) if Arc::ptr_eq(known, topic) => matches,
                _ => self.pattern.matches(topic),
            };
            last = Some((topic, matches));
            if !matches {
                mask.kill(row);
            }
        }
    }
}
