//! How long an operation may wait: a deadline and a cancel function, both optional.
//!
//! Place in the data path: every blocking call of the wire takes a [`Wait`] and looks at it once a
//! tick (some milliseconds).

use super::error::PgError;
use std::fmt;
use std::time::{Duration, Instant};

/// Limits of one wait.
#[derive(Clone, Copy, Default)]
pub struct Wait<'a> {
    deadline: Option<Instant>,
    cancel: Option<&'a (dyn Fn() -> bool + 'a)>,
}

impl fmt::Debug for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("deadline", &self.deadline)
            .field("cancellable", &self.cancel.is_some())
            .finish()
    }
}

impl<'a> Wait<'a> {
    /// Waits without limit.
    pub fn forever() -> Wait<'static> {
        Wait { deadline: None, cancel: None }
    }

    /// Waits until `deadline`.
    pub fn until(deadline: Instant) -> Wait<'static> {
        Wait { deadline: Some(deadline), cancel: None }
    }

    /// Waits at most `limit` from now.
    pub fn at_most(limit: Duration) -> Wait<'static> {
        Wait { deadline: Instant::now().checked_add(limit), cancel: None }
    }

    /// The same limits, and ended as soon as `cancel` returns true.
    pub fn or_cancelled(self, cancel: &'a (dyn Fn() -> bool + 'a)) -> Wait<'a> {
        Wait { deadline: self.deadline, cancel: Some(cancel) }
    }

    /// The same cancel function with a deadline at most `limit` from now.
    pub fn within(self, limit: Duration) -> Wait<'a> {
        let mine = Instant::now().checked_add(limit);
        let deadline = match (self.deadline, mine) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Wait { deadline, cancel: self.cancel }
    }

    /// Time left until the deadline; `None` without one.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }

    /// An error if the wait is over: [`PgError::Cancelled`], or [`PgError::Timeout`] that names
    /// `what` was waited for.
    pub fn check(&self, what: &str) -> Result<(), PgError> {
        if self.cancel.is_some_and(|cancel| cancel()) {
            return Err(PgError::Cancelled);
        }
        match self.left() {
            Some(left) if left.is_zero() => {
                Err(PgError::Timeout(format!("timed out: {what} took too long")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_deadline_wins_and_cancel_comes_first() {
        let wait = Wait::at_most(Duration::from_secs(1000)).within(Duration::from_secs(5));
        assert!(wait.left().unwrap() <= Duration::from_secs(5));
        assert!(wait.check("x").is_ok());
        let over = Wait::at_most(Duration::ZERO);
        assert!(matches!(over.check("x"), Err(PgError::Timeout(_))));
        assert!(matches!(over.or_cancelled(&|| true).check("x"), Err(PgError::Cancelled)));
        assert!(Wait::forever().left().is_none());
    }
}
