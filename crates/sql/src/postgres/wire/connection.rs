//! An open connection: pipelines go out with `start`, their replies come back with `finish`.
//!
//! Place in the data path: owned by the thread that writes batches. Up to two pipelines may be under
//! way: `start(a)`, `start(b)`, `finish()` for a, `start(c)`, `finish()` for b, and so on.
//!
//! Invariants: replies come in the order of the starts. After an I/O error, a server error of severity
//! FATAL, or a send that did not complete, the connection is broken and says so; nothing is ever sent
//! twice.

use super::cancel::CancelToken;
use super::channel::Channel;
use super::error::PgError;
use super::messages::{Body, server_error};
use super::pipeline::{Pipeline, Steps};
use super::reply::{Event, Reply, ReplyBuilder, TransactionStatus};
use super::wait::Wait;
use postgres_protocol::message::frontend;
use std::collections::VecDeque;

/// A session with one server.
#[derive(Debug)]
pub struct Connection {
    pub(super) channel: Channel,
    pub(super) session: Session,
    pub(super) cancel: CancelToken,
    pub(super) scratch: Pipeline,
    inflight: VecDeque<Steps>,
    current: Option<ReplyBuilder>,
    broken: bool,
    notifications: VecDeque<Notification>,
}

/// A word from another session, on a channel that this one listens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The channel's name.
    pub channel: String,
    /// What was said.
    pub payload: String,
}

/// More notifications than these are not kept: the oldest go first.
const NOTIFICATIONS_MAX: usize = 1000;

/// What the server said about the session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) parameters: Vec<(String, String)>,
    pub(super) backend_pid: i32,
    pub(super) secret: i32,
    pub(super) status: TransactionStatus,
}

impl Session {
    pub(super) fn set(&mut self, body: &[u8]) -> Result<(), PgError> {
        let mut body = Body(body);
        let (name, value) = (body.text()?, body.text()?);
        match self.parameters.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.parameters.push((name, value)),
        }
        Ok(())
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Passes a notice to the log.
pub(super) fn log_notice(peer: &str, body: &[u8]) -> Result<(), PgError> {
    let notice = server_error(body)?;
    tracing::debug!(server = peer, severity = %notice.severity, "{notice}");
    Ok(())
}

/// Keeps a notification.
fn notified(kept: &mut VecDeque<Notification>, body: &[u8]) -> Result<(), PgError> {
    let mut body = Body(body);
    body.i32()?;
    let (channel, payload) = (body.text()?, body.text()?);
    if kept.len() >= NOTIFICATIONS_MAX {
        kept.pop_front();
    }
    kept.push_back(Notification { channel, payload });
    Ok(())
}

/// `server_version` as one number: 15.18 is 150018, 9.6.1 is 90601; 0 if it cannot be read.
fn version_number(text: &str) -> u32 {
    let mut parts =
        text.split(|c: char| !c.is_ascii_digit()).map(|p| p.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0).min(9999);
    match next() {
        // Not a version at all.
        0 => 0,
        major @ 10.. => major * 10_000 + next(),
        major => major * 10_000 + next() * 100 + next(),
    }
}

impl Connection {
    pub(super) fn new(channel: Channel, session: Session, cancel: CancelToken) -> Connection {
        Connection {
            channel,
            session,
            cancel,
            scratch: Pipeline::new(),
            inflight: VecDeque::new(),
            current: None,
            broken: false,
            notifications: VecDeque::new(),
        }
    }

    /// Sends a whole pipeline and clears it (its memory stays). The reply is fetched with
    /// [`Connection::finish`].
    ///
    /// Errors: [`PgError::Protocol`] if the pipeline was built wrongly (nothing was sent); any other
    /// error breaks the connection, and whether the server got the pipeline is unknown.
    pub fn start(&mut self, pipeline: &mut Pipeline, wait: Wait<'_>) -> Result<(), PgError> {
        self.check_usable()?;
        let (bytes, steps) = pipeline.finished()?;
        let sent = self.channel.send(bytes, wait);
        pipeline.clear();
        if let Err(error) = sent {
            self.broken = true;
            return Err(self.last_words().unwrap_or(error));
        }
        self.inflight.push_back(steps);
        Ok(())
    }

