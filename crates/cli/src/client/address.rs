//! Where a worker is: a URL, with http, port and login filled in or taken out.

use super::Login;
use crate::exit::Failure;
use config::Password;

/// The URL of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// Without login and without a slash at its end.
    pub(crate) base: String,
    /// The login that stood in it.
    pub(crate) login: Option<Login>,
}

impl Address {
    /// `host:8083` is `http://host:8083`. `http://user:password@host` has a login.
    ///
    /// # Errors
    /// Another scheme, or no host.
    pub(crate) fn parse(text: &str) -> Result<Address, Failure> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let rest = rest.trim_end_matches('/');
        let scheme = scheme.to_ascii_lowercase();
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, String::new()),
        };
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        // The text is not shown: it may hold a password.
        if !matches!(scheme.as_str(), "http" | "https") || host.is_empty() {
            let text = format!("{scheme}://{host} is no URL of a worker");
            return Err(Failure::wrong_input(text).hint("write http://HOST:8083 or https://…"));
        }
        let login = login.map(|login| {
            let (username, password) = login.split_once(':').unwrap_or((login, ""));
            Login { username: username.to_owned(), password: Password::new(password) }
        });
        Ok(Address { base: format!("{scheme}://{host}{path}"), login })
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.base.starts_with("https:")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_and_login_are_optional() {
        let base = |text| Address::parse(text).unwrap().base;
        assert_eq!(base("localhost:8083"), "http://localhost:8083");
        assert_eq!(base(" HTTPS://h/connect/ "), "https://h/connect");
        let address = Address::parse("http://u:p@h:1").unwrap();
        assert_eq!(address.base, "http://h:1");
        let login = address.login.unwrap();
        assert_eq!((login.username.as_str(), login.password.expose()), ("u", "p"));
        for text in ["", "ftp://h", "http://", "http://u:hunter2@"] {
            let failure = Address::parse(text).unwrap_err();
            assert!(!failure.message.contains("hunter2"), "{}", failure.message);
        }
    }
}
