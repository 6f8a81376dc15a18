//! Exit codes and the one way a command says why it ends.

use crate::show::printable;
use connector_files::FileError;
use std::process::ExitCode;

/// Something of our own went wrong, or a check failed.
pub const INTERNAL: u8 = 1;
/// The request or a file is wrong: nothing can run until it is changed.
pub const WRONG_INPUT: u8 = 2;
/// Something outside that is needed cannot be reached or used.
pub const UNAVAILABLE: u8 = 3;
/// All well, and there is something to do: `plan` found changes, `validate --strict` found warnings.
pub const CHANGES: u8 = 4;

/// Why a command cannot go on.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    /// The request or a file is wrong.
    pub fn wrong_input(message: impl Into<String>) -> Failure {
        Failure { code: WRONG_INPUT, message: message.into(), hint: None }
    }

    /// Something outside cannot be reached or used.
    pub fn unavailable(message: impl Into<String>) -> Failure {
        Failure { code: UNAVAILABLE, message: message.into(), hint: None }
    }

    /// Something went wrong that the user has no part in.
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure { code: INTERNAL, message: message.into(), hint: None }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the message and the hint to standard error, and gives the exit code.
    #[expect(clippy::print_stderr, reason = "the last word of a command, after logging")]
    pub fn report(&self) -> ExitCode {
        eprintln!("copycat: {}", printable(&self.message, false));
        if let Some(hint) = &self.hint {
            eprintln!("  hint: {}", printable(hint, false));
        }
        ExitCode::from(self.code)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure { code: WRONG_INPUT, message: error.message, hint: error.hint }
    }
}
