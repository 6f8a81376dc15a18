//! Settings of the Kafka clients of a cluster, from its row.
//!
//! Place in the data path: before it. Properties have Kafka's own names; a value `env:NAME` or
//! `file:PATH` stands for what this process finds there. Invariants: no property is dropped silently;
//! no message shows a value.

use crate::control::Cluster;
use config::Props;
use kafka::ClientSettings;
use kafka::settings::{ClientKind, translate};

/// A file with a secret is not larger.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The settings of a client that asks the cluster questions.
///
/// # Errors
/// What is wrong, naming the property.
pub fn admin_settings(cluster: &Cluster) -> Result<ClientSettings, String> {
    let mut props = Props::new();
    for (key, value) in &cluster.properties {
        if !kafka::settings::is_known_key(ClientKind::Consumer, key) {
            return Err(format!("unknown property {key}"));
        }
        if kafka::settings::is_known_key(ClientKind::Admin, key) {
            props.insert(key.clone(), resolved(key, value)?);
        }
    }
    props.insert("bootstrap.servers", cluster.bootstrap_servers.clone());
    let settings = translate(ClientKind::Admin, &[&props]).map_err(|errors| errors.to_string())?;
    Ok(settings.librdkafka)
}

/// The value itself, or what it refers to.
fn resolved(key: &str, value: &str) -> Result<String, String> {
    if let Some(name) = value.strip_prefix("env:") {
        let missing = |_| format!("property {key}: the environment has no usable variable {name}");
        return std::env::var(name).map_err(missing);
    }
    let Some(path) = value.strip_prefix("file:") else { return Ok(value.to_owned()) };
    let wrong = |what: String| format!("property {key}: the file {path} {what}");
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= FILE_BYTES_MAX => {}
        Ok(_) => return Err(wrong(format!("is no file of at most {FILE_BYTES_MAX} bytes"))),
        Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
    }
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
