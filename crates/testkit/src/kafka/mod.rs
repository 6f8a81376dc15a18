//! The shared broker, topics, records and groups as tests need them.
//!
//! Every function takes the `bootstrap` address, so that it works with the shared broker
//! ([`bootstrap`]) and with a test's own ([`Broker`]).

mod broker;
mod cluster;
mod consume;
mod group;
mod produce;
mod secured;
mod topic;

pub use broker::Broker;
pub use cluster::Brokers;
pub use consume::{Read, read, read_with};
pub use group::{Group, commit_group_offsets, group, group_offsets};
pub use produce::{Producer, Record, produce};
pub use secured::{PLAIN_PASSWORD, SCRAM_PASSWORD, STORE_PASSWORD, Secured, USER, tls_file};
pub use topic::{
    add_partitions, create_topic, create_topic_with, delete_topic, delete_topic_in_use,
    end_offsets, partition_count, topic, topic_exists,
};

use std::time::Duration;

use rdkafka::ClientConfig;

use crate::{shared::shared, unique};

/// How long a test waits for an answer of the broker before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// `host:port` of the broker that all tests of a run share.
///
/// # Panics
///
/// When it does not run and cannot be started.
pub fn bootstrap() -> String {
    shared().kafka.clone()
}

/// A topic name that nothing else uses. The topic is not created; see [`topic`].
pub fn topic_name(prefix: &str) -> String {
    unique(prefix)
}

fn client(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    // A broker that a test has stopped is asked again soon after it is back.
    config.set("reconnect.backoff.max.ms", "200");
    // Silence: a test that stops a broker expects the errors.
    config.set_log_level(rdkafka::config::RDKafkaLogLevel::Emerg);
    config
}
