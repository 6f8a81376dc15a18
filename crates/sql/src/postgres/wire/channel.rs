//! A stream of messages to and from one server, with the waits bounded.
//!
//! Place in the data path: the login (`auth.rs`) and the open connection (`connection.rs`) both speak
//! through it.
//!
//! Invariant: while bytes are being written, bytes that arrive are taken in. A server that is blocked
//! on sending notices therefore always comes back to reading.

use super::error::PgError;
use super::messages::{Frame, Incoming};
use super::stream::{Stream, TICK};
use super::wait::Wait;
use std::io;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) stream: Stream,
    pub(super) incoming: Incoming,
    /// The address, for messages.
    pub(super) peer: String,
    /// Longest silence while an answer is due; zero: no limit.
    pub(super) socket_timeout: Duration,
    /// Limit for one message.
    pub(super) max_message_bytes: usize,
}

impl Channel {
    /// The error of a failed read or write.
    fn failed(&self, what: &str, error: io::Error) -> PgError {
        match error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) {
            Some(tls) => PgError::Tls(format!("{}: {tls}", self.peer)),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                PgError::Closed(format!("{what} {}", self.peer))
            }
            None => PgError::Io { context: format!("{what} {}", self.peer), source: error },
        }
    }

    /// Writes all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8], wait: Wait<'_>) -> Result<(), PgError> {
        let mut rest = bytes;
        let mut silence = Duration::ZERO;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(Some(n)) if n > 0 => {
                    rest = rest.get(n..).unwrap_or_default();
                    silence = Duration::ZERO;
                    wait.check("sending to the server")?;
                }
                Ok(_) => self.blocked(&mut silence, wait)?,
                Err(error) => return Err(self.failed("sending to", error)),
            }
        }
        loop {
            match self.stream.flush() {
                Ok(true) => return Ok(()),
                Ok(false) => self.blocked(&mut silence, wait)?,
                Err(error) => return Err(self.failed("sending to", error)),
            }
        }
    }

    /// The server takes nothing: it may be waiting for us to read.
    fn blocked(&mut self, silence: &mut Duration, wait: Wait<'_>) -> Result<(), PgError> {
        wait.check("sending to the server")?;
        if self.take_in_now()? {
            *silence = Duration::ZERO;
            return Ok(());
        }
        *silence += TICK;
        self.check_silence(*silence)
    }

    fn check_silence(&self, silence: Duration) -> Result<(), PgError> {
        if !self.socket_timeout.is_zero() && silence >= self.socket_timeout {
            return Err(PgError::Io {
                context: format!("waiting for {} (socketTimeout)", self.peer),
                source: io::ErrorKind::TimedOut.into(),
            });
        }
        Ok(())
    }

    /// Takes in everything that has arrived, without waiting. True if there was anything.
    pub(super) fn take_in_now(&mut self) -> Result<bool, PgError> {
        let mut any = false;
        loop {
            match self.stream.read_now(self.incoming.space()) {
                Ok(None | Some(0)) => return Ok(any),
                Ok(Some(n)) => {
                    self.incoming.filled(n);
                    any = true;
                }
                Err(error) => return Err(self.failed("reading from", error)),
            }
        }
    }

    /// The next message of a server that owes none: its silence is no failure.
    pub(super) fn receive_unasked(&mut self, wait: Wait<'_>) -> Result<Frame, PgError> {
        let limit = std::mem::take(&mut self.socket_timeout);
        let received = self.receive(wait);
        self.socket_timeout = limit;
        received
    }

    /// The next message, waited for.
    pub(super) fn receive(&mut self, wait: Wait<'_>) -> Result<Frame, PgError> {
        let mut silence = Duration::ZERO;
        loop {
            if let Some(frame) = self.incoming.next(self.max_message_bytes)? {
                return Ok(frame);
            }
            match self.stream.read(self.incoming.space()) {
                Ok(Some(0)) => return Err(PgError::Closed(format!("reading from {}", self.peer))),
                Ok(Some(n)) => {
                    self.incoming.filled(n);
                    silence = Duration::ZERO;
                }
                Ok(None) => {
                    silence += TICK;
                    self.check_silence(silence)?;
                }
                Err(error) => return Err(self.failed("reading from", error)),
            }
            // A message that came last still counts, so it is looked at before the limits.
            if let Some(frame) = self.incoming.next(self.max_message_bytes)? {
                return Ok(frame);
            }
            wait.check("the server's answer")?;
        }
    }
}
