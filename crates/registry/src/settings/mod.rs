//! Settings of the client, under Confluent's keys.
//!
//! Invariant: no message and no `Debug` of this folder has a secret.

mod address;
mod login;
mod tls;

pub(crate) use address::{Url, encode};
pub(crate) use login::{Login, OAuth, Token};
pub(crate) use tls::{Stores, TlsSide};

use api::{Error, Result};
use config::{Config, ConfigDef, ConfigErrors, Password, Props, Validator, Value};
use std::time::Duration;

const HEADERS: &str = "request.header.";

/// Keys as they are written.
#[derive(Config, Debug)]
#[config(group = "Schema Registry", importance = low)]
struct Keys {
    /// Where the Schema Registry answers; several addresses of one registry are asked in turn. A login
    /// may stand in front of the host: https://user:password@host:8081.
    #[config(key = "schema.registry.url", importance = high, validator = addresses())]
    urls: Vec<String>,
    /// How many schemas of a subject are kept; beyond that the one used longest ago is asked for again.
    #[config(key = "max.schemas.per.subject", default = 1000, at_least(1))]
    schemas_per_subject: i32,
    /// For how many milliseconds a connection is waited for.
    #[config(key = "http.connect.timeout.ms", default = 10000, at_least(1))]
    connect_timeout_ms: i32,
    /// For how many milliseconds an answer is waited for, and again for its body.
    #[config(key = "http.read.timeout.ms", default = 20000, at_least(1))]
    read_timeout_ms: i32,
    /// How often a request is repeated at once when no address answers it. After that the task waits and
    /// tries again for as long as it takes; its status says so.
    #[config(key = "max.retries", default = 3, at_least(0))]
    retries_max: i32,
    /// The longest wait before the first repetition, in milliseconds; it doubles with each.
    #[config(key = "retries.wait.ms", default = 100, at_least(0))]
    retries_wait_ms: i32,
    /// The longest wait before any repetition, in milliseconds.
    #[config(key = "retries.max.wait.ms", default = 1000, at_least(0))]
    retries_wait_max_ms: i32,
    /// For how many seconds it is taken for granted that the registry does not know an id.
    #[config(key = "missing.id.cache.ttl.sec", default = 30, at_least(0))]
    missing_id_ttl_sec: i64,
    /// For how many seconds it is taken for granted that a subject has no version of a number.
    #[config(key = "missing.version.cache.ttl.sec", default = 10, at_least(0))]
    missing_version_ttl_sec: i64,
    /// For how many seconds it is taken for granted that the registry does not take or have a schema.
    #[config(key = "missing.schema.cache.ttl.sec", default = 10, at_least(0))]
    missing_schema_ttl_sec: i64,
    /// For how many seconds the newest schema of a subject is kept before it is asked for again; -1: for
    /// as long as the task runs.
    #[config(key = "latest.cache.ttl.sec", default = -1, at_least(-1))]
    latest_ttl_sec: i32,
    /// The host of a proxy that the registry is reached through.
    #[config(key = "proxy.host", default = "")]
    proxy_host: String,
    /// The port of that proxy. It is asked to CONNECT, also for addresses without TLS.
    #[config(key = "proxy.port", default = -1, range(-1, 65535))]
    proxy_port: i32,
    #[config(flatten)]
    login: login::Keys,
    #[config(flatten)]
    tls: tls::Keys,
}

/// What a client of a registry is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the registry answers, in the order of asking.
    pub(crate) urls: Vec<Url>,
    pub(crate) login: Login,
    /// Sent with each request; values may be secret.
    pub(crate) headers: Vec<(String, Password)>,
    pub(crate) proxy: Option<(String, u16)>,
    pub(crate) stores: Stores,
    pub(crate) limits: Limits,
    pub(crate) latest_ttl: Option<Duration>,
}

