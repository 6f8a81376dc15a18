//! Names, values, layers, notices.

use super::*;
use crate::settings::{
    ClientKind, IsolationLevel, Reset, check_override_policy, layers_for_connector, native, rules,
};
use config::worker::OverridePolicy;

const CONSUMER: ClientKind = ClientKind::Consumer;
const PRODUCER: ClientKind = ClientKind::Producer;

/// Every key of Kafka 4.4's three clients, one a line: client, key.
const KAFKA_KEYS: &str = include_str!("../../../tests/testdata/kafka-client-keys.txt");

#[test]
fn every_key_of_kafka_has_a_rule_for_its_client() {
    let mut count = 0;
    for line in KAFKA_KEYS.lines() {
        let (client, key) = line.split_once(' ').unwrap();
        let kind = match client {
            "consumer" => CONSUMER,
            "producer" => PRODUCER,
            _ => ClientKind::Admin,
        };
        let rule = rules::find(key).unwrap_or_else(|| panic!("{key} has no rule"));
        assert!(rule.is_for(kind), "{line}");
        assert!(native::find(key).is_none(), "{key} has two meanings");
        count += 1;
    }
    assert!(count > 300, "{count}");
}

#[test]
fn consumer_keys_are_translated() {
    let settings = good(
        CONSUMER,
        &[
            ("bootstrap.servers", " a:9092 , b:9093,"),
            ("max.poll.records", "5000"),
            ("fetch.min.bytes", "0"),
            ("fetch.max.wait.ms", "100"),
            ("fetch.max.bytes", "500000"),
            ("max.partition.fetch.bytes", "10485760"),
            ("isolation.level", "read_uncommitted"),
            ("auto.offset.reset", "latest"),
            ("metadata.max.age.ms", "5000"),
            ("receive.buffer.bytes", "-1"),
            ("request.timeout.ms", "20000"),
            ("connections.max.idle.ms", "-1"),
            (
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.RangeAssignor,\
                 org.apache.kafka.clients.consumer.RoundRobinAssignor",
            ),
        ],
    );
    for (key, expected) in [
        ("bootstrap.servers", "a:9092,b:9093"),
        ("fetch.min.bytes", "1"),
        ("fetch.wait.max.ms", "100"),
        ("fetch.max.bytes", "500000"),
        ("message.max.bytes", "500000"),
        ("max.partition.fetch.bytes", "10485760"),
        ("isolation.level", "read_uncommitted"),
        ("auto.offset.reset", "error"),
        ("topic.metadata.refresh.interval.ms", "5000"),
        ("metadata.max.age.ms", "15000"),
        ("socket.receive.buffer.bytes", "0"),
        ("socket.timeout.ms", "20000"),
        ("connections.max.idle.ms", "0"),
        ("partition.assignment.strategy", "range,roundrobin"),
        ("ssl.ca.location", "probe"),
    ] {
        assert_eq!(value(&settings, key), Some(expected), "{key}");
    }
    assert_eq!(settings.runtime.max_poll_records, Some(5000));
    assert_eq!(settings.runtime.auto_offset_reset, Reset::Latest);
    assert_eq!(settings.runtime.isolation_level, IsolationLevel::ReadUncommitted);
    assert_eq!(
        notices(&settings),
        ["Adjusted fetch.min.bytes: 0 becomes 1, the least that librdkafka takes"]
    );
}

#[test]
fn producer_keys_are_translated() {
    let settings = good(
        PRODUCER,
        &[
            ("acks", "all"),
            ("linger.ms", "5"),
            ("batch.size", "0"),
            ("buffer.memory", "33554432"),
            ("max.request.size", "2097152"),
            ("compression.type", "zstd"),
            ("compression.zstd.level", "22"),
            ("compression.gzip.level", "9"),
            ("max.block.ms", "9223372036854775807"),
            ("delivery.timeout.ms", "2147483647"),
            ("request.timeout.ms", "30000"),
            ("retries", "2147483647"),
            ("partitioner.class", ""),
        ],
    );
    for (key, expected) in [
        ("acks", "-1"),
        ("batch.size", "1"),
        ("queue.buffering.max.kbytes", "32768"),
        ("message.max.bytes", "2097152"),
        ("compression.type", "zstd"),
        ("compression.level", "12"),
        ("request.timeout.ms", "30000"),
        ("socket.timeout.ms", "30000"),
        ("partitioner", "murmur2_random"),
    ] {
        assert_eq!(value(&settings, key), Some(expected), "{key}");
    }
    assert_eq!(settings.runtime.max_block_ms, Some(i64::MAX.unsigned_abs()));
    assert!(has_notice(&settings, NoticeKind::NoEffect, "compression.gzip.level"));
    assert!(has_notice(&settings, NoticeKind::Adjusted, "compression.zstd.level"));
}

