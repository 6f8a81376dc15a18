//! Opens connections: each host, each of its addresses, until one is of the wanted kind.
//!
//! Place in the data path: at start and after each lost connection. Names are resolved anew every
//! time, because a fail-over often is a change of DNS.
//!
//! Invariant: name resolution and the TCP connect run in a thread of their own, so that neither can
//! hold up a cancel; such a thread ends by itself at its own time limit.

use super::auth::{Startup, login, refused_parameter};
use super::cancel::CancelToken;
use super::channel::Channel;
use super::config::{ConnectConfig, Host, SslMode, TargetServer};
use super::connection::Connection;
use super::error::{Class, PgError, ServerError};
use super::messages::{Incoming, MAX_LOGIN_MESSAGE_BYTES};
use super::stream::{Socket, Stream, TICK};
use super::tls;
use super::wait::Wait;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustls::{ClientConfig, ClientConnection};
use socket2::{SockRef, TcpKeepalive};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Unacknowledged data ends the connection after this; without it a dead peer holds it for a quarter of
/// an hour.
const USER_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for one connect call when nothing else limits it.
const LONGEST_CONNECT: Duration = Duration::from_secs(130);

#[derive(Clone, Debug)]
enum Address {
    Tcp(SocketAddr),
    Unix(String),
}

/// One address and how to speak to it.
#[derive(Clone)]
pub(super) struct Target {
    address: Address,
    /// The host's name as given, for the certificate.
    host: String,
    /// The address for messages.
    peer: String,
    tls: Option<Arc<ClientConfig>>,
    tls_mode: SslMode,
    keep_alive: bool,
    socket_timeout: Duration,
}

impl Connection {
    /// Opens a connection to the first server of `config` that is of the wanted kind.
    ///
    /// Errors: those of the only attempt, or [`PgError::Unreachable`] with every attempt. A server that
    /// refuses the login or the database ends the search, as the others would refuse it too.
    pub fn connect(config: &ConnectConfig, wait: Wait<'_>) -> Result<Connection, PgError> {
        let wait = limited(wait, config.login_timeout);
        let tcp = config.hosts.iter().any(|h| matches!(h, Host::Tcp { .. }));
        let tls = match config.ssl_mode {
            SslMode::Disable => None,
            _ if tcp => Some(tls::client_config(config)?),
            _ => None,
        };
        let mut attempts = Vec::new();
        for wanted in wanted(config.target_server) {
            for host in order(config) {
                match try_host(config, host, tls.as_ref(), *wanted, wait, &mut attempts) {
                    Ok(connection) => return Ok(connection),
                    Err(Some(error)) => return Err(error),
                    Err(None) => {}
                }
                wait.check("connecting")?;
            }
        }
        Err(match (attempts.pop(), attempts.is_empty()) {
            (Some((_, only)), true) => only,
            (last, _) => {
                attempts.extend(last);
                PgError::Unreachable(attempts)
            }
        })
    }
}

fn limited(wait: Wait<'_>, limit: Duration) -> Wait<'_> {
    if limit.is_zero() { wait } else { wait.within(limit) }
}

/// The kinds of server to look for, one round over the hosts for each: `Some(true)` is read-only.
fn wanted(target: TargetServer) -> &'static [Option<bool>] {
    match target {
        TargetServer::Any => &[None],
        TargetServer::Primary => &[Some(false)],
        TargetServer::Secondary => &[Some(true)],
        TargetServer::PreferSecondary => &[Some(true), None],
        TargetServer::PreferPrimary => &[Some(false), None],
    }
}

