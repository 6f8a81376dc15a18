//! The layers of a connector's client settings, and which of them a connector may override.

use std::collections::BTreeMap;

use config::worker::OverridePolicy;
use config::{ConfigError, Props};

use super::{ClientKind, ClientSettings, SettingsErrors, is_known_key, translate};

/// The layers of one client, lowest first, each with the prefix its keys had.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: Vec<(String, Props)>,
}

impl Layers {
    /// The layers as [`translate`] takes them.
    pub fn as_props(&self) -> Vec<&Props> {
        self.layers.iter().map(|(_, props)| props).collect()
    }

    /// Translates, and names keys in errors and notices with the prefix they were given under.
    ///
    /// # Errors
    /// As [`translate`].
    pub fn translate(&self, kind: ClientKind) -> Result<ClientSettings, SettingsErrors> {
        let mut full: BTreeMap<&str, String> = BTreeMap::new();
        for (prefix, props) in &self.layers {
            full.extend(props.keys().map(|key| (key, format!("{prefix}{key}"))));
        }
        let name = |key: &mut String| {
            if let Some(full) = full.get(key.as_str()) {
                key.clone_from(full);
            }
        };
        match translate(kind, &self.as_props()) {
            Ok(mut settings) => {
                settings.notices.iter_mut().for_each(|notice| name(&mut notice.key));
                Ok(settings)
            }
            Err(mut errors) => {
                errors.errors.iter_mut().for_each(|error| name(&mut error.key));
                Err(errors)
            }
        }
    }
}

/// The layers of a connector's client: the worker's brokers, the worker's `consumer.` (`producer.`,
/// `admin.`) keys, the connector's `consumer.override.` keys. Admin clients start from all of the
/// worker's keys without prefix; tasks' consumers and producers do not inherit them, as in Connect.
pub fn layers_for_connector(worker: &Props, connector: &Props, kind: ClientKind) -> Layers {
    let inherits = |key: &str| match kind {
        // The worker has keys of its own beside these; those are not settings of a client.
        ClientKind::Admin => is_known_key(kind, key),
        ClientKind::Consumer | ClientKind::Producer => {
            key == "bootstrap.servers" || key == "client.dns.lookup"
        }
    };
    let of_worker = |key: &str| ["config.providers", "metric.reporters"].contains(&key);
    let base = worker.iter().filter(|(key, _)| inherits(key) && !of_worker(key)).collect();
    let name = kind.name();
    // `admin.listeners` is about REST, whatever its prefix looks like.
    let of_client = |(key, _): &(&str, &str)| {
        *key != "listeners" && !key.starts_with("listeners.https.") || kind != ClientKind::Admin
    };
    let (own, overrides) = (format!("{name}."), format!("{name}.override."));
    Layers {
        layers: vec![
            (String::new(), base),
            (own.clone(), worker.with_prefix(&own).iter().filter(of_client).collect()),
            (overrides.clone(), connector.with_prefix(&overrides)),
        ],
    }
}

/// What the policy `Principal` lets a connector override.
const PRINCIPAL: [&str; 3] = ["sasl.jaas.config", "sasl.mechanism", "security.protocol"];

/// The overrides of a connector that the worker's policy does not allow, with Connect's text.
pub fn check_override_policy(
    policy: OverridePolicy,
    allowlist: &[String],
    connector: &Props,
    kind: ClientKind,
) -> Vec<ConfigError> {
    let allowed = |key: &str| match policy {
        OverridePolicy::All => true,
        OverridePolicy::None => false,
        OverridePolicy::Principal => PRINCIPAL.contains(&key),
        OverridePolicy::Allowlist => allowlist.iter().any(|item| item == key),
    };
    let prefix = format!("{}.override.", kind.name());
    let overrides = connector.with_prefix(&prefix);
    let refuse = |key: &str| {
        let text = format!(
            "The '{policy}' policy does not allow '{key}' to be overridden in the connector \
             configuration."
        );
        ConfigError::new(format!("{prefix}{key}"), text)
    };
    overrides.keys().filter(|key| !allowed(key)).map(refuse).collect()
}
