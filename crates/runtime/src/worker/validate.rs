//! Checks a connector's configuration before anything runs: every wrong key at once.

use super::Worker;
use api::{Connector, ExactlyOnce, SourceConnector};
use config::connector::{SinkConnectorConfig, UnknownKeys};
use config::source::{
    ExactlyOnceSupport, SourceConnectorConfig, TransactionBoundary, topic_groups,
};
use config::suggest::nearest;
use config::unknown::{CONNECTOR_PREFIXES, UnknownKey, name_misspelt, unknown_keys};
use config::worker;
use config::{Config, ConfigError, ConfigErrors, Props};
use kafka::settings::ClientKind;

/// A configuration that can run, and what is worth saying about it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validated {
    pub notices: Vec<String>,
}

impl Worker {
    /// # Errors
    /// Everything that is wrong, each with the user's own key.
    pub fn validate(&self, raw: &Props) -> Result<Validated, ConfigErrors> {
        let resolved = self.providers.resolve(raw)?;
        let validated = self.findings(raw).and_then(|mut found| {
            found.errors.append(&mut found.refused);
            found.finish()
        });
        let mut validated = validated.map_err(|errors| resolved.hide_errors(raw, errors))?;
        for notice in &mut validated.notices {
            *notice = resolved.hide(notice);
        }
        Ok(validated)
    }

    /// Everything there is to say.
    ///
    /// # Errors
    /// What makes it impossible to say more.
    pub(super) fn findings(&self, raw: &Props) -> Result<Findings, ConfigErrors> {
        let resolved = self.providers.resolve(raw)?;
        let props = &resolved.props;
        let Some(class) = props.get("connector.class") else {
            return Err(ConfigErrors::one("connector.class", self.no_class(props)));
        };
        let plugin = (self.plugins.connector)(class, props)
            .map_err(|text| ConfigErrors::one("connector.class", text))?;
        let connector = (plugin.make)();
        let mut found = Findings::default();
        let left = resolved.unresolved.iter();
        for left in left.filter(|left| !connector.has_references(&left.key)) {
            let (key, reference) = (&left.key, &left.reference);
            found.notices.push(format!("{key}: {reference} stays as written: {}", left.reason));
        }
        let unknown = match &connector {
            Connector::Sink(_) => self.check_sink(props, &mut found),
            Connector::Source(source) => self.check_source(source.as_ref(), props, &mut found),
        };
        self.check_connector(&connector, class, props, &mut found);
        self.check_unknown(&connector, class, props, unknown, &mut found);
        self.check_converters(props, unknown, &mut found);
        self.check_transforms(props, unknown, &mut found);
        self.check_overrides(props, &mut found);
        found.refused.extend(too_many_tasks(props));
        found.notices.extend(connector.notices(props));
        Ok(found)
    }

    fn check_sink(&self, props: &Props, found: &mut Findings) -> UnknownKeys {
        let framework = SinkConnectorConfig::parse(props);
        let unknown = framework.as_ref().map_or(UnknownKeys::Warn, |config| config.unknown_keys);
        if let Ok(config) = &framework {
            let topics = config.topics.iter().map(|topic| ("topics", topic.as_str()));
            check_topic_names(topics.chain([dead_letter_topic(&config.dead_letter_topic)]), found);
        }
        found.keep(framework);
        unknown
    }

    fn check_source(
        &self,
        source: &dyn SourceConnector,
        props: &Props,
        found: &mut Findings,
    ) -> UnknownKeys {
        let framework = SourceConnectorConfig::parse(props);
        let unknown = framework.as_ref().map_or(UnknownKeys::Warn, |config| config.unknown_keys);
        found.keep(topic_groups(props));
        if let Ok(config) = &framework {
            check_topic_names([dead_letter_topic(&config.dead_letter_topic)].into_iter(), found);
            self.check_exactly_once(config, source, props, found);
            self.check_producer(source, props, found);
        }
        found.keep(framework);
        unknown
    }

