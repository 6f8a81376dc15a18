//! TLS to a worker: the system's authorities, or those of a file.

use crate::exit::Failure;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// # Errors
/// The file cannot be read or has no certificate, or the system has none.
pub(super) fn config(ca_file: Option<&Path>) -> Result<TlsConfig, Failure> {
    let roots = match ca_file {
        Some(path) => of_file(path)?,
        None => of_system()?,
    };
    let roots: Vec<Certificate<'static>> =
        roots.iter().map(|root| Certificate::from_der(root.as_ref()).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::new_with_certs(&roots))
        .build())
}

fn of_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let wrong = |text: String| {
        Failure::wrong_input(format!("{}: {text}", path.display()))
            .hint("--ca-file names a PEM file of the authorities that sign workers' certificates")
    };
    let read = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    let roots: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    if roots.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    Ok(roots)
}

fn of_system() -> Result<Vec<CertificateDer<'static>>, Failure> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let text = "this system has no certificates of authorities";
        return Err(Failure::unavailable(text).hint("install ca-certificates, or use --ca-file"));
    }
    Ok(found.certs)
}
