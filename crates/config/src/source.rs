//! The keys that the framework itself reads from a source connector's configuration.
//!
//! Names, types, defaults, groups, orders, widths and labels are Kafka Connect's. Keys of our own:
//! `errors.tolerance.max.ratio`, `config.unknown.keys` and, as sinks have them, those of the
//! dead-letter topic.

use crate::connector::{ConnectorConfig, UnknownKeys};
use crate::error::{ConfigError, ConfigErrors};
use crate::regexes::JavaRegex;
use crate::validator::{Validator, invalid};
use crate::{Config, Props, config_enum};

config_enum! {
    /// Whether a connector must give each record exactly once.
    pub enum ExactlyOnceSupport {
        /// The configuration is refused where the worker or the connector cannot.
        Required = "required",
        /// Where they can.
        Requested = "requested",
    }
}

config_enum! {
    /// What ends a transaction of an exactly-once source task.
    pub enum TransactionBoundary {
        /// A time.
        Interval = "interval",
        /// Every poll of the task.
        Poll = "poll",
        /// The task itself says so.
        Connector = "connector",
    }
}

/// Keys of every source connector.
#[derive(Config, Clone, Debug)]
#[config(importance = low)]
pub struct SourceConnectorConfig {
    /// Keys of every connector.
    #[config(flatten)]
    pub common: ConnectorConfig,

    /// Groups of topics that are created with settings of their own, in the order in which they are
    /// tried. What a group matches and sets is said by topic.creation.GROUP.include, .exclude,
    /// .partitions, .replication.factor and further topic settings.
    #[config(key = "topic.creation.groups", default = "", group = "Topic Creation", order = 1,
        width = long, display = "Topic Creation Groups", validator = Validator::UniqueAliases)]
    pub topic_creation_groups: Vec<String>,

    /// Whether each record must reach Kafka exactly once: required refuses the configuration where
    /// the worker or the connector cannot do that.
    #[config(key = "exactly.once.support", default = "requested", group = "Exactly Once Support",
        order = 2, width = short, importance = medium, display = "Exactly once support", case_insensitive)]
    pub exactly_once_support: ExactlyOnceSupport,

    /// What ends a transaction: poll (every poll of a task), interval (a time) or connector (the task
    /// says so).
    #[config(key = "transaction.boundary", default = "poll", group = "Exactly Once Support",
        order = 3, width = short, importance = medium, display = "Transaction Boundary", case_insensitive)]
    pub transaction_boundary: TransactionBoundary,

    /// Milliseconds after which a transaction ends where transaction.boundary is interval; the
    /// worker's offset.flush.interval.ms if not set.
    #[config(key = "transaction.boundary.interval.ms", at_least(0), group = "Exactly Once Support",
        order = 4, width = short, display = "Transaction boundary interval")]
    pub transaction_boundary_interval_ms: Option<i64>,

    /// Topic for this connector's offsets, instead of the worker's.
    #[config(key = "offsets.storage.topic", group = "offsets.topic", order = 1, width = long,
        display = "Offsets topic", non_empty)]
    pub offsets_storage_topic: Option<String>,

    /// Topic for records that could not be sent; none if blank.
    #[config(key = "errors.deadletterqueue.topic.name", default = "", group = "Error Handling",
        order = 6, width = medium, display = "Dead Letter Queue Topic Name", importance = medium,
        since = "0.1")]
    pub dead_letter_topic: String,

    /// Replication factor of the dead letter topic, if it has to be created. Where it is not set, or
    /// there are fewer brokers, the broker's default is used.
    #[config(key = "errors.deadletterqueue.topic.replication.factor", default = 3,
        group = "Error Handling", order = 7, width = medium, importance = medium,
        display = "Dead Letter Queue Topic Replication Factor", since = "0.1")]
    pub dead_letter_replication_factor: i16,

    /// Whether records in the dead letter topic get headers that say where they come from and why
    /// they failed.
    #[config(key = "errors.deadletterqueue.context.headers.enable", default = false,
        group = "Error Handling", order = 8, width = medium, importance = medium,
        display = "Enable Error Context Headers", since = "0.1")]
    pub dead_letter_context_headers: bool,

    /// The share of failed records, of the last 100 or more, above which the task stops even
    /// though errors are tolerated: then the definition is wrong, not the record. 1 turns this off.
    #[config(key = "errors.tolerance.max.ratio", default = 0.5, range(0.0, 1.0),
        group = "Error Handling", order = 9, width = short, display = "Error Tolerance Ratio",
        importance = medium, since = "0.1")]
    pub errors_tolerance_max_ratio: f64,

    /// What a key that nothing reads does: warn reports it once in the log, fail refuses the
    /// configuration, ignore does nothing.
    #[config(key = "config.unknown.keys", default = "warn", group = "Common", order = 15,
        width = short, display = "Unknown Keys", since = "0.1")]
    pub unknown_keys: UnknownKeys,

    /// Whether a validation of this configuration also looks outside: whether Kafka, the topics and
    /// the connector's other side can be reached and used. It has no effect on a connector that runs.
    #[config(key = "copycat.validate.connect", default = false, group = "Common", order = 16,
        width = short, display = "Validate Connections", since = "0.1")]
    pub validate_connect: bool,
}

