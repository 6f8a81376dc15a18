//! Listens and routes.

use crate::{connectors, errors, root};
use axum::Router;
use axum::routing::{get, put};
use herder::Herder;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use tokio::net::TcpListener;

/// What the worker says of itself.
#[derive(Debug)]
pub struct Facts {
    pub version: String,
    pub commit: String,
    /// `host:port` under which others reach this worker.
    pub worker_id: String,
    /// Filled in once a broker has answered.
    pub kafka_cluster_id: Arc<RwLock<Option<String>>>,
}

#[derive(Clone)]
pub(crate) struct App {
    pub(crate) herder: Herder,
    pub(crate) facts: Arc<Facts>,
}

/// An address of the key `listeners`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Empty: all addresses.
    pub host: String,
    /// 0: any free port.
    pub port: u16,
}

/// Why the REST interface cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("listeners: {0} is not of the form http://host:port")]
    Form(String),
    #[error("listeners: {0}: https is not built in; put a TLS proxy in front and listen on http")]
    Https(String),
    #[error("listeners: cannot listen on {address}: {source}")]
    Bind { address: String, source: std::io::Error },
}

impl std::str::FromStr for Listener {
    type Err = ServeError;

    fn from_str(text: &str) -> Result<Self, ServeError> {
        let form = || ServeError::Form(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => return Err(ServeError::Https(text.to_owned())),
            _ => return Err(form()),
        }
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(form)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Listener { host, port: port.parse().map_err(|_| form())? })
    }
}

/// Opens the sockets, so that a taken port is known before anything else starts.
///
/// # Errors
/// No socket can be opened at the address.
pub async fn bind(listeners: &[Listener]) -> Result<Vec<TcpListener>, ServeError> {
    let mut bound = Vec::with_capacity(listeners.len());
    for Listener { host, port } in listeners {
        let host = if host.is_empty() { "0.0.0.0" } else { host.as_str() };
        let opened = TcpListener::bind((host, *port)).await;
        let address = format!("{host}:{port}");
        bound.push(opened.map_err(|source| ServeError::Bind { address, source })?);
    }
    Ok(bound)
}

/// Answers requests until the runtime ends.
pub fn serve(sockets: Vec<TcpListener>, herder: &Herder, facts: Facts) -> Vec<SocketAddr> {
    let app = App { herder: herder.clone(), facts: Arc::new(facts) };
    let router = router(app);
    let mut addresses = Vec::new();
    for socket in sockets {
        addresses.extend(socket.local_addr());
        let router = router.clone();
        tokio::spawn(async move {
            if let Err(error) = axum::serve(socket, router).await {
                tracing::error!("the REST interface has ended: {error}");
            }
        });
    }
    addresses
}

fn router(app: App) -> Router {
    let routes = [
        ("/connectors", get(connectors::list)),
        ("/connectors/{name}", get(connectors::get)),
        ("/connectors/{name}/config", get(connectors::config)),
        ("/connectors/{name}/status", get(connectors::status)),
        ("/connectors/{name}/stop", put(connectors::stop)),
        ("/connectors/{name}/resume", put(connectors::resume)),
        ("/health", get(root::health)),
    ];
    let mut router = Router::new().route("/", get(root::root));
    for (path, methods) in routes {
        // A slash at the end changes nothing, as in Connect.
        router = router.route(&format!("{path}/"), methods.clone()).route(path, methods);
    }
    router
        .method_not_allowed_fallback(errors::wrong_method)
        .fallback(errors::unknown_path)
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_read_as_connect_writes_them() {
        let of = |text: &str| text.parse::<Listener>().map_err(|error| error.to_string());
        let listener = |host: &str, port| Ok(Listener { host: host.to_owned(), port });
        assert_eq!(of("http://:8083"), listener("", 8083));
        assert_eq!(of("HTTP://[::1]:80"), listener("::1", 80));
        assert_eq!(of("http://localhost:0"), listener("localhost", 0));
        assert!(of("https://:8443").unwrap_err().contains("https is not built in"));
        for bad in ["8083", "http://host", "http://host:port", "ftp://h:1", ""] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
