//! Where the REST interface listens, with which certificates, and who may ask: read from the worker's
//! settings and the files that they name, and read again on SIGHUP.

use super::worker_file::host_name;
use crate::exit::Failure;
use config::rest::RestConfig;
use config::{ConfigError, ConfigErrors, Props};
use rest::{Listener, Offer, PeerSettings, Peers, Scheme, Socket, Tls, Users};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// A prefix of TLS settings.
const MAIN: &str = "listeners.https.";
const ADMIN: &str = "admin.listeners.https.";

/// The interface as the settings describe it.
pub(crate) struct Interface {
    listeners: Vec<Listener>,
    /// `None`: the administrative part is with the rest.
    admin: Option<Vec<Listener>>,
    tls: Option<Tls>,
    admin_tls: Option<Tls>,
    pub(super) users: Option<Arc<Users>>,
    /// The other workers of a cluster.
    peers: OnceLock<Arc<Peers>>,
    /// To read the files again.
    config: RestConfig,
    props: Props,
}

impl Interface {
    /// # Errors
    /// An address is none, or a file of certificates or users cannot be used.
    pub(super) fn read(config: &RestConfig, props: &Props) -> Result<Interface, ConfigErrors> {
        let one = |error: ConfigError| ConfigErrors { errors: vec![error] };
        let listeners = parse("listeners", &config.listeners).map_err(one)?;
        let admin = config.admin_listeners.as_ref().map(|all| parse("admin.listeners", all));
        let admin = admin.transpose().map_err(one)?;
        let secure = |all: &[Listener]| all.iter().any(|one| one.scheme == Scheme::Https);
        let make = |wanted: bool, prefix: &str| -> Result<Option<Tls>, ConfigErrors> {
            if !wanted {
                return Ok(None);
            }
            let material = super::certificates::read(props, prefix)?;
            let tls = Tls::new(material).map_err(|fault| {
                one(ConfigError::new(format!("{prefix}ssl.keystore.location"), fault))
            })?;
            Ok(Some(tls))
        };
        let (tls, admin_tls) =
            (make(secure(&listeners), MAIN)?, make(admin.as_deref().is_some_and(secure), ADMIN)?);
        let users = super::users::read(config)?;
        let users = users.map(|files| Users::new(files).map(Arc::new)).transpose();
        let users = users
            .map_err(|fault| one(ConfigError::new("copycat.rest.users.file", fault.to_string())))?;
        let (config, props) = (config.clone(), props.clone());
        let peers = OnceLock::new();
        Ok(Interface { listeners, admin, tls, admin_tls, users, peers, config, props })
    }

    /// Makes this worker one of several, with the certificates of its listeners.
    ///
    /// # Errors
    /// A file of certificates cannot be used.
    pub(crate) fn set_peers(&self, settings: PeerSettings) -> Result<(), ConfigErrors> {
        let tls = super::certificates::client(&self.props, MAIN)?;
        let peers = Peers::new(settings, tls).map_err(|fault| ConfigErrors {
            errors: vec![ConfigError::new(format!("{MAIN}ssl.keystore.location"), fault)],
        })?;
        // Nobody sets them twice.
        let _first = self.peers.set(Arc::new(peers));
        Ok(())
    }

    pub(super) fn peers(&self) -> Option<Arc<Peers>> {
        self.peers.get().cloned()
    }

    /// `host:port` under which others reach this worker; `None` if there are no listeners.
    pub(super) fn advertised(&self, config: &RestConfig) -> Option<String> {
        self.advertised_place(config).map(|(_, address)| address)
    }

    /// The URL under which others reach this worker; `None` if there are no listeners.
    pub(crate) fn advertised_url(&self, config: &RestConfig) -> Option<String> {
        let (scheme, address) = self.advertised_place(config)?;
        let scheme = if scheme == Scheme::Https { "https" } else { "http" };
        Some(format!("{scheme}://{address}"))
    }

    fn advertised_place(&self, config: &RestConfig) -> Option<(Scheme, String)> {
        let wanted = config.advertised_listener.as_deref().and_then(Scheme::named);
        let plain = self.listeners.iter().any(|one| one.scheme == Scheme::Http);
        let scheme = wanted.unwrap_or(if plain { Scheme::Http } else { Scheme::Https });
        let of_scheme = self.listeners.iter().find(|one| one.scheme == scheme);
        let first = of_scheme.or(self.listeners.first())?;
        let host = match &config.advertised_host_name {
            Some(host) => host.clone(),
            None if is_everywhere(&first.host) => host_name(),
            None => first.host.clone(),
        };
        let port = config.advertised_port.unwrap_or(first.port);
        let is_bare = host.contains(':') && !host.starts_with('[');
        let host = if is_bare { format!("[{host}]") } else { host };
        Some((first.scheme, format!("{host}:{port}")))
    }

