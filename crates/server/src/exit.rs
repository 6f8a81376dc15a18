//! Exit codes and the one way a command says why it ends.

use std::process::ExitCode;

/// The request or a file is wrong: nothing can run until it is changed.
pub(crate) const WRONG_INPUT: u8 = 2;
/// Something outside that is needed cannot be reached or used.
pub(crate) const UNAVAILABLE: u8 = 3;

/// Why a command cannot go on.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn wrong_input(message: impl Into<String>) -> Failure {
        Failure { code: WRONG_INPUT, message: message.into(), hint: None }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Failure {
        Failure { code: UNAVAILABLE, message: message.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the message and the hint to standard error, and gives the exit code.
    #[expect(clippy::print_stderr, reason = "the last word of a command, after logging")]
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("copycat: {}", self.message);
        if let Some(hint) = &self.hint {
            eprintln!("  hint: {hint}");
        }
        ExitCode::from(self.code)
    }
}
