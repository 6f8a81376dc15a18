//! The keys of the worker's own property file (standalone mode).
//!
//! Everything else in that file goes to Kafka clients and converters by prefix; see
//! [`crate::unknown::WORKER_PREFIXES`].

use std::fmt;

use crate::rest::RestConfig;
use crate::validator::{Validator, invalid};
use crate::value::Value;
use crate::{Config, ConfigError, ConfigField, Type, config_enum};

config_enum! {
    /// How the worker finds plugins on the JVM. Accepted for compatibility, without effect here.
    pub enum PluginDiscovery {
        /// By scanning.
        OnlyScan = "only_scan",
        /// By scanning, with warnings.
        HybridWarn = "hybrid_warn",
        /// By scanning, with errors.
        HybridFail = "hybrid_fail",
        /// By service files.
        ServiceLoad = "service_load",
    }
}

/// Which client settings a connector may override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverridePolicy {
    /// All.
    All,
    /// None.
    None,
    /// Only who it logs in as.
    Principal,
    /// All that are on a list.
    Allowlist,
}

const POLICIES: [(&str, OverridePolicy); 4] = [
    ("All", OverridePolicy::All),
    ("None", OverridePolicy::None),
    ("Principal", OverridePolicy::Principal),
    ("Allowlist", OverridePolicy::Allowlist),
];

impl OverridePolicy {
    /// The policy of this name: `All`, in any case, or the name of Connect's class for it.
    pub fn named(name: &str) -> Option<OverridePolicy> {
        let simple = name.rsplit('.').next().unwrap_or(name);
        let short = simple.strip_suffix("ConnectorClientConfigOverridePolicy").unwrap_or(simple);
        let known = POLICIES.iter().find(|(known, _)| known.eq_ignore_ascii_case(short));
        known.map(|(_, policy)| *policy)
    }
}

impl fmt::Display for OverridePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = POLICIES.iter().find(|(_, policy)| policy == self);
        f.write_str(found.map_or("", |(name, _)| *name))
    }
}

impl ConfigField for OverridePolicy {
    const KIND: Type = Type::String;

    fn validator(_: bool) -> Option<Validator> {
        Some(Validator::custom(|key, value| {
            Self::read(value).map(drop).map_err(|fault| invalid(key, value, &fault))
        }))
    }

    fn read(value: &Value) -> Result<OverridePolicy, String> {
        let name = match value {
            Value::String(name) => name.as_str(),
            _ => "",
        };
        OverridePolicy::named(name).ok_or_else(|| {
            let names = POLICIES.map(|(name, _)| name).join(", ");
            format!("String must be one of (case insensitive): {names}")
        })
    }
}

config_enum! {
    /// How the address of the Kafka cluster is looked up.
    pub enum DnsLookup {
        /// Every address of a name is tried.
        UseAllDnsIps = "use_all_dns_ips",
        /// Bootstrap names are replaced by their canonical names.
        CanonicalBootstrap = "resolve_canonical_bootstrap_servers_only",
    }
}

config_enum! {
    /// How much is measured.
    pub enum RecordingLevel {
        /// The usual.
        Info = "INFO",
        /// More.
        Debug = "DEBUG",
    }
}

/// Keys of a worker in either mode.
#[derive(Config, Clone, Debug)]
#[config(importance = low)]
pub struct WorkerConfig {
    /// Host and port of some brokers of the Kafka cluster, separated by commas.
    #[config(key = "bootstrap.servers", default = "localhost:9092", importance = high, non_empty)]
    pub bootstrap_servers: Vec<String>,

    /// Converter of record keys, unless a connector sets its own.
    #[config(key = "key.converter", class, importance = high)]
    pub key_converter: String,

    /// Converter of record values, unless a connector sets its own.
    #[config(key = "value.converter", class, importance = high)]
    pub value_converter: String,

