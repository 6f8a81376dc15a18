//! Looks at what lies outside before anything runs: is it there, does it let us in, may we write.
//!
//! Place: the control plane, and only where a user asks for it. A check changes nothing outside, and
//! ends at its deadline.

use crate::Error;
use std::time::{Duration, Instant};

/// What a look has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Ok,
    Failed,
    /// Not looked at, because something before it failed or nothing can be told.
    Skipped,
}

impl Outcome {
    /// As answers say it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Skipped => "skipped",
        }
    }
}

/// One line: what was looked at and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Short and stable for one configuration, for example `table orders`.
    pub name: String,
    pub outcome: Outcome,
    /// What was found, in words.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The key of the configuration that a failure belongs to, as the user wrote it.
    pub key: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, outcome: Outcome, what: impl Into<String>) -> Check {
        Check { name: name.into(), outcome, what: what.into(), hint: None, key: None }
    }

    pub fn ok(name: impl Into<String>, what: impl Into<String>) -> Check {
        Check::new(name, Outcome::Ok, what)
    }

    pub fn failed(name: impl Into<String>, what: impl Into<String>) -> Check {
        Check::new(name, Outcome::Failed, what)
    }

    pub fn skipped(name: impl Into<String>, why: impl Into<String>) -> Check {
        Check::new(name, Outcome::Skipped, why)
    }

    /// A failure in an error's words.
    pub fn of_error(name: impl Into<String>, error: &Error) -> Check {
        let mut check = Check::failed(name, error.message.clone());
        check.hint.clone_from(&error.hint);
        check
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Check {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Check {
        self.key = Some(key.into());
        self
    }

    pub fn is_failed(&self) -> bool {
        self.outcome == Outcome::Failed
    }
}

/// What a connector is told for its checks.
#[derive(Clone, Debug)]
pub struct Checking {
    pub connector: String,
    /// The names under which records arrive, as far as they are known before any was read.
    pub topics: Vec<String>,
    /// A transform may give records of these topics other names.
    pub renamed: bool,
    /// The sink reports what it rejects instead of stopping.
    pub tolerant: bool,
    /// Whatever takes longer is given up.
    pub deadline: Instant,
}

impl Checking {
    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}