/// How long and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) connect_timeout: Duration,
    pub(crate) read_timeout: Duration,
    pub(crate) retries_max: u32,
    pub(crate) retries_wait: Duration,
    pub(crate) retries_wait_max: Duration,
    pub(crate) schemas_per_subject: usize,
    pub(crate) missing_id_ttl: Duration,
    pub(crate) missing_version_ttl: Duration,
    pub(crate) missing_schema_ttl: Duration,
}

/// The keys of the client.
pub fn config_def() -> ConfigDef {
    Keys::def()
}

impl Settings {
    /// The settings under the keys of [`config_def`], and `request.header.NAME`. Reads no file.
    ///
    /// # Errors
    /// `Config`: missing and wrong values, with their keys.
    pub fn from_props(props: &Props) -> Result<Settings> {
        let keys = Keys::parse(props).map_err(wrong)?;
        let urls: Vec<Url> = keys
            .urls
            .iter()
            .map(|url| Url::parse("schema.registry.url", url))
            .collect::<Result<_>>()?;
        let login = Login::new(&keys.login, props)?;
        let headers = props.with_prefix(HEADERS);
        let headers = headers.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let seconds = |value: i64| Duration::from_secs(value.unsigned_abs());
        let millis = |value: i32| Duration::from_millis(value.unsigned_abs().into());
        Ok(Settings {
            urls,
            login,
            headers,
            proxy: proxy(&keys)?,
            stores: Stores::new(keys.tls)?,
            limits: Limits {
                connect_timeout: millis(keys.connect_timeout_ms),
                read_timeout: millis(keys.read_timeout_ms),
                retries_max: keys.retries_max.unsigned_abs(),
                retries_wait: millis(keys.retries_wait_ms),
                retries_wait_max: millis(keys.retries_wait_max_ms),
                schemas_per_subject: keys.schemas_per_subject.unsigned_abs() as usize,
                missing_id_ttl: seconds(keys.missing_id_ttl_sec),
                missing_version_ttl: seconds(keys.missing_version_ttl_sec),
                missing_schema_ttl: seconds(keys.missing_schema_ttl_sec),
            },
            latest_ttl: u64::try_from(keys.latest_ttl_sec).ok().map(Duration::from_secs),
        })
    }

    /// The addresses that are asked, that of an identity provider included.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Url> {
        let provider = match &self.login {
            Login::Token(Token::OAuth(oauth), _) => Some(&oauth.endpoint),
            _ => None,
        };
        self.urls.iter().chain(provider)
    }

    /// How long the newest schema of a subject may be used; `None`: for as long as the task runs.
    pub fn latest_ttl(&self) -> Option<Duration> {
        self.latest_ttl
    }
}

/// At least one address, and each of them one.
fn addresses() -> Validator {
    let each = |key: &str, value: &Value| {
        let Value::List(urls) = value else { return Ok(()) };
        urls.iter().try_for_each(|url| match Url::parse(key, url) {
            // A path is put behind it.
            Ok(url) if url.has_query() => Err(format!("{key}: an address has no question mark")),
            Ok(_) => Ok(()),
            Err(error) => {
                let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                Err(error.message + &hint)
            }
        })
    };
    Validator::All(vec![Validator::NonEmptyList, Validator::custom(each)])
}

fn proxy(keys: &Keys) -> Result<Option<(String, u16)>> {
    match (keys.proxy_host.trim(), u16::try_from(keys.proxy_port)) {
        ("", Err(_)) => Ok(None),
        ("", Ok(_)) => Err(Error::config("proxy.host must be set together with proxy.port")),
        (_, Err(_) | Ok(0)) => {
            Err(Error::config("proxy.port must be set together with proxy.host, from 1 to 65535"))
        }
        (host, Ok(port)) => Ok(Some((host.to_owned(), port))),
    }
}

/// Every message at once.
fn wrong(errors: ConfigErrors) -> Error {
    // A message quotes the value; those of type Password are hidden.
    let texts: Vec<String> = errors.errors.into_iter().map(|error| error.message).collect();
    Error::config(texts.join("; "))
}
