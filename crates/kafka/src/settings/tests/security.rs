//! TLS and logins: stores of every form, and what must not be printed.

use super::*;
use crate::settings::{ClientKind, ClientSettings};
use keystores::pem;

const CONSUMER: ClientKind = ClientKind::Consumer;
/// The password of the JKS trust store; the letter outside ASCII checks the digest's encoding.
const JKS_PASSWORD: &str = "pässwort-1";
const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";

fn store(name: &str) -> String {
    format!("{}/tests/testdata/stores/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn trust(name: &str, more: &[(&str, &str)]) -> Result<ClientSettings, String> {
    let path = store(name);
    let mut pairs = vec![("security.protocol", "SSL"), ("ssl.truststore.location", &path)];
    pairs.extend_from_slice(more);
    translate(CONSUMER, &[&props(&pairs)]).map_err(|errors| errors.to_string())
}

fn identity(name: &str, more: &[(&str, &str)]) -> Result<ClientSettings, String> {
    let path = store(name);
    let mut pairs = vec![("security.protocol", "SSL"), ("ssl.keystore.location", &path)];
    pairs.extend_from_slice(more);
    translate(CONSUMER, &[&props(&pairs)]).map_err(|errors| errors.to_string())
}

/// The certificates of the PEM trust store, sorted.
fn expected_certificates(count: usize) -> Vec<String> {
    let text = std::fs::read_to_string(store("trust.pem")).unwrap();
    let mut all = blocks(&text);
    all.truncate(count);
    all.sort();
    all
}

fn blocks(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    text.split_inclusive("-----END CERTIFICATE-----")
        .map(|block| block.trim().to_owned())
        .filter(|block| !block.is_empty())
        .collect()
}

fn certificates(settings: &ClientSettings) -> Vec<String> {
    assert_eq!(value(settings, "ssl.ca.location"), None);
    let mut found = blocks(value(settings, "ssl.ca.pem").unwrap());
    found.sort();
    found
}

#[test]
fn trust_stores_of_every_form_give_the_same_certificates() {
    let password = |word| [("ssl.truststore.password", word)];
    let two = expected_certificates(2);
    for settings in [
        trust("trust.pem", &[("ssl.truststore.type", "PEM")]),
        trust("trust.jks", &password(JKS_PASSWORD)),
        trust("trust.jks", &[]),
        trust("trust.p12", &password("trust-me-1")),
        trust(
            "trust.p12",
            &[("ssl.truststore.password", "trust-me-1"), ("ssl.truststore.type", "JKS")],
        ),
    ] {
        assert_eq!(certificates(&settings.unwrap()), two);
    }
    let one = expected_certificates(1);
    assert_eq!(certificates(&trust("open.p12", &[]).unwrap()), one);
    assert_eq!(certificates(&trust("openssl.p12", &password("changeit")).unwrap()), one);
}

#[test]
fn inline_certificates_may_stand_on_one_line() {
    let text = std::fs::read_to_string(store("trust.pem")).unwrap().replace('\n', " ");
    let settings = good(
        CONSUMER,
        &[
            ("security.protocol", "SSL"),
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.certificates", &text),
        ],
    );
    assert_eq!(certificates(&settings), expected_certificates(2));
}

#[test]
fn a_wrong_store_password_is_found() {
    let wrong = [("ssl.truststore.password", "wrong")];
    let text = trust("trust.jks", &wrong).unwrap_err();
    assert!(text.contains("trust.jks: keystore was tampered with, or password was incorrect"));
    let text = trust("trust.p12", &wrong).unwrap_err();
    assert!(text.contains("keystore password was incorrect"), "{text}");
    let text = trust("trust.p12", &[]).unwrap_err();
    assert!(text.contains("ssl.truststore.password must be set"), "{text}");
}

#[test]
fn stores_that_cannot_be_used_name_the_command() {
    let text = trust("key.jks", &[]).unwrap_err();
    assert!(text.contains("no trusted certificate") && text.contains("-importcert"), "{text}");
    let text = trust("key.p12", &[("ssl.truststore.password", "changeit")]).unwrap_err();
    assert!(text.contains("no trusted certificate"), "{text}");
    let text = trust("legacy.p12", &[("ssl.truststore.password", "changeit")]).unwrap_err();
    assert!(text.contains("cipher of old Java versions") && text.contains("keytool"), "{text}");
    let text = trust("trust.jceks", &[]).unwrap_err();
    assert!(text.contains("-srcstoretype JCEKS"), "{text}");
    let text = trust("nowhere.jks", &[]).unwrap_err();
    assert!(text.contains("cannot read") && text.contains("nowhere.jks"), "{text}");
    let text = trust("trust.jks", &[("ssl.truststore.type", "PEM")]).unwrap_err();
    assert!(text.contains("is not a PEM file"), "{text}");
    let text = trust("trust.jks", &[("ssl.truststore.type", "BKS")]).unwrap_err();
    assert!(text.contains("String must be one of: JKS, PKCS12, PEM"), "{text}");
}

#[test]
fn a_private_key_in_jks_is_refused_with_the_command_that_converts_it() {
    let path = store("key.jks");
    let text = identity("key.jks", &[("ssl.keystore.password", "changeit")]).unwrap_err();
    let command = format!(
        "keytool -importkeystore -srckeystore {path} -srcstoretype JKS -destkeystore {path}.p12 \
         -deststoretype PKCS12"
    );
    assert!(text.contains(&command), "{text}");
}

#[test]
fn identities_are_handed_over() {
    let settings = identity("key.pem", &[("ssl.keystore.type", "PEM")]).unwrap();
    assert!(value(&settings, "ssl.key.pem").unwrap().starts_with("-----BEGIN PRIVATE KEY-----"));
    assert_eq!(blocks(value(&settings, "ssl.certificate.pem").unwrap()), expected_certificates(1));
    let settings = identity("key-encrypted.pem", &[("ssl.key.password", "keypass")]).unwrap();
    assert!(value(&settings, "ssl.key.pem").unwrap().contains("ENCRYPTED PRIVATE KEY"));
    assert_eq!(value(&settings, "ssl.key.password"), Some("keypass"));
    let settings = identity("key.p12", &[("ssl.keystore.password", "changeit")]).unwrap();
    assert_eq!(value(&settings, "ssl.keystore.location"), Some(store("key.p12").as_str()));
    let text = identity("key.p12", &[]).unwrap_err();
    assert!(text.starts_with("ssl.keystore.password: must be set"), "{text}");
    let text = identity("key.p12", &[("ssl.keystore.password", "wrong-one")]).unwrap_err();
    assert!(text.starts_with("ssl.keystore.password: "), "{text}");
    assert!(text.contains("password was incorrect") && !text.contains("wrong-one"), "{text}");
}

#[test]
fn damaged_stores_are_errors_and_never_panics() {
    type Read = fn(&[u8]) -> bool;
    // Each look into the encrypted store hashes 10,000 times, so it is damaged in fewer places.
    let cases: [(&str, usize, Read); 4] = [
        ("trust.jks", 1, |bytes| keystores::read_jks(bytes, None).is_ok()),
        ("open.p12", 1, |bytes| keystores::read_pkcs12(bytes, None).is_ok()),
        ("trust.p12", 150, |bytes| keystores::read_pkcs12(bytes, Some("trust-me-1")).is_ok()),
        ("trust.pem", 1, |bytes| pem::certificates(&String::from_utf8_lossy(bytes)).is_ok()),
    ];
    for (name, step, read) in cases {
        let whole = std::fs::read(store(name)).unwrap();
        assert!(read(&whole), "{name}");
        for length in (0..whole.len()).step_by(step) {
            let cut = whole.get(..length).unwrap();
            // The first of two certificates may be whole.
            assert!(!read(cut) || name == "trust.pem", "{name} cut at {length}");
        }
        for at in (0..whole.len()).step_by(step) {
            for bit in [0x01, 0x80, 0xFF] {
                let mut changed = whole.clone();
                *changed.get_mut(at).unwrap() ^= bit;
                // Any answer will do, as long as there is one.
                read(&changed);
            }
        }
    }
    let whole = std::fs::read(store("trust.jks")).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        *changed.get_mut(at).unwrap() ^= 0x01;
        let error = keystores::read_jks(&changed, Some(JKS_PASSWORD)).unwrap_err();
        assert!(error.contains("tampered with"), "{error}");
    }
}

