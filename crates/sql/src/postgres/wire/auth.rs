//! The login: startup message, authentication, and what the server says until it is ready.
//!
//! Place in the data path: connect time only. Methods: trust, password in clear text, MD5 and
//! SCRAM-SHA-256 (without binding to the TLS channel).

use super::channel::Channel;
use super::config::ConnectConfig;
use super::connection::{Session, log_notice};
use super::error::{PgError, ServerError};
use super::messages::{Body, MAX_LOGIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES, server_error};
use super::reply::TransactionStatus;
use super::wait::Wait;
use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use std::io;

/// Which startup parameters are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Startup {
    /// All.
    Full,
    /// Only those that every pooler accepts.
    Minimal,
}

/// True if the server (a pooler) refused a startup parameter, so that [`Startup::Minimal`] may work.
pub(super) fn refused_parameter(error: &ServerError) -> bool {
    error.code == "08P01" && error.message.contains("startup parameter")
}

fn encoding(error: io::Error) -> PgError {
    PgError::Config(format!("a connection setting cannot be sent: {error}"))
}

/// Logs in over a fresh channel.
pub(super) fn login(
    channel: &mut Channel,
    config: &ConnectConfig,
    startup: Startup,
    wait: Wait<'_>,
) -> Result<Session, PgError> {
    channel.max_message_bytes = MAX_LOGIN_MESSAGE_BYTES;
    let user = config.user_or_default();
    send_startup(channel, config, &user, startup, wait)?;
    authenticate(channel, config, &user, wait)?;
    let session = until_ready(channel, wait)?;
    channel.max_message_bytes = MAX_MESSAGE_BYTES;
    Ok(session)
}

fn send_startup(
    channel: &mut Channel,
    config: &ConnectConfig,
    user: &str,
    startup: Startup,
    wait: Wait<'_>,
) -> Result<(), PgError> {
    let database = config.database_or_default();
    let mut parameters = vec![
        ("user", user),
        ("database", database.as_str()),
        ("application_name", config.application_name.as_deref().unwrap_or("copycat")),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO"),
        ("TimeZone", "UTC"),
    ];
    if startup == Startup::Full {
        parameters.push(("extra_float_digits", "3"));
        parameters.extend(config.current_schema.as_deref().map(|s| ("search_path", s)));
        parameters.extend(config.options.as_deref().map(|o| ("options", o)));
    }
    let mut out = BytesMut::new();
    frontend::startup_message(parameters, &mut out).map_err(encoding)?;
    channel.send(&out, wait)
}

/// What the server asks for next.
enum Request {
    Ok,
    Cleartext,
    Md5([u8; 4]),
    Sasl(Vec<String>),
    SaslContinue(Vec<u8>),
    SaslFinal(Vec<u8>),
    Other(i32),
}

fn request(channel: &mut Channel, wait: Wait<'_>) -> Result<Request, PgError> {
    loop {
        let frame = channel.receive(wait)?;
        let mut body = Body(channel.incoming.body(frame.body));
        match frame.tag {
            b'R' => {
                return Ok(match body.i32()? {
                    0 => Request::Ok,
                    3 => Request::Cleartext,
                    5 => {
                        let salt = body.bytes(4)?.first_chunk::<4>().copied();
                        Request::Md5(salt.unwrap_or_default())
                    }
                    10 => {
                        let mut names = Vec::new();
                        loop {
                            match body.text()? {
                                name if name.is_empty() => break Request::Sasl(names),
                                name => names.push(name),
                            }
                        }
                    }
                    11 => Request::SaslContinue(body.0.to_vec()),
                    12 => Request::SaslFinal(body.0.to_vec()),
                    other => Request::Other(other),
                });
            }
            b'E' => return Err(server_error(body.0)?.into()),
            b'N' => log_notice(&channel.peer, body.0)?,
            // An older protocol version was chosen, or an option is unknown: nothing we need.
            b'v' => {}
            other => return Err(unexpected(other)),
        }
    }
}

fn unexpected(tag: u8) -> PgError {
    PgError::Protocol(format!(
        "the server sent an unexpected message of type {:?} during the login",
        char::from(tag)
    ))
}

