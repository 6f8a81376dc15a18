//! Topics that keep the last record of every key: made as the worker file says, and checked.
//!
//! A topic that deletes what is old loses whatever stands still: such a topic is never used.

use crate::sink::kafka_error;
use api::{Error, Result};
use config::Props;
use data::{RawBatch, TopicPartition};
use kafka::{Admin, ErrorKind, NewTopic, NoRebalance, PollLimits, SinkConsumer};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

const ASK_TIMEOUT: Duration = Duration::from_secs(5);
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than a transaction that nobody ends may stay open by default.
const READ_TIMEOUT: Duration = Duration::from_secs(90);
const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 4 << 20 };

/// A compacted topic, as it is to be made where it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactedTopic {
    pub name: String,
    /// -1 is the broker's default.
    pub partitions: i32,
    /// -1 is the broker's default.
    pub replication_factor: i16,
    /// Further settings. `cleanup.policy` is ours.
    pub configs: Vec<(String, String)>,
    /// What is kept there, for messages: "source offsets".
    pub what: &'static str,
    /// How the keys of the worker file begin that are about it: `offset.storage.`.
    pub prefix: &'static str,
}

/// The broker's error where the topic may not be read.
const TOPIC_FORBIDDEN: i32 = 29;

impl CompactedTopic {
    /// The settings of a new topic that stand in a worker file beside the keys of its own.
    pub fn configs(worker: &Props, prefix: &str) -> Vec<(String, String)> {
        const OWN: [&str; 4] = ["topic", "partitions", "replication.factor", "file.filename"];
        let mut configs = Vec::new();
        for (key, value) in worker.with_prefix(prefix).iter() {
            if key == "cleanup.policy" {
                if value.trim() != "compact" {
                    tracing::warn!("{prefix}{key}={value} has no effect: it is always compact");
                }
            } else if !OWN.contains(&key) {
                configs.push((key.to_owned(), value.to_owned()));
            }
        }
        configs
    }