    /// Waits for the reply to the oldest pipeline under way.
    ///
    /// An error of a statement is part of the reply, not an `Err`. After [`PgError::Timeout`] or
    /// [`PgError::Cancelled`] the connection is intact and `finish` may be called again; every other
    /// error breaks the connection.
    pub fn finish(&mut self, wait: Wait<'_>) -> Result<Reply, PgError> {
        self.check_usable()?;
        let mut builder = match (self.current.take(), self.inflight.front()) {
            (Some(builder), _) => builder,
            (None, Some(steps)) => ReplyBuilder::new(steps.clone()),
            (None, None) => {
                return Err(PgError::Protocol("no pipeline is under way".into()));
            }
        };
        match self.collect(&mut builder, wait) {
            Ok(status) => {
                self.inflight.pop_front();
                self.session.status = status;
                Ok(builder.finish(status))
            }
            Err(error @ (PgError::Timeout(_) | PgError::Cancelled)) => {
                self.current = Some(builder);
                Err(error)
            }
            Err(error) => {
                self.broken = true;
                match builder.failure {
                    Some(failure) if failure.error.is_fatal() => Err(failure.error.into()),
                    _ => Err(error),
                }
            }
        }
    }

    /// Sends a pipeline and waits for its reply; no other may be under way.
    pub fn run(&mut self, pipeline: &mut Pipeline, wait: Wait<'_>) -> Result<Reply, PgError> {
        self.check_idle()?;
        self.start(pipeline, wait)?;
        self.finish(wait)
    }

    fn collect(
        &mut self,
        builder: &mut ReplyBuilder,
        wait: Wait<'_>,
    ) -> Result<TransactionStatus, PgError> {
        loop {
            let frame = self.channel.receive(wait)?;
            let body = self.channel.incoming.body(frame.body);
            match frame.tag {
                b'N' => log_notice(&self.channel.peer, body)?,
                b'S' => self.session.set(body)?,
                b'A' => notified(&mut self.notifications, body)?,
                tag => match builder.take(tag, body)? {
                    Event::More => {}
                    Event::Ready(status) => return Ok(status),
                    Event::UnwantedCopy => self.refuse_copy(wait)?,
                },
            }
        }
    }

    /// The oldest notification that was not fetched yet; waits for one if there is none.
    ///
    /// Needs `LISTEN` to have been run, and no pipeline under way. [`PgError::Timeout`] and
    /// [`PgError::Cancelled`] leave the connection intact; every other error breaks it.
    pub fn notification(&mut self, wait: Wait<'_>) -> Result<Notification, PgError> {
        self.check_usable()?;
        self.check_idle()?;
        loop {
            if let Some(notification) = self.notifications.pop_front() {
                return Ok(notification);
            }
            if let Err(error) = self.take_unasked(wait) {
                self.broken |= !matches!(error, PgError::Timeout(_) | PgError::Cancelled);
                return Err(error);
            }
        }
    }

    /// One message that answers nothing.
    fn take_unasked(&mut self, wait: Wait<'_>) -> Result<(), PgError> {
        let frame = self.channel.receive_unasked(wait)?;
        let body = self.channel.incoming.body(frame.body);
        match frame.tag {
            b'N' => log_notice(&self.channel.peer, body),
            b'S' => self.session.set(body),
            b'A' => notified(&mut self.notifications, body),
            b'E' => Err(server_error(body)?.into()),
            tag => Err(PgError::Protocol(format!(
                "the server sent a message of type {:?} that answers nothing",
                char::from(tag)
            ))),
        }
    }

