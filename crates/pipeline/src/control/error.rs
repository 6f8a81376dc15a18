//! Why the control schema cannot be used, and who has to act.
//!
//! Place in the data path: beside it; a worker goes on with what it knows while the database is away.

use sql::postgres::wire::{Class, PgError};

/// Who has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The database is away, busy or read-only: try again later.
    Unreachable,
    /// There is no schema `pipeline_kafka`, or not the one that this program knows.
    Schema,
    /// The database is not the one that the schema was installed into.
    Copied,
    /// Credentials, rights or the URL: someone has to change something.
    Refused,
    /// The caller asked to stop.
    Cancelled,
    /// A broken promise of our own or of the server.
    Bug,
}

/// An error with its way out. No text contains a password.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub hint: Option<String>,
    pub sqlstate: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hint: None, sqlstate: None }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}

impl From<PgError> for Error {
    fn from(error: PgError) -> Error {
        let kind = match error.classify() {
            Class::Connection | Class::ReadOnly | Class::Resource | Class::Concurrency => {
                ErrorKind::Unreachable
            }
            Class::Auth | Class::Config => ErrorKind::Refused,
            // A row that somebody removes at this moment: the next try sees that it is gone.
            Class::Data => ErrorKind::Unreachable,
            Class::SchemaDrift => ErrorKind::Schema,
            Class::Cancelled => ErrorKind::Cancelled,
            Class::Bug => ErrorKind::Bug,
        };
        let PgError::Server(server) = error else { return Error::new(kind, error.to_string()) };
        let mut message = server.message;
        if let Some(detail) = server.detail {
            message = format!("{message}: {detail}");
        }
        // Names are not translated.
        let lacking =
            matches!(&*server.code, "42883" | "42P01") && message.contains("pipeline_kafka.");
        let hint = if lacking {
            Some("the schema is of another edition: run copycat pg upgrade".to_owned())
        } else {
            server.hint
        };
        Error { kind, message, hint, sqlstate: Some(server.code) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::postgres::wire::ServerError;

    #[test]
    fn a_function_that_the_schema_lacks_is_an_edition_of_its_own() {
        let hint = |message: &str| {
            let server = ServerError {
                code: "42883".to_owned(),
                message: message.to_owned(),
                hint: Some("Perhaps another one.".to_owned()),
                ..ServerError::default()
            };
            Error::from(PgError::Server(Box::new(server))).hint.unwrap()
        };
        assert!(hint("function pipeline_kafka._new() does not exist").contains("pg upgrade"));
        assert_eq!(hint("function mine() does not exist"), "Perhaps another one.");
    }
}
