//! Addresses of the key `listeners`, and their sockets.

use tokio::net::TcpListener;

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
