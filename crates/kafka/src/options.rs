//! Turns client settings (librdkafka's names) into a client configuration.
//!
//! Three layers, the last one wins: the defaults of this file, the user's settings, and the few
//! settings on which the correctness of this crate rests.

use std::collections::BTreeMap;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

/// Client settings under librdkafka's names.
pub type ClientSettings = BTreeMap<String, String>;

/// Positions are ours: they are stored with the rows. A reset is ours too, so that a gap is seen and
/// recorded instead of being jumped over.
const CONSUMER_FORCED: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("enable.partition.eof", "true"),
    ("auto.offset.reset", "error"),
    ("statistics.interval.ms", "0"),
];

/// Small fetches stay in the processor's cache; a short back-off keeps the queue from running dry.
const CONSUMER_DEFAULTS: &[(&str, &str)] = &[
    ("fetch.queue.backoff.ms", "5"),
    ("queued.max.messages.kbytes", "4096"),
    ("max.partition.fetch.bytes", "262144"),
];

/// Of the classic group protocol only; the newer one refuses them.
const CLASSIC_DEFAULTS: &[(&str, &str)] = &[
    ("session.timeout.ms", "10000"),
    ("heartbeat.interval.ms", "1000"),
    ("partition.assignment.strategy", "cooperative-sticky"),
];

const PRODUCER_FORCED: &[(&str, &str)] = &[("statistics.interval.ms", "0")];

/// The buffer is bounded as in the Java client, not at librdkafka's 1 GiB, and keys go to the
/// partitions that the Java client would choose.
const PRODUCER_DEFAULTS: &[(&str, &str)] = &[
    ("enable.idempotence", "true"),
    ("queue.buffering.max.kbytes", "32768"),
    ("partitioner", "murmur2_random"),
];

/// Reconnect as the Java clients do: after an outage the first record flows within a second.
const COMMON_DEFAULTS: &[(&str, &str)] =
    &[("reconnect.backoff.ms", "50"), ("reconnect.backoff.max.ms", "1000")];

/// Other names of the same librdkafka setting.
const ALIASES: &[(&str, &str)] = &[
    ("max.partition.fetch.bytes", "fetch.message.max.bytes"),
    ("queue.buffering.max.kbytes", "queue.buffering.max.messages.kbytes"),
];

pub(crate) fn consumer(settings: &ClientSettings) -> ClientConfig {
    let mut config = common(settings);
    defaults(&mut config, settings, CONSUMER_DEFAULTS);
    if settings.get("group.protocol").map(String::as_str) != Some("consumer") {
        defaults(&mut config, settings, CLASSIC_DEFAULTS);
    }
    force(&mut config, CONSUMER_FORCED);
    config
}

pub(crate) fn producer(settings: &ClientSettings) -> ClientConfig {
    let mut config = common(settings);
    defaults(&mut config, settings, PRODUCER_DEFAULTS);
    force(&mut config, PRODUCER_FORCED);
    config
}

pub(crate) fn admin(settings: &ClientSettings) -> ClientConfig {
    let mut config = common(settings);
    // Without a group the client serves its own queue and can never join anything.
    config.remove("group.id");
    config.remove("group.instance.id");
    // A question must not create what it asks about.
    config.set("allow.auto.create.topics", "false");
    config
}

fn common(settings: &ClientSettings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set_log_level(RDKafkaLogLevel::Info);
    defaults(&mut config, settings, COMMON_DEFAULTS);
    for (key, value) in settings {
        config.set(key, value);
    }
    let tls = settings.get("security.protocol").is_some_and(|p| p.to_lowercase().contains("ssl"));
    let own_ca = ["ssl.ca.location", "ssl.ca.pem", "ssl.ca.certificate.stores"];
    if tls && !own_ca.iter().any(|key| settings.contains_key(*key)) {
        // A statically linked OpenSSL does not know where the system keeps its certificates.
        config.set("ssl.ca.location", "probe");
    }
    config
}

fn defaults(config: &mut ClientConfig, settings: &ClientSettings, list: &[(&str, &str)]) {
    for (key, value) in list {
        let alias = ALIASES.iter().find(|(name, _)| name == key).map(|(_, alias)| *alias);
        let given = settings.contains_key(*key) || alias.is_some_and(|a| settings.contains_key(a));
        if !given {
            config.set(*key, *value);
        }
    }
}

fn force(config: &mut ClientConfig, list: &[(&str, &str)]) {
    for (key, value) in list {
        config.set(*key, *value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &[(&str, &str)]) -> ClientSettings {
        list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    #[test]
    fn user_settings_win_over_defaults_but_not_over_forced_ones() {
        let config = consumer(&settings(&[
            ("fetch.message.max.bytes", "1000"),
            ("session.timeout.ms", "6000"),
            ("enable.auto.commit", "true"),
            ("auto.offset.reset", "latest"),
        ]));
        assert_eq!(config.get("max.partition.fetch.bytes"), None);
        assert_eq!(config.get("session.timeout.ms"), Some("6000"));
        assert_eq!(config.get("heartbeat.interval.ms"), Some("1000"));
        assert_eq!(config.get("enable.auto.commit"), Some("false"));
        assert_eq!(config.get("auto.offset.reset"), Some("error"));
    }

    #[test]
    fn the_newer_group_protocol_gets_no_classic_settings() {
        let config = consumer(&settings(&[("group.protocol", "consumer")]));
        assert_eq!(config.get("session.timeout.ms"), None);
        assert_eq!(config.get("partition.assignment.strategy"), None);
    }

    #[test]
    fn an_admin_client_joins_and_creates_nothing() {
        let config = admin(&settings(&[("group.id", "g"), ("allow.auto.create.topics", "true")]));
        assert_eq!(config.get("group.id"), None);
        assert_eq!(config.get("allow.auto.create.topics"), Some("false"));
    }

    #[test]
    fn certificates_are_probed_only_where_tls_has_none() {
        let config = producer(&settings(&[("security.protocol", "SASL_SSL")]));
        assert_eq!(config.get("ssl.ca.location"), Some("probe"));
        let config =
            producer(&settings(&[("security.protocol", "SSL"), ("ssl.ca.pem", "-----BEGIN")]));
        assert_eq!(config.get("ssl.ca.location"), None);
        assert_eq!(producer(&settings(&[])).get("ssl.ca.location"), None);
    }
}
