//! Checks a connector's configuration before anything runs: every wrong key at once.

use super::Worker;
use api::SinkConnector;
use config::connector::{SinkConnectorConfig, UnknownKeys};
use config::unknown::{CONNECTOR_PREFIXES, unknown_keys};
use config::{Config, ConfigDef, ConfigError, ConfigErrors, Props};
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
        let props = &resolved.props;
        let Some(class) = props.get("connector.class") else {
            let text = "Connector config contains no connector type";
            return Err(ConfigErrors::one("connector.class", text));
        };
        let plugin = (self.plugins.connector)(class, props)
            .map_err(|text| ConfigErrors::one("connector.class", text))?;
        let connector = (plugin.make)();
        let mut found = Findings::default();
        for left in &resolved.unresolved {
            let (key, reference) = (&left.key, &left.reference);
            found.notices.push(format!("{key}: {reference} stays as written: {}", left.reason));
        }
        let framework = SinkConnectorConfig::parse(props);
        let unknown = framework.as_ref().map_or(UnknownKeys::Warn, |config| config.unknown_keys);
        found.keep(framework);
        self.check_connector(connector.as_ref(), class, props, &mut found);
        self.check_unknown(connector.as_ref(), class, props, unknown, &mut found);
        self.check_converters(props, &mut found);
        self.check_transforms(props, &mut found);
        self.check_overrides(props, &mut found);
        found.notices.extend(connector.notices(props));
        found.finish()
    }

    fn check_connector(
        &self,
        connector: &dyn SinkConnector,
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
        connector: &dyn SinkConnector,
        class: &str,
        props: &Props,
        policy: UnknownKeys,
        found: &mut Findings,
    ) {
        let defs = [&SinkConnectorConfig::def(), &connector.config_def(class)];
        let mut prefixes = CONNECTOR_PREFIXES.to_vec();
        prefixes.extend(connector.known_prefixes(class));
        let unknown = unknown_keys(props, &defs, &prefixes);
        for key in unknown {
            match policy {
                UnknownKeys::Ignore => {}
                UnknownKeys::Warn => found.notices.push(key.to_string()),
                UnknownKeys::Fail => {
                    found.errors.push(ConfigError::new(key.key.as_str(), key.to_string()));
                }
            }
        }
    }

    fn check_converters(&self, props: &Props, found: &mut Findings) {
        for side in ["key.converter", "value.converter"] {
            let own = props.get(side);
            let prefix = format!("{side}.");
            if own.is_none()
                && let Some(key) =
                    props.keys().find(|k| k.starts_with(&prefix) && !k.ends_with(".plugin.version"))
            {
                found.notices.push(format!(
                    "{key} has no effect without {side}: the worker's converter is used with the \
                     worker's settings"
                ));
            }
            let source = if own.is_some() { props } else { &self.props };
            let Some(class) = own.or_else(|| self.props.get(side)) else { continue };
            match self.plugins.find_converter(class) {
                Err(text) => {
                    let text = format!("Invalid value {class} for configuration {side}: {text}");
                    found.errors.push(ConfigError::new(side, text));
                }
                Ok(plugin) => {
                    let settings = source.with_prefix(&prefix);
                    let def: ConfigDef = (plugin.config_def)();
                    for value in def.validate(&settings) {
                        let key = format!("{prefix}{}", value.name);
                        let errors = value.errors.into_iter();
                        found.errors.extend(errors.map(|text| ConfigError::new(&*key, text)));
                    }
                }
            }
        }
    }

    /// There are no transforms in this version: a chain that names one must not run without it.
    fn check_transforms(&self, props: &Props, found: &mut Findings) {
        for kind in ["transforms", "predicates"] {
            let names = props.get(kind).unwrap_or_default();
            for alias in names.split(',').map(str::trim).filter(|alias| !alias.is_empty()) {
                let key = format!("{kind}.{alias}.type");
                let class = props.get(&key).unwrap_or("(not set)");
                let text = format!(
                    "Invalid value {class} for configuration {key}: Class {class} could not be \
                     found. This version has no {kind} built in."
                );
                found.errors.push(ConfigError::new(key.as_str(), text));
            }
        }
    }

    fn check_overrides(&self, props: &Props, found: &mut Findings) {
        for kind in [ClientKind::Consumer, ClientKind::Producer, ClientKind::Admin] {
            match self.client(kind, props) {
                Ok(settings) => {
                    found.notices.extend(settings.notices.iter().map(ToString::to_string));
                }
                Err(errors) => found.errors.extend(errors.errors),
            }
        }
    }
}

#[derive(Default)]
struct Findings {
    errors: Vec<ConfigError>,
    notices: Vec<String>,
}

impl Findings {
    fn keep<T>(&mut self, parsed: Result<T, ConfigErrors>) {
        if let Err(errors) = parsed {
            self.errors.extend(errors.errors);
        }
    }

    fn finish(mut self) -> Result<Validated, ConfigErrors> {
        let mut seen = std::collections::BTreeSet::new();
        self.errors.retain(|error| seen.insert((error.key.clone(), error.message.clone())));
        self.notices.sort();
        self.notices.dedup();
        if self.errors.is_empty() {
            Ok(Validated { notices: self.notices })
        } else {
            Err(ConfigErrors { errors: self.errors })
        }
    }
}
