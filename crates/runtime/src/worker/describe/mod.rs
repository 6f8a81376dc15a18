//! What a configuration says key by key, as Kafka Connect's validation answers it.
//!
//! Place: the control plane alone; REST prints it, creating a connector refuses what is wrong in it.
//! Texts, counts and order of the entries are Connect's. What we refuse and Connect does not
//! ([`ConfigInfos::refused`]), and what will end the tasks ([`ConfigInfos::notices`]), is kept apart, so
//! that programs made for Connect find what they know.

mod clients;
mod enrich;

pub(super) use enrich::{is_header_only, matches, no_such_version};

use super::{Direction, Worker};
use api::{Check, Connector, ConnectorPlugin};
use config::connector::{ConnectorConfig, SinkConnectorConfig, sink_rules};
use config::providers::{Resolved, has_reference};
use config::source::SourceConnectorConfig;
use config::{
    Config, ConfigDef, ConfigError, ConfigKey, ConfigValue, Given, HIDDEN, Props, Type, Value,
};

const CLASS: &str = "connector.class";
const VERSION: &str = "connector.plugin.version";
const NULL: &str = "Null value can not be supplied as the configuration value.";

/// A key: its definition, and what the configuration says about it.
#[derive(Clone, Debug)]
pub struct ConfigInfo {
    /// `None` for a key that nothing defines.
    pub key: Option<ConfigKey>,
    pub value: ConfigValue,
}

/// A whole configuration.
#[derive(Clone, Debug, Default)]
pub struct ConfigInfos {
    /// The class as the user wrote it.
    pub name: String,
    /// As Connect counts: messages of the connector's keys, keys of converters and clients.
    pub error_count: usize,
    pub groups: Vec<String>,
    pub configs: Vec<ConfigInfo>,
    /// Keys of ours beside Connect's own, of connectors that Connect has too.
    pub own: Vec<ConfigInfo>,
    /// What is refused though Connect's validation lets it pass.
    pub refused: Vec<ConfigError>,
    /// What helps to mend the errors.
    pub hints: Vec<ConfigError>,
    /// What is worth saying once.
    pub notices: Vec<String>,
    /// What was found outside, where that was asked for.
    pub checks: Vec<Check>,
}

impl ConfigInfos {
    /// Connect's text of everything that is wrong; `None` if nothing is.
    pub fn refusal(&self) -> Option<String> {
        let of_keys = self.configs.iter().flat_map(|info| &info.value.errors);
        let texts: Vec<&str> = of_keys.map(String::as_str).collect();
        let own: Vec<String> =
            self.refused.iter().map(|e| format!("{}: {}", e.key, e.message)).collect();
        let count = texts.len() + own.len();
        if count == 0 {
            return None;
        }
        let mut text = format!(
            "Connector configuration is invalid and contains the following {count} error(s):"
        );
        for line in texts.into_iter().chain(own.iter().map(String::as_str)) {
            text.push('\n');
            text.push_str(line);
        }
        text.push_str(
            "\nYou can also find the above list of errors at the endpoint \
             `/connector-plugins/{connectorType}/config/validate`",
        );
        Some(text)
    }

    /// Adds an error of a key, defined or not.
    pub(super) fn add_error(&mut self, raw: &Props, key: &str, text: String, hint: Option<String>) {
        self.hints.extend(hint.map(|hint| ConfigError::new(key, hint)));
        self.error_count += 1;
        match self.entry(key) {
            Some(info) => info.value.errors.push(text),
            None => self.configs.push(clients::undefined(raw, key, text)),
        }
    }

