//! Why a message cannot be read: what, at which byte, in which field.

use super::CLASS;
use crate::batch::Rejection;

/// A fault of one message. Boxed, so that results on the hot path stay small.
#[derive(Debug)]
pub(super) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: String,
    /// From the inside out.
    path: Vec<String>,
}

impl Fault {
    /// What is wrong at which byte of the payload.
    #[cold]
    pub(super) fn at(what: &str, byte: usize) -> Fault {
        Fault::new(format!("{what} at byte {byte}"))
    }

    #[cold]
    pub(super) fn new(message: String) -> Fault {
        Fault(Box::new(Inner { message, path: Vec::new() }))
    }

    /// The same fault, seen from outside the field it happened in.
    #[cold]
    pub(super) fn within(mut self, field: &str) -> Fault {
        self.0.path.push(field.to_owned());
        self
    }

    #[cfg(test)]
    pub(super) fn message(&self) -> &str {
        &self.0.message
    }

    /// The place in the value, as `outer.inner`; none at the top.
    pub(super) fn path(&self) -> Option<String> {
        let parts: Vec<&str> = self.0.path.iter().rev().map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join("."))
    }

    /// What and where, in one text.
    pub(super) fn text(&self) -> String {
        match self.path() {
            Some(path) => format!("field {path}: {}", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// What the batch keeps of the record.
    pub(super) fn reject(self) -> Rejection {
        let column = self.path();
        // The path is said with the column.
        let message = format!("Invalid Protobuf message: {}", self.0.message);
        Rejection {
            message,
            exception: "org.apache.kafka.connect.errors.DataException",
            class: CLASS,
            column,
        }
    }
}
