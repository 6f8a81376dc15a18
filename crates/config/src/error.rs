//! Configuration errors: all of them at once, each with its key.

use std::fmt;

/// One wrong or missing value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key, with its prefix.
    pub key: String,
    /// What is wrong, in Kafka's words where Kafka has words for it.
    pub message: String,
}

impl ConfigError {
    /// An error for `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> ConfigError {
        ConfigError { key: key.into(), message: message.into() }
    }
}

/// Everything that is wrong with a configuration, in the order of the definition.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConfigErrors {
    /// At least one error when returned as `Err`.
    pub errors: Vec<ConfigError>,
}

impl ConfigErrors {
    /// A single error.
    pub fn one(key: impl Into<String>, message: impl Into<String>) -> ConfigErrors {
        ConfigErrors { errors: vec![ConfigError::new(key, message)] }
    }

    /// `Ok` when there are no errors.
    ///
    /// # Errors
    /// `self` when there is at least one.
    pub fn into_result(self) -> Result<(), ConfigErrors> {
        if self.errors.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {}", error.key, error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
