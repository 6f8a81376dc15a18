//! The settings of one PostgreSQL connection, as read from a URL.
//!
//! Place in the data path: [`ConnectConfig::parse`] (in `url.rs`) makes it once at start; `connect.rs`
//! reads it at every reconnect. The fields are public so that `connection.user` and
//! `connection.password` of a connector can be laid over the URL.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A text that must not be shown: `Debug` prints `[hidden]`, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for the authentication exchange only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an IP address (without brackets) and a port.
    Tcp {
        /// Host name or IP address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The folder of a unix socket; the socket is `<dir>/.s.PGSQL.<port>`.
    Unix {
        /// Folder.
        dir: String,
        /// Port number in the socket's name.
        port: u16,
    },
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Host::Tcp { host, port } => write!(f, "{host}:{port}"),
            Host::Unix { dir, port } => write!(f, "{dir}/.s.PGSQL.{port}"),
        }
    }
}

/// How TLS is used; the meaning of each word is libpq's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never.
    Disable,
    /// Only if the server refuses a plain connection.
    Allow,
    /// If the server offers it (the default).
    Prefer,
    /// Always; the certificate is not checked unless a root certificate is given.
    Require,
    /// Always; the certificate must come from a trusted root.
    VerifyCa,
    /// Always; and the certificate must be for the host's name.
    VerifyFull,
}

/// Which kind of server is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetServer {
    /// Whichever answers.
    Any,
    /// One that takes writes.
    Primary,
    /// One that is read-only.
    Secondary,
    /// A read-only one if there is one, else any.
    PreferSecondary,
    /// One that takes writes if there is one, else any.
    PreferPrimary,
}

/// Everything needed to open a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectConfig {
    /// Servers, tried in order (or at random with `load_balance`). Never empty.
    pub hosts: Vec<Host>,
    /// Database; the user's name when absent.
    pub database: Option<String>,
    /// Role; the operating system's user when absent.
    pub user: Option<String>,
    /// Password, if the server asks for one.
    pub password: Option<Secret>,
    /// Use of TLS.
    pub ssl_mode: SslMode,
    /// PEM or DER file of trusted roots; the system's when absent (or `system`).
    pub ssl_root_cert: Option<PathBuf>,
    /// Client certificate (PEM or DER).
    pub ssl_cert: Option<PathBuf>,
    /// Client key (PKCS#8 in DER or PEM, or another unencrypted PEM key).
    pub ssl_key: Option<PathBuf>,
    /// `search_path` at start.
    pub current_schema: Option<String>,
    /// Command line options of the backend, `-c name=value …`.
    pub options: Option<String>,
    /// `application_name`; `copycat` when absent.
    pub application_name: Option<String>,
    /// Limit for one address: TCP, TLS and login together. Zero: none.
    pub connect_timeout: Duration,
    /// Limit for all addresses together. Zero: none.
    pub login_timeout: Duration,
    /// Limit for hearing nothing from the server while an answer is due. Zero: none.
    pub socket_timeout: Duration,
    /// TCP keepalive probes, and `TCP_USER_TIMEOUT` with them.
    pub tcp_keep_alive: bool,
    /// Which kind of server is wanted.
    pub target_server: TargetServer,
    /// Try the hosts in random order.
    pub load_balance: bool,
    /// Remarks on the URL for the log: unknown parameters and the like.
    pub notices: Vec<String>,
}

impl Default for ConnectConfig {
    fn default() -> ConnectConfig {
        ConnectConfig {
            hosts: vec![Host::Tcp { host: "localhost".into(), port: 5432 }],
            database: None,
            user: None,
            password: None,
            ssl_mode: SslMode::Prefer,
            ssl_root_cert: None,
            ssl_cert: None,
            ssl_key: None,
            current_schema: None,
            options: None,
            application_name: None,
            connect_timeout: Duration::from_secs(10),
            login_timeout: Duration::ZERO,
            socket_timeout: Duration::ZERO,
            tcp_keep_alive: true,
            target_server: TargetServer::Any,
            load_balance: false,
            notices: Vec::new(),
        }
    }
}

impl ConnectConfig {
    /// The role to log in as: the setting, else the operating system's user, else `postgres`.
    pub fn user_or_default(&self) -> String {
        self.user.clone().unwrap_or_else(|| {
            std::env::var("USER")
                .or_else(|_| std::env::var("LOGNAME"))
                .unwrap_or_else(|_| "postgres".into())
        })
    }

    /// The database to open: the setting, else the role's name.
    pub fn database_or_default(&self) -> String {
        self.database.clone().unwrap_or_else(|| self.user_or_default())
    }
}

/// `host:port[,host:port…]/database`, without user and password, for messages.
impl fmt::Display for ConnectConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, host) in self.hosts.iter().enumerate() {
            write!(f, "{}{host}", if n == 0 { "" } else { "," })?;
        }
        write!(f, "/{}", self.database_or_default())
    }
}