    /// Converter of record headers, for connectors that name none. Headers that no transform looks at
    /// are passed on as they are, unless this converter cannot read them.
    #[config(
        key = "header.converter",
        class,
        default = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    )]
    pub header_converter: String,

    /// Folders of JVM plugins. Accepted for compatibility; plugins are part of this program.
    #[config(key = "plugin.path", repeats)]
    pub plugin_path: Option<Vec<String>>,

    /// How JVM plugins are found. Accepted for compatibility, without effect.
    #[config(key = "plugin.discovery", default = "hybrid_warn", case_insensitive)]
    pub plugin_discovery: PluginDiscovery,

    /// Time between two commits of the positions to the consumer group, in milliseconds; at most 5
    /// seconds count.
    #[config(key = "offset.flush.interval.ms", default = 60000, at_least(1))]
    pub offset_flush_interval_ms: u64,

    /// Time that a commit of offsets may take, in milliseconds. Accepted for compatibility, without
    /// effect.
    #[config(key = "offset.flush.timeout.ms", default = 5000)]
    pub offset_flush_timeout_ms: u64,

    /// Time that all tasks together have to stop, in milliseconds.
    #[config(key = "task.shutdown.graceful.timeout.ms", default = 5000)]
    pub task_shutdown_graceful_timeout_ms: u64,

    /// Whether `topic.creation.*` of source connectors counts: topics that are missing are then made as
    /// it says.
    #[config(key = "topic.creation.enable", default = true)]
    pub topic_creation_enable: bool,

    /// Whether the topics that each connector uses are recorded, for REST.
    #[config(key = "topic.tracking.enable", default = true)]
    pub topic_tracking_enable: bool,

    /// Whether the record of a connector's topics may be reset through REST.
    #[config(key = "topic.tracking.allow.reset", default = true)]
    pub topic_tracking_allow_reset: bool,

    /// Which client settings connectors may override: All, None, Principal or Allowlist.
    #[config(key = "connector.client.config.override.policy", default = "All", importance = medium)]
    pub override_policy: OverridePolicy,

    /// The settings that connectors may override under the policy Allowlist.
    #[config(key = "connector.client.config.override.allowlist", default = "")]
    pub override_allowlist: Vec<String>,

    /// Names of the secret providers, each configured by config.providers.NAME.class and
    /// config.providers.NAME.param keys.
    #[config(key = "config.providers", default = "")]
    pub config_providers: Vec<String>,

    /// How the address of the Kafka cluster is looked up.
    #[config(key = "client.dns.lookup", default = "use_all_dns_ips", importance = medium)]
    pub client_dns_lookup: DnsLookup,

    /// JVM classes that report metrics. Accepted for compatibility, without effect.
    #[config(key = "metric.reporters", default = "org.apache.kafka.common.metrics.JmxReporter")]
    pub metric_reporters: Vec<String>,

    /// Windows over which `/metrics` gives rates, means and extremes; at most 60.
    #[config(key = "metrics.num.samples", default = 2, at_least(1))]
    pub metrics_num_samples: u32,

    /// Length of such a window, in milliseconds.
    #[config(key = "metrics.sample.window.ms", default = 30000)]
    pub metrics_sample_window_ms: u64,

    /// Bytes of records that may wait in the queues of all tasks together, those being delivered
    /// included. Beyond it a task fetches 64 KiB at a time, and only when it has nothing else to do.
    #[config(key = "copycat.queue.bytes.max", default = 134217728, at_least(1048576), importance = medium)]
    pub queue_bytes_max: u64,

    /// How much is measured: INFO or DEBUG. Accepted for compatibility, without effect.
    #[config(key = "metrics.recording.level", default = "INFO")]
    pub metrics_recording_level: RecordingLevel,

    /// Keys of the REST interface.
    #[config(flatten)]
    pub rest: RestConfig,

    /// Whether sources give each record exactly once where their connector can: records and offsets
    /// are then written in one transaction. Needs group.id and offset.storage.topic, also in
    /// standalone mode. `preparing` is for rolling upgrades of clusters: first every worker is restarted with
    /// it, then every worker with `enabled`. A standalone worker takes it for disabled.
    #[config(key = "exactly.once.source.support", default = "disabled", case_insensitive,
        importance = high)]
    pub exactly_once_source_support: ExactlyOnceSupport,

    /// Name of the worker, or of the cluster it belongs to. Part of the transactional.id of
    /// exactly-once source tasks, GROUP-CONNECTOR-TASK.
    #[config(key = "group.id", importance = high)]
    pub group_id: Option<String>,

    /// Topic in which the offsets of exactly-once sources are kept, compacted; made if it is missing.
    #[config(key = "offset.storage.topic", importance = high)]
    pub offset_storage_topic: Option<String>,

    /// Partitions of that topic where it has to be made; -1 is the broker's default.
    #[config(key = "offset.storage.partitions", default = 25)]
    pub offset_storage_partitions: i32,

    /// Replication factor of that topic where it has to be made; -1 is the broker's default.
    #[config(key = "offset.storage.replication.factor", default = 3)]
    pub offset_storage_replication_factor: i16,
}

