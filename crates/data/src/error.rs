//! What is wrong with a schema or a value, in Connect's words.

use std::fmt;

const PROJECTOR: &str = "org.apache.kafka.connect.errors.SchemaProjectorException";

/// A schema that cannot be built, or a value that does not fit one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(pub String, &'static str);

impl SchemaError {
    pub(crate) fn builder(message: impl Into<String>) -> SchemaError {
        SchemaError(message.into(), "org.apache.kafka.connect.errors.SchemaBuilderException")
    }

    /// A value that is not what its schema or use asks for.
    pub fn data(message: impl Into<String>) -> SchemaError {
        SchemaError(message.into(), "org.apache.kafka.connect.errors.DataException")
    }

    pub(crate) fn projector(message: impl Into<String>) -> SchemaError {
        SchemaError(message.into(), PROJECTOR)
    }

    pub(crate) fn is_projector(&self) -> bool {
        self.1 == PROJECTOR
    }

    pub(crate) fn number(message: impl Into<String>) -> SchemaError {
        SchemaError(message.into(), "java.lang.NumberFormatException")
    }

    pub(crate) fn cast(message: impl Into<String>) -> SchemaError {
        SchemaError(message.into(), "java.lang.ClassCastException")
    }

    /// The class of the exception that Connect throws.
    pub fn exception(&self) -> &'static str {
        self.1
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}
