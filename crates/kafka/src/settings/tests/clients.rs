//! librdkafka itself takes what comes out.

use super::*;
use crate::settings::rules::{self, Action};
use rdkafka::ClientConfig;
use rdkafka::consumer::BaseConsumer;
use rdkafka::producer::BaseProducer;

const CONSUMER: ClientKind = ClientKind::Consumer;
const PRODUCER: ClientKind = ClientKind::Producer;

/// Makes a client; nothing is connected before it is used.
fn create(kind: ClientKind, settings: &ClientSettings) -> Result<(), String> {
    let mut config = ClientConfig::new();
    config.extend(settings.librdkafka.clone());
    if kind == PRODUCER {
        return config.create::<BaseProducer>().map(drop).map_err(|error| error.to_string());
    }
    config.set("group.id", "g");
    config.create::<BaseConsumer>().map(drop).map_err(|error| error.to_string())
}

#[test]
fn every_number_at_both_ends_of_javas_range_is_taken() {
    for kind in [CONSUMER, PRODUCER] {
        for key in rules::names(kind) {
            let Some(Action::Number { java, .. }) = rules::find(key).map(|rule| &rule.action)
            else {
                continue;
            };
            for number in [java.0, java.1] {
                let given = number.to_string();
                let settings = match translate(kind, &[&props(&[(key, &given)])]) {
                    Ok(settings) => settings,
                    // Longer than a record may take: refused, as in Java.
                    Err(_) if key == "linger.ms" && number > 0 => continue,
                    Err(errors) => panic!("{key}={given}: {errors}"),
                };
                let result = create(kind, &settings);
                assert_eq!(result, Ok(()), "{key}={given}");
            }
        }
    }
}

#[test]
fn typical_settings_are_taken() {
    let path = format!("{}/tests/testdata/stores/", env!("CARGO_MANIFEST_DIR"));
    let (trust, key) = (format!("{path}trust.jks"), format!("{path}key.p12"));
    let pem = format!("{path}key-encrypted.pem");
    let tls = [
        ("security.protocol", "SSL"),
        ("ssl.truststore.location", trust.as_str()),
        ("ssl.endpoint.identification.algorithm", ""),
        ("ssl.cipher.suites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ];
    let pkcs12 = [("ssl.keystore.location", key.as_str()), ("ssl.keystore.password", "changeit")];
    let own_pem = [("ssl.keystore.location", pem.as_str()), ("ssl.key.password", "keypass")];
    for identity in [pkcs12, own_pem] {
        let pairs: Vec<_> = tls.into_iter().chain(identity).collect();
        assert_eq!(create(CONSUMER, &good(CONSUMER, &pairs)), Ok(()));
    }
    let sasl = [
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        (
            "sasl.jaas.config",
            "org.apache.kafka.common.security.scram.ScramLoginModule required \
             username=\"u\" password=\"p\";",
        ),
        ("transactional.id", "t"),
        ("delivery.timeout.ms", "2147483647"),
        ("request.timeout.ms", "120000"),
        ("compression.type", "lz4"),
        ("compression.lz4.level", "17"),
    ];
    assert_eq!(create(PRODUCER, &good(PRODUCER, &sasl)), Ok(()));
}