/// How topics are made that a source writes to and that are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicGroup {
    pub name: String,
    /// Regular expressions; one of them must match the whole name.
    pub include: Vec<String>,
    /// Regular expressions; none of them may match the whole name.
    pub exclude: Vec<String>,
    /// -1: the broker's default.
    pub partitions: i32,
    /// -1: the broker's default.
    pub replication_factor: i16,
    /// Further topic settings.
    pub configs: Vec<(String, String)>,
}

/// What every key of topic creation begins with.
pub const TOPIC_CREATION_PREFIX: &str = "topic.creation.";

/// The groups of `topic.creation.*`, `default` last; `None` where no such key is set, so that topics
/// are left to the broker.
///
/// # Errors
/// Every wrong or missing value.
pub fn topic_groups(props: &Props) -> Result<Option<Vec<TopicGroup>>, ConfigErrors> {
    if !props.keys().any(|key| key.starts_with(TOPIC_CREATION_PREFIX)) {
        return Ok(None);
    }
    let names = props.get("topic.creation.groups").unwrap_or_default();
    let names =
        names.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "default");
    let mut errors = Vec::new();
    let default = group("default", None, props, &mut errors);
    let mut groups: Vec<TopicGroup> =
        names.map(|name| group(name, Some(&default), props, &mut errors)).collect();
    groups.push(default);
    if errors.is_empty() { Ok(Some(groups)) } else { Err(ConfigErrors { errors }) }
}

fn group(
    name: &str,
    default: Option<&TopicGroup>,
    props: &Props,
    errors: &mut Vec<ConfigError>,
) -> TopicGroup {
    let prefix = format!("{TOPIC_CREATION_PREFIX}{name}.");
    let own = props.with_prefix(&prefix);
    let mut number = |key: &str, otherwise: Option<i64>, max: i64| -> i64 {
        let full = format!("{prefix}{key}");
        let Some(text) = own.get(key) else {
            if otherwise.is_none() {
                let text = format!(
                    "Missing required configuration \"{full}\" which has no default value."
                );
                errors.push(ConfigError::new(&full, text));
            }
            return otherwise.unwrap_or(-1);
        };
        let value = text.trim().parse::<i64>().ok().filter(|n| *n == -1 || (1..=max).contains(n));
        if value.is_none() {
            let what = "Value must be -1 (the broker's default), or 1 or more";
            errors.push(ConfigError::new(&full, invalid(&full, &text, what)));
        }
        value.unwrap_or(-1)
    };
    let partitions = number("partitions", default.map(|d| d.partitions.into()), i32::MAX.into());
    let factor =
        number("replication.factor", default.map(|d| d.replication_factor.into()), i16::MAX.into());
    let mut patterns = |key: &str, required: bool| -> Vec<String> {
        let full = format!("{prefix}{key}");
        let list: Vec<String> = own
            .get(key)
            .unwrap_or_default()
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect();
        if list.is_empty() && required {
            errors.push(ConfigError::missing(&full));
        }
        for pattern in &list {
            if let Err(fault) = JavaRegex::new(pattern) {
                errors.push(ConfigError::new(&full, invalid(&full, pattern, &fault)));
            }
        }
        list
    };
    let is_default = default.is_none();
    let include = if is_default { Vec::new() } else { patterns("include", true) };
    let exclude = if is_default { Vec::new() } else { patterns("exclude", false) };
    const OWN: [&str; 4] = ["include", "exclude", "partitions", "replication.factor"];
    let configs = own.iter().filter(|(key, _)| !OWN.contains(key));
    TopicGroup {
        name: name.to_owned(),
        include,
        exclude,
        partitions: partitions as i32,
        replication_factor: factor as i16,
        configs: configs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn props(pairs: &[(&str, &str)]) -> Props {
        pairs.iter().copied().collect()
    }

    #[test]
    fn groups_take_what_they_do_not_say_from_the_default() {
        assert_eq!(topic_groups(&props(&[("topic", "x")])).unwrap(), None);
        let groups = topic_groups(&props(&[
            ("topic.creation.groups", "compacted, default"),
            ("topic.creation.default.partitions", "3"),
            ("topic.creation.default.replication.factor", "-1"),
            ("topic.creation.compacted.include", "users.*, accounts"),
            ("topic.creation.compacted.cleanup.policy", "compact"),
        ]));
        let groups = groups.unwrap().unwrap();
        let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["compacted", "default"]);
        assert_eq!((groups[0].partitions, groups[0].replication_factor), (3, -1));
        assert_eq!(groups[0].include, ["users.*", "accounts"]);
        assert_eq!(groups[0].configs, [("cleanup.policy".to_owned(), "compact".to_owned())]);
    }

    #[test]
    fn everything_wrong_is_named_at_once() {
        let errors = topic_groups(&props(&[
            ("topic.creation.groups", "a"),
            ("topic.creation.default.partitions", "0"),
            ("topic.creation.a.include", "("),
        ]));
        let keys: Vec<String> = errors.unwrap_err().errors.into_iter().map(|e| e.key).collect();
        assert_eq!(
            keys,
            [
                "topic.creation.default.partitions",
                "topic.creation.default.replication.factor",
                "topic.creation.a.include"
            ]
        );
    }
}