    fn check_exactly_once(
        &self,
        config: &SourceConnectorConfig,
        source: &dyn SourceConnector,
        props: &Props,
        found: &mut Findings,
    ) {
        const SUPPORT: &str = "exactly.once.support";
        let enabled =
            self.config.exactly_once_source_support == worker::ExactlyOnceSupport::Enabled;
        let supported = source.exactly_once(props) == ExactlyOnce::Supported;
        if config.exactly_once_support == ExactlyOnceSupport::Required {
            if !enabled {
                let text = "This worker does not have exactly-once source support enabled.\n  hint: \
                            set exactly.once.source.support=enabled, group.id and \
                            offset.storage.topic in the worker file";
                found.errors.push(ConfigError::new(SUPPORT, text));
            } else if !supported {
                let text = "The connector does not support exactly-once semantics with the provided \
                            configuration.\n  hint: set exactly.once.support=requested, or what the \
                            connector needs for it: its page says what";
                found.errors.push(ConfigError::new(SUPPORT, text));
            }
        } else if enabled && !supported {
            found.notices.push(format!(
                "{SUPPORT}: this connector cannot give records exactly once; it gives them at least \
                 once"
            ));
        }
        if config.transaction_boundary == TransactionBoundary::Connector
            && !source.defines_boundaries(props)
        {
            let text = "The connector does not support connector-defined transaction boundaries with \
                        the given configuration. Please reconfigure it to use a different \
                        transaction boundary definition.";
            found.errors.push(ConfigError::new("transaction.boundary", text));
        }
    }

    /// Settings of the producer that the guarantee rests on.
    fn check_producer(&self, source: &dyn SourceConnector, props: &Props, found: &mut Findings) {
        let once = self.gives_once(props, source);
        let worker = self.props.with_prefix("producer.");
        let own = props.with_prefix("producer.override.");
        let set = |key: &str| {
            let of_own = own.get(key).map(|value| (format!("producer.override.{key}"), value));
            of_own.or_else(|| worker.get(key).map(|value| (format!("producer.{key}"), value)))
        };
        if let Some((key, value)) = set("transactional.id") {
            let why =
                if once { "the task has one of its own" } else { "there are no transactions" };
            found.notices.push(format!("{key}: {value} is ignored: {why}"));
        }
        if let Some((key, value)) = set("enable.idempotence")
            && once
            && value.trim().eq_ignore_ascii_case("false")
        {
            found.notices.push(format!(
                "{key}: {value} is ignored: exactly-once needs a producer that sends nothing twice"
            ));
        }
        if let Some((key, value)) = set("acks")
            && !matches!(value.trim(), "all" | "-1")
        {
            if once {
                let text = "exactly-once needs acks=all";
                found.errors.push(ConfigError::new(&key, text));
            } else {
                found.notices.push(format!(
                    "{key}: with {value}, a record counts as written before it is safe, and may be lost"
                ));
            }
        }
    }

    fn check_connector(
        &self,
        connector: &Connector,
        class: &str,
        props: &Props,
        found: &mut Findings,
    ) {
        let values = connector.config_def(class).validate(props);
        for value in &values {
            let errors = value.errors.iter();
            found.errors.extend(errors.map(|text| ConfigError::new(&value.name, text.as_str())));
        }
        if found.errors.is_empty() {
            found.errors.extend(connector.validate(props));
        }
    }

    fn check_unknown(
        &self,
        connector: &Connector,
        class: &str,
        props: &Props,
        policy: UnknownKeys,
        found: &mut Findings,
    ) {
        let framework = match connector {
            Connector::Sink(_) => SinkConnectorConfig::def(),
            Connector::Source(_) => SourceConnectorConfig::def(),
        };
        let defs = [&framework, &connector.config_def(class)];
        let mut prefixes = CONNECTOR_PREFIXES.to_vec();
        prefixes.extend(connector.known_prefixes(class));
        found.unknown(unknown_keys(props, &defs, &prefixes), policy);
    }

    /// What to say of a configuration without a class: the key it may be misspelt in, and what exists.
    fn no_class(&self, props: &Props) -> String {
        const KEY: &str = "connector.class";
        let misspelt = props.keys().find(|key| nearest(key, std::iter::once(KEY)).is_some());
        let guess = misspelt.map(|key| format!("{key} is not a key, did you mean {KEY}? "));
        let (guess, all) = (guess.unwrap_or_default(), (self.plugins.connectors)().join(", "));
        format!("Connector config contains no connector type\n  hint: {guess}There are: {all}")
    }

