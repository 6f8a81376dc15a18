//! The HTTP client by which workers ask each other: certificates of the worker's own settings, no
//! redirects, answers with a limit.

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use base64::engine::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

const CONNECT_WAIT: Duration = Duration::from_secs(2);
const BODY_BYTES_MAX: u64 = 64 << 20;

/// Whom a worker trusts that asks others over TLS, and what it shows. All as DER.
#[derive(Default)]
pub struct ClientTls {
    /// None: the system's authorities.
    pub roots: Option<Vec<Vec<u8>>>,
    /// Its certificate with those that lead to a root, and the key.
    pub own: Option<(Vec<Vec<u8>>, Vec<u8>)>,
}

impl ClientTls {
    pub(super) fn config(self) -> Result<TlsConfig, String> {
        let roots = self.roots.unwrap_or_else(of_system);
        let roots: Vec<_> =
            roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
        let own = self.own.map(|(chain, key)| client_certificate(&chain, &key)).transpose()?;
        Ok(TlsConfig::builder()
            .unversioned_rustls_crypto_provider(provider())
            .root_certs(RootCerts::new_with_certs(&roots))
            .client_cert(own)
            .build())
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// None on a system that has none: no certificate is trusted then.
fn of_system() -> Vec<Vec<u8>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.into_iter().map(|certificate| certificate.as_ref().to_vec()).collect()
}

fn client_certificate(chain: &[Vec<u8>], key: &[u8]) -> Result<ClientCert, String> {
    let wrong = |_| "the private key has a form that is not known".to_owned();
    let read = PrivateKeyDer::try_from(key.to_vec()).map_err(wrong)?;
    let label = match &read {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        _ => "PRIVATE KEY",
    };
    // The client takes it for granted that the two belong together.
    let pair = chain.iter().map(|each| CertificateDer::from(each.clone())).collect();
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            let builder = builder.with_root_certificates(RootCertStore::empty());
            builder.with_client_auth_cert(pair, read)
        })
        .map_err(|why| why.to_string())?;
    let chain: Vec<_> = chain.iter().map(|each| Certificate::from_der(each).to_owned()).collect();
    let text = STANDARD.encode(key);
    let pem = format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n");
    let key = PrivateKey::from_pem(pem.as_bytes()).map_err(|why| why.to_string())?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

pub(super) fn agent(tls: TlsConfig, wait: Duration) -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(CONNECT_WAIT))
        .timeout_global(Some(wait))
        .tls_config(tls)
        .build()
        .into()
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The request did not arrive.
    Unreached(String),
    /// Nobody knows.
    Lost(String),
}

impl Failed {
    pub(crate) fn why(&self) -> &str {
        let (Failed::Unreached(why) | Failed::Lost(why)) = self;
        why
    }
}

/// Asks, and waits for the answer.
///
/// # Errors
/// There is none.
pub(crate) fn send(agent: &ureq::Agent, request: Request<Vec<u8>>) -> Result<Response, Failed> {
    let answered = agent.run(request).map_err(|error| failed(&error))?;
    let (parts, mut body) = answered.into_parts();
    let body = body.with_config().limit(BODY_BYTES_MAX).read_to_vec();
    let body = body.map_err(|error| Failed::Lost(error.to_string()))?;
    Ok(Response::from_parts(parts, Body::from(body)))
}

fn failed(error: &ureq::Error) -> Failed {
    if let Some(tls) = tls_of(error) {
        // Before the two have agreed nothing is done.
        return Failed::Unreached(format!("TLS: {tls}"));
    }
    match error {
        ureq::Error::ConnectionFailed
        | ureq::Error::HostNotFound
        | ureq::Error::BadUri(_)
        | ureq::Error::Http(_)
        | ureq::Error::Tls(_)
        | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Failed::Unreached(error.to_string())
        }
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            Failed::Unreached(io.to_string())
        }
        other => Failed::Lost(other.to_string()),
    }
}

/// What TLS itself says, wherever it is kept.
fn tls_of(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
