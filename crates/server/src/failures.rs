//! What an error of the engine is to the user of a command: the exit code goes by who has to act.

use crate::exit::Failure;
use api::{Error, ErrorKind};

/// Why a command cannot go on, of an error that connectors, converters or Kafka gave.
pub(crate) fn failure(error: &Error) -> Failure {
    let failure = match error.kind {
        ErrorKind::Config => Failure::wrong_input(error.message.clone()),
        _ => Failure::unavailable(error.message.clone()),
    };
    error.hint.iter().fold(failure, |failure, hint| failure.hint(hint.clone()))
}
