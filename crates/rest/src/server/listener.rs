//! Addresses of the keys `listeners` and `admin.listeners`, and their sockets.

use std::fmt;
use tokio::net::TcpListener;

/// How an address is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The scheme of this name, in any case.
    pub fn named(name: &str) -> Option<Scheme> {
        let all = [Scheme::Http, Scheme::Https];
        all.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(name))
    }
}

/// An address of the key `listeners`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub scheme: Scheme,
    /// Empty: all addresses.
    pub host: String,
    /// 0: any free port.
    pub port: u16,
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}://{open}{}{close}:{}", self.scheme.name(), self.host, self.port)
    }
}

/// Why the REST interface cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{0} is not of the form http://host:port or https://host:port")]
    Form(String),
    #[error("cannot listen on {address}: {source}")]
    Bind { address: String, source: std::io::Error },
}

impl std::str::FromStr for Listener {
    type Err = ServeError;

    fn from_str(text: &str) -> Result<Self, ServeError> {
        let form = || ServeError::Form(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        let scheme = Scheme::named(scheme).ok_or_else(form)?;
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(form)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Listener { scheme, host, port: port.parse().map_err(|_| form())? })
    }
}

/// Opens a socket, so that a taken port is known before anything else starts.
///
/// # Errors
/// No socket can be opened at the address.
pub async fn bind(listener: &Listener) -> Result<TcpListener, ServeError> {
    let host = if listener.host.is_empty() { "0.0.0.0" } else { listener.host.as_str() };
    let opened = TcpListener::bind((host, listener.port)).await;
    opened.map_err(|source| ServeError::Bind { address: listener.to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_read_as_connect_writes_them() {
        let of = |text: &str| text.parse::<Listener>().map_err(|error| error.to_string());
        let listener = |scheme, host: &str, port| Ok(Listener { scheme, host: host.into(), port });
        assert_eq!(of("http://:8083"), listener(Scheme::Http, "", 8083));
        assert_eq!(of("HTTP://[::1]:80"), listener(Scheme::Http, "::1", 80));
        assert_eq!(of("https://localhost:0"), listener(Scheme::Https, "localhost", 0));
        for bad in ["8083", "http://host", "http://host:port", "ftp://h:1", ""] {
            assert!(of(bad).is_err(), "{bad}");
        }
        assert_eq!(of("HTTP://[::1]:80").unwrap().to_string(), "http://[::1]:80");
    }
}