    /// Makes the topic where it is missing, and looks whether it can be used. Returns its number of
    /// partitions. Blocks for as long as brokers do not answer, up to some 10 s a question.
    ///
    /// # Errors
    /// Retriable where the brokers do not answer; of the configuration where the topic cannot be used,
    /// with what to do about it.
    pub fn ensure(&self, admin: &kafka::ClientSettings) -> Result<usize> {
        let admin = Admin::new(admin).map_err(kafka_error)?;
        let name = self.name.as_str();
        if let Some(partitions) = self.look(&admin)? {
            return Ok(partitions);
        }
        let mut new = NewTopic::new(name, self.partitions).config("cleanup.policy", "compact");
        new.replication = self.replication_factor.into();
        new.configs.extend(self.configs.iter().cloned());
        for outcome in admin.create_topics(&[new], CREATE_TIMEOUT).map_err(kafka_error)? {
            match outcome {
                Ok(()) => tracing::info!(topic = name, "topic of {} created", self.what),
                // Another worker was faster, or a broker that makes topics by itself.
                Err(error) if error.kind() == ErrorKind::TopicExists => self.check(&admin)?,
                Err(error) if error.is_retriable() => return Err(kafka_error(error)),
                Err(error) => return Err(self.not_made(error)),
            }
        }
        match admin.topic(name, ASK_TIMEOUT) {
            Ok(topic) => Ok(topic.partitions),
            // Brokers learn of a new topic one after the other.
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {
                Err(Error::retriable(format!("topic {name} for {} is being created", self.what)))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Looks whether the topic can be used. Returns its number of partitions; `None` if it is missing.
    ///
    /// # Errors
    /// As those of [`CompactedTopic::ensure`].
    pub fn look(&self, admin: &Admin) -> Result<Option<usize>> {
        match admin.topic(&self.name, ASK_TIMEOUT) {
            Ok(topic) => {
                self.check(admin)?;
                Ok(Some(topic.partitions))
            }
            Err(error) if error.kind() == ErrorKind::UnknownTopic => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn not_made(&self, error: kafka::Error) -> Error {
        let CompactedTopic { name, what, prefix, .. } = self;
        let message = format!("topic {name} for {what} could not be created: {error}");
        let by_hand = format!("create it with cleanup.policy=compact{}", self.only_partition());
        Error::config(message).hint(match error.kind() {
            ErrorKind::Authorization => {
                format!("{by_hand}, or grant the worker's principal Create on Topic {name}")
            }
            _ => format!(
                "{by_hand}, or correct {prefix}replication.factor ({}) and the other settings \
                 that begin with {prefix}",
                self.replication_factor
            ),
        })
    }

    fn only_partition(&self) -> &'static str {
        if self.partitions == 1 { " and one partition" } else { "" }
    }

    /// A question that was refused.
    fn failed(&self, error: kafka::Error) -> Error {
        let CompactedTopic { name, what, .. } = self;
        match error.kind() {
            ErrorKind::Authorization => Error::config(format!(
                "topic {name} for {what} may not be used: {error}"
            ))
            .hint(format!("grant the worker's principal Describe, Read and Write on Topic {name}")),
            _ => kafka_error(error),
        }
    }

    fn check(&self, admin: &Admin) -> Result<()> {
        let CompactedTopic { name, what, .. } = self;
        match admin.topic_settings(name, ASK_TIMEOUT) {
            Ok(settings) => self.check_settings(&settings),
            Err(error) if error.is_retriable() => Err(kafka_error(error)),
            Err(error) => {
                tracing::warn!(
                    "whether topic {name} keeps {what} (cleanup.policy=compact) could not be seen: \
                     {error}"
                );
                Ok(())
            }
        }
    }

    fn check_settings(&self, found: &[(String, Option<String>)]) -> Result<()> {
        let CompactedTopic { name, what, prefix, .. } = self;
        let of = |wanted: &str| {
            let found = found.iter().find(|(key, _)| key == wanted);
            found.and_then(|(_, value)| value.as_deref()).unwrap_or_default()
        };
        let policy = of("cleanup.policy");
        if !policy.is_empty() && policy != "compact" {
            let message = format!("topic {name} has cleanup.policy={policy}, which deletes {what}");
            return Err(Error::config(message).hint(alter(name, "cleanup.policy", "compact")));
        }
        for (key, wanted) in &self.configs {
            let seen = of(key);
            if !seen.is_empty() && seen != wanted.trim() {
                tracing::warn!(
                    "topic {name} was there already and has {key}={seen}: {prefix}{key}={wanted} \
                     counts only when it is made. To change it: {}",
                    alter(name, key, wanted.trim())
                );
            }
        }
        Ok(())
    }
}

/// Reads a topic from its start to where it ends now, transactions that are open included: they are
/// waited for. Gives where each partition ends. `stopped` ends the wait.
///
/// # Errors
/// Retriable where the brokers do not answer or a transaction stays open; not where a right lacks.
pub fn read_to_end(
    topic: &str,
    partitions: usize,
    consumer: &kafka::ClientSettings,
    stopped: &dyn Fn() -> bool,
    take: &mut dyn FnMut(&RawBatch),
) -> Result<BTreeMap<i32, i64>> {
    let mut consumer = SinkConsumer::new(consumer, Box::new(NoRebalance)).map_err(kafka_error)?;
    let (mut found, mut ends, mut starts) = (BTreeMap::new(), HashMap::new(), Vec::new());
    for partition in 0..i32::try_from(partitions).unwrap_or(i32::MAX) {
        let tp = TopicPartition::new(topic, partition);
        let marks = consumer.handle().watermarks(&tp, END_TIMEOUT).map_err(kafka_error)?;
        found.insert(partition, marks.high);
        if marks.high > marks.low {
            ends.insert(tp.clone(), marks.high);
            starts.push((tp, marks.low));
        }
    }
    if starts.is_empty() {
        return Ok(found);
    }
    consumer.assign_manually(&starts).map_err(kafka_error)?;
    let deadline = Instant::now() + READ_TIMEOUT;
    while !ends.is_empty() {
        if stopped() {
            return Err(Error::cancelled());
        }
        if Instant::now() > deadline {
            return Err(Error::retriable(format!(
                "topic {topic} could not be read to its end in {} s: a broker does not answer, or \
                 a transaction is open",
                READ_TIMEOUT.as_secs()
            )));
        }
        let polled = consumer.poll(Duration::from_millis(200), LIMITS).map_err(kafka_error)?;
        if let Some(fatal) = consumer.fatal_error() {
            return Err(kafka_error(fatal));
        }
        // That a group may not be used as well is of no concern: none is joined.
        if let Some(trouble) = polled.errors.iter().find(|t| t.error.code() == TOPIC_FORBIDDEN) {
            return Err(may_not_read(topic, &trouble.error));
        }
        polled.batches.iter().for_each(&mut *take);
        let batches = polled.batches.iter().map(|b| (b.tp().clone(), b.next_offset()));
        for (tp, position) in batches.chain(polled.ends) {
            if ends.get(&tp).is_some_and(|end| position >= *end) {
                ends.remove(&tp);
            }
        }
    }
    Ok(found)
}

fn may_not_read(topic: &str, error: &kafka::Error) -> Error {
    Error::config(format!("topic {topic} may not be read: {error}"))
        .hint(format!("grant Describe and Read on Topic {topic} to the principal of the consumer"))
}

fn alter(topic: &str, key: &str, value: &str) -> String {
    format!(
        "kafka-configs.sh --bootstrap-server HOST:PORT --alter --topic {topic} --add-config \
         {key}={value}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic() -> CompactedTopic {
        CompactedTopic {
            name: "t".to_owned(),
            partitions: 1,
            replication_factor: 3,
            configs: vec![("min.insync.replicas".to_owned(), "2".to_owned())],
            what: "connector configurations",
            prefix: "config.storage.",
        }
    }

    #[test]
    fn settings_of_a_new_topic_stand_beside_the_keys_of_the_worker() {
        let worker: Props = [
            ("offset.storage.topic", "o"),
            ("offset.storage.partitions", "5"),
            ("offset.storage.replication.factor", "2"),
            ("offset.storage.file.filename", "f"),
            ("offset.storage.cleanup.policy", "delete"),
            ("offset.storage.segment.bytes", "1048576"),
            ("status.storage.segment.bytes", "1"),
        ]
        .into_iter()
        .collect();
        let configs = CompactedTopic::configs(&worker, "offset.storage.");
        assert_eq!(configs, [("segment.bytes".to_owned(), "1048576".to_owned())]);
    }

    #[test]
    fn a_topic_that_deletes_is_refused_with_the_command_that_mends_it() {
        let found = |policy: &str| [("cleanup.policy".to_owned(), Some(policy.to_owned()))];
        for policy in ["delete", "compact,delete"] {
            let error = topic().check_settings(&found(policy)).unwrap_err();
            assert!(error.message.contains(policy), "{}", error.message);
            let hint = error.hint.unwrap();
            assert!(hint.ends_with("--topic t --add-config cleanup.policy=compact"), "{hint}");
        }
        topic().check_settings(&found("compact")).unwrap();
        topic().check_settings(&[]).unwrap();
    }

    #[test]
    fn lacking_rights_name_what_to_grant() {
        let refused = || kafka::Error::new(ErrorKind::Authorization, "no");
        for (error, right) in [
            (topic().failed(refused()), "Describe, Read and Write on Topic t"),
            (topic().not_made(refused()), "one partition, or grant the worker's principal Create"),
        ] {
            assert_eq!(error.kind, api::ErrorKind::Config);
            assert!(error.hint.as_ref().is_some_and(|hint| hint.contains(right)), "{error:?}");
        }
        let few = kafka::Error::new(ErrorKind::Configuration, "replication factor: 3");
        let hint = topic().not_made(few).hint.unwrap();
        assert!(hint.contains("config.storage.replication.factor (3)"), "{hint}");
    }
}
