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

    /// A required key that is not there, in Kafka's words.
    pub(crate) fn missing(key: &str) -> ConfigError {
        let text = format!("Missing required configuration \"{key}\" which has no default value.");
        ConfigError::new(key, text)
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

impl ConfigErrors {
    /// Text that does not parse counts as null for validators, which then complain of the null too.
    /// Connect's answers have both; a reader is helped by the first alone.
    fn is_consequence(&self, error: &ConfigError) -> bool {
        let null = format!("Invalid value null for configuration {}:", error.key);
        let explains = |other: &&ConfigError| other.key == error.key && other != &error;
        error.message.starts_with(&null) && self.errors.iter().any(|other| explains(&other))
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.errors.iter().filter(|error| !self.is_consequence(error));
        for (index, error) in told.enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {}", error.key, error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_is_told_once() {
        let wrong = "Invalid value x for configuration n: Not a number of type INT";
        let null = "Invalid value null for configuration n: Value must be non-null";
        let mut errors = ConfigErrors::one("n", wrong);
        errors.errors.push(ConfigError::new("n", null));
        assert_eq!(errors.to_string(), format!("n: {wrong}"));
        assert_eq!(ConfigErrors::one("n", null).to_string(), format!("n: {null}"));
    }
}
