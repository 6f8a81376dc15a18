//! The keys that the framework itself reads from a sink connector's configuration.
//!
//! Names, types, defaults, groups, orders, widths and labels are Kafka Connect's, because user
//! interfaces render them. Keys of our own: `errors.tolerance.max.ratio`, `config.unknown.keys`.

use crate::error::ConfigError;
use crate::regexes::JavaRegex;
use crate::validator::Validator;
use crate::value::{Type, Value};
use crate::{Config, ConfigValue, config_enum};

config_enum! {
    /// What happens when a secret that the configuration refers to changes.
    pub enum ReloadAction {
        /// Nothing.
        None = "none",
        /// The connector is restarted.
        Restart = "restart",
    }
}

config_enum! {
    /// What happens to a record that cannot be processed.
    pub enum Tolerance {
        /// The task fails.
        None = "none",
        /// The record is reported, and the task goes on.
        All = "all",
    }
}

config_enum! {
    /// What happens when a configuration has a key that nothing reads.
    pub enum UnknownKeys {
        /// It is reported once in the log.
        Warn = "warn",
        /// The configuration is refused.
        Fail = "fail",
        /// Nothing.
        Ignore = "ignore",
    }
}

/// Keys of every connector.
#[derive(Config, Clone, Debug)]
#[config(group = "Common", importance = low)]
pub struct ConnectorConfig {
    /// Globally unique name to use for this connector.
    #[config(importance = high, order = 1, width = medium, display = "Connector name",
        validator = Validator::Name)]
    pub name: String,

    /// Class of this connector: the full name, the simple name, or the simple name without
    /// "Connector".
    #[config(key = "connector.class", importance = high, order = 2, width = long,
        display = "Connector class")]
    pub connector_class: String,

    /// Version of the connector: an exact version or a range such as [1.0,2.0). Accepted for
    /// compatibility, without effect.
    #[config(key = "connector.plugin.version", importance = medium, order = 3, width = medium,
        display = "Connector version")]
    pub connector_plugin_version: Option<String>,

    /// Maximum number of tasks to use for this connector; no more than 10000.
    #[config(key = "tasks.max", default = 1, at_least(1), importance = high, order = 4,
        width = short, display = "Tasks max")]
    pub tasks_max: i32,

    /// (Deprecated) Whether a connector that makes more tasks than tasks.max is refused. Accepted
    /// for compatibility, without effect: no connector makes more.
    #[config(key = "tasks.max.enforce", default = true, order = 5, width = short,
        display = "Enforce tasks max")]
    pub tasks_max_enforce: bool,

    /// Converter of record keys; the worker's if not set.
    #[config(key = "key.converter", class, order = 6, width = short,
        display = "Key converter class")]
    pub key_converter: Option<String>,

    /// Version of the key converter. Accepted for compatibility, without effect.
    #[config(key = "key.converter.plugin.version", order = 7, width = short,
        display = "Key converter version")]
    pub key_converter_plugin_version: Option<String>,

    /// Converter of record values; the worker's if not set.
    #[config(key = "value.converter", class, order = 8, width = short,
        display = "Value converter class")]
    pub value_converter: Option<String>,

    /// Version of the value converter. Accepted for compatibility, without effect.
    #[config(key = "value.converter.plugin.version", order = 9, width = short,
        display = "Value converter version")]
    pub value_converter_plugin_version: Option<String>,

    /// Converter of record headers; the worker's if not set. Headers that no transform looks at are
    /// passed on as they are, unless this converter cannot read them.
    #[config(key = "header.converter", class, order = 10, width = short,
        display = "Header converter class")]
    pub header_converter: Option<String>,

    /// Version of the header converter. Accepted for compatibility, without effect.
    #[config(key = "header.converter.plugin.version", order = 11, width = short,
        display = "Header converter version")]
    pub header_converter_plugin_version: Option<String>,

    /// Aliases of the transformations to apply to records, in this order. Each has its keys below
    /// `transforms.ALIAS.`: `type`, its class; `predicate`, the alias of a predicate that chooses the
    /// records it is for; `negate`, whether it is for the others instead; and those of the class.
    #[config(default = "", group = "Transforms", order = 12, width = long,
        display = "Transforms", validator = Validator::UniqueAliases)]
    pub transforms: Vec<String>,

    /// Aliases of the predicates that transformations use. Each has its keys below
    /// `predicates.ALIAS.`: `type`, its class, and those of the class.
    #[config(default = "", group = "Predicates", order = 13, width = long,
        display = "Predicates", validator = Validator::UniqueAliases)]
    pub predicates: Vec<String>,

    /// What to do when a secret that this configuration refers to changes: none or restart.
    /// Accepted for compatibility, without effect: secrets are read when a task starts.
    #[config(key = "config.action.reload", default = "restart", order = 14, width = medium,
        display = "Reload Action")]
    pub config_action_reload: ReloadAction,

    /// How long a failed operation on a record is tried again, in milliseconds; -1 is for ever.
    /// Accepted for compatibility, without effect: what is outside the record is retried for ever,
    /// the record's own errors never.
    #[config(key = "errors.retry.timeout", default = 0, group = "Error Handling", order = 1,
        importance = medium, width = medium, display = "Retry Timeout for Errors")]
    pub errors_retry_timeout_ms: i64,

    /// The longest pause between two tries, in milliseconds. Accepted for compatibility, without
    /// effect: pauses grow up to 10 seconds.
    #[config(key = "errors.retry.delay.max.ms", default = 60000, group = "Error Handling",
        order = 2, importance = medium, width = medium,
        display = "Maximum Delay Between Retries for Errors")]
    pub errors_retry_delay_max_ms: i64,

    /// What a record that cannot be processed does: none fails the task, all reports the record
    /// and goes on.
    #[config(key = "errors.tolerance", default = "none", group = "Error Handling", order = 3,
        importance = medium, width = short, display = "Error Tolerance")]
    pub errors_tolerance: Tolerance,

    /// Whether each record's error is written to the log; else one line stands for all those of a
    /// batch.
    #[config(key = "errors.log.enable", default = false, group = "Error Handling", order = 4,
        importance = medium, width = short, display = "Log Errors")]
    pub errors_log_enable: bool,

    /// Whether the log entry of an error tells topic, partition, offset and timestamp in Connect's
    /// words, and messages may quote the value that is refused: those of databases in the log, those of
    /// transforms also in dead letters.
    #[config(key = "errors.log.include.messages", default = false, group = "Error Handling",
        order = 5, importance = medium, width = short, display = "Log Error Details")]
    pub errors_log_include_messages: bool,
}

