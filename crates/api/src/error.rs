//! Errors, typed by what the operator or the runtime must do about them.

use data::TopicPartition;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Something outside is down or busy: the runtime retries for ever with capped backoff.
    Retriable,
    /// One record is wrong: it is reported, or stops the task where nothing is tolerated.
    Data,
    /// The definition, the destination's layout or a privilege is wrong: FAILED until changed.
    Config,
    /// Another owner has taken over: roll back, write nothing, ask where things stand.
    Fenced,
    /// We were asked to stop while waiting.
    Cancelled,
    /// A broken promise of our own: FAILED.
    Bug,
}

/// What happened, what to do, and where. `Display` prints the message alone; the hint and the
/// source are printed once, at the edge.
#[derive(Debug)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub hint: Option<String>,
    /// The SQLSTATE, where a database said one.
    pub sqlstate: Option<String>,
    /// The record the error is about.
    pub record: Option<(TopicPartition, i64)>,
    /// Whose error it is, where a task works for several: the member's place among them.
    pub member: Option<usize>,
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            hint: None,
            sqlstate: None,
            record: None,
            member: None,
            source: None,
        }
    }

    pub fn retriable(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Retriable, message)
    }

    pub fn data(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Data, message)
    }

    pub fn config(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Config, message)
    }

    pub fn fenced(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Fenced, message)
    }

    pub fn cancelled() -> Error {
        Error::new(ErrorKind::Cancelled, "stopped while waiting")
    }

    pub fn bug(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Bug, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn sqlstate(mut self, sqlstate: impl Into<String>) -> Error {
        self.sqlstate = Some(sqlstate.into());
        self
    }

    #[must_use]
    pub fn record(mut self, tp: TopicPartition, offset: i64) -> Error {
        self.record = Some((tp, offset));
        self
    }

    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.source = Some(source.into());
        self
    }

    /// Everything an operator needs, in one text: message, place, SQLSTATE, causes, hint.
    pub fn report(&self) -> String {
        use fmt::Write;
        let mut text = self.message.clone();
        if let Some((tp, offset)) = &self.record {
            let (topic, partition) = (&tp.topic, tp.partition);
            // Writing to a string cannot fail.
            let _ok = write!(text, " (topic {topic}, partition {partition}, offset {offset})");
        }
        if let Some(state) = &self.sqlstate {
            let _ok = write!(text, " [SQLSTATE {state}]");
        }
        let mut cause = self.source.as_deref().map(|s| s as &dyn std::error::Error);
        while let Some(error) = cause {
            let _ok = write!(text, ": {error}");
            cause = error.source();
        }
        if let Some(hint) = &self.hint {
            let _ok = write!(text, "\n  hint: {hint}");
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|s| s as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_place_state_cause_and_hint() {
        let error = Error::data("value does not fit")
            .sqlstate("22003")
            .record(TopicPartition::new("t", 3), 17)
            .source(std::io::Error::other("server said so"))
            .hint("widen the column");
        assert_eq!(
            error.report(),
            "value does not fit (topic t, partition 3, offset 17) [SQLSTATE 22003]: \
             server said so\n  hint: widen the column"
        );
    }
}
