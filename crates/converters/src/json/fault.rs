//! Why one JSON record cannot be read, on the way from the scanner to the batch's reject.
//!
//! Invariants: texts that Connect users search for are Connect's own, word for word; a text never
//! carries bytes of the record, so that logs stay free of payloads.

use crate::batch::Rejection;
use std::borrow::Cow;

/// The text Connect puts before every syntax error.
const SYNTAX: &str = "Converting byte[] to Kafka Connect data failed due to serialization error: ";

const DATA_EXCEPTION: &str = "org.apache.kafka.connect.errors.DataException";
const BUILDER_EXCEPTION: &str = "org.apache.kafka.connect.errors.SchemaBuilderException";

/// One pointer wide, so that results on the hot path stay as small as a cell.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: Cow<'static, str>,
    exception: &'static str,
    /// The names of the fields around the place, and `[n]` for items of lists; the outermost last.
    path: Vec<String>,
}

impl Fault {
    /// A value that does not fit its schema, or a schema that is none.
    #[cold]
    pub(crate) fn data(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(message.into(), DATA_EXCEPTION)
    }

    /// A schema that Connect's builder refuses.
    #[cold]
    pub(crate) fn builder(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(message.into(), BUILDER_EXCEPTION)
    }

    /// Bytes that are no JSON: what is wrong, and at which byte of the record.
    #[cold]
    pub(crate) fn syntax(what: &str, at: usize) -> Fault {
        Fault::new(Cow::Owned(format!("{SYNTAX}{what} at byte {at}")), DATA_EXCEPTION)
    }

    fn new(message: Cow<'static, str>, exception: &'static str) -> Fault {
        Fault(Box::new(Inner { message, exception, path: Vec::new() }))
    }

    /// The same fault, seen from outside the field it happened in.
    #[cold]
    pub(crate) fn within(mut self, field: &str) -> Fault {
        self.0.path.push(field.to_owned());
        self
    }

    /// The same fault, seen from outside the list whose item of this number it happened in.
    #[cold]
    pub(crate) fn within_item(mut self, index: usize) -> Fault {
        self.0.path.push(format!("[{index}]"));
        self
    }

    /// What the batch keeps of the record: the text, the exception class and the field.
    pub(crate) fn reject(self) -> Rejection {
        self.reject_by(super::CLASS)
    }

    /// The same of another converter's record.
    pub(crate) fn reject_by(self, class: &'static str) -> Rejection {
        let column = self.path();
        let Inner { message, exception, .. } = *self.0;
        Rejection { message: message.into_owned(), exception, class, column }
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The place in the value, as `outer.list[3].inner`; none at the top.
    fn path(&self) -> Option<String> {
        if self.0.path.is_empty() {
            return None;
        }
        let mut path = String::new();
        for part in self.0.path.iter().rev() {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        Some(path)
    }
}
