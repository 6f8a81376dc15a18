//! Reads the ways in which people write where a PostgreSQL server is.
//!
//! Place in the data path: start-up only. Accepted: `jdbc:postgresql:…`, `postgres://…`,
//! `postgresql://…` and `name=value …` strings.
//!
//! Invariants: no input panics; no error or notice contains a value of the input, because a badly
//! quoted password may stand anywhere in it.

use super::config::{ConnectConfig, Host, Secret};
use super::error::PgError;
use super::params::Params;

const DEFAULT_PORT: u16 = 5432;

impl ConnectConfig {
    /// Parses a URL or a `name=value` string.
    ///
    /// Errors are [`PgError::Config`]; unknown parameters become `notices`.
    pub fn parse(text: &str) -> Result<ConnectConfig, PgError> {
        let text = text.trim();
        let mut config = ConnectConfig { hosts: Vec::new(), ..ConnectConfig::default() };
        let mut params = Params::default();
        if let Some(rest) = strip_prefix(text, "jdbc:") {
            jdbc(&mut config, &mut params, rest)?;
        } else if let Some(rest) =
            strip_prefix(text, "postgresql://").or_else(|| strip_prefix(text, "postgres://"))
        {
            uri(&mut config, &mut params, rest, false)?;
        } else if let Some((scheme, _)) = text.split_once("://") {
            return Err(unsupported(scheme));
        } else if text.contains('=') {
            conninfo(&mut config, &mut params, text)?;
        } else {
            return Err(PgError::Config(
                "the database URL is not understood; write \
                 jdbc:postgresql://host:port/database, postgresql://host:port/database or \
                 host=… dbname=…"
                    .into(),
            ));
        }
        hosts_from_params(&mut config, &params)?;
        params.settle(&mut config);
        Ok(config)
    }
}

/// The same text with every password in it replaced by `[hidden]`, for messages and logs. It hides
/// too much rather than too little.
pub fn hide_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    if let Some(at) = text.find("://") {
        let (scheme, after) = text.split_at(at + 3);
        out.push_str(scheme);
        rest = after;
        if let Some((userinfo, host)) = after.rsplit_once('@') {
            let user = userinfo.split(':').next().unwrap_or("");
            out.push_str(user);
            if user.len() < userinfo.len() {
                out.push_str(":[hidden]");
            }
            out.push('@');
            rest = host;
        }
    }
    while let Some(at) = find_password(rest) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        out.push_str("[hidden]");
        rest = after.get(value_length(after)..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

/// The byte position of the value of the next `…password=`.
fn find_password(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = lower.get(from..).and_then(|t| t.find("password")).map(|n| n + from) {
        let after = at + "password".len();
        let tail = lower.get(after..).unwrap_or("");
        let spaces = tail.len() - tail.trim_start().len();
        if tail.trim_start().starts_with('=') {
            let value = tail.get(spaces + 1..).unwrap_or("");
            let more = value.len() - value.trim_start().len();
            return Some(after + spaces + 1 + more);
        }
        from = after;
    }
    None
}

fn value_length(text: &str) -> usize {
    if let Some(quoted) = text.strip_prefix('\'') {
        let mut escaped = false;
        for (at, c) in quoted.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\'' => return at + 2,
                _ => {}
            }
        }
        return text.len();
    }
    text.find(|c: char| c == '&' || c.is_whitespace()).unwrap_or(text.len())
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| text.get(prefix.len()..)).flatten()
}

fn unsupported(scheme: &str) -> PgError {
    let name: String = scheme
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c))
        .take(30)
        .collect();
    PgError::Config(format!(
        "the database \"{name}\" is not supported; supported are postgresql and sqlite"
    ))
}

fn jdbc(config: &mut ConnectConfig, params: &mut Params, rest: &str) -> Result<(), PgError> {
    let Some(rest) = strip_prefix(rest, "postgresql:") else {
        return Err(unsupported(rest.split(':').next().unwrap_or("")));
    };
    match rest.strip_prefix("//") {
        Some(rest) => uri(config, params, rest, true),
        None => {
            let (path, query) = split_query(rest);
            let name = path.strip_prefix('/').unwrap_or(path);
            config.database = non_empty(decode(name, true, "database name")?);
            query_params(config, params, query, true)
        }
    }
}

/// `[user[:password]@][host[:port]][,…][/database][?name=value&…]`.
fn uri(
    config: &mut ConnectConfig,
    params: &mut Params,
    rest: &str,
    plus_is_space: bool,
) -> Result<(), PgError> {
    let (before_query, query) = split_query(rest);
    let (authority, path) = match before_query.split_once('/') {
        Some((authority, path)) => (authority, path),
        None => (before_query, ""),
    };
    let hosts = match authority.rsplit_once('@') {
        Some((userinfo, hosts)) => {
            let (user, password) = match userinfo.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (userinfo, None),
            };
            config.user = non_empty(decode(user, false, "user name")?);
            if let Some(password) = password {
                config.password = non_empty(decode(password, false, "password")?).map(Secret::new);
            }
            hosts
        }
        None => authority,
    };
    if !hosts.is_empty() {
        for (n, part) in hosts.split(',').enumerate() {
            config.hosts.push(host(part, n + 1)?);
        }
    }
    config.database = non_empty(decode(path, plus_is_space, "database name")?);
    query_params(config, params, query, plus_is_space)
}

