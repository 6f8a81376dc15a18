//! Addresses of the registry: a URL, and the login that stands in it.

use api::{Error, Result};
use config::Password;

const WRITE: &str = "write http://HOST:8081 or https://HOST:8081";

/// The URL of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// Without login and without a slash at its end; shown in messages.
    pub(crate) base: String,
    /// User name and password, decoded.
    pub(crate) login: Option<(String, Password)>,
}

impl Url {
    /// # Errors
    /// `Config`, under this key: another scheme, or no host. A login is not in the text.
    pub(crate) fn parse(key: &str, text: &str) -> Result<Url> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let scheme = scheme.to_ascii_lowercase();
        let rest = rest.trim_end_matches('/');
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, String::new()),
        };
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        let hint = match scheme.as_str() {
            _ if text.is_empty() => Some("an address between two commas is empty".to_owned()),
            // What stands in front of the slash may be the half of a password.
            _ if path.contains('@') => {
                let text = format!("{key}: the login in front of the host has a slash");
                return Err(Error::config(text)
                    .hint("write / as %2F in a login, or set basic.auth.user.info instead"));
            }
            "http" | "https" => fault(host, &path).map(str::to_owned),
            "" => Some(format!("write http://{host} or https://{host}")),
            "mock" => {
                Some("mock:// is for tests of Java programs; name a real registry".to_owned())
            }
            _ => Some(WRITE.to_owned()),
        };
        if let Some(hint) = hint {
            let shown =
                if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") };
            return Err(Error::config(format!("{key}: {shown} is no URL")).hint(hint));
        }
        let login = login.map(|login| {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            (decode(user), Password::new(decode(password)))
        });
        Ok(Url { base: format!("{scheme}://{host}{path}"), login })
    }

    /// Whether something stands behind the path.
    pub(crate) fn has_query(&self) -> bool {
        self.base.contains('?')
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.base.starts_with("https:")
    }
}

/// What is wrong with a host and its port, or with a path.
fn fault(host: &str, path: &str) -> Option<&'static str> {
    let odd = |text: &str| text.contains(|c: char| c.is_whitespace() || c.is_control());
    // An address of IPv6 has colons inside its brackets.
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    if name.is_empty() || odd(name) || name.starts_with('[') != name.ends_with(']') {
        return Some(WRITE);
    }
    if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Some("behind the host stands a port: a number from 1 to 65535");
    }
    if odd(path) || path.contains('#') || host.contains(['?', '#']) {
        return Some("a path has no spaces and no #");
    }
    None
}

/// Text with `%41` read as `A`; what is no such thing stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = digits.filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// A part of a path, with everything encoded that is not plain.
pub(crate) fn encode(part: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for &byte in part.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(byte as char);
        } else {
            // Writing to a string cannot fail.
            let _ok = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_taken_out_and_decoded() {
        let url = Url::parse("k", " HTTPS://a%40b:p%3Aw+%@h:81/apis/v7/ ").unwrap();
        assert_eq!(url.base, "https://h:81/apis/v7");
        let (user, password) = url.login.clone().unwrap();
        assert_eq!((user.as_str(), password.expose()), ("a@b", "p:w+%"));
        assert!(url.is_tls() && !format!("{url:?}").contains("p:w"));
        assert_eq!(Url::parse("k", "http://h").unwrap().login, None);
        for fine in
            ["http://[::1]:8081", "http://[::1]", "http://h.x:8081/a/b", "http://10.0.0.1:1"]
        {
            assert_eq!(Url::parse("k", fine).unwrap().base, fine);
        }
    }

    #[test]
    fn what_is_no_url_is_told_without_its_login() {
        for text in [
            "u:hunter2@h:8081",
            "ftp://u:hunter2@h",
            "http://",
            "http://:81",
            "mock://x",
            "",
            "http://u:hunter2@h:99999",
            "http://u:hunter2@h:x",
            "http://h/p #hunter2",
            "http://u:hunt/er2@h",
            "http://[::1",
            "http://h h",
            "http://h:",
        ] {
            let error = Url::parse("schema.registry.url", text).unwrap_err();
            let report = error.report();
            assert!(report.contains("schema.registry.url") && error.hint.is_some(), "{report}");
            assert!(!report.contains("hunt"), "{report}");
        }
    }

    #[test]
    fn parts_of_paths_are_encoded() {
        assert_eq!(encode("t/ü value-1.~_"), "t%2F%C3%BC%20value-1.~_");
    }
}