    fn check_transforms(&self, props: &Props, policy: UnknownKeys, found: &mut Findings) {
        let chain = self.plugins.check_chain(props);
        found.errors.extend(chain.errors);
        found.refused.extend(chain.refused);
        found.unknown(chain.unknown, policy);
        match policy {
            UnknownKeys::Ignore => {}
            UnknownKeys::Warn => found.notices.extend(chain.unused.into_iter().map(|e| e.message)),
            UnknownKeys::Fail => found.errors.extend(chain.unused),
        }
    }

    fn check_overrides(&self, props: &Props, found: &mut Findings) {
        // What concerns the worker's own keys was said when it started.
        let said = self.check_clients().unwrap_or_default();
        for kind in [ClientKind::Consumer, ClientKind::Producer, ClientKind::Admin] {
            match self.client(kind, props) {
                Ok(settings) => {
                    let notices = settings.notices.iter().map(ToString::to_string);
                    found.notices.extend(notices.filter(|notice| !said.contains(notice)));
                }
                Err(errors) => found.errors.extend(errors.errors),
            }
        }
    }
}

/// What is wrong with the number of tasks that Connect takes whatever it is.
fn too_many_tasks(props: &Props) -> Option<ConfigError> {
    /// Of one connector.
    const TASKS_MAX: i32 = 10_000;
    const KEY: &str = "tasks.max";
    let wanted: i32 = props.get(KEY)?.trim().parse().ok()?;
    let text = || {
        format!(
            "Invalid value {wanted} for configuration {KEY}: Value must be no more than {TASKS_MAX}, since \
             each task has a thread and Kafka clients of its own; a sink has no use for more tasks than its \
             topics have partitions"
        )
    };
    (wanted > TASKS_MAX).then(|| ConfigError::new(KEY, text()))
}

fn dead_letter_topic(name: &str) -> (&'static str, &str) {
    ("errors.deadletterqueue.topic.name", name.trim())
}

/// Kafka refuses other names, which could never be read or written.
fn check_topic_names<'a>(
    names: impl Iterator<Item = (&'static str, &'a str)>,
    found: &mut Findings,
) {
    for (key, name) in names.filter(|(_, name)| !name.is_empty()) {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.len() > 249 || name == "." || name == ".." || !name.chars().all(legal) {
            let text = format!(
                "Invalid value {name} for configuration {key}: not the name of a topic, which has \
                 letters, digits, '.', '_' and '-' alone, at most 249"
            );
            found.errors.push(ConfigError::new(key, text));
        }
    }
}

/// What checks come to.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<ConfigError>,
    /// What lets tasks fail that Connect starts.
    refused: Vec<ConfigError>,
    pub(super) notices: Vec<String>,
    /// Keys that nothing reads, and that are not errors of their own.
    unread: Vec<UnknownKey>,
}

impl Findings {
    fn keep<T>(&mut self, parsed: Result<T, ConfigErrors>) {
        if let Err(errors) = parsed {
            self.errors.extend(errors.errors);
        }
    }

    /// Keys that nothing reads, treated as `config.unknown.keys` says.
    pub(super) fn unknown(&mut self, keys: Vec<UnknownKey>, policy: UnknownKeys) {
        if policy == UnknownKeys::Fail {
            let errors =
                keys.into_iter().map(|key| ConfigError::new(key.key.as_str(), key.to_string()));
            self.errors.extend(errors);
            return;
        }
        if policy == UnknownKeys::Warn {
            self.notices.extend(keys.iter().map(ToString::to_string));
        }
        self.unread.extend(keys);
    }

    /// Errors, what Connect finds only when tasks start, notices; each once.
    pub(super) fn parts(mut self) -> (Vec<ConfigError>, Vec<ConfigError>, Vec<String>) {
        let refused = std::mem::take(&mut self.refused);
        let notices = std::mem::take(&mut self.notices);
        let rest = Findings { notices, ..Findings::default() }.finish();
        let notices = rest.map(|validated| validated.notices).unwrap_or_default();
        let errors = self.finish().err().unwrap_or_default().errors;
        (errors, refused, notices)
    }

    pub(super) fn finish(mut self) -> Result<Validated, ConfigErrors> {
        let mut seen = std::collections::BTreeSet::new();
        self.errors.retain(|error| seen.insert((error.key.clone(), error.message.clone())));
        self.notices.sort();
        self.notices.dedup();
        if self.errors.is_empty() {
            return Ok(Validated { notices: self.notices });
        }
        name_misspelt(&mut self.errors, &self.unread);
        Err(ConfigErrors { errors: self.errors })
    }
}