fn order(config: &ConnectConfig) -> Vec<&Host> {
    let mut hosts: Vec<&Host> = config.hosts.iter().collect();
    if config.load_balance {
        // A fresh random state hashes each place to a random number.
        let random = RandomState::new();
        let mut keyed: Vec<(u64, &Host)> =
            hosts.into_iter().enumerate().map(|(n, h)| (random.hash_one(n), h)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        hosts = keyed.into_iter().map(|(_, h)| h).collect();
    }
    hosts
}

/// Tries each address of a host. `Err(Some(_))` ends the search, `Err(None)` goes on with the next host.
fn try_host(
    config: &ConnectConfig,
    host: &Host,
    tls: Option<&Arc<ClientConfig>>,
    wanted: Option<bool>,
    wait: Wait<'_>,
    attempts: &mut Vec<(String, PgError)>,
) -> Result<Connection, Option<PgError>> {
    let targets = match targets(config, host, tls, wait) {
        Ok(targets) => targets,
        Err(PgError::Cancelled) => return Err(Some(PgError::Cancelled)),
        Err(error) => {
            attempts.push((host.to_string(), error));
            return Err(None);
        }
    };
    for target in targets {
        let peer = target.peer.clone();
        match try_address(config, target, wanted, limited(wait, config.connect_timeout)) {
            Ok(connection) => return Ok(connection),
            Err(PgError::Cancelled) => return Err(Some(PgError::Cancelled)),
            Err(PgError::Timeout(_)) => attempts.push((
                peer.clone(),
                PgError::Io {
                    context: format!("cannot connect to {peer}"),
                    source: io::Error::new(io::ErrorKind::TimedOut, "no answer in time"),
                },
            )),
            Err(error) if is_final(&error) => return Err(Some(error)),
            Err(error) => attempts.push((peer, error)),
        }
        if let Err(error) = wait.check("connecting") {
            return Err(attempts.pop().map(|(_, e)| e).or(Some(error)));
        }
    }
    Err(None)
}

/// An answer of the server itself about the login or the settings.
fn is_final(error: &PgError) -> bool {
    matches!(error, PgError::Server(_) | PgError::Auth(_))
        && matches!(error.classify(), Class::Auth | Class::Config)
}

/// The addresses of a host.
fn targets(
    config: &ConnectConfig,
    host: &Host,
    tls: Option<&Arc<ClientConfig>>,
    wait: Wait<'_>,
) -> Result<Vec<Target>, PgError> {
    let target = |address: Address, name: &str, peer: String| Target {
        tls: match address {
            Address::Tcp(_) => tls.map(Arc::clone),
            Address::Unix(_) => None,
        },
        address,
        host: name.to_owned(),
        peer,
        tls_mode: config.ssl_mode,
        keep_alive: config.tcp_keep_alive,
        socket_timeout: config.socket_timeout,
    };
    match host {
        Host::Unix { .. } => {
            let path = host.to_string();
            Ok(vec![target(Address::Unix(path.clone()), "localhost", path)])
        }
        Host::Tcp { host: name, port } => {
            let addresses = resolve(name, *port, limited(wait, config.connect_timeout))?;
            Ok(addresses
                .into_iter()
                .map(|a| {
                    let given = host.to_string();
                    let found = a.to_string();
                    let peer = if given == found { given } else { format!("{given} ({found})") };
                    target(Address::Tcp(a), name, peer)
                })
                .collect())
        }
    }
}

/// Runs `work` in a thread and waits for it within the limits.
fn in_thread<T: Send + 'static>(
    what: &str,
    wait: Wait<'_>,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<io::Result<T>, PgError> {
    let (sender, receiver) = sync_channel(1);
    std::thread::Builder::new()
        .name("pg-connect".into())
        .spawn(move || {
            // Nobody listens any more if the wait was given up.
            let _ = sender.send(work());
        })
        .map_err(|source| PgError::Io { context: "cannot start a thread".into(), source })?;
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => wait.check(what)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PgError::Protocol(format!("{what} ended without a result")));
            }
        }
    }
}

fn resolve(host: &str, port: u16, wait: Wait<'_>) -> Result<Vec<SocketAddr>, PgError> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let name = host.to_owned();
    let what = format!("looking up \"{host}\"");
    let found = in_thread(&what, wait, move || {
        (name.as_str(), port).to_socket_addrs().map(|a| a.collect::<Vec<_>>())
    })?;
    match found {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => Err(PgError::Io {
            context: format!("cannot resolve host \"{host}\""),
            source: io::Error::new(io::ErrorKind::NotFound, "it has no address"),
        }),
        Err(source) => {
            Err(PgError::Io { context: format!("cannot resolve host \"{host}\""), source })
        }
    }
}

/// Logs in at one address, with TLS, without, or with one after the other, as `sslmode` says.
fn try_address(
    config: &ConnectConfig,
    target: Target,
    wanted: Option<bool>,
    wait: Wait<'_>,
) -> Result<Connection, PgError> {
    let plain = Target { tls: None, ..target.clone() };
    let (first, second) = match config.ssl_mode {
        SslMode::Prefer if target.tls.is_some() => (&target, Some(&plain)),
        SslMode::Allow if target.tls.is_some() => (&plain, Some(&target)),
        _ => (&target, None),
    };
    let mut opened = open(config, first, wait);
    if let (Err(error), Some(second)) = (&opened, second) {
        let refused = error.code().is_some_and(|c| c == "28000");
        if refused || matches!(error, PgError::Tls(_)) {
            // The first answer explains more if the second way fails as well.
            if let Ok(connection) = open(config, second, wait) {
                opened = Ok(connection);
            }
        }
    }
    let mut connection = opened?;
    if let Some(read_only) = wanted {
        check_kind(&mut connection, read_only, wait)?;
    }
    Ok(connection)
}

fn check_kind(connection: &mut Connection, read_only: bool, wait: Wait<'_>) -> Result<(), PgError> {
    let rows = connection.query_text("SHOW transaction_read_only", wait)?;
    if (rows.text(0, 0) == Some("on")) == read_only {
        return Ok(());
    }
    let message = if read_only {
        format!("{} takes writes, and a secondary is wanted", connection.peer())
    } else {
        format!("{} is read-only, and a primary is wanted", connection.peer())
    };
    let hint = read_only.then(|| {
        "a sink writes: set targetServerType=primary (target_session_attrs=read-write), or leave \
         it out"
            .to_owned()
    });
    let (severity, code) = ("ERROR".to_owned(), "25006".to_owned());
    Err(ServerError { severity, code, message, hint, ..ServerError::default() }.into())
}