    /// A COPY was run as an ordinary statement: the server waits for data that never comes, and it has
    /// skipped the Sync that was sent already.
    fn refuse_copy(&mut self, wait: Wait<'_>) -> Result<(), PgError> {
        if self.inflight.len() > 1 {
            return Err(PgError::Protocol(
                "a COPY without data was sent with another pipeline behind it".into(),
            ));
        }
        let simple = self
            .inflight
            .front()
            .is_some_and(|steps| steps.iter().any(|s| s.kind == super::pipeline::StepKind::Query));
        let mut out = bytes::BytesMut::new();
        frontend::copy_fail("no data was prepared for this COPY", &mut out)
            .map_err(|e| PgError::Protocol(e.to_string()))?;
        if !simple {
            frontend::sync(&mut out);
        }
        self.channel.send(&out, wait)
    }

    /// After a failed write: the error that the server sent before it closed the connection.
    fn last_words(&mut self) -> Option<PgError> {
        // The end of the stream or its error is expected here; what was received before it counts.
        let _ = self.channel.take_in_now();
        while let Ok(Some(frame)) = self.channel.incoming.next(self.channel.max_message_bytes) {
            if frame.tag == b'E' {
                let error = server_error(self.channel.incoming.body(frame.body)).ok()?;
                if error.is_fatal() {
                    return Some(error.into());
                }
            }
        }
        None
    }

    fn check_usable(&self) -> Result<(), PgError> {
        if self.broken {
            return Err(PgError::Closed(format!("using the connection to {}", self.channel.peer)));
        }
        Ok(())
    }

    pub(super) fn check_idle(&self) -> Result<(), PgError> {
        if self.inflight.is_empty() {
            return Ok(());
        }
        Err(PgError::Protocol("another pipeline is still under way".into()))
    }

    /// Pipelines sent whose replies have not been fetched.
    pub fn in_flight(&self) -> usize {
        self.inflight.len()
    }

    /// True if the connection can no longer be used.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Looks, without waiting, whether the server has closed the connection or ended the session.
    /// Meant for a connection that has been idle.
    pub fn is_alive(&mut self) -> bool {
        if self.broken {
            return false;
        }
        let alive = self.still_open();
        self.broken = !alive;
        alive
    }

    /// Takes in what has arrived. The end of the stream is met by the next read, an error message is
    /// there now.
    fn still_open(&mut self) -> bool {
        let space = self.channel.incoming.space();
        match self.channel.stream.read_now(space) {
            Ok(Some(0)) | Err(_) => false,
            Ok(None) => true,
            Ok(Some(n)) => {
                let fatal = self.inflight.is_empty() && space.first() == Some(&b'E');
                self.channel.incoming.filled(n);
                !fatal
            }
        }
    }

    /// The server's process for this session.
    pub fn backend_pid(&self) -> i32 {
        self.session.backend_pid
    }

    /// The server's version: 150018 for 15.18, 90601 for 9.6.1; 0 if unknown.
    pub fn server_version(&self) -> u32 {
        self.parameter("server_version").map_or(0, version_number)
    }

    /// A parameter that the server reports by itself (`server_version`, `TimeZone`, …).
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.session.parameter(name)
    }

    /// Where the session stood when the last reply ended.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.session.status
    }

    /// The server's address, for messages.
    pub fn peer(&self) -> &str {
        &self.channel.peer
    }

    /// True if the connection is inside TLS.
    pub fn is_tls(&self) -> bool {
        self.channel.stream.is_tls()
    }

    /// A handle that asks the server to cancel the running statement, usable from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Says goodbye, so that the server ends the session at once and logs no lost connection.
    pub fn close(mut self) {
        self.say_goodbye();
    }

    fn say_goodbye(&mut self) {
        if !self.broken && self.inflight.is_empty() {
            self.broken = true;
            let mut out = bytes::BytesMut::new();
            frontend::terminate(&mut out);
            // A server that is gone needs no goodbye.
            let _ = self.channel.send(&out, Wait::at_most(super::stream::TICK));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version_number("15.18 (Debian 15.18-0+deb12u1)"), 150_018);
        assert_eq!(version_number("9.6.1"), 90_601);
        assert_eq!(version_number("17beta1"), 170_000);
        assert_eq!(version_number("16devel"), 160_000);
        assert_eq!(version_number(""), 0);
        assert_eq!(version_number("99999999999999.9"), 0);
    }
}
