//! The parameters of a PostgreSQL URL: names of the JDBC driver and of libpq.
//!
//! Place in the data path: called by `url.rs` for each `name=value` pair. A parameter that only tunes
//! the JDBC driver is accepted without a word; an unknown one leaves a notice with the nearest name,
//! because refusing it would break configurations that work elsewhere.

use super::config::{ConnectConfig, Secret, SslMode, TargetServer};
use super::error::PgError;
use std::path::PathBuf;
use std::time::Duration;

/// What a set of parameters says beyond the single fields of [`ConnectConfig`].
#[derive(Default)]
pub(super) struct Params {
    pub(super) hosts: Option<String>,
    pub(super) host_addresses: Option<String>,
    pub(super) ports: Option<String>,
    ssl: Option<bool>,
    ssl_mode: Option<SslMode>,
    no_validation: bool,
}

/// Parameters with a meaning here, for the nearest-name hint.
const KNOWN: &[&str] = &[
    "user",
    "password",
    "host",
    "port",
    "dbname",
    "ssl",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "currentSchema",
    "options",
    "ApplicationName",
    "connectTimeout",
    "socketTimeout",
    "loginTimeout",
    "tcpKeepAlive",
    "targetServerType",
    "target_session_attrs",
    "loadBalanceHosts",
    "load_balance_hosts",
    "application_name",
    "connect_timeout",
    "keepalives",
    "channel_binding",
];

/// Parameters that only tune other drivers, or that name what is always so here.
const IGNORED: &[&str] = &[
    "stringtype",
    "rewritebatchedinserts",
    "preparethreshold",
    "defaultrowfetchsize",
    "binarytransfer",
    "binarytransferenable",
    "binarytransferdisable",
    "assumeminserverversion",
    "preparedstatementcachequeries",
    "preparedstatementcachesizemib",
    "databasemetadatacachefields",
    "databasemetadatacachefieldsmib",
    "autosave",
    "cleanupsavepoints",
    "prefer_query_mode",
    "preferquerymode",
    "loggerlevel",
    "loggerfile",
    "logunclosedconnections",
    "logservererrordetail",
    "disablecolumnsanitiser",
    "readonly",
    "readonlymode",
    "tcpnodelay",
    "receivebuffersize",
    "sendbuffersize",
    "escapesyntaxcallmode",
    "hostrecheckseconds",
    "quotereturningidentifiers",
    "unknownlength",
    "allowencodingchanges",
    "maxresultbuffer",
    "adaptivefetch",
    "cancelsignaltimeout",
    "gssencmode",
    "gsslib",
    "krbsrvname",
    "kerberosservername",
    "jaasapplicationname",
    "jaaslogin",
    "client_encoding",
    "charset",
    "sslcompression",
    "sslnegotiation",
    "sslsni",
    "sslhostnameverifier",
    "fallback_application_name",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "passfile",
    "requirepeer",
];

impl Params {
    /// Takes one parameter in. Errors name the parameter and what it accepts, never its value.
    pub(super) fn set(
        &mut self,
        config: &mut ConnectConfig,
        name: &str,
        value: &str,
    ) -> Result<(), PgError> {
        let text = || Some(value.to_owned()).filter(|v| !v.is_empty());
        match name.to_ascii_lowercase().as_str() {
            "user" => config.user = text(),
            "password" => config.password = text().map(Secret::new),
            "host" => self.hosts = text(),
            "hostaddr" => self.host_addresses = text(),
            "port" => self.ports = text(),
            "dbname" | "database" => config.database = text(),
            "ssl" => self.ssl = Some(value.is_empty() || boolean(name, value)?),
            "sslmode" => self.ssl_mode = Some(ssl_mode(value)?),
            "sslfactory" => self.ssl_factory(config, value),
            "sslrootcert" => {
                config.ssl_root_cert = text().filter(|v| v != "system").map(PathBuf::from);
            }
            "sslcert" => config.ssl_cert = text().map(PathBuf::from),
            "sslkey" => config.ssl_key = text().map(PathBuf::from),
            "currentschema" => config.current_schema = text(),
            "options" => config.options = text(),
            "applicationname" | "application_name" => config.application_name = text(),
            "connecttimeout" | "connect_timeout" => config.connect_timeout = seconds(name, value)?,
            "logintimeout" => config.login_timeout = seconds(name, value)?,
            "sockettimeout" => config.socket_timeout = seconds(name, value)?,
            "tcpkeepalive" | "keepalives" => config.tcp_keep_alive = boolean(name, value)?,
            "targetservertype" | "target_session_attrs" => {
                config.target_server = target_server(name, value)?;
            }
            "loadbalancehosts" | "load_balance_hosts" => {
                config.load_balance = match value {
                    "random" => true,
                    "disable" => false,
                    _ => boolean(name, value)?,
                };
            }
            "channel_binding" | "channelbinding" => channel_binding(name, value)?,
            "sslpassword" => config.notices.push(
                "the URL parameter \"sslpassword\" is ignored: keys must be unencrypted".into(),
            ),
            lower if IGNORED.contains(&lower) => {}
            _ => config.notices.push(unknown(name)),
        }
        Ok(())
    }