#[test]
fn nothing_is_dropped_silently() {
    let settings = good(
        CONSUMER,
        &[
            ("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer"),
            ("interceptor.classes", "com.x.I"),
            ("linger.ms", "5"),
            ("max.pol.records", "5"),
            ("metrics.context.env", "prod"),
            ("enable.auto.commit", "true"),
            ("group.protocol", "consumer"),
        ],
    );
    assert_eq!(
        notices(&settings),
        [
            "Adjusted enable.auto.commit: stays false: offsets are committed when their records \
             are durable",
            "Adjusted group.protocol: stays classic: a restarted task takes its seat again \
             through static membership of the classic protocol",
            "NoEffect interceptor.classes: has no effect here: it names classes of the JVM",
            "NoEffect key.deserializer: has no effect here: records are always read and written \
             as bytes, converters do the rest",
            "NoEffect linger.ms: is a setting of the producer; a consumer has none",
            "Unknown max.pol.records: is not a known client setting; did you mean \
             max.poll.records?",
            "NoEffect metrics.context.env: has no effect here: it configures metrics of the JVM",
        ]
    );
}

#[test]
fn wrong_values_name_key_value_and_what_is_accepted() {
    for (key, given, expected) in [
        ("max.poll.records", "x", "Not a number of type INT; a whole number from 1 is accepted"),
        ("max.poll.records", "0", "Value must be at least 1"),
        ("fetch.max.wait.ms", "3000000000", "Value must be no more than 2147483647"),
        ("check.crcs", "yes", "Expected value to be either true or false"),
        ("isolation.level", "committed", "String must be one of: read_committed, read_uncommitted"),
        ("security.protocol", "TLS", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("auto.offset.reset", "by_duration:PT1H", "earliest, latest, none"),
        ("bootstrap.servers", "a:port", "a:port has no valid port; host:port is expected"),
        ("bootstrap.servers", ",", "a list of host:port is expected"),
        ("client.dns.lookup", "maybe", "String must be one of: use_all_dns_ips"),
        ("partition.assignment.strategy", "com.x.MyAssignor", "supported are RangeAssignor"),
    ] {
        let text = bad(CONSUMER, &[(key, given)]);
        let start = format!("{key}: Invalid value {given} for configuration {key}: ");
        assert!(text.starts_with(&start) && text.contains(expected), "{text}");
    }
    // All of them at once.
    let text = bad(CONSUMER, &[("max.poll.records", "x"), ("fetch.min.bytes", "-1")]);
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn refused_keys_say_what_to_do() {
    let text = bad(CONSUMER, &[("ssl.engine.factory.class", "com.x.E")]);
    assert!(text.contains("configure certificates with ssl.truststore"), "{text}");
    let text = bad(CONSUMER, &[("enable.auto.offset.store", "true")]);
    assert!(text.contains("exactly-once delivery depends on it"), "{text}");
    let text = bad(PRODUCER, &[("partitioner.class", "com.x.P")]);
    assert!(text.contains("classes of the JVM cannot be used"), "{text}");
}

#[test]
fn settings_that_exclude_each_other_are_named() {
    let text = bad(CONSUMER, &[("session.timeout.ms", "45000"), ("max.poll.interval.ms", "30000")]);
    assert!(text.contains("must not be lower than session.timeout.ms, which is 45000"), "{text}");
    let text = bad(CONSUMER, &[("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "6000")]);
    assert!(text.contains("must be lower than session.timeout.ms"), "{text}");
    let text = bad(PRODUCER, &[("enable.idempotence", "true"), ("acks", "1")]);
    assert!(text.contains("Must set acks to all"), "{text}");
    let settings = good(PRODUCER, &[("acks", "1")]);
    assert_eq!(value(&settings, "enable.idempotence"), Some("false"));
    let settings =
        good(PRODUCER, &[("transactional.id", "t"), ("delivery.timeout.ms", "2147483647")]);
    assert_eq!(value(&settings, "delivery.timeout.ms"), Some("60000"));
}

#[test]
fn mixed_assignors_become_the_eager_ones() {
    let strategies = "org.apache.kafka.clients.consumer.RangeAssignor,\
                      org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
    let settings = good(CONSUMER, &[("partition.assignment.strategy", strategies)]);
    assert_eq!(value(&settings, "partition.assignment.strategy"), Some("range"));
    assert!(has_notice(&settings, NoticeKind::Adjusted, "partition.assignment.strategy"));
}

#[test]
fn own_names_of_librdkafka_pass_and_win() {
    let settings = good(
        CONSUMER,
        &[("fetch.wait.max.ms", "7"), ("fetch.max.wait.ms", "100"), ("queued.min.messages", "10")],
    );
    assert_eq!(value(&settings, "fetch.wait.max.ms"), Some("7"));
    assert_eq!(value(&settings, "queued.min.messages"), Some("10"));
    assert_eq!(notices(&settings), Vec::<String>::new());
}

#[test]
fn layers_are_those_of_connect() {
    let worker = props(&[
        ("bootstrap.servers", "w:9092"),
        ("security.protocol", "SSL"),
        ("group.id", "cluster"),
        ("key.converter", "x"),
        ("consumer.max.poll.records", "100"),
        ("consumer.fetch.min.bytes", "5"),
        ("admin.client.id", "worker-admin"),
    ]);
    let connector = props(&[
        ("topics", "t"),
        ("consumer.override.max.poll.records", "200"),
        ("consumer.override.client.id", "c"),
    ]);
    let layers = layers_for_connector(&worker, &connector, CONSUMER);
    let settings = layers.translate(CONSUMER).unwrap();
    assert_eq!(settings.runtime.max_poll_records, Some(200));
    assert_eq!(value(&settings, "fetch.min.bytes"), Some("5"));
    assert_eq!(value(&settings, "bootstrap.servers"), Some("w:9092"));
    // Tasks' clients do not inherit the worker's own login.
    assert_eq!(value(&settings, "security.protocol"), None);
    let admin = layers_for_connector(&worker, &connector, ClientKind::Admin);
    let settings = admin.translate(ClientKind::Admin).unwrap();
    assert_eq!(value(&settings, "security.protocol"), Some("ssl"));
    assert_eq!(value(&settings, "client.id"), Some("worker-admin"));
    assert_eq!(notices(&settings), Vec::<String>::new());
}

#[test]
fn errors_and_notices_have_the_prefix_of_their_layer() {
    let worker = props(&[("consumer.fetch.min.bytes", "x"), ("consumer.max.poll.records", "1")]);
    let connector = props(&[("consumer.override.max.poll.records", "y")]);
    let errors =
        layers_for_connector(&worker, &connector, CONSUMER).translate(CONSUMER).unwrap_err();
    let keys: Vec<&str> = errors.errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["consumer.fetch.min.bytes", "consumer.override.max.poll.records"]);
}

#[test]
fn override_policies_have_connects_text() {
    let connector = props(&[
        ("consumer.override.max.poll.records", "1"),
        ("consumer.override.sasl.mechanism", "PLAIN"),
        ("producer.override.acks", "all"),
    ]);
    let check = |policy, list: &[String]| {
        let errors = check_override_policy(policy, list, &connector, CONSUMER);
        errors.into_iter().map(|error| (error.key, error.message)).collect::<Vec<_>>()
    };
    assert_eq!(check(OverridePolicy::All, &[]), []);
    assert_eq!(check(OverridePolicy::None, &[]).len(), 2);
    assert_eq!(
        check(OverridePolicy::Principal, &[]),
        [(
            "consumer.override.max.poll.records".to_owned(),
            "The 'Principal' policy does not allow 'max.poll.records' to be overridden in the \
             connector configuration."
                .to_owned()
        )]
    );
    let list = ["max.poll.records".to_owned(), "sasl.mechanism".to_owned()];
    assert_eq!(check(OverridePolicy::Allowlist, &list), []);
}