    /// Secrets stay with those who keep them: what was written as a reference is told as one.
    pub(super) fn hide_secrets(&mut self, raw: &Props, secrets: &Resolved) {
        self.name = secrets.hide_of_key(raw, CLASS, &self.name);
        for group in &mut self.groups {
            *group = secrets.hide(group);
        }
        for info in self.configs.iter_mut().chain(&mut self.own) {
            let value = &mut info.value;
            if is_named_by_values(&value.name) {
                value.name = secrets.hide(&value.name);
                if let Some(key) = &mut info.key {
                    key.name = secrets.hide(&key.name);
                    key.display_name = secrets.hide(&key.display_name);
                    key.group = key.group.take().map(|group| secrets.hide(&group));
                }
            }
            let written = raw.get(&value.name).filter(|written| has_reference(written));
            if let Some(written) = written.filter(|_| value.value.is_some()) {
                let hidden = info.key.as_ref().is_some_and(|key| key.kind == Type::Password);
                value.value = Some(if hidden { HIDDEN } else { written }.to_owned());
            }
            for error in &mut value.errors {
                *error = secrets.hide_of_key(raw, &value.name, error);
            }
        }
        for error in self.refused.iter_mut().chain(&mut self.hints) {
            error.message = secrets.hide_of_key(raw, &error.key, &error.message);
            error.key = secrets.hide(&error.key);
        }
        for notice in &mut self.notices {
            *notice = secrets.hide(notice);
        }
        for check in &mut self.checks {
            check.what = secrets.hide(&check.what);
            check.name = secrets.hide(&check.name);
            check.hint = check.hint.take().map(|hint| secrets.hide(&hint));
        }
    }

    fn entry(&mut self, key: &str) -> Option<&mut ConfigInfo> {
        self.configs.iter_mut().find(|info| info.value.name == key)
    }
}

impl Worker {
    /// Checks a configuration that is to be created, in Connect's words; gives what is worth saying.
    ///
    /// # Errors
    /// Everything that is wrong, in one text.
    pub fn check_connector_config(&self, given: &Given) -> Result<Vec<String>, String> {
        let infos = self.describe_config(given)?;
        match infos.refusal() {
            Some(text) => Err(text),
            None => Ok(infos.notices),
        }
    }

    /// What a configuration says, key by key.
    ///
    /// # Errors
    /// Nothing can be said: the class is missing or unknown, a secret cannot be looked up.
    pub fn describe_config(&self, given: &Given) -> Result<ConfigInfos, String> {
        let secrets = self.providers.resolve(&given.props).map_err(|errors| errors.to_string())?;
        let resolved = Given { props: secrets.props.clone(), nulls: given.nulls.clone() };
        match self.describe_resolved(&given.props, &resolved) {
            Ok(mut infos) => {
                infos.hide_secrets(&given.props, &secrets);
                Ok(infos)
            }
            Err(text) => Err(secrets.hide_of_key(&given.props, CLASS, &text)),
        }
    }

    fn describe_resolved(&self, raw: &Props, resolved: &Given) -> Result<ConfigInfos, String> {
        let Some(class) = resolved.props.get(CLASS) else {
            return Err("Connector config contains no connector type".to_owned());
        };
        let plugin = (self.plugins.connector)(class, &resolved.props)
            .map_err(|_| self.no_such_connector(class))?;
        let connector = (plugin.make)();
        let mut infos = ConfigInfos { name: class.to_owned(), ..ConfigInfos::default() };
        if self.describe_wrong_version(plugin, resolved, &mut infos) {
            return Ok(infos);
        }
        self.describe_framework(&connector, plugin.version, resolved, &mut infos);
        self.describe_chain(resolved, &mut infos);
        let of_connector = connector.config_def(class);
        describe_connector(&of_connector, resolved, &mut infos);
        self.describe_nulls(resolved, &of_connector, &mut infos);
        infos.error_count = infos.configs.iter().map(|info| info.value.errors.len()).sum();
        self.describe_converters(resolved, &mut infos);
        if plugin.class.starts_with("org.apache.kafka.") {
            set_own_apart(&mut infos, resolved);
        }
        self.add_findings(raw, plugin.class, &mut infos);
        infos.groups = groups(&infos);
        Ok(infos)
    }

    fn no_such_connector(&self, class: &str) -> String {
        let all = (self.plugins.connectors)().join(", ");
        format!(
            "Failed to find any class that implements Connector and which name matches {class}, \
             available connectors are: {all}"
        )
    }

