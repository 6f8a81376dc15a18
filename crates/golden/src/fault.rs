//! A failure as an answer: the class that a user of Connect would see, the message, and the stage.

use data::SchemaError;
use serde_json::{Value as Json, json};

/// Connect's names of the classes that Copycat's errors stand for.
pub const DATA: &str = "org.apache.kafka.connect.errors.DataException";
pub const CONFIG: &str = "org.apache.kafka.common.config.ConfigException";
pub const SCHEMA_BUILDER: &str = "org.apache.kafka.connect.errors.SchemaBuilderException";

/// Where a case stands when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The case itself cannot be built.
    Input,
    /// The plugin refuses its configuration.
    Configure,
    /// The work itself fails.
    Apply,
}

impl At {
    fn name(self) -> &'static str {
        match self {
            At::Input => "input",
            At::Configure => "configure",
            At::Apply => "apply",
        }
    }
}

/// A failure. The stage is the caller's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub class: String,
    pub message: String,
}

impl Fault {
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { class: class.into(), message: message.into() }
    }

    pub fn data(message: impl Into<String>) -> Fault {
        Fault::new(DATA, message)
    }

    /// The answer of a case that fails with this.
    pub fn answer(&self, at: At) -> Json {
        json!({"error": {"class": self.class, "message": self.message, "at": at.name()}})
    }
}

impl From<SchemaError> for Fault {
    fn from(error: SchemaError) -> Fault {
        Fault::new(error.exception(), error.0)
    }
}
