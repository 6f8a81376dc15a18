//! Looks at everything that a worker needs, and says of each thing whether it is right and what to do.
//!
//! Place in the data path: beside it; run by `copycat pg doctor`. It changes nothing.

mod database;
mod kafka;

pub use self::kafka::Resolve;

use crate::control::{Error, ErrorKind};
use crate::install::Installer;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is about.
    pub subject: String,
    /// What was found.
    pub finding: String,
    pub outcome: Outcome,
    /// What to do, where something is wrong.
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// Works, and may not do what is expected.
    Warning,
    Failed,
    /// Failed, because something outside cannot be reached.
    Unreachable,
}

impl Check {
    fn ok(subject: impl Into<String>, finding: impl Into<String>) -> Check {
        let (subject, finding) = (subject.into(), finding.into());
        Check { subject, finding, outcome: Outcome::Ok, fix: None }
    }

    fn warning(subject: impl Into<String>, finding: impl Into<String>, fix: &str) -> Check {
        Check { outcome: Outcome::Warning, ..Check::failed(subject, finding, fix) }
    }

    fn failed(
        subject: impl Into<String>,
        finding: impl Into<String>,
        fix: impl Into<String>,
    ) -> Check {
        let (subject, finding) = (subject.into(), finding.into());
        Check { subject, finding, outcome: Outcome::Failed, fix: Some(fix.into()) }
    }

    fn of_error(subject: &str, error: Error) -> Check {
        let outcome = match error.kind {
            ErrorKind::Unreachable => Outcome::Unreachable,
            _ => Outcome::Failed,
        };
        Check { subject: subject.to_owned(), finding: error.message, outcome, fix: error.hint }
    }
}

/// `ok`, `warning` or `failed`, what it is about, what was found; the fix below.
impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.outcome {
            Outcome::Ok => "ok",
            Outcome::Warning => "warning",
            Outcome::Failed | Outcome::Unreachable => "failed",
        };
        write!(f, "{word:<8} {}: {}", self.subject, self.finding)?;
        match &self.fix {
            Some(fix) => write!(f, "\n         fix: {fix}"),
            None => Ok(()),
        }
    }
}

/// Looks at the database, then at Kafka, then at the workers. What cannot be looked at because of
/// something before is left out.
pub fn examine(url: &str, settings: Resolve<'_>, tell: &mut dyn FnMut(Check)) {
    let mut installer = match Installer::connect(url) {
        Ok(installer) => installer,
        Err(error) => {
            let fix = "correct --database-url, or start the server";
            let mut check = Check::of_error("database", error);
            check.fix.get_or_insert_with(|| fix.to_owned());
            return tell(check);
        }
    };
    if !database::examine(&mut installer, tell) {
        return;
    }
    match crate::control::read_definitions(installer.connection()) {
        Ok(definitions) => kafka::examine(&definitions, settings, tell),
        Err(error) => tell(Check::of_error("definitions", error)),
    }
    database::examine_running(&mut installer, tell);
}
