//! In a cluster another worker may run the task by now, while this one still believes it is its own: it
//! was paused, or cut off. Both take the same transactional id over, and the last one has it.
//!
//! So a task asks after it has taken the id over and before it reads offsets or writes; and before it
//! takes the id again, whatever became of the last time. Invariant: one that is not the rightful one
//! writes nothing, and takes the id over once at most.

use super::work::Work;
use api::{Error, ErrorKind, Result};

impl Work {
    /// Whether this task is the rightful one. What keeps that from being known shows in the status.
    pub(super) fn is_rightful(&mut self) -> Result<bool> {
        let Some(confirm) = self.settings.confirm.clone() else { return Ok(true) };
        let stop = self.stop.clone();
        loop {
            if self.stopped() {
                return Err(Error::cancelled());
            }
            match confirm(&|| stop.mode().is_some()) {
                Ok(true) => return Ok(true),
                Ok(false) => {
                    tracing::info!("another task has this one's place by now; it ends");
                    return Ok(false);
                }
                Err(error) if error.kind == ErrorKind::Retriable => self.pause(&error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether an error ends a session, not the task. One that is fenced may be the rightful one: then
    /// whoever fenced it was not.
    pub(super) fn can_go_on(&self, error: &Error) -> bool {
        let asks = self.settings.confirm.is_some();
        error.kind == ErrorKind::Retriable || (error.kind == ErrorKind::Fenced && asks)
    }
}
