//! TLS: trust stores, key stores, host names, protocol versions, cipher suites.
//!
//! Trust goes to librdkafka as PEM text, whatever form the store has; a client's own certificate
//! goes as PEM text or, from PKCS12, as the file itself.

use super::NoticeKind;
use super::draft::Draft;
use super::rules;
use super::sasl::Protocol;
use config::files::{BYTES_MAX, read_bounded};
use keystores::{Form, pem};
use std::path::Path;

/// Translates every `ssl.` key.
pub(super) fn translate(draft: &mut Draft, protocol: Protocol) {
    if protocol.tls {
        trust(draft);
        identity(draft);
        endpoint(draft);
        versions(draft);
        ciphers(draft);
    } else {
        for key in draft.keys_below("ssl.") {
            let waits =
                rules::find(&key).is_some_and(|rule| matches!(rule.action, rules::Action::Later));
            if waits {
                let text = "has no effect: security.protocol is neither SSL nor SASL_SSL";
                draft.notice(NoticeKind::NoEffect, &key, text);
            }
        }
    }
    // A library that is linked statically does not look for the system's certificates by itself.
    let own = ["ssl.ca.pem", "ssl.ca.location"];
    if own.iter().all(|key| draft.value(key).is_none()) {
        draft.set("ssl.ca.location", "probe");
    }
}

/// The type of a store as given, in upper case; checked.
fn store_type(draft: &mut Draft, key: &str) -> Option<String> {
    let value = draft.filled(key)?.to_owned();
    let upper = value.to_ascii_uppercase();
    if ["JKS", "PKCS12", "PEM"].contains(&upper.as_str()) {
        return Some(upper);
    }
    draft.reject(key, &value, "String must be one of: JKS, PKCS12, PEM");
    None
}

/// The content of a store file and its form; an error if it cannot be read or has another form
/// than PEM where PEM is demanded.
fn open(draft: &mut Draft, side: &str) -> Option<(String, Vec<u8>, Form)> {
    let key = format!("ssl.{side}.location");
    let type_key = format!("ssl.{side}.type");
    let kind = store_type(draft, &type_key);
    let path = draft.filled(&key)?.to_owned();
    let bytes = match read_bounded(Path::new(&path), BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) => {
            draft.fail(&key, format!("cannot read {path}: {error}"));
            return None;
        }
    };
    let form = Form::of(&bytes);
    let fault = match (kind.as_deref(), form) {
        (_, Form::Unknown) => Some(format!("{path} is none of JKS, PKCS12 and PEM")),
        (_, Form::Jceks) => Some(format!(
            "{path} is a JCEKS store; convert it: keytool -importkeystore -srckeystore {path} \
             -srcstoretype JCEKS -destkeystore {path}.p12 -deststoretype PKCS12"
        )),
        (Some("PEM"), Form::Jks | Form::Pkcs12) => {
            Some(format!("{path} is not a PEM file, as {type_key}=PEM says"))
        }
        _ => None,
    };
    match fault {
        Some(fault) => {
            draft.fail(&key, fault);
            None
        }
        None => Some((path, bytes, form)),
    }
}

fn trust(draft: &mut Draft) {
    const INLINE: &str = "ssl.truststore.certificates";
    const LOCATION: &str = "ssl.truststore.location";
    if let Some(inline) = draft.filled(INLINE).map(str::to_owned) {
        if draft.filled(LOCATION).is_some() {
            return draft.fail(INLINE, "cannot be set together with ssl.truststore.location");
        }
        let kind = store_type(draft, "ssl.truststore.type");
        if kind.is_some_and(|kind| kind != "PEM") {
            let text = "must be PEM when ssl.truststore.certificates is set";
            return draft.fail("ssl.truststore.type", text);
        }
        match pem::certificates(&inline) {
            Ok(text) => draft.set("ssl.ca.pem", text),
            Err(fault) => draft.fail(INLINE, fault),
        }
        return;
    }
    let Some((path, bytes, form)) = open(draft, "truststore") else { return };
    let password = draft.filled("ssl.truststore.password").map(str::to_owned);
    let read = match form {
        Form::Pem => pem::certificates(&String::from_utf8_lossy(&bytes)),
        Form::Jks => {
            keystores::read_jks(&bytes, password.as_deref()).map(|jks| encode(&jks.certificates))
        }
        _ => keystores::read_pkcs12(&bytes, password.as_deref())
            .map(|certificates| encode(&certificates))
            .map_err(|fault| format!("{fault}{}", pkcs12_hint(&path))),
    };
    match read {
        Ok(text) if text.is_empty() => draft.fail(
            LOCATION,
            format!(
                "{path} has no trusted certificate; add one: keytool -importcert -keystore {path} \
                 -alias ca -file ca.pem"
            ),
        ),
        Ok(text) => draft.set("ssl.ca.pem", text),
        Err(fault) => draft.fail(LOCATION, format!("{path}: {fault}")),
    }
}

