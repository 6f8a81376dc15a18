//! A broker whose listeners ask for TLS and logins.
//!
//! Its certificates are the test-only ones of `testdata/tls`; its users are in this file.

use std::{path::PathBuf, process::Command};

use super::Broker;
use crate::free_port;

/// The name of the user that may log in, with any mechanism.
pub const USER: &str = "writer";
/// The user's password with PLAIN; has what a careless reader of JAAS would stumble over.
pub const PLAIN_PASSWORD: &str = "test;only=#plain";
/// The user's password with SCRAM.
pub const SCRAM_PASSWORD: &str = "test-only-scram";
/// The password of every store in `testdata/tls`.
pub const STORE_PASSWORD: &str = "test-only";

/// One broker with a listener of each kind beside the plain one. Each address is `host:port`.
#[derive(Debug)]
pub struct Secured {
    /// The node, with its plain listener.
    pub broker: Broker,
    /// TLS; a client without a certificate of the test authority is refused.
    pub ssl: String,
    /// TLS, with a certificate that names another host.
    pub misnamed: String,
    /// TLS with a login: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512.
    pub sasl_ssl: String,
    /// A login without TLS: the same mechanisms.
    pub sasl_plaintext: String,
}

impl Secured {
    /// Starts one, and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has the end of its log.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// One where users may do only what they are granted by [`grant`](Self::grant); who comes by the plain
    /// listener may do everything.
    pub fn with_acls() -> Self {
        Self::start_with(&[
            ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            ("super.users", "User:ANONYMOUS"),
        ])
    }

    /// Grants the user rights, each as `kind:name:operation`: `topic:orders:Read`.
    ///
    /// # Panics
    ///
    /// When the broker refuses; the message has the words of `scripts/acls`.
    pub fn grant(&self, rights: &[&str]) {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new(root.join("scripts/acls"));
        let output = command.arg(self.broker.bootstrap()).arg(USER).args(rights).output();
        let output = output.expect("bash is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "scripts/acls {rights:?}: {said}");
    }

    fn start_with(more: &[(&str, &str)]) -> Self {
        let names = ["SSL", "MISNAMED", "SASL_SSL", "SASL_PLAINTEXT"];
        let listeners = names.map(|name| (name, free_port()));
        let users = ["256", "512"]
            .map(|bits| format!("SCRAM-SHA-{bits}=[name={USER},password={SCRAM_PASSWORD}]"));
        let format: Vec<&str> =
            users.iter().flat_map(|user| ["--add-scram", user.as_str()]).collect();
        let settings = settings();
        let settings = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let settings: Vec<(&str, &str)> = settings.chain(more.iter().copied()).collect();
        let broker = Broker::start_listening(&settings, &listeners, &format);
        let [ssl, misnamed, sasl_ssl, sasl_plaintext] =
            listeners.map(|(_, port)| format!("127.0.0.1:{port}"));
        Self { broker, ssl, misnamed, sasl_ssl, sasl_plaintext }
    }
}

/// The path of a file in `testdata/tls`.
pub fn tls_file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/tls").join(name);
    path.display().to_string()
}

fn settings() -> Vec<(String, String)> {
    let mut all = vec![(
        "listener.security.protocol.map".to_owned(),
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,MISNAMED:SSL,SASL_SSL:SASL_SSL,\
         SASL_PLAINTEXT:SASL_PLAINTEXT"
            .to_owned(),
    )];
    for (listener, store, client_auth) in [
        ("ssl", "broker", "required"),
        ("misnamed", "misnamed", "none"),
        ("sasl_ssl", "broker", "none"),
    ] {
        let store = tls_file(&format!("{store}.p12"));
        let trust = tls_file("trust.p12");
        for (key, value) in [
            ("keystore.location", store.as_str()),
            ("keystore.type", "PKCS12"),
            ("keystore.password", STORE_PASSWORD),
            ("key.password", STORE_PASSWORD),
            ("truststore.location", trust.as_str()),
            ("truststore.type", "PKCS12"),
            ("truststore.password", STORE_PASSWORD),
            ("client.auth", client_auth),
        ] {
            all.push((format!("listener.name.{listener}.ssl.{key}"), value.to_owned()));
        }
    }
    const MODULES: &str = "org.apache.kafka.common.security";
    for listener in ["sasl_ssl", "sasl_plaintext"] {
        let at = format!("listener.name.{listener}");
        let mechanisms = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512";
        all.push((format!("{at}.sasl.enabled.mechanisms"), mechanisms.to_owned()));
        let plain =
            format!("{MODULES}.plain.PlainLoginModule required user_{USER}=\"{PLAIN_PASSWORD}\";");
        all.push((format!("{at}.plain.sasl.jaas.config"), plain));
        for bits in ["256", "512"] {
            let scram = format!("{MODULES}.scram.ScramLoginModule required;");
            all.push((format!("{at}.scram-sha-{bits}.sasl.jaas.config"), scram));
        }
    }
    all
}
