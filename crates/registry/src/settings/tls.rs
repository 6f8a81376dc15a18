//! TLS to the registry: whom we trust, and what we show of ourselves.
//!
//! Stores have the forms that Java knows, as for Kafka's clients.

use super::Url;
use api::{Error, Result};
use config::files::{BYTES_MAX, read_bounded};
use config::{Config, Password};
use keystores::{Identity, identity, identity_of_pem, pem, trusted};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

config::config_enum! {
    /// The forms of a store.
    enum Form {
        Jks = "JKS",
        Pkcs12 = "PKCS12",
        Pem = "PEM",
    }
}

/// Keys as they are written.
#[derive(Config, Debug)]
#[config(group = "TLS to the Schema Registry", importance = medium)]
pub(super) struct Keys {
    /// A file with the certificates of the authorities that are trusted: JKS, PKCS12 or PEM. Without it
    /// the system's are.
    #[config(key = "schema.registry.ssl.truststore.location")]
    truststore: Option<String>,
    /// The password of the trust store; without it a JKS store is read unchecked.
    #[config(key = "schema.registry.ssl.truststore.password")]
    truststore_password: Option<Password>,
    /// The form of the trust store. Between JKS and PKCS12 the content decides, whatever is said here.
    #[config(key = "schema.registry.ssl.truststore.type", default = "JKS", case_insensitive)]
    truststore_type: Form,
    /// The certificates themselves, in PEM, in place of a file.
    #[config(key = "schema.registry.ssl.truststore.certificates")]
    truststore_certificates: Option<Password>,
    /// A file with the private key and certificate that are shown to the registry: JKS, PKCS12 or PEM.
    #[config(key = "schema.registry.ssl.keystore.location")]
    keystore: Option<String>,
    /// The password of the key store.
    #[config(key = "schema.registry.ssl.keystore.password")]
    keystore_password: Option<Password>,
    /// The form of the key store. Between JKS and PKCS12 the content decides, whatever is said here.
    #[config(key = "schema.registry.ssl.keystore.type", default = "JKS", case_insensitive)]
    keystore_type: Form,
    /// The private key itself, in PEM, in place of a file.
    #[config(key = "schema.registry.ssl.keystore.key")]
    keystore_key: Option<Password>,
    /// The certificates that go with the private key, in PEM.
    #[config(key = "schema.registry.ssl.keystore.certificate.chain")]
    keystore_chain: Option<Password>,
    /// The password of the private key, where it is not the store's.
    #[config(key = "schema.registry.ssl.key.password")]
    key_password: Option<Password>,
    // Nobody reads what can be one value only.
    /// The name in the registry's certificate is always checked (https); an empty value, which would
    /// switch that off, is refused.
    #[config(
        key = "schema.registry.ssl.endpoint.identification.algorithm",
        default = "https",
        importance = low,
        one_of("https")
    )]
    _endpoint: String,
}

/// The stores that are read when a client is made.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Stores {
    trust: Option<Source>,
    trust_is_pem: bool,
    own: Option<Source>,
    own_is_pem: bool,
    password_of_trust: Option<Password>,
    password_of_own: Option<Password>,
    password_of_key: Option<Password>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    File(String),
    /// PEM: certificates alone, or a key and certificates.
    Text(Option<Password>, Password),
}

impl Stores {
    pub(super) fn new(keys: Keys) -> Result<Stores> {
        let both = |one: &str, other: &str| {
            Error::config(format!(
                "schema.registry.ssl.{one} cannot be set together with \
                                   schema.registry.ssl.{other}"
            ))
        };
        let file = |path: Option<String>| path.filter(|path| !path.is_empty()).map(Source::File);
        let trust = match (keys.truststore_certificates, file(keys.truststore)) {
            (Some(_), Some(_)) => {
                return Err(both("truststore.certificates", "truststore.location"));
            }
            (Some(text), None) => Some(Source::Text(None, text)),
            (None, file) => file,
        };
        let own = match (keys.keystore_key, keys.keystore_chain, file(keys.keystore)) {
            (None, None, file) => file,
            (Some(key), Some(chain), None) => Some(Source::Text(Some(key), chain)),
            (Some(_), Some(_), Some(_)) => return Err(both("keystore.key", "keystore.location")),
            _ => {
                return Err(Error::config(
                    "schema.registry.ssl.keystore.key and \
                     schema.registry.ssl.keystore.certificate.chain must be set together",
                ));
            }
        };
        Ok(Stores {
            trust,
            trust_is_pem: keys.truststore_type == Form::Pem,
            own,
            own_is_pem: keys.keystore_type == Form::Pem,
            password_of_trust: keys.truststore_password,
            password_of_own: keys.keystore_password,
            password_of_key: keys.key_password,
        })
    }

