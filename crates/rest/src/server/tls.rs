//! TLS of listeners: certificates that can be renewed while the worker runs.
//!
//! A connection keeps the certificates that it began with.

use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    Required,
    /// Those that show one must show one that is trusted.
    Requested,
    NotAsked,
}

/// What a listener shows, and whom it trusts. All as DER.
pub struct Material {
    /// Its own certificate, then those that lead to a root.
    pub chain: Vec<Vec<u8>>,
    /// PKCS8, PKCS1 or SEC1.
    pub key: Vec<u8>,
    /// Roots of client certificates.
    pub trusted: Vec<Vec<u8>>,
    pub client: ClientCertificate,
    /// Whether TLS 1.2 and TLS 1.3 are spoken.
    pub versions: (bool, bool),
}

/// The TLS side of some listeners; cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// # Errors
    /// The key does not belong to the certificate, or something is no key or certificate.
    pub fn new(material: Material) -> Result<Tls, String> {
        Ok(Tls { config: Arc::new(RwLock::new(config(material)?)) })
    }

    /// For connections from now on.
    ///
    /// # Errors
    /// As for [`Tls::new`]; nothing has changed then.
    pub fn renew(&self, material: Material) -> Result<(), String> {
        let config = config(material)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> tokio_rustls::TlsAcceptor {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone().into()
    }
}

fn config(material: Material) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = match material.versions {
        (true, true) => vec![&rustls::version::TLS12, &rustls::version::TLS13],
        (true, false) => vec![&rustls::version::TLS12],
        (false, true) => vec![&rustls::version::TLS13],
        (false, false) => return Err("neither TLSv1.2 nor TLSv1.3 is enabled".to_owned()),
    };
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .map_err(|error| error.to_string())?;
    let builder = match verifier(&material, provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let chain = material.chain.into_iter().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::try_from(material.key)
        .map_err(|_| "the private key has a form that is not known".to_owned())?;
    let mut config = builder.with_single_cert(chain, key).map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn verifier(
    material: &Material,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    if material.client == ClientCertificate::NotAsked {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    for der in &material.trusted {
        roots
            .add(CertificateDer::from(der.clone()))
            .map_err(|error| format!("a trusted certificate cannot be used: {error}"))?;
    }
    if roots.is_empty() {
        return Err("client certificates are asked for, and a truststore is not given".to_owned());
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = match material.client {
        ClientCertificate::Requested => builder.allow_unauthenticated(),
        _ => builder,
    };
    builder.build().map(Some).map_err(|error| error.to_string())
}
