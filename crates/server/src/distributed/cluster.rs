//! From a worker file to what the driver of a cluster is made of.

use crate::logging::Levels;
use crate::standalone::WorkerFile;
use api::Result;
use config::Props;
use config::distributed::DistributedConfig;
use herder::distributed::keys::KeySettings;
use herder::distributed::log::{LogSettings, Store, worker_client};
use herder::distributed::{ClusterSettings, LogLevels};
use kafka::ClientSettings;
use kafka::settings::ClientKind;
use rest::PeerSettings;
use runtime::{CompactedTopic, Worker};
use std::sync::Arc;
use std::time::Duration;

/// # Errors
/// Keys with wrong values.
pub(super) fn settings(
    worker: &Worker,
    config: &DistributedConfig,
    file: &WorkerFile,
    levels: &Arc<Levels>,
    run: u64,
) -> Result<ClusterSettings> {
    let group = config.worker.group_id.clone().unwrap_or_default();
    let props = worker.props();
    let own = config.members_topic.clone().filter(|name| !name.trim().is_empty());
    let members = CompactedTopic {
        name: own.unwrap_or_else(|| format!("copycat-members-{group}")),
        partitions: i32::try_from(config.members_max).unwrap_or(i32::MAX),
        replication_factor: config.config_storage_replication_factor,
        configs: Vec::new(),
        what: "the membership of workers",
        prefix: "copycat.members.",
    };
    let writer = writer(props, &group)?;
    let inter = &config.inter_worker;
    let ttl = u64::try_from(inter.key_ttl_ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
    let levels = levels.clone();
    Ok(ClusterSettings {
        worker_id: file.address(),
        url: file.interface.advertised_url(&config.worker.rest).unwrap_or_default(),
        run,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        alike: alike(config, &members),
        group,
        config: LogSettings::of_worker(props, Store::Configs)?,
        offsets_topic: config.worker.offset_storage_topic.clone().unwrap_or_default(),
        status: LogSettings::of_worker(props, Store::Statuses)?,
        members,
        members_consumer: members_consumer(worker, config)?,
        writer,
        lost_wait_ms: config.scheduled_rebalance_max_delay_ms,
        restart_wait_ms: config.restart_wait_ms,
        keys: KeySettings {
            algorithm: inter.key_generation_algorithm.clone(),
            bytes: inter.key_bytes(),
            ttl,
        },
        log_levels: LogLevels(Arc::new(move |logger, level| levels.set_for_all(logger, level))),
    })
}

/// The client by which the leader writes the config topic, for the workers of this group.
///
/// # Errors
/// A key with a wrong value.
pub(crate) fn writer(worker: &Props, group: &str) -> Result<ClientSettings> {
    let mut writer = worker_client(worker, "leader", ClientKind::Producer)?;
    // The JVM's leader writes under the same id, so that it and ours fence each other.
    writer.insert("transactional.id".to_owned(), format!("connect-cluster-{group}"));
    writer.insert("enable.idempotence".to_owned(), "true".to_owned());
    writer.insert("transaction.timeout.ms".to_owned(), "10000".to_owned());
    Ok(writer)
}

/// How this worker asks the others.
pub(super) fn peers(config: &DistributedConfig, file: &WorkerFile, run: u64) -> PeerSettings {
    PeerSettings {
        url: file.interface.advertised_url(&config.worker.rest).unwrap_or_default(),
        run,
        signature_algorithm: config.inter_worker.signature_algorithm.clone(),
        verification_algorithms: config.inter_worker.verification_algorithms.clone(),
    }
}

/// What workers of a cluster decide by, whichever of them leads.
fn alike(config: &DistributedConfig, members: &CompactedTopic) -> Vec<(String, String)> {
    let pairs = [
        ("copycat.members.topic", members.name.clone()),
        ("session.timeout.ms", config.session_timeout_ms.to_string()),
        ("scheduled.rebalance.max.delay.ms", config.scheduled_rebalance_max_delay_ms.to_string()),
        ("copycat.restart.wait.ms", config.restart_wait_ms.to_string()),
        ("exactly.once.source.support", config.worker.exactly_once_source_support.to_string()),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

/// The client by which this worker is a member.
fn members_consumer(worker: &Worker, config: &DistributedConfig) -> Result<ClientSettings> {
    let mut consumer = worker_client(worker.props(), "members", ClientKind::Consumer)?;
    let session = config.session_timeout_ms;
    for (key, value) in [
        ("group.id", config.worker.group_id.clone().unwrap_or_default()),
        ("partition.assignment.strategy", "cooperative-sticky".to_owned()),
        ("session.timeout.ms", session.to_string()),
        ("heartbeat.interval.ms", config.heartbeat_ms().to_string()),
        ("max.poll.interval.ms", session.max(60_000).to_string()),
        ("enable.auto.commit", "false".to_owned()),
    ] {
        consumer.insert(key.to_owned(), value);
    }
    // Its members come and go: a start is another member.
    consumer.remove("group.instance.id");
    Ok(consumer)
}
