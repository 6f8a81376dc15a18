//! The logs that a worker file describes, under Kafka Connect's names.

use super::LogSettings;
use api::{Error, Result};
use config::Props;
use kafka::ClientSettings;
use kafka::settings::{ClientKind, is_known_key, translate};
use runtime::CompactedTopic;

/// The topics that the workers of a cluster share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Configs,
    Offsets,
    Statuses,
}

impl Store {
    fn prefix(self) -> &'static str {
        match self {
            Store::Configs => "config.storage.",
            Store::Offsets => "offset.storage.",
            Store::Statuses => "status.storage.",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Store::Configs => "connector configurations",
            Store::Offsets => "source connector offsets",
            Store::Statuses => "connector and task statuses",
        }
    }

    /// In names of clients.
    fn name(self) -> &'static str {
        match self {
            Store::Configs => "configs",
            Store::Offsets => "offsets",
            Store::Statuses => "statuses",
        }
    }

    /// Configurations have one partition, whatever is set.
    fn partitions(self) -> i32 {
        match self {
            Store::Configs => 1,
            Store::Offsets => 25,
            Store::Statuses => 5,
        }
    }
}

impl LogSettings {
    /// The log of a worker file. Its clients take the file's own client settings, those without a
    /// prefix, and read only what is committed.
    ///
    /// # Errors
    /// A key that is missing or wrong.
    pub fn of_worker(worker: &Props, store: Store) -> Result<LogSettings> {
        let prefix = store.prefix();
        let name = worker.get(&format!("{prefix}topic")).map(str::trim).unwrap_or_default();
        if name.is_empty() {
            let message = format!("{prefix}topic is not set");
            return Err(Error::config(message).hint(format!(
                "name a topic of the cluster for {}; it is made where it is missing",
                store.what()
            )));
        }
        let partitions = match store {
            Store::Configs => 1,
            _ => number(worker, &format!("{prefix}partitions"), store.partitions())?,
        };
        let topic = CompactedTopic {
            name: name.to_owned(),
            partitions,
            replication_factor: number(worker, &format!("{prefix}replication.factor"), 3)?,
            configs: CompactedTopic::configs(worker, prefix),
            what: store.what(),
            prefix,
        };
        let mut consumer = worker_client(worker, store.name(), ClientKind::Consumer)?;
        consumer.insert("isolation.level".to_owned(), "read_committed".to_owned());
        // It joins nothing; it looks for the coordinator of the group that it is said to be of.
        if let Some(group) = worker.get("group.id").map(str::trim).filter(|id| !id.is_empty()) {
            consumer.insert("group.id".to_owned(), group.to_owned());
        }
        Ok(LogSettings {
            topic,
            one_partition: store == Store::Configs,
            consumer,
            producer: worker_client(worker, store.name(), ClientKind::Producer)?,
            admin: worker_client(worker, store.name(), ClientKind::Admin)?,
        })
    }
}

/// A number above 0, or -1 for the broker's default.
fn number<T>(worker: &Props, key: &str, default: T) -> Result<T>
where
    T: TryFrom<i32>,
{
    let Some(text) = worker.get(key).map(str::trim) else { return Ok(default) };
    let number = text.parse::<i32>().ok().filter(|number| *number > 0 || *number == -1);
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        Error::config(format!("{key}={text} is no number of at least 1, nor -1"))
            .hint("-1 is the broker's default")
    })
}

/// The settings of one of the worker's own clients, in librdkafka's names; `what` is for its client id.
///
/// # Errors
/// A key with a wrong value.
pub fn worker_client(worker: &Props, what: &str, kind: ClientKind) -> Result<ClientSettings> {
    // These are about the workers' group, or about the worker.
    const NOT_OF_CLIENTS: [&str; 4] =
        ["group.id", "client.id", "config.providers", "metric.reporters"];
    let own = worker.iter();
    let own = own.filter(|(key, _)| is_known_key(kind, key) && !NOT_OF_CLIENTS.contains(key));
    let mut own: Props = own.collect();
    let named = |key: &str| worker.get(key).map(str::trim).filter(|text| !text.is_empty());
    let parts = [named("group.id"), named("client.id"), Some(what)];
    own.insert("client.id", parts.into_iter().flatten().collect::<Vec<_>>().join("-"));
    translate(kind, &[&own]).map(|client| client.librdkafka).map_err(|errors| {
        Error::config(errors.to_string()).hint("correct the worker's client settings")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(more: &[(&str, &str)]) -> Props {
        let all = [
            ("bootstrap.servers", "b:9092"),
            ("group.id", "cluster"),
            ("config.storage.topic", "configs"),
            ("status.storage.topic", "statuses"),
            ("consumer.fetch.min.bytes", "5"),
            ("session.timeout.ms", "9000"),
        ];
        all.into_iter().chain(more.iter().copied()).collect()
    }

    #[test]
    fn logs_are_described_by_the_keys_of_kafka_connect() {
        let more = [
            ("config.storage.partitions", "9"),
            ("config.storage.min.insync.replicas", "2"),
            ("status.storage.partitions", "7"),
            ("status.storage.replication.factor", "-1"),
            ("client.id", "w1"),
        ];
        let configs = LogSettings::of_worker(&worker(&more), Store::Configs).unwrap();
        let topic = &configs.topic;
        assert_eq!((topic.partitions, topic.replication_factor), (1, 3));
        assert!(topic.configs.contains(&("min.insync.replicas".to_owned(), "2".to_owned())));
        assert!(configs.one_partition);
        let id = configs.producer.get("client.id").map(String::as_str);
        assert_eq!(id, Some("cluster-w1-configs"));
        let group = configs.consumer.get("group.id").map(String::as_str);
        assert_eq!(group, Some("cluster"), "a right that the worker has");
        assert_eq!(configs.consumer.get("fetch.min.bytes"), None, "that is for tasks");
        assert_eq!(configs.admin.get("bootstrap.servers").map(String::as_str), Some("b:9092"));
        let statuses = LogSettings::of_worker(&worker(&more), Store::Statuses).unwrap();
        assert_eq!((statuses.topic.partitions, statuses.topic.replication_factor), (7, -1));
        assert!(!statuses.one_partition);
    }

    #[test]
    fn keys_that_are_missing_or_wrong_are_named() {
        let missing = LogSettings::of_worker(&worker(&[]), Store::Offsets).unwrap_err();
        assert!(missing.message.contains("offset.storage.topic"), "{}", missing.message);
        for (key, value) in [
            ("status.storage.partitions", "0"),
            ("status.storage.partitions", "many"),
            ("status.storage.replication.factor", "99999"),
            ("security.protocol", "NONSENSE"),
        ] {
            let error = LogSettings::of_worker(&worker(&[(key, value)]), Store::Statuses);
            assert!(error.unwrap_err().message.contains(key), "{key}");
        }
    }
}