    /// The JDBC driver's own factory that checks nothing; others cannot be run here.
    fn ssl_factory(&mut self, config: &mut ConnectConfig, value: &str) {
        if value.ends_with("NonValidatingFactory") {
            self.no_validation = true;
        } else if !value.ends_with("LibPQFactory") && !value.ends_with("DefaultJavaSSLFactory") {
            config.notices.push(
                "the URL parameter \"sslfactory\" names a Java class and is ignored; use sslmode \
                 and sslrootcert"
                    .into(),
            );
        }
    }

    /// Settles what several parameters decide together: `ssl` without `sslmode` means verify-full, as
    /// in the JDBC driver; `require` with a root certificate means verify-ca, as in libpq.
    pub(super) fn settle(&self, config: &mut ConnectConfig) {
        let mut mode = match (self.ssl_mode, self.ssl) {
            (Some(mode), _) => mode,
            (None, Some(true)) if self.no_validation => SslMode::Require,
            (None, Some(true)) => SslMode::VerifyFull,
            (None, _) => SslMode::Prefer,
        };
        if mode == SslMode::Require && config.ssl_root_cert.is_some() {
            mode = SslMode::VerifyCa;
        }
        config.ssl_mode = mode;
    }
}

fn bad(name: &str, accepted: &str) -> PgError {
    PgError::Config(format!("the URL parameter \"{name}\" must be {accepted}"))
}

fn boolean(name: &str, value: &str) -> Result<bool, PgError> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" => Ok(false),
        _ => Err(bad(name, "true or false")),
    }
}

fn seconds(name: &str, value: &str) -> Result<Duration, PgError> {
    match value.parse::<u32>() {
        Ok(n) => Ok(Duration::from_secs(n.into())),
        Err(_) => Err(bad(name, "a number of seconds (0 = no limit)")),
    }
}

fn ssl_mode(value: &str) -> Result<SslMode, PgError> {
    Ok(match value.to_ascii_lowercase().as_str() {
        "disable" => SslMode::Disable,
        "allow" => SslMode::Allow,
        "prefer" => SslMode::Prefer,
        "require" => SslMode::Require,
        "verify-ca" => SslMode::VerifyCa,
        "verify-full" => SslMode::VerifyFull,
        _ => {
            return Err(bad(
                "sslmode",
                "one of disable, allow, prefer, require, verify-ca, verify-full",
            ));
        }
    })
}

fn target_server(name: &str, value: &str) -> Result<TargetServer, PgError> {
    Ok(match value.to_ascii_lowercase().as_str() {
        "any" => TargetServer::Any,
        "primary" | "master" | "read-write" => TargetServer::Primary,
        "secondary" | "slave" | "read-only" | "standby" => TargetServer::Secondary,
        "prefersecondary" | "preferslave" | "prefer-standby" => TargetServer::PreferSecondary,
        "preferprimary" => TargetServer::PreferPrimary,
        _ => {
            return Err(bad(
                name,
                "one of any, primary, secondary, preferSecondary, preferPrimary, read-write, \
                 read-only, standby, prefer-standby",
            ));
        }
    })
}

fn channel_binding(name: &str, value: &str) -> Result<(), PgError> {
    match value {
        "disable" | "prefer" => Ok(()),
        _ => Err(bad(name, "disable or prefer (binding to the TLS channel is not supported)")),
    }
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(40).collect();
    match nearest(name) {
        Some(near) => format!(
            "the URL parameter \"{shown}\" is unknown and ignored; did you mean \"{near}\"?"
        ),
        None => format!("the URL parameter \"{shown}\" is unknown and ignored"),
    }
}

/// The known parameter at the smallest edit distance, if that is small for the name's length.
fn nearest(name: &str) -> Option<&'static str> {
    let name: Vec<char> = name.chars().take(40).map(|c| c.to_ascii_lowercase()).collect();
    let limit = (name.len() / 3).clamp(1, 3);
    KNOWN
        .iter()
        .map(|known| (distance(&name, &known.to_ascii_lowercase()), *known))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, known)| known)
}

fn distance(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (j, cb) in b.chars().enumerate() {
        let mut diagonal = j;
        let mut left = j + 1;
        for (cell, ca) in row.iter_mut().skip(1).zip(a) {
            let above = *cell;
            let changed = diagonal + usize::from(*ca != cb);
            left = changed.min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = j + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_is_symmetric_and_exact() {
        let chars = |s: &str| s.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("sslmod"), "sslmode"), 1);
        assert_eq!(distance(&chars("kitten"), "sitting"), 3);
        assert_eq!(distance(&chars(""), "abc"), 3);
        assert_eq!(distance(&chars("abc"), ""), 3);
    }

    #[test]
    fn unknown_names_get_the_nearest_one() {
        assert!(unknown("sslmod").contains("\"sslmode\""));
        assert!(unknown("conectTimeout").contains("\"connectTimeout\""));
        assert!(!unknown("banana").contains("did you mean"));
    }
}