    /// A version that there is not: nothing is known then but the keys of every connector.
    fn describe_wrong_version(
        &self,
        plugin: &ConnectorPlugin,
        given: &Given,
        infos: &mut ConfigInfos,
    ) -> bool {
        let asked = given.props.get(VERSION).map(str::trim).filter(|asked| !asked.is_empty());
        let Some(asked) = asked.filter(|asked| !matches(asked, plugin.version)) else {
            return false;
        };
        let mut def = ConnectorConfig::def();
        offer_version(&mut def, plugin.version);
        let mut values = def.validate_with(|key| given.entry(key));
        let text = no_such_version(plugin.class, asked, plugin.version);
        add(&mut values, [CLASS, VERSION].map(|key| ConfigError::new(key, &*text)).to_vec());
        for (key, mut value) in def.keys().cloned().zip(values) {
            value.visible = key.name == VERSION || !key.name.ends_with(".plugin.version");
            infos.error_count += value.errors.len();
            infos.configs.push(ConfigInfo { key: Some(key), value });
        }
        infos.groups = groups(infos);
        true
    }

    fn describe_framework(
        &self,
        connector: &Connector,
        version: &str,
        given: &Given,
        infos: &mut ConfigInfos,
    ) {
        let mut def = framework(connector);
        offer_version(&mut def, version);
        self.enrich_converters(&mut def, given);
        let mut values = def.validate_with(|key| given.entry(key));
        if let Connector::Sink(_) = connector {
            add(&mut values, rules(given));
        }
        let nulls = def.keys().filter(|key| given.nulls.contains(&key.name));
        add(&mut values, nulls.map(|key| ConfigError::new(&*key.name, NULL)).collect());
        let keys: Vec<ConfigKey> = def.keys().cloned().collect();
        for (key, mut value) in keys.into_iter().zip(values) {
            self.resolve_converter(&key, &mut value, given);
            infos.configs.push(ConfigInfo { key: Some(key), value });
        }
    }

    /// Nulls of keys that nobody defines, first of all; nulls of the connector's own keys.
    fn describe_nulls(&self, given: &Given, of_connector: &ConfigDef, infos: &mut ConfigInfos) {
        let mut undefined = Vec::new();
        for key in &given.nulls {
            let defined = infos.entry(key).is_some();
            if of_connector.get(key).is_some() {
                infos.refused.push(ConfigError::new(&**key, NULL));
            } else if !defined {
                let value = ConfigValue {
                    name: key.clone(),
                    value: None,
                    errors: vec![NULL.to_owned()],
                    recommended: Vec::new(),
                    visible: true,
                };
                undefined.push(ConfigInfo { key: None, value });
            }
        }
        undefined.append(&mut infos.configs);
        infos.configs = undefined;
    }

    /// What our own checks find beyond Connect's.
    fn add_findings(&self, raw: &Props, class: &str, infos: &mut ConfigInfos) {
        let of_connect = class.starts_with("org.apache.kafka.");
        let (errors, later, notices) = match self.findings(raw) {
            Ok(found) => found.parts(),
            Err(errors) => (errors.errors, Vec::new(), Vec::new()),
        };
        infos.notices.extend(notices);
        infos.notices.extend(
            later
                .into_iter()
                .map(|error| format!("{}: {}; the tasks will not start", error.key, error.message)),
        );
        for error in errors {
            let (text, hint) = match error.message.split_once("\n  hint: ") {
                Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
                None => (error.message.clone(), None),
            };
            let client = clients::is_override(&error.key);
            if let Some(info) = infos.entry(&error.key).filter(|i| !i.value.errors.is_empty()) {
                let known = info.value.errors.contains(&text);
                let hint = hint.or_else(|| (!known).then_some(text));
                infos.hints.extend(hint.map(|hint| ConfigError::new(error.key, hint)));
                continue;
            }
            if of_connect && !client && !self.is_found_by_connect(&error.key) {
                let known = |e: &ConfigError| e.key == error.key;
                if !infos.refused.iter().any(known) {
                    infos.refused.push(error);
                }
                continue;
            }
            infos.add_error(raw, &error.key, text, hint);
        }
    }
}

