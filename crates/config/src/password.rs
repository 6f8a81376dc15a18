//! A secret value that cannot be printed by accident.
//!
//! Invariant: `Debug` and `Display` print `[hidden]`; the bytes are overwritten on drop.

use std::fmt;

/// What is printed instead of a secret; Kafka's own text.
pub const HIDDEN: &str = "[hidden]";

/// A secret: printed as `[hidden]`, overwritten when dropped.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Password(String);

impl Password {
    /// Takes the secret over.
    pub fn new(secret: impl Into<String>) -> Password {
        Password(secret.into())
    }

    /// The secret itself. The caller must not log it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the secret is the empty text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Password {
    fn from(secret: String) -> Password {
        Password(secret)
    }
}

impl From<&str> for Password {
    fn from(secret: &str) -> Password {
        Password(secret.to_owned())
    }
}

impl Drop for Password {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Keeps the optimiser from removing the writes to memory that is freed next.
        std::hint::black_box(&bytes);
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_printed_hidden() {
        let password = Password::new("hunter2");
        assert_eq!(format!("{password} {password:?}"), "[hidden] [hidden]");
        assert_eq!(password.expose(), "hunter2");
    }
}