/// Keys of every sink connector.
#[derive(Config, Clone, Debug)]
#[config(group = "Common", importance = medium, check = check_sink)]
pub struct SinkConnectorConfig {
    /// Keys of every connector.
    #[config(flatten)]
    pub common: ConnectorConfig,

    /// Topics to consume, separated by commas.
    #[config(default = "", importance = high, order = 4, width = long, display = "Topics")]
    pub topics: Vec<String>,

    /// Regular expression that the whole name of a topic must match to be consumed. Only one of
    /// topics and topics.regex may be set.
    #[config(key = "topics.regex", default = "", regex, importance = high, order = 4,
        width = long, display = "Topics regex")]
    pub topics_regex: String,

    /// Topic for records that could not be processed; none if blank.
    #[config(key = "errors.deadletterqueue.topic.name", default = "", group = "Error Handling",
        order = 6, width = medium, display = "Dead Letter Queue Topic Name")]
    pub dead_letter_topic: String,

    /// Replication factor of the dead letter topic, if it has to be created. Where it is not set, or
    /// there are fewer brokers, the broker's default is used.
    #[config(key = "errors.deadletterqueue.topic.replication.factor", default = 3,
        group = "Error Handling", order = 7, width = medium,
        display = "Dead Letter Queue Topic Replication Factor")]
    pub dead_letter_replication_factor: i16,

    /// Whether records in the dead letter topic get headers that say where they come from and why
    /// they failed.
    #[config(key = "errors.deadletterqueue.context.headers.enable", default = false,
        group = "Error Handling", order = 8, width = medium,
        display = "Enable Error Context Headers")]
    pub dead_letter_context_headers: bool,

    /// The share of failed records, of the last 100 or more, above which the task stops even
    /// though errors are tolerated: then the definition is wrong, not the record. 1 turns this off.
    #[config(key = "errors.tolerance.max.ratio", default = 0.5, range(0.0, 1.0),
        group = "Error Handling", order = 9, width = short, display = "Error Tolerance Ratio",
        since = "0.1")]
    pub errors_tolerance_max_ratio: f64,

    /// What a key that nothing reads does: warn reports it once in the log, fail refuses the
    /// configuration, ignore does nothing.
    #[config(key = "config.unknown.keys", default = "warn", importance = low, order = 15,
        width = short, display = "Unknown Keys", since = "0.1")]
    pub unknown_keys: UnknownKeys,

    /// Whether a validation of this configuration also looks outside: whether Kafka, the topics and
    /// the connector's other side can be reached and used. It has no effect on a connector that runs.
    #[config(key = "copycat.validate.connect", default = false, importance = low, order = 16,
        width = short, display = "Validate Connections", since = "0.1")]
    pub validate_connect: bool,
}

fn check_sink(config: &SinkConnectorConfig) -> Vec<ConfigError> {
    sink_rules(&config.topics, &config.topics_regex, &config.dead_letter_topic)
}

