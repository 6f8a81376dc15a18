//! Settings of Kafka clients in a connector's configuration.

use super::ConfigInfo;
use config::{ConfigValue, Props, looks_secret};

/// Whether a key is for one of the connector's Kafka clients.
pub(super) fn is_override(key: &str) -> bool {
    let clients = ["producer.override.", "consumer.override.", "admin.override."];
    clients.iter().any(|prefix| key.starts_with(prefix))
}

/// An entry of a key that no definition has.
pub(super) fn undefined(props: &Props, key: &str, error: String) -> ConfigInfo {
    let value = ConfigValue {
        name: key.to_owned(),
        // Nothing says whether it is secret.
        value: props.get(key).filter(|_| !looks_secret(key)).map(str::to_owned),
        errors: vec![error],
        recommended: Vec::new(),
        visible: true,
    };
    ConfigInfo { key: None, value }
}