fn encode(certificates: &[Vec<u8>]) -> String {
    certificates.iter().map(|der| pem::encode("CERTIFICATE", der)).collect()
}

fn pkcs12_hint(path: &str) -> String {
    format!(
        "; to write its certificates as PEM: keytool -list -rfc -keystore {path} > {path}.pem, \
         then ssl.truststore.location={path}.pem and ssl.truststore.type=PEM"
    )
}

fn identity(draft: &mut Draft) {
    const KEY: &str = "ssl.keystore.key";
    const CHAIN: &str = "ssl.keystore.certificate.chain";
    const LOCATION: &str = "ssl.keystore.location";
    let inline = [KEY, CHAIN].map(|key| draft.filled(key).map(str::to_owned));
    match inline {
        [None, None] => {}
        [Some(key), Some(chain)] => {
            if draft.filled(LOCATION).is_some() {
                return draft.fail(KEY, "cannot be set together with ssl.keystore.location");
            }
            let kind = store_type(draft, "ssl.keystore.type");
            if kind.is_some_and(|kind| kind != "PEM") {
                return draft.fail("ssl.keystore.type", "must be PEM when ssl.keystore.key is set");
            }
            set_identity(draft, (KEY, &key), (CHAIN, &chain));
            return;
        }
        [Some(_), None] => return draft.fail(CHAIN, "must be set together with ssl.keystore.key"),
        [None, Some(_)] => {
            return draft.fail(KEY, "must be set together with ssl.keystore.certificate.chain");
        }
    }
    let Some((path, bytes, form)) = open(draft, "keystore") else { return };
    match form {
        Form::Pem => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            set_identity(draft, (LOCATION, &text), (LOCATION, &text));
        }
        Form::Pkcs12 => pkcs12_identity(draft, &path, &bytes),
        _ => draft.fail(
            LOCATION,
            format!(
                "{path} is a JKS store, whose private key cannot be read here; convert it: keytool \
                 -importkeystore -srckeystore {path} -srcstoretype JKS -destkeystore {path}.p12 \
                 -deststoretype PKCS12, then ssl.keystore.location={path}.p12 and \
                 ssl.keystore.type=PKCS12"
            ),
        ),
    }
}

/// A key and its chain, each with the setting it comes from.
fn set_identity(draft: &mut Draft, key: (&str, &str), chain: (&str, &str)) {
    match (pem::private_key(key.1), pem::certificates(chain.1)) {
        (Ok(key), Ok(chain)) => {
            draft.set("ssl.key.pem", key);
            draft.set("ssl.certificate.pem", chain);
            if let Some(password) = draft.filled("ssl.key.password").map(str::to_owned) {
                draft.set("ssl.key.password", password);
            }
        }
        (Err(fault), _) => draft.fail(key.0, fault),
        (_, Err(fault)) => draft.fail(chain.0, fault),
    }
}

fn pkcs12_identity(draft: &mut Draft, path: &str, bytes: &[u8]) {
    let Some(password) = draft.filled("ssl.keystore.password").map(str::to_owned) else {
        let text = "must be set when ssl.keystore.location is a PKCS12 store";
        return draft.fail("ssl.keystore.password", text);
    };
    if draft.filled("ssl.key.password").is_some_and(|key| key != password) {
        let text = "must be the same as ssl.keystore.password: a PKCS12 store has one password";
        return draft.fail("ssl.key.password", text);
    }
    // OpenSSL reads more forms than are read here; where a password is seen to be wrong, that is said
    // with the setting's name, before a client is made.
    if keystores::read_pkcs12(bytes, Some(&password)).is_err_and(|e| e == keystores::WRONG_PASSWORD)
    {
        let text = format!("{path}: {}", keystores::WRONG_PASSWORD);
        return draft.fail("ssl.keystore.password", text);
    }
    draft.set("ssl.keystore.location", path);
    draft.set("ssl.keystore.password", password);
}

fn endpoint(draft: &mut Draft) {
    const KEY: &str = "ssl.endpoint.identification.algorithm";
    let Some(value) = draft.given(KEY).map(str::to_owned) else { return };
    match value.to_ascii_lowercase().as_str() {
        "https" => draft.set(KEY, "https"),
        "" | "none" => draft.set(KEY, "none"),
        _ => draft.reject(KEY, &value, "String must be one of: https, or empty for no check"),
    }
}

/// The versions that are in use; librdkafka leaves the choice between them to the servers.
const VERSIONS: [&str; 2] = ["TLSv1.2", "TLSv1.3"];

