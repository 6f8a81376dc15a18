//! TLS settings: which certificates are trusted, and how strictly.
//!
//! Place in the data path: connect time only. rustls with the aws-lc-rs provider given explicitly, so
//! that nothing depends on a process-wide default.

use super::config::{ConnectConfig, SslMode};
use super::error::PgError;
use ::config::files::{BYTES_MAX, read_bounded};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// Builds the client settings that `config` asks for. Not called for `sslmode=disable`.
pub(super) fn client_config(config: &ConnectConfig) -> Result<Arc<ClientConfig>, PgError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let trust = match config.ssl_mode {
        SslMode::VerifyCa | SslMode::VerifyFull => {
            Some(trust(config.ssl_root_cert.as_deref(), config.ssl_mode == SslMode::VerifyFull)?)
        }
        _ => None,
    };
    let verifier = Arc::new(Verifier { trust, provider: Arc::clone(&provider) });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| PgError::Tls(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let client = match (&config.ssl_cert, &config.ssl_key) {
        (Some(cert), Some(key)) => builder
            .with_client_auth_cert(certificates(cert, "sslcert")?, private_key(key)?)
            .map_err(|e| PgError::Config(format!("sslcert and sslkey cannot be used: {e}")))?,
        (None, None) => builder.with_no_client_auth(),
        (Some(_), None) => return Err(PgError::Config("sslcert is set, but sslkey is not".into())),
        (None, Some(_)) => return Err(PgError::Config("sslkey is set, but sslcert is not".into())),
    };
    Ok(Arc::new(client))
}

/// The name that the server's certificate is checked against and that SNI carries.
pub(super) fn server_name(host: &str, mode: SslMode) -> Result<ServerName<'static>, PgError> {
    match ServerName::try_from(host.to_owned()) {
        Ok(name) => Ok(name),
        Err(_) if mode == SslMode::VerifyFull => Err(PgError::Config(format!(
            "sslmode=verify-full needs a host name or address, and \"{host}\" is neither"
        ))),
        // Without a check of the name any address does; an address also turns SNI off.
        Err(_) => Ok(ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into())),
    }
}

/// What to do about a failed handshake.
pub(super) fn explain(error: &Error) -> &'static str {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "; set sslrootcert to the authority that signed the server's certificate"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            "; connect by a name in the certificate's subjectAltName (the common name does not \
             count), or use sslmode=verify-ca"
        }
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "; renew the server's certificate",
        _ => "",
    }
}

#[derive(Debug)]
struct Trust {
    roots: RootCertStore,
    /// The same roots as given. A self-signed server certificate that is itself the trusted root is
    /// accepted, as OpenSSL does; the chain verifier alone refuses a CA certificate as a server's.
    given: Vec<CertificateDer<'static>>,
    check_name: bool,
}

fn trust(path: Option<&Path>, check_name: bool) -> Result<Trust, PgError> {
    let mut roots = RootCertStore::empty();
    let given = match path {
        Some(path) => {
            let given = certificates(path, "sslrootcert")?;
            for certificate in &given {
                roots
                    .add(certificate.clone())
                    .map_err(|e| PgError::Config(format!("sslrootcert {}: {e}", path.display())))?;
            }
            given
        }
        None => {
            let native = rustls_native_certs::load_native_certs();
            let (added, _) = roots.add_parsable_certificates(native.certs);
            if added == 0 {
                return Err(PgError::Config(
                    "the system has no trusted root certificates; set sslrootcert".into(),
                ));
            }
            Vec::new()
        }
    };
    Ok(Trust { roots, given, check_name })
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>, PgError> {
    read_bounded(path, BYTES_MAX)
        .map_err(|e| PgError::Config(format!("cannot read {what} {}: {e}", path.display())))
}

fn is_pem(bytes: &[u8]) -> bool {
    bytes.windows(11).any(|w| w == b"-----BEGIN ")
}

fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, PgError> {
    let bytes = read(path, what)?;
    if !is_pem(&bytes) {
        return Ok(vec![CertificateDer::from(bytes)]);
    }
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(list) if !list.is_empty() => Ok(list),
        Ok(_) => Err(PgError::Config(format!("{what} {} contains no certificate", path.display()))),
        Err(e) => Err(PgError::Config(format!("{what} {} is malformed: {e}", path.display()))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, PgError> {
    let bytes = read(path, "sslkey")?;
    if !is_pem(&bytes) {
        return Ok(PrivatePkcs8KeyDer::from(bytes).into());
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        PgError::Config(format!(
            "sslkey {0} contains no unencrypted private key; convert it with: openssl pkcs8 -topk8 \
             -nocrypt -in {0} -out key.pem",
            path.display()
        ))
    })
}

#[derive(Debug)]
struct Verifier {
    /// Absent: any certificate will do.
    trust: Option<Trust>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    fn check(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
        provider: &CryptoProvider,
    ) -> Result<(), Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let chain = verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            provider.signature_verification_algorithms.all,
        );
        if let Err(error) = chain {
            // The validity period has been checked when this error comes.
            let itself = error.to_string().contains("CaUsedAsEndEntity")
                && self.given.iter().any(|root| root.as_ref() == end_entity.as_ref());
            if !itself {
                return Err(error);
            }
        }
        if self.check_name {
            verify_server_name(&certificate, name)?;
        }
        Ok(())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(trust) = &self.trust {
            trust.check(end_entity, intermediates, server_name, now, &self.provider)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