fn authenticate(
    channel: &mut Channel,
    config: &ConnectConfig,
    user: &str,
    wait: Wait<'_>,
) -> Result<(), PgError> {
    let mut out = BytesMut::new();
    match request(channel, wait)? {
        Request::Ok => return Ok(()),
        Request::Cleartext => {
            frontend::password_message(password_of(config, channel, user)?, &mut out)
                .map_err(encoding)?;
        }
        Request::Md5(salt) => {
            let hash = md5_hash(user.as_bytes(), password_of(config, channel, user)?, salt);
            frontend::password_message(hash.as_bytes(), &mut out).map_err(encoding)?;
        }
        Request::Sasl(mechanisms) => {
            let password = password_of(config, channel, user)?;
            return scram(channel, password, &mechanisms, wait);
        }
        Request::SaslContinue(_) | Request::SaslFinal(_) => return Err(unexpected(b'R')),
        Request::Other(method) => return Err(unknown_method(channel, method)),
    }
    channel.send(&out, wait)?;
    match request(channel, wait)? {
        Request::Ok => Ok(()),
        _ => Err(unexpected(b'R')),
    }
}

fn password_of<'a>(
    config: &'a ConnectConfig,
    channel: &Channel,
    user: &str,
) -> Result<&'a [u8], PgError> {
    config.password.as_ref().map(|p| p.reveal().as_bytes()).ok_or_else(|| {
        PgError::Auth(format!(
            "{} asks for a password for user \"{user}\", and none is configured",
            channel.peer
        ))
    })
}

fn unknown_method(channel: &Channel, method: i32) -> PgError {
    let name = match method {
        2 | 7 | 8 => "Kerberos (gss)",
        9 => "SSPI",
        _ => "a method that is not known here",
    };
    PgError::Auth(format!(
        "{} asks for {name}; supported are trust, password, md5, scram-sha-256 and cert",
        channel.peer
    ))
}

fn scram(
    channel: &mut Channel,
    password: &[u8],
    mechanisms: &[String],
    wait: Wait<'_>,
) -> Result<(), PgError> {
    if !mechanisms.iter().any(|m| m == SCRAM_SHA_256) {
        return Err(PgError::Auth(format!(
            "{} offers {} only; supported is {SCRAM_SHA_256}",
            channel.peer,
            mechanisms.join(", ")
        )));
    }
    // Also wrong for a server that does not know the password itself: it must not be trusted.
    let failed = |peer: &str, error: io::Error| {
        PgError::Auth(format!("{peer} failed the SCRAM exchange: {error}"))
    };
    let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
    let mut out = BytesMut::new();
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut out).map_err(encoding)?;
    channel.send(&out, wait)?;
    let Request::SaslContinue(challenge) = request(channel, wait)? else {
        return Err(unexpected(b'R'));
    };
    scram.update(&challenge).map_err(|e| failed(&channel.peer, e))?;
    out.clear();
    frontend::sasl_response(scram.message(), &mut out).map_err(encoding)?;
    channel.send(&out, wait)?;
    let Request::SaslFinal(proof) = request(channel, wait)? else {
        return Err(unexpected(b'R'));
    };
    scram.finish(&proof).map_err(|e| failed(&channel.peer, e))?;
    match request(channel, wait)? {
        Request::Ok => Ok(()),
        _ => Err(unexpected(b'R')),
    }
}

fn until_ready(channel: &mut Channel, wait: Wait<'_>) -> Result<Session, PgError> {
    let mut session = Session {
        parameters: Vec::new(),
        backend_pid: 0,
        secret: 0,
        status: TransactionStatus::Idle,
    };
    loop {
        let frame = channel.receive(wait)?;
        let mut body = Body(channel.incoming.body(frame.body));
        match frame.tag {
            b'S' => session.set(body.0)?,
            b'K' => {
                session.backend_pid = body.i32()?;
                session.secret = body.i32()?;
            }
            b'N' => log_notice(&channel.peer, body.0)?,
            b'E' => return Err(server_error(body.0)?.into()),
            b'Z' => {
                session.status = TransactionStatus::parse(body.byte()?)?;
                return Ok(session);
            }
            other => return Err(unexpected(other)),
        }
    }
}