fn login(mechanism: &str, jaas: &str) -> Result<ClientSettings, String> {
    let pairs = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", mechanism),
        ("sasl.jaas.config", jaas),
    ];
    translate(CONSUMER, &[&props(&pairs)]).map_err(|errors| errors.to_string())
}

#[test]
fn plain_and_scram_logins() {
    for (mechanism, module) in
        [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
    {
        let jaas = format!("{module} required username=\"u\" password=\"a\\\"b\";");
        let settings = login(mechanism, &jaas).unwrap();
        assert_eq!(value(&settings, "security.protocol"), Some("sasl_plaintext"));
        assert_eq!(value(&settings, "sasl.mechanism"), Some(mechanism));
        assert_eq!(value(&settings, "sasl.username"), Some("u"));
        assert_eq!(value(&settings, "sasl.password"), Some("a\"b"));
    }
}

#[test]
fn logins_that_do_not_work_here_say_what_does() {
    let jaas = |module: &str| format!("{module} required username=\"u\" password=\"hunter2\";");
    let cases = [
        ("GSSAPI", jaas(PLAIN), "supported are: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("AWS_MSK_IAM", jaas("software.amazon.msk.auth.iam.IAMLoginModule"), "supported are"),
        ("PLAIN", jaas("com.sun.security.auth.module.Krb5LoginModule"), "is not supported"),
        ("PLAIN", jaas(SCRAM), "does not fit sasl.mechanism PLAIN"),
        ("PLAIN", format!("{PLAIN} required username=\"u\";"), "has no option password"),
        ("PLAIN", String::new(), "must be set when security.protocol uses SASL"),
        (
            "SCRAM-SHA-256",
            format!("{SCRAM} required username=\"u\" password=\"hunter2\" tokenauth=\"true\";"),
            "delegation tokens",
        ),
    ];
    for (mechanism, jaas, expected) in cases {
        let text = login(mechanism, &jaas).unwrap_err();
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let text = bad(CONSUMER, &[("security.protocol", "SASL_SSL")]);
    assert!(text.starts_with("sasl.mechanism: must be set"), "{text}");
}

#[test]
fn secrets_are_not_printed() {
    let jaas = format!("{PLAIN} required username=\"u\" password=\"hunter2\";");
    let mut settings = login("PLAIN", &jaas).unwrap();
    settings.librdkafka.insert("ssl.keystore.password".to_owned(), "hunter2".to_owned());
    settings.librdkafka.insert("ssl.key.pem".to_owned(), "hunter2".to_owned());
    let text = format!("{settings:?}");
    assert!(!text.contains("hunter2") && text.contains("[hidden]"), "{text}");
}

#[test]
fn host_names_and_versions() {
    let tls = |key: &str, given: &str| {
        translate(CONSUMER, &[&props(&[("security.protocol", "ssl"), (key, given)])])
    };
    let algorithm = "ssl.endpoint.identification.algorithm";
    assert_eq!(value(&tls(algorithm, "").unwrap(), algorithm), Some("none"));
    assert_eq!(value(&tls(algorithm, "HTTPS").unwrap(), algorithm), Some("https"));
    assert!(tls(algorithm, "ldaps").is_err());
    assert!(tls("ssl.protocol", "SSLv3").is_err());
    assert!(tls("ssl.enabled.protocols", "TLSv1.1").is_err());
    assert!(tls("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").unwrap().notices.is_empty());
    assert_eq!(tls("ssl.enabled.protocols", "TLSv1.3").unwrap().notices.len(), 1);
    let suites = "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384";
    let settings = tls("ssl.cipher.suites", suites).unwrap();
    assert_eq!(value(&settings, "ssl.cipher.suites"), Some("ECDHE-RSA-AES256-GCM-SHA384"));
    assert!(tls("ssl.cipher.suites", "TLS_RSA_WITH_RC4_128_MD5").is_err());
}

#[test]
fn tls_settings_without_tls_are_mentioned() {
    let settings = good(CONSUMER, &[("ssl.truststore.location", "/nowhere")]);
    assert!(has_notice(&settings, NoticeKind::NoEffect, "ssl.truststore.location"));
    assert_eq!(value(&settings, "ssl.ca.location"), Some("probe"));
}
