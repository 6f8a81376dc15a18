//! What a server shows of itself: a private key and its certificates, from store files or PEM text.
//!
//! For listeners and HTTP clients of our own; Kafka's clients get their stores otherwise.

use crate::pem;
use crate::{Form, jks, pkcs12};
use std::fmt;

/// A private key with its certificates, all as DER.
pub struct Identity {
    /// PKCS8, PKCS1 or SEC1.
    pub key: Vec<u8>,
    /// Its own certificate, then those that lead to a root.
    pub chain: Vec<Vec<u8>>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity with {} certificates", self.chain.len())
    }
}

/// The identity in the bytes of a store file. The key's own password is that of the store unless given.
///
/// # Errors
/// The file is of no known form, damaged or has no key, or a password is missing or wrong. No password is
/// in the text.
pub fn identity(
    bytes: &[u8],
    password: Option<&str>,
    key_password: Option<&str>,
) -> Result<Identity, String> {
    let key_password = key_password.or(password);
    match Form::of(bytes) {
        Form::Pem => {
            let text = String::from_utf8_lossy(bytes);
            identity_of_pem(&text, &text, key_password)
        }
        Form::Pkcs12 => pkcs12::identity(bytes, password, key_password),
        Form::Jks => jks::identity(bytes, password, key_password),
        Form::Jceks => Err("JCEKS stores are not read; convert it with keytool -importkeystore \
                            -deststoretype PKCS12"
            .to_owned()),
        Form::Unknown => Err("it is none of JKS, PKCS12 and PEM".to_owned()),
    }
}

/// The identity in PEM text: a private key, and certificates in their order.
///
/// # Errors
/// As for [`identity`].
pub fn identity_of_pem(key: &str, chain: &str, password: Option<&str>) -> Result<Identity, String> {
    let chain = pem::blocks_of(&pem::certificates(chain)?)?;
    let chain = chain.into_iter().map(|(_, der)| der).collect();
    let key = pem::private_key(key)?;
    if key.contains("Proc-Type") {
        return Err("the private key is encrypted in an old form; convert it with openssl pkcs8 \
                    -topk8"
            .to_owned());
    }
    let key = pem::blocks_of(&key)?.into_iter().next().ok_or("there is no private key")?;
    let key = match key {
        (label, der) if label == "ENCRYPTED PRIVATE KEY" => {
            let password =
                password.ok_or("ssl.key.password must be set to read the private key")?;
            pkcs12::decrypt_key(&der, password)?
        }
        (_, der) => der,
    };
    Ok(Identity { key, chain })
}

/// The certificates that a trust store's bytes name as trusted.
///
/// # Errors
/// As for [`identity`]; or there is no certificate.
pub fn trusted(bytes: &[u8], password: Option<&str>) -> Result<Vec<Vec<u8>>, String> {
    let found = match Form::of(bytes) {
        Form::Pem => {
            let text = pem::certificates(&String::from_utf8_lossy(bytes))?;
            pem::blocks_of(&text)?.into_iter().map(|(_, der)| der).collect()
        }
        Form::Pkcs12 => pkcs12::read(bytes, password)?,
        Form::Jks => jks::read(bytes, password)?.certificates,
        Form::Jceks | Form::Unknown => return Err("it is none of JKS, PKCS12 and PEM".to_owned()),
    };
    if found.is_empty() {
        return Err("it has no trusted certificate; add one with keytool -importcert".to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../kafka/tests/testdata/stores");
        std::fs::read(format!("{folder}/{name}")).unwrap()
    }

    #[test]
    fn stores_of_every_form_give_key_and_certificate() {
        for (name, password, key_password) in [
            ("key.pem", None, None),
            ("key-encrypted.pem", None, Some("keypass")),
            ("key.p12", Some("changeit"), None),
            ("key.jks", Some("changeit"), None),
        ] {
            let found = identity(&store(name), password, key_password);
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!found.chain.is_empty(), "{name}");
            // PKCS8: a sequence whose first part is the version.
            assert!(matches!(found.key.as_slice(), [0x30, ..]), "{name}");
        }
        let text = format!("{:?}", identity(&store("key.pem"), None, None).unwrap());
        assert_eq!(text, "Identity with 1 certificates");
    }

    #[test]
    fn missing_and_wrong_passwords_are_told_without_them() {
        for (name, password, key_password, part) in [
            ("key-encrypted.pem", None, None, "ssl.key.password must be set"),
            ("key-encrypted.pem", None, Some("wrong-one"), "password was incorrect"),
            ("key.p12", None, None, "ssl.keystore.password must be set"),
            ("key.p12", Some("wrong-one"), None, "password was incorrect"),
            ("key.jks", Some("wrong-one"), None, "password was incorrect"),
            ("key.jks", Some("changeit"), Some("wrong-one"), "password was incorrect"),
            ("key.jks", None, None, "ssl.keystore.password must be set"),
            ("trust.jks", None, None, "no private key"),
            ("trust.pem", None, None, "there is no block -----BEGIN PRIVATE KEY"),
            ("trust.jceks", None, None, "JCEKS"),
        ] {
            let error = identity(&store(name), password, key_password).unwrap_err();
            assert!(error.contains(part) && !error.contains("wrong-one"), "{name}: {error}");
        }
    }

    #[test]
    fn damaged_stores_are_errors_and_never_panics() {
        for name in ["key.jks", "key.pem"] {
            let bytes = store(name);
            for at in (0..bytes.len()).step_by(7) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0xFF;
                let _any = identity(&damaged, Some("changeit"), None);
                let _any = identity(&bytes[..at], Some("changeit"), None);
            }
        }
    }
}
