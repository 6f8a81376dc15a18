//! TLS and logins against a real broker, written as the users of Kafka Connect write them.

use crate::harness::{PATIENCE, Route, status, wait_failed, worker};
use testkit::{
    eventually,
    kafka::{PLAIN_PASSWORD, SCRAM_PASSWORD, STORE_PASSWORD, Secured, USER, tls_file},
    postgres::database,
    process::Worker,
};

const RECORDS: u64 = 50;
const WRONG_PASSWORD: &str = "never-to-be-shown";

type Settings = Vec<(&'static str, String)>;

fn login(module: &str, password: &str) -> (&'static str, String) {
    let module = format!("org.apache.kafka.common.security.{module}LoginModule");
    let jaas = format!("{module} required username=\"{USER}\" password=\"{password}\";");
    ("sasl.jaas.config", jaas)
}

fn plain(password: &str) -> Settings {
    vec![("sasl.mechanism", "PLAIN".into()), login("plain.Plain", password)]
}

fn scram(bits: &str, password: &str) -> Settings {
    vec![("sasl.mechanism", format!("SCRAM-SHA-{bits}")), login("scram.Scram", password)]
}

fn at(address: &str, protocol: &str) -> Settings {
    vec![("bootstrap.servers", address.to_owned()), ("security.protocol", protocol.into())]
}

fn store(side: &str, file: &str, kind: &str) -> Settings {
    let key = |what: &str| -> &'static str {
        match (side, what) {
            ("truststore", "location") => "ssl.truststore.location",
            ("truststore", "type") => "ssl.truststore.type",
            ("truststore", _) => "ssl.truststore.password",
            (_, "location") => "ssl.keystore.location",
            (_, "type") => "ssl.keystore.type",
            _ => "ssl.keystore.password",
        }
    };
    let mut settings = vec![(key("location"), tls_file(file)), (key("type"), kind.into())];
    // A PEM file has no password: the worker's own is taken away.
    let password = if kind == "PEM" { "" } else { STORE_PASSWORD };
    settings.push((key("password"), password.into()));
    settings
}

/// The settings of connectors that must work, by name. The first has those of the worker.
fn good(broker: &Secured) -> Vec<(&'static str, Settings)> {
    let no_name = ("ssl.endpoint.identification.algorithm", String::new());
    vec![
        ("plain-with-jks", vec![]),
        (
            "scram-512-with-pem",
            [scram("512", SCRAM_PASSWORD), store("truststore", "ca.pem", "PEM")].concat(),
        ),
        (
            "scram-256-without-tls",
            [at(&broker.sasl_plaintext, "SASL_PLAINTEXT"), scram("256", SCRAM_PASSWORD)].concat(),
        ),
        (
            "mutual-tls",
            [
                at(&broker.ssl, "SSL"),
                store("truststore", "trust.p12", "PKCS12"),
                store("keystore", "client.p12", "PKCS12"),
                vec![("ssl.key.password", STORE_PASSWORD.into())],
            ]
            .concat(),
        ),
        ("name-not-checked", [at(&broker.misnamed, "SSL"), vec![no_name]].concat()),
    ]
}

/// The settings of connectors that must fail, with what the message must have.
fn bad(broker: &Secured) -> Vec<(&'static str, Settings, Vec<String>)> {
    let refused = |at: &str| vec![format!("refuses the login {at}"), "sasl.jaas.config".into()];
    let https = ("ssl.endpoint.identification.algorithm", "https".into());
    let names = |words: &[&str], at: &str| -> Vec<String> {
        words.iter().chain([&at]).map(|word| (*word).to_owned()).collect()
    };
    vec![
        ("plain-wrong", plain(WRONG_PASSWORD), refused(&broker.sasl_ssl)),
        ("scram-512-wrong", scram("512", WRONG_PASSWORD), refused(&broker.sasl_ssl)),
        (
            "scram-256-wrong",
            [at(&broker.sasl_plaintext, "SASL_PLAINTEXT"), scram("256", WRONG_PASSWORD)].concat(),
            refused(&broker.sasl_plaintext),
        ),
        (
            "untrusted",
            store("truststore", "other-ca.pem", "PEM"),
            names(&["ssl.truststore.location"], &broker.sasl_ssl),
        ),
        (
            "misnamed",
            [at(&broker.misnamed, "SSL"), vec![https]].concat(),
            names(&["ssl.endpoint.identification.algorithm"], &broker.misnamed),
        ),
        ("no-certificate", at(&broker.ssl, "SSL"), names(&["ssl.keystore.location"], &broker.ssl)),
    ]
}

fn overrides(settings: &Settings) -> Vec<(String, String)> {
    settings
        .iter()
        .map(|(key, value)| (format!("consumer.override.{key}"), value.clone()))
        .collect()
}

/// Right settings bring the records, wrong ones fail with the setting to change; no password is told.
#[test]
fn javas_security_settings_against_a_real_broker() {
    let broker = Secured::start();
    let mut setup = worker(&broker.sasl_ssl);
    let common = [
        vec![("security.protocol", "SASL_SSL".into())],
        plain(PLAIN_PASSWORD),
        store("truststore", "trust.jks", "JKS"),
    ];
    for (key, value) in common.concat() {
        // A sink task asks everything with its consumer's settings; the worker's own are not needed.
        setup = setup.worker(&format!("consumer.{key}"), &value);
    }
    let mut routes = Vec::new();
    for (name, settings) in good(&broker) {
        let route = Route::over(&broker.broker.bootstrap(), name, 1, database());
        route.produce(0, RECORDS);
        let own = overrides(&settings);
        let own: Vec<_> = own.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        setup = setup.connector(route.name(), &route.properties(&own));
        routes.push((name, route));
    }
    let bad = bad(&broker);
    for (name, settings, _) in &bad {
        let own = overrides(settings);
        let own: Vec<_> = own.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        setup = setup.connector(name, &routes[0].1.properties(&own));
    }
    let worker = setup.start();
    for (name, _, words) in &bad {
        let reason = wait_failed(&worker, name);
        for word in words {
            assert!(reason.contains(word), "{name}: {word} is missing: {reason}");
        }
    }
    for (name, route) in &routes {
        eventually(PATIENCE, name, || {
            let status = status(&worker, route.name());
            assert_ne!(status["tasks"][0]["state"], "FAILED", "{name}: {status}");
            (route.stored() == RECORDS).then_some(())
        });
    }
    expect_discreet(&worker, &bad);
}

/// Neither the log nor a status has a password, and nobody is told to wait for what has failed.
fn expect_discreet(worker: &Worker, bad: &[(&str, Settings, Vec<String>)]) {
    let mut told = worker.logs();
    for (name, _, _) in bad {
        let of_connector = format!("connector={name} ");
        let mut waits = told.lines().filter(|line| line.contains(&of_connector));
        // A broker may close the connection before its alert is read; then it is asked once more.
        let waits = waits.find(|line| line.contains("trying again"));
        assert!(waits.is_none() || *name == "no-certificate", "{waits:?}");
    }
    for (name, _, _) in bad {
        told.push_str(&status(worker, name).to_string());
    }
    for password in [WRONG_PASSWORD, PLAIN_PASSWORD, SCRAM_PASSWORD] {
        assert!(!told.contains(password), "{password} is told:\n{told}");
    }
}
