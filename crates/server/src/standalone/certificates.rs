//! Certificates of `https` listeners, from the stores that the settings name.

use config::files::{BYTES_MAX, read_bounded};
use config::rest::{ClientAuth, TlsConfig};
use config::{Config as _, ConfigError, ConfigErrors, Password, Props};
use keystores::{Identity, identity, identity_of_pem, trusted};
use rest::{ClientCertificate, ClientTls, Material};
use std::path::Path;

/// What the settings below `prefix` describe; the plain `ssl.` settings where there are none below it.
///
/// # Errors
/// A setting is wrong, or its file cannot be used.
pub(super) fn read(props: &Props, prefix: &str) -> Result<Material, ConfigErrors> {
    let (config, prefix) = settings(props, prefix)?;
    let Identity { key, chain } =
        shown(&config).map_err(|text| fault(prefix, "ssl.keystore.location", text))?;
    let trusted = trust(&config).map_err(|text| fault(prefix, "ssl.truststore.location", text))?;
    let client = match config.client_auth {
        ClientAuth::Required => ClientCertificate::Required,
        ClientAuth::Requested => ClientCertificate::Requested,
        ClientAuth::None => ClientCertificate::NotAsked,
    };
    let speaks = |version: &str| config.enabled_protocols.iter().any(|known| known == version);
    for version in &config.enabled_protocols {
        if !["TLSv1.2", "TLSv1.3"].contains(&version.as_str()) {
            tracing::warn!("{prefix}ssl.enabled.protocols: {version} is not spoken");
        }
    }
    let versions = (speaks("TLSv1.2"), speaks("TLSv1.3"));
    Ok(Material { chain, key, trusted, client, versions })
}

/// What a worker shows and whom it trusts where it asks another one: the certificate of its listeners, and
/// the authorities by which it checks clients.
///
/// # Errors
/// As for [`read`], but that nothing has to be set.
pub(super) fn client(props: &Props, prefix: &str) -> Result<ClientTls, ConfigErrors> {
    let (config, prefix) = settings(props, prefix)?;
    let has_own = config.keystore_location.is_some()
        || config.keystore_key.is_some()
        || config.keystore_certificate_chain.is_some();
    let own = has_own.then(|| shown(&config)).transpose();
    let own = own.map_err(|text| fault(prefix, "ssl.keystore.location", text))?;
    let has_roots =
        config.truststore_location.is_some() || config.truststore_certificates.is_some();
    let roots = has_roots.then(|| trust(&config)).transpose();
    let roots = roots.map_err(|text| fault(prefix, "ssl.truststore.location", text))?;
    Ok(ClientTls { roots, own: own.map(|own| (own.chain, own.key)) })
}

fn fault(prefix: &str, key: &str, text: String) -> ConfigErrors {
    ConfigErrors { errors: vec![ConfigError::new(format!("{prefix}{key}"), text)] }
}

/// The settings below `prefix`, or the plain ones, and which of these.
fn settings<'a>(props: &Props, prefix: &'a str) -> Result<(TlsConfig, &'a str), ConfigErrors> {
    // Passwords may be references to secrets.
    let props = config::providers::from_worker(props)?.resolve(props)?.props;
    let own = props.with_prefix(prefix);
    let (props, prefix) = if own.is_empty() { (props, "") } else { (own, prefix) };
    let config = TlsConfig::parse(&props).map_err(|errors| ConfigErrors {
        errors: errors
            .errors
            .into_iter()
            .map(|error| ConfigError::new(format!("{prefix}{}", error.key), error.message))
            .collect(),
    })?;
    Ok((config, prefix))
}

fn shown(config: &TlsConfig) -> Result<Identity, String> {
    let open = |secret: &Option<Password>| secret.as_ref().map(|s| s.expose().to_owned());
    let (password, key_password) = (open(&config.keystore_password), open(&config.key_password));
    match (&config.keystore_location, &config.keystore_key, &config.keystore_certificate_chain) {
        (Some(path), None, None) => {
            identity(&file(path)?, password.as_deref(), key_password.as_deref())
                .map_err(|fault| format!("{path}: {fault}"))
        }
        (None, Some(key), Some(chain)) => {
            identity_of_pem(key.expose(), chain.expose(), key_password.as_deref())
        }
        (None, None, None) => {
            Err("must be set for https listeners: a file with the private key and \
                                   its certificates (PKCS12, JKS or PEM)"
                .to_owned())
        }
        _ => Err("either a file is named, or ssl.keystore.key and ssl.keystore.certificate.chain \
                  are set"
            .to_owned()),
    }
}

fn trust(config: &TlsConfig) -> Result<Vec<Vec<u8>>, String> {
    let password = config.truststore_password.as_ref().map(Password::expose);
    match (&config.truststore_location, &config.truststore_certificates) {
        (Some(path), None) => {
            trusted(&file(path)?, password).map_err(|fault| format!("{path}: {fault}"))
        }
        (None, Some(text)) => trusted(text.expose().as_bytes(), None),
        (None, None) => Ok(Vec::new()),
        (Some(_), Some(_)) => Err("cannot be set together with ssl.truststore.certificates".into()),
    }
}

fn file(path: &str) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot read {path}: {error}");
    read_bounded(Path::new(path), BYTES_MAX).map_err(unreadable)
}
