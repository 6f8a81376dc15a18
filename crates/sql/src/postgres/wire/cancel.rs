//! Asks the server to cancel what a session is doing.
//!
//! Place in the data path: used when a task has to stop while its statement runs. The request goes over
//! a connection of its own, so a [`CancelToken`] may be used from any thread.

use super::connect::{Target, open_channel};
use super::error::PgError;
use super::wait::Wait;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::fmt;

/// A handle on the running statement of one session.
#[derive(Clone)]
pub struct CancelToken {
    pub(super) target: Target,
    pub(super) backend_pid: i32,
    pub(super) secret: i32,
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("backend_pid", &self.backend_pid)
            .finish_non_exhaustive()
    }
}

impl CancelToken {
    /// Sends the request and waits until the server has taken it. The statement then fails with
    /// SQLSTATE 57014, unless it ended before; the answer is in its own reply, not here.
    pub fn cancel(&self, wait: Wait<'_>) -> Result<(), PgError> {
        let mut channel = open_channel(&self.target, wait)?;
        let mut out = BytesMut::new();
        frontend::cancel_request(self.backend_pid, self.secret, &mut out);
        channel.send(&out, wait)?;
        match channel.receive(wait) {
            // The server closes the connection and says nothing.
            Err(PgError::Closed(_) | PgError::Io { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