    /// Opens all addresses.
    ///
    /// # Errors
    /// One cannot be listened on.
    pub(crate) async fn open(&self) -> Result<Vec<Socket>, Failure> {
        let offer = if self.admin.is_some() { Offer::Main } else { Offer::All };
        let main = self.listeners.iter().map(|one| ("listeners", one, &self.tls, offer));
        let admin = self.admin.iter().flatten();
        let admin = admin.map(|one| ("admin.listeners", one, &self.admin_tls, Offer::Admin));
        let mut sockets = Vec::new();
        for (key, listener, tls, offer) in main.chain(admin) {
            let bound = rest::bind(listener).await.map_err(|error| {
                Failure::unavailable(format!("{key}: {error}")).hint(format!(
                    "stop what uses the port, or set {key}=http://:PORT in the worker file"
                ))
            })?;
            let tls = tls.clone().filter(|_| listener.scheme == Scheme::Https);
            sockets.push(Socket { listener: bound, tls, offer });
        }
        Ok(sockets)
    }

    /// Reads the files of certificates and users again. What cannot be used is named in the log and
    /// stays as it was.
    pub(super) fn renew(&self) {
        for (tls, prefix) in [(&self.tls, MAIN), (&self.admin_tls, ADMIN)] {
            let Some(tls) = tls else { continue };
            let read = super::certificates::read(&self.props, prefix);
            let read = read.map_err(|errors| errors.to_string());
            match read.and_then(|material| tls.renew(material)) {
                Ok(()) => tracing::info!("{prefix}: new connections have the files' certificates"),
                Err(fault) => tracing::error!("{prefix}: certificates stay as they were: {fault}"),
            }
        }
        if let Some(peers) = self.peers.get() {
            let read = super::certificates::client(&self.props, MAIN);
            let read = read.map_err(|errors| errors.to_string());
            if let Err(fault) = read.and_then(|tls| peers.renew(tls)) {
                tracing::error!("certificates for other workers stay as they were: {fault}");
            }
        }
        let Some(users) = &self.users else { return };
        let read = super::users::read(&self.config).map_err(|error| error.to_string());
        let renewed = read.and_then(|files| {
            users.renew(files.unwrap_or_default()).map_err(|fault| fault.to_string())
        });
        match renewed {
            Ok(()) => tracing::info!("the users of the REST interface were read again"),
            Err(fault) => tracing::error!("users stay as they were: {fault}"),
        }
    }
}

/// Whether a listener's host means every address of this machine: nobody else reaches it there.
fn is_everywhere(host: &str) -> bool {
    host.is_empty() || host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

fn parse(key: &str, texts: &[String]) -> Result<Vec<Listener>, ConfigError> {
    let one = |text: &String| {
        text.parse::<Listener>().map_err(|error| ConfigError::new(key, error.to_string()))
    };
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config as _;
    use testkit::kafka::{STORE_PASSWORD, tls_file};

    fn read(pairs: &[(&str, &str)]) -> Result<Interface, String> {
        let props: Props = pairs.iter().copied().collect();
        let config = RestConfig::parse(&props).map_err(|errors| errors.to_string())?;
        Interface::read(&config, &props).map_err(|errors| errors.to_string())
    }

    fn advertised(pairs: &[(&str, &str)]) -> String {
        let interface = read(pairs).unwrap();
        interface.advertised(&interface.config).unwrap()
    }

    #[test]
    fn the_advertised_address_is_that_of_the_first_listener_with_its_protocol() {
        let store = tls_file("broker.p12");
        let tls = [
            ("listeners.https.ssl.keystore.location", store.as_str()),
            ("listeners.https.ssl.keystore.password", STORE_PASSWORD),
        ];
        let with = |more: &[(&'static str, &'static str)]| {
            let listeners = ("listeners", "https://s:8443,http://p:8083");
            advertised(&[&[listeners], &tls[..], more].concat())
        };
        assert_eq!(with(&[]), "p:8083");
        assert_eq!(with(&[("rest.advertised.listener", "https")]), "s:8443");
        let own = [("rest.advertised.host.name", "h"), ("rest.advertised.port", "1")];
        assert_eq!(with(&own), "h:1");
        for everywhere in ["http://:9", "http://0.0.0.0:9", "http://[::]:9"] {
            assert_eq!(advertised(&[("listeners", everywhere)]), format!("{}:9", host_name()));
        }
        assert_eq!(advertised(&[("listeners", "http://[::1]:9")]), "[::1]:9");
    }

    #[test]
    fn what_https_lacks_is_named() {
        let https = ("listeners", "https://:0");
        let told = |more: &[(&str, &str)]| read(&[&[https], more].concat()).err().unwrap();
        let store = tls_file("broker.p12");
        let main = "listeners.https.ssl.keystore.location";
        assert!(told(&[]).contains("ssl.keystore.location: must be set"), "{}", told(&[]));
        assert!(told(&[(main, "/nowhere")]).contains("cannot read /nowhere"));
        let error = told(&[(main, &store)]);
        assert!(error.contains("ssl.keystore.password must be set"), "{error}");
        let asking = [
            ("ssl.keystore.location", store.as_str()),
            ("ssl.keystore.password", STORE_PASSWORD),
            ("ssl.client.auth", "required"),
        ];
        assert!(told(&asking).contains("a truststore is not given"), "{}", told(&asking));
        let error = told(&[("listeners", "gopher://h:1")]);
        assert!(error.starts_with("listeners: gopher://h:1 is not of the form"), "{error}");
    }
}