config_enum! {
    /// Whether sources give each record exactly once.
    pub enum ExactlyOnceSupport {
        /// They give it at least once.
        Disabled = "disabled",
        /// As disabled, but ready for a cluster whose other workers have it enabled.
        Preparing = "preparing",
        /// They do, where the connector can.
        Enabled = "enabled",
    }
}

/// Keys of a standalone worker.
#[derive(Config, Clone, Debug)]
#[config(check = check_standalone)]
pub struct StandaloneConfig {
    /// Keys of a worker in either mode.
    #[config(flatten)]
    pub worker: WorkerConfig,

    /// File in which the offsets of source connectors are kept, but for those that give records
    /// exactly once. A file of Kafka Connect's standalone mode is taken over.
    #[config(key = "offset.storage.file.filename", importance = high)]
    pub offset_storage_file: String,

    /// File in which connectors, their configurations as they were written and whether they are paused or
    /// stopped are kept over a restart of the worker. If it is not set, connectors that were made
    /// through REST are forgotten, as Kafka Connect's standalone mode does.
    #[config(key = "copycat.state.file", importance = medium)]
    pub state_file: Option<String>,
}

fn check_standalone(config: &StandaloneConfig) -> Vec<ConfigError> {
    let worker = &config.worker;
    if worker.exactly_once_source_support != ExactlyOnceSupport::Enabled {
        return Vec::new();
    }
    let needed =
        [("group.id", &worker.group_id), ("offset.storage.topic", &worker.offset_storage_topic)];
    let missing =
        needed.into_iter().filter(|(_, value)| value.as_deref().is_none_or(str::is_empty));
    let missing = missing.map(|(key, _)| {
        let text =
            format!("exactly.once.source.support=enabled needs {key}, in standalone mode too");
        ConfigError::new(key, text)
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Props;

    const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

    fn parse(pairs: &[(&str, &str)]) -> Result<StandaloneConfig, String> {
        let base = [
            ("key.converter", STRING),
            ("value.converter", STRING),
            ("offset.storage.file.filename", "/tmp/o"),
        ];
        let props: Props = base.iter().chain(pairs).copied().collect();
        StandaloneConfig::parse(&props).map_err(|errors| errors.to_string())
    }

    #[test]
    fn defaults() {
        let config = parse(&[]).unwrap();
        assert_eq!(config.worker.bootstrap_servers, ["localhost:9092"]);
        assert_eq!(config.worker.rest.listeners, ["http://:8083"]);
        assert_eq!(config.worker.rest.admin_listeners, None);
        assert_eq!(config.worker.offset_flush_interval_ms, 60_000);
        assert_eq!(config.worker.override_policy, OverridePolicy::All);
    }

    #[test]
    fn policies_may_be_named_by_class() {
        let policy = |name| {
            let key = "connector.client.config.override.policy";
            parse(&[(key, name)]).map(|config| config.worker.override_policy)
        };
        let class = "org.apache.kafka.connect.connector.policy.\
                     NoneConnectorClientConfigOverridePolicy";
        assert_eq!(policy(class), Ok(OverridePolicy::None));
        assert_eq!(policy("principal"), Ok(OverridePolicy::Principal));
        let error = policy("Some").unwrap_err();
        assert!(error.contains("one of (case insensitive): All, None, Principal"), "{error}");
    }

    #[test]
    fn missing_keys_are_all_named() {
        let errors = StandaloneConfig::parse(&Props::new()).unwrap_err().errors;
        let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
        assert_eq!(keys, ["key.converter", "value.converter", "offset.storage.file.filename"]);
        assert_eq!(
            errors.first().unwrap().message,
            "Missing required configuration \"key.converter\" which has no default value."
        );
    }

    #[test]
    fn an_empty_list_of_listeners_is_refused() {
        let error = parse(&[("listeners", "")]).unwrap_err();
        assert!(error.contains("must not be empty"), "{error}");
    }
}