/// Checks a sink's configuration key by key: the definition, the rules between keys, and explicit
/// nulls. The look-up answers `None` for an absent key and `Some(None)` for a null.
pub fn validate_sink<'a>(entry: impl Fn(&str) -> Option<Option<&'a str>>) -> Vec<ConfigValue> {
    let def = SinkConnectorConfig::def();
    let mut values = def.validate_with(&entry);
    let text = |key: &str| entry(key).flatten().unwrap_or_default();
    let topics = match Value::parse(Type::List, text("topics")) {
        Ok(Value::List(topics)) => topics,
        _ => Vec::new(),
    };
    let dead_letters = text("errors.deadletterqueue.topic.name");
    let mut faults = sink_rules(&topics, text("topics.regex"), dead_letters);
    let nulls = def.keys().filter(|key| entry(&key.name) == Some(None));
    faults.extend(nulls.map(|key| {
        ConfigError::new(&key.name, "Null value can not be supplied as the configuration value.")
    }));
    for fault in faults {
        if let Some(value) = values.iter_mut().find(|value| value.name == fault.key) {
            value.errors.push(fault.message);
        }
    }
    values
}

/// The rules between the keys of a sink: exactly one way to name topics, and never the dead letter
/// topic among them. The validation endpoint adds them to the messages of each key.
pub fn sink_rules(topics: &[String], regex: &str, dead_letters: &str) -> Vec<ConfigError> {
    let on_both =
        |text: &str| ["topics", "topics.regex"].map(|key| ConfigError::new(key, text)).to_vec();
    let has_regex = !regex.trim().is_empty();
    match (topics.is_empty(), has_regex) {
        (true, false) => return on_both("Must configure one of topics or topics.regex"),
        (false, true) => {
            let text = "topics and topics.regex are mutually exclusive options, but both are set.";
            return on_both(text);
        }
        _ => {}
    }
    let name = dead_letters.trim();
    if name.is_empty() {
        return Vec::new();
    }
    if topics.iter().any(|topic| topic == name) {
        let list = topics.join(", ");
        return vec![ConfigError::new(
            "topics",
            format!(
                "The DLQ topic '{name}' may not be included in the list of topics \
                 ('topics=[{list}]') consumed by the connector"
            ),
        )];
    }
    if has_regex && JavaRegex::new(regex).is_ok_and(|pattern| pattern.matches(name)) {
        return vec![ConfigError::new(
            "topics.regex",
            format!(
                "The DLQ topic '{name}' may not be matched by the regex for the topics \
                 ('topics.regex={regex}') consumed by the connector"
            ),
        )];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Props;

    fn messages(pairs: &[(&str, &str)]) -> Vec<String> {
        let base = [("name", "n"), ("connector.class", "X")];
        let props: Props = base.iter().chain(pairs).copied().collect();
        let errors = SinkConnectorConfig::parse(&props).unwrap_err().errors;
        errors.into_iter().map(|error| format!("{}: {}", error.key, error.message)).collect()
    }

    #[test]
    fn topics_or_regex() {
        let none = "Must configure one of topics or topics.regex";
        assert_eq!(messages(&[]), [format!("topics: {none}"), format!("topics.regex: {none}")]);
        let both = "topics and topics.regex are mutually exclusive options, but both are set.";
        assert_eq!(
            messages(&[("topics", "a"), ("topics.regex", "b")]),
            [format!("topics: {both}"), format!("topics.regex: {both}")]
        );
    }

    #[test]
    fn dead_letter_topic_is_not_consumed() {
        let key = "errors.deadletterqueue.topic.name";
        assert_eq!(
            messages(&[("topics", "t,d"), (key, "d")]),
            ["topics: The DLQ topic 'd' may not be included in the list of topics \
              ('topics=[t, d]') consumed by the connector"]
        );
        assert_eq!(
            messages(&[("topics.regex", "d.*"), (key, "dx")]),
            ["topics.regex: The DLQ topic 'dx' may not be matched by the regex for the topics \
              ('topics.regex=d.*') consumed by the connector"]
        );
    }

    #[test]
    fn every_wrong_key_is_reported_at_once() {
        let found = messages(&[
            ("topics", "t,u,t"),
            ("tasks.max", "0"),
            ("errors.tolerance", "ALL"),
            ("errors.tolerance.max.ratio", "1.5"),
        ]);
        let ratio = "errors.tolerance.max.ratio";
        assert_eq!(
            found,
            [
                "tasks.max: Invalid value 0 for configuration tasks.max: Value must be at least 1"
                    .to_owned(),
                "errors.tolerance: Invalid value ALL for configuration errors.tolerance: \
                 String must be one of: none, all"
                    .to_owned(),
                "topics: Configuration 'topics' values must not be duplicated.".to_owned(),
                format!(
                    "{ratio}: Invalid value 1.5 for configuration {ratio}: \
                     Value must be no more than 1.0"
                ),
            ]
        );
    }
}
