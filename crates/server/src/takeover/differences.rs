//! What is otherwise here than in Kafka Connect, where a configuration leaves it open.

use config::Props;
use config::distributed::DistributedConfig;
use config::unknown::{WORKER_PREFIXES, unknown_keys};
use config::{Config, worker::ExactlyOnceSupport};
use kafka::settings::{ClientKind, is_known_key};
use runtime::{Direction, Worker};

/// Keys of a worker with another default here: theirs, ours, what follows.
const DEFAULTS: [(&str, &str, &str, &str); 3] = [
    ("session.timeout.ms", "10000", "6000", "a worker that is lost is missed sooner"),
    ("heartbeat.interval.ms", "3000", "500", ""),
    (
        "scheduled.rebalance.max.delay.ms",
        "300000",
        "0",
        "the tasks of a worker that is lost are taken at once, not after five minutes",
    ),
];

/// Keys of a worker that are accepted and do nothing here.
const IDLE: [(&str, &str); 7] = [
    ("connect.protocol", "workers agree in another way"),
    ("rebalance.timeout.ms", "nothing stands still while workers join"),
    ("worker.sync.timeout.ms", "the topics are followed all the time"),
    ("worker.unsync.backoff.ms", "the topics are followed all the time"),
    ("plugin.path", "plugins are built in"),
    ("plugin.discovery", "plugins are built in"),
    ("metric.reporters", "there is no JVM; metrics are at GET /metrics"),
];

/// What is otherwise for all connectors.
pub(super) fn of_worker(worker: &Worker, written: &Props) -> Vec<String> {
    let mut told = Vec::new();
    for (key, theirs, ours, follows) in DEFAULTS {
        if written.get(key).is_none() {
            let follows = if follows.is_empty() { String::new() } else { format!(": {follows}") };
            told.push(format!("{key} is not set: {theirs} in Kafka Connect, {ours} here{follows}"));
        }
    }
    if let Ok(config) = DistributedConfig::parse(worker.props())
        && config.heartbeat_ms() != config.heartbeat_interval_ms
    {
        let (set, taken) = (config.heartbeat_interval_ms, config.heartbeat_ms());
        told.push(format!(
            "heartbeat.interval.ms is {set}: {taken} is taken, a third of session.timeout.ms ({})",
            config.session_timeout_ms
        ));
    }
    let idle = IDLE.iter().filter(|(key, _)| written.get(key).is_some());
    told.extend(idle.map(|(key, why)| format!("{key} has no effect here: {why}")));
    let unknown = unknown_keys(written, &[&DistributedConfig::def()], &WORKER_PREFIXES);
    let unknown = unknown.into_iter().filter(|key| !is_known_key(ClientKind::Admin, &key.key));
    told.extend(unknown.map(|key| key.to_string()));
    let group = written.get("group.id").unwrap_or_default();
    told.push(format!(
        "the worker's principal needs Write and Describe on TransactionalId \
         connect-cluster-{group}, and Create, Describe and Read on Topic copycat-members-{group}, where \
         the brokers check rights"
    ));
    // What is wrong was found before.
    told.extend(worker.check().unwrap_or_default());
    told
}

/// What is otherwise for one connector, by what it is and leaves open.
pub(super) fn of_connector(
    direction: Option<Direction>,
    class: &str,
    config: &Props,
) -> Vec<String> {
    let is_set = |key: &str| config.get(key).is_some();
    let mut told = Vec::new();
    if direction == Some(Direction::Sink) {
        if !is_set("consumer.override.session.timeout.ms") {
            told.push(
                "consumer.override.session.timeout.ms is not set: 45000 in Kafka Connect, 10000 here, \
                 with static membership"
                    .to_owned(),
            );
        }
        if !is_set("consumer.override.isolation.level") {
            told.push(
                "consumer.override.isolation.level is not set: read_uncommitted in Kafka Connect, \
                 read_committed here"
                    .to_owned(),
            );
        }
    }
    if config.get("errors.tolerance").map(str::trim) == Some("all") {
        told.push(
            "errors.tolerance=all has a limit here: more than half of the last 100 or more records \
             stop the task (errors.tolerance.max.ratio=1 turns it off)"
                .to_owned(),
        );
    }
    if class.ends_with("FileStreamSourceConnector") || class.ends_with("FileStreamSource") {
        told.push(
            "the position of FileStreamSource counts bytes here and characters in Kafka Connect: where \
             the file has text beyond ASCII, look at the first lines after the take-over"
                .to_owned(),
        );
    }
    told
}

/// How often a record arrives.
pub(super) fn delivery(
    direction: Option<Direction>,
    keeps_positions: bool,
    worker: &Worker,
) -> Option<String> {
    let support = worker.config().exactly_once_source_support;
    Some(match direction? {
        Direction::Sink if keeps_positions => {
            "exactly once: the destination keeps the positions, in the transactions of the rows"
                .to_owned()
        }
        Direction::Source if support == ExactlyOnceSupport::Enabled => {
            "exactly once where the connector can, as before".to_owned()
        }
        Direction::Sink | Direction::Source => "at least once, as before".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standalone;

    #[test]
    fn what_a_worker_file_leaves_open_or_sets_in_vain_is_named() {
        let written: Props = [
            ("bootstrap.servers", "h:9092"),
            ("group.id", "g"),
            ("key.converter", "org.apache.kafka.connect.storage.StringConverter"),
            ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
            ("session.timeout.ms", "10000"),
            ("plugin.path", "/opt/plugins"),
            ("rebalance.timeout.ms", "60000"),
            ("ofset.flush.interval.ms", "1"),
        ]
        .into_iter()
        .collect();
        let worker = Worker::new(written.clone(), standalone::plugins(), "g".to_owned()).unwrap();
        let told = of_worker(&worker, &written).join("\n");
        for part in [
            "scheduled.rebalance.max.delay.ms is not set: 300000",
            "plugin.path has no effect",
            "rebalance.timeout.ms has no effect",
            "unknown configuration key ofset.flush.interval.ms",
            "TransactionalId connect-cluster-g",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("session.timeout.ms is not set"), "{told}");
    }

    #[test]
    fn what_a_connector_leaves_open_is_named() {
        let none = Props::new();
        let sink = of_connector(Some(Direction::Sink), "x.Sink", &none).join("\n");
        assert!(sink.contains("session.timeout.ms") && sink.contains("isolation.level"), "{sink}");
        let set: Props = [
            ("consumer.override.session.timeout.ms", "45000"),
            ("consumer.override.isolation.level", "read_uncommitted"),
        ]
        .into_iter()
        .collect();
        assert_eq!(of_connector(Some(Direction::Sink), "x.Sink", &set), Vec::<String>::new());
        assert_eq!(of_connector(None, "x.Unknown", &none), Vec::<String>::new());
        let file = of_connector(Some(Direction::Source), "FileStreamSource", &none);
        assert!(file[0].contains("counts bytes"), "{file:?}");
    }
}