fn versions(draft: &mut Draft) {
    if let Some(value) = draft.filled("ssl.protocol").map(str::to_owned) {
        if VERSIONS.contains(&value.as_str()) || value == "TLS" {
            let text = "has no effect here: TLSv1.3 is used where the broker has it, else TLSv1.2";
            draft.notice(NoticeKind::NoEffect, "ssl.protocol", text);
        } else {
            let text = format!("String must be one of: {}", VERSIONS.join(", "));
            draft.reject("ssl.protocol", &value, &text);
        }
    }
    let Some(value) = draft.filled("ssl.enabled.protocols").map(str::to_owned) else { return };
    let given: Vec<&str> = value.split(',').map(str::trim).collect();
    if !given.iter().any(|version| VERSIONS.contains(version)) {
        let text = format!("one of these must be enabled: {}", VERSIONS.join(", "));
        return draft.reject("ssl.enabled.protocols", &value, &text);
    }
    if given.len() != VERSIONS.len() || !VERSIONS.iter().all(|version| given.contains(version)) {
        let text = "has no effect here: TLSv1.2 and TLSv1.3 are enabled, the broker decides";
        draft.notice(NoticeKind::NoEffect, "ssl.enabled.protocols", text);
    }
}

fn ciphers(draft: &mut Draft) {
    const KEY: &str = "ssl.cipher.suites";
    let Some(value) = draft.filled(KEY).map(str::to_owned) else { return };
    let mut names = Vec::new();
    for suite in value.split([',', ':']).map(str::trim).filter(|suite| !suite.is_empty()) {
        match openssl_suite(suite) {
            Some(name) if name.starts_with("TLS_") => {
                let text = format!("{suite} is always enabled: suites of TLSv1.3 are not chosen");
                draft.notice(NoticeKind::NoEffect, KEY, text);
            }
            Some(name) => names.push(name),
            None => {
                let text = format!(
                    "the suite {suite} is not known; Java's names of AES-GCM, AES-CBC and \
                     ChaCha20 suites are accepted, and OpenSSL's names"
                );
                draft.reject(KEY, &value, &text);
            }
        }
    }
    if !names.is_empty() {
        draft.set(KEY, names.join(":"));
    }
}

/// OpenSSL's name of a suite: `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is
/// `ECDHE-RSA-AES128-GCM-SHA256`. Suites of TLS 1.3 have one name only.
fn openssl_suite(suite: &str) -> Option<String> {
    let Some(rest) = suite.strip_prefix("TLS_") else {
        // OpenSSL's own names and words (`HIGH`, `!aNULL`, `@STRENGTH`).
        let own = |c: char| c.is_ascii_alphanumeric() || "-+!@=_".contains(c);
        return suite.chars().all(own).then(|| suite.to_owned());
    };
    let Some((exchange, cipher)) = rest.split_once("_WITH_") else {
        return rest
            .starts_with("AES_")
            .then(|| suite.to_owned())
            .or_else(|| rest.starts_with("CHACHA20_").then(|| suite.to_owned()));
    };
    let exchange = match exchange {
        "RSA" => String::new(),
        "ECDHE_RSA" | "ECDHE_ECDSA" | "DHE_RSA" => format!("{}-", exchange.replace('_', "-")),
        _ => return None,
    };
    let cipher = match cipher {
        "AES_128_GCM_SHA256" => "AES128-GCM-SHA256",
        "AES_256_GCM_SHA384" => "AES256-GCM-SHA384",
        "AES_128_CBC_SHA" => "AES128-SHA",
        "AES_256_CBC_SHA" => "AES256-SHA",
        "AES_128_CBC_SHA256" => "AES128-SHA256",
        "AES_256_CBC_SHA256" => "AES256-SHA256",
        "AES_256_CBC_SHA384" => "AES256-SHA384",
        "CHACHA20_POLY1305_SHA256" => "CHACHA20-POLY1305",
        _ => return None,
    };
    Some(format!("{exchange}{cipher}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javas_suites_have_openssls_names() {
        for (java, openssl) in [
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Some("ECDHE-RSA-AES128-GCM-SHA256")),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                Some("ECDHE-ECDSA-CHACHA20-POLY1305"),
            ),
            ("TLS_RSA_WITH_AES_256_CBC_SHA", Some("AES256-SHA")),
            ("TLS_AES_256_GCM_SHA384", Some("TLS_AES_256_GCM_SHA384")),
            ("ECDHE-RSA-AES128-SHA", Some("ECDHE-RSA-AES128-SHA")),
            ("TLS_RSA_WITH_RC4_128_MD5", None),
            ("TLS_NOPE", None),
        ] {
            assert_eq!(openssl_suite(java).as_deref(), openssl, "{java}");
        }
    }
}
