//! The keys of a distributed worker's property file, beside those of every worker.

use crate::inter_worker::InterWorkerConfig;
use crate::worker::WorkerConfig;
use crate::{Config, ConfigError, ConfigErrors, Props};

/// Keys of a distributed worker.
#[derive(Config, Clone, Debug)]
#[config(check = check_distributed)]
pub struct DistributedConfig {
    /// Keys of a worker in either mode.
    #[config(flatten)]
    pub worker: WorkerConfig,

    /// How workers sign what they ask of each other.
    #[config(flatten)]
    pub inter_worker: InterWorkerConfig,

    /// Topic in which the cluster's connectors are kept, compacted, with one partition; made if it is
    /// missing.
    #[config(key = "config.storage.topic", importance = high)]
    pub config_storage_topic: String,

    /// Replication factor of that topic where it has to be made; -1 is the broker's default.
    #[config(key = "config.storage.replication.factor", default = 3)]
    pub config_storage_replication_factor: i16,

    /// Topic in which the states of connectors, tasks and workers are kept, compacted; made if it is
    /// missing.
    #[config(key = "status.storage.topic", importance = high)]
    pub status_storage_topic: String,

    /// Partitions of that topic where it has to be made; -1 is the broker's default.
    #[config(key = "status.storage.partitions", default = 5)]
    pub status_storage_partitions: i32,

    /// Replication factor of that topic where it has to be made; -1 is the broker's default.
    #[config(key = "status.storage.replication.factor", default = 3)]
    pub status_storage_replication_factor: i16,

    /// How long a worker may be silent until the others take its tasks, in milliseconds.
    #[config(key = "session.timeout.ms", default = 6000, at_least(1), importance = high)]
    pub session_timeout_ms: u32,

    /// How often a worker shows that it is there, in milliseconds. More than a third of the session is
    /// taken as a third, so that files of Kafka Connect are good whose sessions are longer.
    #[config(key = "heartbeat.interval.ms", default = 500, at_least(1), importance = high)]
    pub heartbeat_interval_ms: u32,

    /// How long the tasks of a worker that is gone wait for it to come back, in milliseconds, before
    /// others take them. They are taken at once unless this is set; Kafka Connect waits for 5 minutes.
    #[config(key = "scheduled.rebalance.max.delay.ms", default = 0, importance = medium)]
    pub scheduled_rebalance_max_delay_ms: u64,

    /// How long the tasks of a worker that was stopped by a signal wait for it to come back, in
    /// milliseconds, so that a rolling restart moves none. One that is drained first leaves none behind.
    #[config(key = "copycat.restart.wait.ms", default = 10000, importance = medium)]
    pub restart_wait_ms: u64,

    /// Topic by whose partitions the workers see each other; it has no records. Made if it is missing;
    /// by default `copycat-members-` and the group.id.
    #[config(key = "copycat.members.topic")]
    pub members_topic: Option<String>,

    /// Partitions of that topic where it has to be made: as many workers as the cluster can have.
    #[config(key = "copycat.members.max", default = 64, at_least(1))]
    pub members_max: u32,

    /// How the workers of Kafka Connect agree on assignments. Accepted for compatibility, without
    /// effect here.
    #[config(key = "connect.protocol", default = "sessioned")]
    pub connect_protocol: String,

    /// How long a worker may take to join again. Accepted for compatibility, without effect here: nothing
    /// stands still for it.
    #[config(key = "rebalance.timeout.ms", default = 60000)]
    pub rebalance_timeout_ms: u32,

    /// How long reading the topics may take. Accepted for compatibility, without effect here.
    #[config(key = "worker.sync.timeout.ms", default = 3000)]
    pub worker_sync_timeout_ms: u32,

    /// How long a worker that is behind stays out. Accepted for compatibility, without effect here.
    #[config(key = "worker.unsync.backoff.ms", default = 300000)]
    pub worker_unsync_backoff_ms: u32,
}

/// What no cluster can do without, beside the topics that are required anyway.
const NEEDED: [&str; 2] = ["group.id", "offset.storage.topic"];

impl DistributedConfig {
    /// The same as `parse`, with everything that is missing told at once.
    ///
    /// # Errors
    /// Keys that are missing or have wrong values.
    pub fn of(props: &Props) -> Result<DistributedConfig, ConfigErrors> {
        DistributedConfig::parse(props).map_err(|mut found| {
            for key in NEEDED {
                if is_blank(props.get(key)) && !found.errors.iter().any(|error| error.key == key) {
                    found.errors.push(ConfigError::missing(key));
                }
            }
            found
        })
    }