fn open(config: &ConnectConfig, target: &Target, wait: Wait<'_>) -> Result<Connection, PgError> {
    let mut channel = open_channel(target, wait)?;
    let session = match login(&mut channel, config, Startup::Full, wait) {
        Err(PgError::Server(error)) if refused_parameter(&error) => {
            tracing::debug!(server = %target.peer, "{error}; logging in without it");
            channel = open_channel(target, wait)?;
            login(&mut channel, config, Startup::Minimal, wait)?
        }
        other => other?,
    };
    let cancel = CancelToken {
        target: Target {
            // The mode that worked is the mode to use again.
            tls: target.tls.clone().filter(|_| channel.stream.is_tls()),
            ..target.clone()
        },
        backend_pid: session.backend_pid,
        secret: session.secret,
    };
    Ok(Connection::new(channel, session, cancel))
}

/// Connects the socket and, if the target has TLS settings, negotiates TLS.
pub(super) fn open_channel(target: &Target, wait: Wait<'_>) -> Result<Channel, PgError> {
    let failed =
        |source| PgError::Io { context: format!("cannot connect to {}", target.peer), source };
    let socket = match &target.address {
        Address::Unix(path) => Socket::Unix(UnixStream::connect(path).map_err(failed)?),
        Address::Tcp(address) => Socket::Tcp(connect_tcp(*address, target, wait)?),
    };
    let mut channel = Channel {
        stream: Stream::new(socket).map_err(failed)?,
        incoming: Incoming::default(),
        peer: target.peer.clone(),
        socket_timeout: target.socket_timeout,
        max_message_bytes: MAX_LOGIN_MESSAGE_BYTES,
    };
    if let Some(tls) = &target.tls {
        negotiate(&mut channel, target, tls, wait)?;
    }
    Ok(channel)
}

fn connect_tcp(address: SocketAddr, target: &Target, wait: Wait<'_>) -> Result<TcpStream, PgError> {
    let limit = wait.left().unwrap_or(LONGEST_CONNECT).clamp(TICK, LONGEST_CONNECT);
    let failed =
        |source| PgError::Io { context: format!("cannot connect to {}", target.peer), source };
    let stream =
        in_thread("connecting", wait, move || TcpStream::connect_timeout(&address, limit))?
            .map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    if target.keep_alive {
        let socket = SockRef::from(&stream);
        let probes = TcpKeepalive::new()
            .with_time(KEEPALIVE_IDLE)
            .with_interval(KEEPALIVE_INTERVAL)
            .with_retries(3);
        socket.set_tcp_keepalive(&probes).map_err(failed)?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(Some(USER_TIMEOUT)).map_err(failed)?;
    }
    Ok(stream)
}

/// Asks for TLS and makes the handshake. Exactly one byte is read before it: anything that came in
/// clear text behind that byte must not be taken for the server's.
fn negotiate(
    channel: &mut Channel,
    target: &Target,
    tls: &Arc<ClientConfig>,
    wait: Wait<'_>,
) -> Result<(), PgError> {
    let failed =
        |source| PgError::Io { context: format!("cannot connect to {}", target.peer), source };
    let mut out = BytesMut::new();
    frontend::ssl_request(&mut out);
    channel.send(&out, wait)?;
    let mut answer = [0u8];
    loop {
        match channel.stream.read(&mut answer).map_err(failed)? {
            Some(0) => return Err(PgError::Closed(format!("asking {} for TLS", target.peer))),
            Some(_) => break,
            None => wait.check("the answer to the TLS request")?,
        }
    }
    match answer {
        [b'S'] => {}
        [b'N'] if target.tls_mode == SslMode::Prefer => return Ok(()),
        [b'N'] => {
            return Err(PgError::Tls(format!("{} does not offer TLS", target.peer)));
        }
        _ => {
            return Err(PgError::Protocol(format!(
                "{} does not answer a TLS request; is it a PostgreSQL server?",
                target.peer
            )));
        }
    }
    let name = tls::server_name(&target.host, target.tls_mode)?;
    let session = ClientConnection::new(Arc::clone(tls), name)
        .map_err(|e| PgError::Tls(format!("{}: {e}", target.peer)))?;
    channel.stream.start_tls(session);
    loop {
        match channel.stream.handshake() {
            Ok(true) => return Ok(()),
            Ok(false) => wait.check("the TLS handshake")?,
            Err(error) => return Err(handshake_error(target, error)),
        }
    }
}

fn handshake_error(target: &Target, error: io::Error) -> PgError {
    match error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) {
        Some(reason) => PgError::Tls(format!("{}: {reason}{}", target.peer, tls::explain(reason))),
        None => {
            PgError::Io { context: format!("TLS handshake with {}", target.peer), source: error }
        }
    }
}