impl Worker {
    /// What Connect's own distributed worker checks by itself: one that is alone lets it pass.
    fn is_found_by_connect(&self, key: &str) -> bool {
        const OF_CLUSTERS: &str = "config.storage.topic";
        let checked = ["exactly.once.support", "transaction.boundary"].contains(&key);
        checked && self.props.get(OF_CLUSTERS).is_some()
    }
}

/// Whether a part of the key is the value of another: the name of a transform, of a group of topics.
fn is_named_by_values(key: &str) -> bool {
    ["transforms.", "predicates.", "topic.creation."].iter().any(|prefix| key.starts_with(prefix))
}

fn offer_version(def: &mut ConfigDef, version: &str) {
    if let Some(key) = def.get_mut(VERSION) {
        key.default = Some(Some(version.to_owned()));
        key.recommended = vec![version.to_owned()];
    }
}

/// The framework's keys for a connector.
fn framework(connector: &Connector) -> ConfigDef {
    match connector {
        Connector::Sink(_) => SinkConnectorConfig::def(),
        Connector::Source(_) => SourceConnectorConfig::def(),
    }
}

/// The keys of a connector as `GET /connector-plugins/{p}/config` lists them: its own, then the
/// framework's.
pub(super) fn connector_keys(connector: &Connector, class: &str) -> Vec<ConfigKey> {
    let own = connector.config_def(class);
    let apart = class.starts_with("org.apache.kafka.");
    let framework = framework(connector);
    let others = framework.keys().filter(|key| own.get(&key.name).is_none());
    let all = own.keys().chain(others);
    all.filter(|key| !apart || key.since.is_none()).cloned().collect()
}

/// The rules between the keys of a sink.
fn rules(given: &Given) -> Vec<ConfigError> {
    let text = |key: &str| given.props.get(key).unwrap_or_default();
    let topics = match Value::parse(Type::List, text("topics")) {
        Ok(Value::List(topics)) => topics,
        _ => Vec::new(),
    };
    sink_rules(&topics, text("topics.regex"), text("errors.deadletterqueue.topic.name"))
}

fn add(values: &mut [ConfigValue], faults: Vec<ConfigError>) {
    for fault in faults {
        if let Some(value) = values.iter_mut().find(|value| value.name == fault.key) {
            value.errors.push(fault.message);
        }
    }
}

/// The connector's own keys; they take the place of the framework's of the same name.
fn describe_connector(def: &ConfigDef, given: &Given, infos: &mut ConfigInfos) {
    // A null of one of its own keys is said elsewhere.
    let entry = |key: &str| given.props.get(key).map(Some);
    for (key, value) in def.keys().zip(def.validate_with(entry)) {
        let info = ConfigInfo { key: Some(key.clone()), value };
        match infos.entry(&key.name) {
            Some(place) => *place = info,
            None => infos.configs.push(info),
        }
    }
}

/// Keys that Connect does not have, unless they are set or wrong.
fn set_own_apart(infos: &mut ConfigInfos, given: &Given) {
    let ours = |info: &ConfigInfo| {
        let added = info.key.as_ref().is_some_and(|key| key.since.is_some());
        added && info.value.errors.is_empty() && given.entry(&info.value.name).is_none()
    };
    let (own, kept) = std::mem::take(&mut infos.configs).into_iter().partition(ours);
    (infos.own, infos.configs) = (own, kept);
}

fn groups(infos: &ConfigInfos) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for info in &infos.configs {
        let group = info.key.as_ref().and_then(|key| key.group.clone());
        groups.extend(group.filter(|group| !groups.contains(group)));
    }
    groups
}

impl Worker {
    /// Which way a connector's records go; `None` for a class that does not exist.
    pub fn direction(&self, raw: &Props) -> Option<Direction> {
        match self.connector(raw).ok()? {
            Connector::Source(_) => Some(Direction::Source),
            Connector::Sink(_) => Some(Direction::Sink),
        }
    }

    /// The version of a connector's plugin.
    pub fn version(&self, raw: &Props) -> Option<&'static str> {
        let class = raw.get(CLASS)?;
        (self.plugins.connector)(class, raw).ok().map(|plugin| plugin.version)
    }
}