    /// Reads the stores, if there is an address that needs them.
    ///
    /// # Errors
    /// `Config`: a store cannot be read, or the system has no certificates of authorities.
    pub(crate) fn read<'a>(&self, mut urls: impl Iterator<Item = &'a Url>) -> Result<TlsSide> {
        if !urls.any(Url::is_tls) {
            return Ok(TlsSide { config: TlsConfig::builder().build(), fingerprint: 0 });
        }
        let roots = match &self.trust {
            Some(source) => self.authorities(source)?,
            None => of_system()?,
        };
        let own = self.own.as_ref().map(|source| self.identity(source)).transpose()?;
        let roots: Vec<_> =
            roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
        let own = own.map(client_certificate).transpose()?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(provider)
            .root_certs(RootCerts::new_with_certs(&roots))
            .client_cert(own)
            .build();
        let mut hasher = DefaultHasher::new();
        config.hash(&mut hasher);
        Ok(TlsSide { config, fingerprint: hasher.finish() })
    }

    fn authorities(&self, source: &Source) -> Result<Vec<Vec<u8>>> {
        let password = self.password_of_trust.as_ref().map(Password::expose);
        match source {
            Source::File(path) => {
                const KEY: &str = "schema.registry.ssl.truststore.location";
                let bytes = read(KEY, path, self.trust_is_pem)?;
                trusted(&bytes, password)
                    .map_err(|why| Error::config(format!("{KEY}: {path}: {why}")))
            }
            Source::Text(_, text) => {
                let found = pem::certificates(text.expose());
                found.and_then(|text| trusted(text.as_bytes(), None)).map_err(|why| {
                    Error::config(format!("schema.registry.ssl.truststore.certificates: {why}"))
                })
            }
        }
    }

    fn identity(&self, source: &Source) -> Result<Identity> {
        let password = self.password_of_own.as_ref().map(Password::expose);
        let key_password = self.password_of_key.as_ref().map(Password::expose);
        match source {
            Source::File(path) => {
                const KEY: &str = "schema.registry.ssl.keystore.location";
                let bytes = read(KEY, path, self.own_is_pem)?;
                identity(&bytes, password, key_password)
                    .map_err(|why| Error::config(format!("{KEY}: {path}: {}", named(&why))))
            }
            Source::Text(key, chain) => {
                let key = key.as_ref().map(Password::expose).unwrap_or_default();
                identity_of_pem(key, chain.expose(), key_password).map_err(|why| {
                    Error::config(format!("schema.registry.ssl.keystore.key: {}", named(&why)))
                })
            }
        }
    }
}

/// Keys are named with the registry's prefix.
fn named(why: &str) -> String {
    why.replace("ssl.key", "schema.registry.ssl.key")
}

fn read(key: &str, path: &str, is_pem: bool) -> Result<Vec<u8>> {
    let bytes = read_bounded(Path::new(path), BYTES_MAX)
        .map_err(|error| Error::config(format!("{key}: cannot read {path}: {error}")))?;
    if is_pem && keystores::Form::of(&bytes) != keystores::Form::Pem {
        return Err(Error::config(format!("{key}: {path} is not a PEM file, as its type says")));
    }
    Ok(bytes)
}

fn of_system() -> Result<Vec<Vec<u8>>> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return Err(Error::config("this system has no certificates of authorities")
            .hint("install ca-certificates, or set schema.registry.ssl.truststore.location"));
    }
    Ok(found.into_iter().map(|certificate| certificate.as_ref().to_vec()).collect())
}

fn client_certificate(own: Identity) -> Result<ClientCert> {
    let wrong = |why: String| Error::config(format!("schema.registry.ssl.keystore: {why}"));
    let label = match PrivateKeyDer::try_from(own.key.as_slice()) {
        Ok(PrivateKeyDer::Pkcs1(_)) => "RSA PRIVATE KEY",
        Ok(PrivateKeyDer::Sec1(_)) => "EC PRIVATE KEY",
        Ok(PrivateKeyDer::Pkcs8(_)) => "PRIVATE KEY",
        _ => return Err(wrong("the private key has no known form".to_owned())),
    };
    // The client takes it for granted that the two belong together.
    let pair = own.chain.iter().map(|each| CertificateDer::from(each.clone())).collect();
    let key = PrivateKeyDer::try_from(own.key.clone()).map_err(|why| wrong(why.to_owned()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            let builder = builder.with_root_certificates(RootCertStore::empty());
            builder.with_client_auth_cert(pair, key)
        })
        .map_err(|why| wrong(why.to_string()))?;
    let chain: Vec<_> =
        own.chain.iter().map(|each| Certificate::from_der(each).to_owned()).collect();
    let key = PrivateKey::from_pem(pem::encode(label, &own.key).as_bytes());
    let key = key.map_err(|why| wrong(why.to_string()))?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

/// What was read.
#[derive(Debug)]
pub(crate) struct TlsSide {
    pub(crate) config: TlsConfig,
    /// Another one for other contents.
    pub(crate) fingerprint: u64,
}
