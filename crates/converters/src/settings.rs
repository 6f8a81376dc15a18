//! What every converter says of settings that are wrong.

use api::Error;
use config::ConfigErrors;

/// All faults in one error.
pub(crate) fn wrong(errors: ConfigErrors) -> Error {
    let texts: Vec<String> = errors.errors.into_iter().map(|error| error.message).collect();
    Error::config(texts.join("; "))
}
