//! Settings of the Kafka clients of a cluster, from its row.
//!
//! Place in the data path: before it. Properties have Kafka's own names; a value `env:NAME` or
//! `file:PATH` stands for what this process finds there. Invariants: no property is dropped silently;
//! no message shows a value.

use crate::control::Cluster;
use config::Props;
use kafka::ClientSettings;
use kafka::settings::{ClientKind, NoticeKind, translate};

/// A file with a secret is not larger.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// For many topics at light load; the cluster's own properties win.
const DEFAULTS: &[(&str, &str)] = &[
    // One answer of a broker for all partitions together.
    ("fetch.max.bytes", "4194304"),
    ("message.max.bytes", "1048576"),
    ("queued.max.messages.kbytes", "3072"),
    // Partitions that are added are found within this.
    ("topic.metadata.refresh.interval.ms", "10000"),
];

/// The settings of a cluster's consumers and of its questions.
#[derive(Clone)]
pub(crate) struct Clients {
    /// Without a group.
    pub(crate) consumer: ClientSettings,
    pub(crate) admin: ClientSettings,
    /// For the messages of the outbox.
    pub(crate) producer: ClientSettings,
}

/// # Errors
/// What is wrong, naming the property; for the detail of a blocked consumer.
pub(crate) fn clients(cluster: &Cluster) -> Result<Clients, String> {
    let mut props = Props::new();
    for (key, value) in &cluster.properties {
        props.insert(key.clone(), resolved(key, value)?);
    }
    props.insert("bootstrap.servers", cluster.bootstrap_servers.clone());
    let consumer = client(ClientKind::Consumer, &props)?;
    let mut settings = consumer;
    for (key, value) in DEFAULTS {
        settings.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    Ok(Clients {
        consumer: settings,
        admin: client(ClientKind::Admin, &known_to(ClientKind::Admin, &props))?,
        producer: client(ClientKind::Producer, &known_to(ClientKind::Producer, &props))?,
    })
}

/// The clients that the outbox of a cluster needs.
///
/// # Errors
/// As [`clients`].
pub(crate) fn outbox_clients(cluster: &Cluster) -> Result<crate::outbox::Clients, String> {
    let Clients { consumer, admin, producer } = clients(cluster)?;
    Ok(crate::outbox::Clients { producer, consumer, admin })
}

/// The cluster's properties that a kind of client knows; those of others are no mistake.
fn known_to(kind: ClientKind, props: &Props) -> Props {
    let mut known = Props::new();
    for (key, value) in props.iter().filter(|(key, _)| kafka::settings::is_known_key(kind, key)) {
        known.insert(key, value);
    }
    known
}

/// The settings of a client that asks the cluster questions.
///
/// # Errors
/// What is wrong, naming the property.
pub fn admin_settings(cluster: &Cluster) -> Result<ClientSettings, String> {
    clients(cluster).map(|clients| clients.admin)
}

fn client(kind: ClientKind, props: &Props) -> Result<ClientSettings, String> {
    let settings = translate(kind, &[props]).map_err(|errors| errors.to_string())?;
    if kind == ClientKind::Consumer {
        for notice in &settings.notices {
            if notice.kind == NoticeKind::Unknown {
                return Err(format!("unknown property {}: {}", notice.key, notice.message));
            }
            tracing::info!("{notice}");
        }
    }
    Ok(settings.librdkafka)
}

/// The value itself, or what it refers to.
pub(super) fn resolved(key: &str, value: &str) -> Result<String, String> {
    if let Some(name) = value.strip_prefix("env:") {
        return std::env::var(name).map_err(|_| {
            format!("property {key}: the environment of the worker has no usable variable {name}")
        });
    }
    let Some(path) = value.strip_prefix("file:") else { return Ok(value.to_owned()) };
    let problem = |what: String| format!("property {key}: the file {path} of the worker {what}");
    let found =
        std::fs::metadata(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return Err(problem(format!("is no file of at most {FILE_BYTES_MAX} bytes")));
    }
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| problem(format!("cannot be read: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(properties: &[(&str, &str)]) -> Cluster {
        Cluster {
            name: "default".to_owned(),
            bootstrap_servers: "localhost:9092".to_owned(),
            properties: properties
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            registry_url: None,
            registry_properties: Default::default(),
            config_version: 1,
        }
    }

    /// pipelinedb/pipeline_kafka#67: capitals were lost, misspelt names were dropped.
    #[test]
    fn values_are_taken_exactly_and_misspelt_names_are_named() {
        let ok = clients(&cluster(&[("client.id", "Mixed,Case")])).map(|c| c.consumer);
        assert_eq!(ok.unwrap().get("client.id").map(String::as_str), Some("Mixed,Case"));
        let error = clients(&cluster(&[("security.protocl", "SSL")])).err().unwrap();
        assert!(error.contains("unknown property security.protocl"), "{error}");
    }

    #[test]
    fn values_may_be_kept_in_files_and_are_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, "S3cret,Value\n").unwrap();
        let file = format!("file:{}", path.display());
        let ok = clients(&cluster(&[("client.id", &file)])).map(|c| c.consumer).unwrap();
        assert_eq!(ok.get("client.id").map(String::as_str), Some("S3cret,Value"));
        for missing in ["file:/nowhere/at/all", "env:COPYCAT_TEST_NO_SUCH_VARIABLE"] {
            let error = clients(&cluster(&[("client.id", missing)])).err().unwrap();
            assert!(error.contains("client.id") && error.contains("of the worker"), "{error}");
        }
    }
}