fn split_query(text: &str) -> (&str, &str) {
    text.split_once('?').unwrap_or((text, ""))
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|t| !t.is_empty())
}

/// One host of a URL: `name`, `name:port`, `[v6]`, `[v6]:port`, or a percent-encoded folder.
fn host(part: &str, number: usize) -> Result<Host, PgError> {
    let malformed = || PgError::Config(format!("host {number} of the database URL is malformed"));
    let (name, port) = if let Some(v6) = part.strip_prefix('[') {
        let (name, after) = v6.split_once(']').ok_or_else(malformed)?;
        match after.strip_prefix(':') {
            Some(port) => (name, port),
            None if after.is_empty() => (name, ""),
            None => return Err(malformed()),
        }
    } else {
        part.rsplit_once(':').unwrap_or((part, ""))
    };
    if name.contains(':') && !part.starts_with('[') {
        return Err(PgError::Config(format!(
            "host {number} of the database URL is malformed; an IPv6 address needs brackets"
        )));
    }
    Ok(host_of(&decode(name, false, "host")?, port_of(port, number)?))
}

fn host_of(name: &str, port: u16) -> Host {
    match name {
        "" => Host::Tcp { host: "localhost".into(), port },
        dir if dir.starts_with('/') => Host::Unix { dir: dir.into(), port },
        host => Host::Tcp { host: host.into(), port },
    }
}

fn port_of(text: &str, number: usize) -> Result<u16, PgError> {
    if text.is_empty() {
        return Ok(DEFAULT_PORT);
    }
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(PgError::Config(format!(
            "the port of host {number} in the database URL is not a number from 1 to 65535"
        ))),
    }
}

/// `host=`, `hostaddr=` and `port=` as libpq reads them: comma lists, one port for all or one each.
fn hosts_from_params(config: &mut ConnectConfig, params: &Params) -> Result<(), PgError> {
    if params.hosts.is_some() && params.host_addresses.is_some() {
        config.notices.push("the parameter \"hostaddr\" is ignored because host is given".into());
    }
    let names = params.hosts.as_deref().or(params.host_addresses.as_deref());
    let ports: Vec<&str> = params.ports.as_deref().unwrap_or("").split(',').collect();
    if let Some(names) = names {
        config.hosts.clear();
        let names: Vec<&str> = names.split(',').collect();
        if ports.len() != 1 && ports.len() != names.len() {
            return Err(PgError::Config(format!(
                "there are {} hosts and {} ports; give one port, or one for each host",
                names.len(),
                ports.len()
            )));
        }
        for (n, name) in names.iter().enumerate() {
            let port = ports.get(n).or(ports.first()).copied().unwrap_or("");
            config.hosts.push(host_of(name.trim(), port_of(port.trim(), n + 1)?));
        }
    } else if config.hosts.is_empty() {
        let port = port_of(ports.first().copied().unwrap_or("").trim(), 1)?;
        config.hosts.push(host_of("", port));
    }
    Ok(())
}

fn query_params(
    config: &mut ConnectConfig,
    params: &mut Params,
    query: &str,
    plus_is_space: bool,
) -> Result<(), PgError> {
    for pair in query.split('&').filter(|p| !p.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name, plus_is_space, "a parameter's name")?;
        let value = decode(value, plus_is_space, "a parameter's value")?;
        params.set(config, &name, &value)?;
    }
    Ok(())
}

/// Percent-decoding; `what` names the part in the error.
fn decode(text: &str, plus_is_space: bool, what: &str) -> Result<String, PgError> {
    let bad = || {
        PgError::Config(format!(
            "the {what} in the database URL has an invalid percent-encoding; write % as %25"
        ))
    };
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let high = bytes.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(bad)?;
                let low = bytes.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(bad)?;
                let value = u8::try_from(high * 16 + low).map_err(|_| bad())?;
                if value == 0 {
                    return Err(bad());
                }
                out.push(value);
            }
            b'+' if plus_is_space => out.push(b' '),
            0 => return Err(bad()),
            other => out.push(other),
        }
    }
    String::from_utf8(out).map_err(|_| bad())
}

/// `name = value` pairs; values may be in single quotes, with backslash escapes.
fn conninfo(config: &mut ConnectConfig, params: &mut Params, text: &str) -> Result<(), PgError> {
    let malformed = |what: &str| PgError::Config(format!("the connection string {what}"));
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let mut name = String::new();
        while let Some(c) = chars.next_if(|c| *c != '=' && !c.is_whitespace()) {
            name.push(c);
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if name.is_empty() && chars.peek().is_none() {
            return Ok(());
        }
        if chars.next() != Some('=') || name.is_empty() {
            return Err(malformed("is malformed: each part must be name=value"));
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let quoted = chars.next_if(|c| *c == '\'').is_some();
        let mut value = String::new();
        loop {
            match chars.next() {
                Some('\\') => value.extend(chars.next()),
                Some('\'') if quoted => break,
                Some(c) if c.is_whitespace() && !quoted => break,
                Some('\0') => return Err(malformed("contains a NUL character")),
                Some(c) => value.push(c),
                None if quoted => return Err(malformed("has a quote that is not closed")),
                None => break,
            }
        }
        params.set(config, &name, &value)?;
    }
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