    /// How often a worker shows that it is there: a third of the session or less.
    pub fn heartbeat_ms(&self) -> u32 {
        self.heartbeat_interval_ms.min((self.session_timeout_ms / 3).max(1))
    }
}

fn is_blank(value: Option<&str>) -> bool {
    value.is_none_or(|text| text.trim().is_empty())
}

fn check_distributed(config: &DistributedConfig) -> Vec<ConfigError> {
    let worker = &config.worker;
    let values = [worker.group_id.as_deref(), worker.offset_storage_topic.as_deref()];
    let lacks = NEEDED.into_iter().zip(values).filter(|(_, value)| is_blank(*value));
    let mut errors: Vec<ConfigError> = lacks.map(|(key, _)| ConfigError::missing(key)).collect();
    let offsets = worker.offset_storage_topic.as_deref().unwrap_or_default();
    let topics = [
        ("config.storage.topic", config.config_storage_topic.as_str()),
        ("status.storage.topic", config.status_storage_topic.as_str()),
        ("offset.storage.topic", offsets),
    ];
    for (index, (key, topic)) in topics.iter().enumerate() {
        let twice = topics.iter().take(index).find(|(_, other)| other == topic);
        if let Some((first, _)) = twice.filter(|_| !topic.is_empty()) {
            let text = format!("is topic {topic}, which is {first} already: each needs its own");
            errors.push(ConfigError::new(*key, text));
        }
    }
    if config.heartbeat_interval_ms >= config.session_timeout_ms {
        let text =
            format!("has to be less than session.timeout.ms ({})", config.session_timeout_ms);
        errors.push(ConfigError::new("heartbeat.interval.ms", text));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [(&str, &str); 6] = [
        ("key.converter", "StringConverter"),
        ("value.converter", "StringConverter"),
        ("group.id", "g"),
        ("config.storage.topic", "c"),
        ("offset.storage.topic", "o"),
        ("status.storage.topic", "s"),
    ];

    fn parse(pairs: &[(&str, &str)]) -> Result<DistributedConfig, String> {
        let props: Props = WHOLE.iter().chain(pairs).copied().collect();
        DistributedConfig::parse(&props).map_err(|errors| errors.to_string())
    }

    #[test]
    fn the_four_names_of_a_cluster_are_needed_and_tasks_wait_only_where_that_is_set() {
        let config = parse(&[]).unwrap();
        assert_eq!(config.scheduled_rebalance_max_delay_ms, 0);
        assert_eq!(config.worker.offset_storage_partitions, 25);
        for (key, _) in WHOLE {
            let props: Props = WHOLE.into_iter().filter(|(other, _)| *other != key).collect();
            let error = DistributedConfig::parse(&props).unwrap_err().to_string();
            let missing = format!("Missing required configuration \"{key}\"");
            assert!(error.contains(&missing), "{error}");
        }
    }

    #[test]
    fn everything_that_is_missing_is_told_at_once() {
        let error = DistributedConfig::of(&Props::new()).unwrap_err().to_string();
        for (key, _) in WHOLE {
            assert_eq!(error.matches(&format!("\"{key}\"")).count(), 1, "{key}: {error}");
        }
    }

    #[test]
    fn topics_that_are_the_same_and_slow_heartbeats_are_refused() {
        let error = parse(&[("status.storage.topic", "c")]).unwrap_err();
        assert!(error.contains("is topic c, which is config.storage.topic already"), "{error}");
        let error = parse(&[("heartbeat.interval.ms", "6000")]).unwrap_err();
        assert!(error.contains("less than session.timeout.ms (6000)"), "{error}");
    }

    #[test]
    fn heartbeats_that_are_right_for_a_longer_session_are_taken_as_a_third_of_ours() {
        let heartbeat = |pairs: &[(&str, &str)]| parse(pairs).unwrap().heartbeat_ms();
        assert_eq!(heartbeat(&[("heartbeat.interval.ms", "3000")]), 2000);
        let longer = [("heartbeat.interval.ms", "3000"), ("session.timeout.ms", "10000")];
        assert_eq!(heartbeat(&longer), 3000);
        assert_eq!(heartbeat(&[]), 500);
    }
}
