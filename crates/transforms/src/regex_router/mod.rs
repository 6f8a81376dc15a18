//! RegexRouter: renames the topics that a regular expression matches.
//!
//! The whole name must match; then the first match in it, which may be shorter, is replaced, as in
//! Connect. The partition stays. Records of one topic go to one topic, so names are worked out once per
//! run of records of a topic.

use api::{Transform, TransformPlugin};
use config::{Config, ConfigErrors, JavaRegex, JavaReplacement, Props};
use data::{Batch, Mask};
use std::sync::Arc;

use crate::fault::Fault;
use crate::part::{chosen, refuse};

#[cfg(test)]
mod tests;

const CLASS: &str = "org.apache.kafka.connect.transforms.RegexRouter";

/// The settings.
#[derive(Clone, Debug, Config)]
struct RegexRouterConfig {
    /// Regular expression, in Java's dialect, that the whole name of a topic must match to be changed.
    #[config(regex, importance = high)]
    regex: String,
    /// The new name; `$1` and `${name}` stand for groups of the expression.
    #[config(importance = high)]
    replacement: String,
}

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["RegexRouter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Renames the topics that a regular expression matches.",
    config_def: RegexRouterConfig::def,
    make: |props| Ok(Box::new(RegexRouter::new(props)?)),
};

/// The new name of a topic; `None` for one that stays.
type Route = Result<Option<String>, Fault>;

struct RegexRouter {
    regex: JavaRegex,
    replacement: JavaReplacement,
}

impl RegexRouter {
    fn new(props: &Props) -> Result<RegexRouter, ConfigErrors> {
        let RegexRouterConfig { regex, replacement } = RegexRouterConfig::parse(props)?;
        let regex = JavaRegex::new(&regex).map_err(|fault| ConfigErrors::one("regex", fault))?;
        Ok(RegexRouter { regex, replacement: JavaReplacement::new(&replacement) })
    }

    fn route(&self, topic: &str) -> Route {
        self.regex.replace_first_if_whole_match(topic, &self.replacement).map_err(|fault| Fault {
            exception: fault.java_class(),
            message: fault.to_string().into(),
        })
    }
}

impl Transform for RegexRouter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut last: Option<(Arc<str>, Route)> = None;
        for row in chosen(batch, selected) {
            let topic = batch.topic(row);
            let known = matches!(&last, Some((known, _)) if Arc::ptr_eq(known, topic));
            if !known {
                last = Some((topic.clone(), self.route(topic)));
            }
            match &last {
                Some((_, Ok(Some(new)))) => batch.set_topic(row, new),
                Some((_, Err(fault))) => refuse(CLASS, batch, row, fault.clone()),
                Some((_, Ok(None))) | None => {}
            }
        }
    }
}
