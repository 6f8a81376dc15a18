//! How long a caller waits: until its task is stopped, or a time of its own has passed.

use api::{Cancel, Error, ErrorKind, Result};
use std::fmt;
use std::time::{Duration, Instant};

/// Both are checked between requests; what a request itself may take is limited by the settings and the
/// deadline.
#[derive(Clone, Default)]
pub(crate) struct Bounds {
    pub(crate) cancelled: Option<Cancel>,
    pub(crate) deadline: Option<Instant>,
}

impl fmt::Debug for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bounds(until {:?})", self.deadline)
    }
}

impl Bounds {
    /// # Errors
    /// `Cancelled`: the caller is to end now.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancelled.as_ref().is_some_and(|cancelled| cancelled()) {
            return Err(Error::cancelled());
        }
        if self.left().is_some_and(|left| left.is_zero()) {
            let text = "the Schema Registry has not answered in the time that was given";
            return Err(Error::new(ErrorKind::Cancelled, text));
        }
        Ok(())
    }

    /// The time that is left, if there is a limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}
