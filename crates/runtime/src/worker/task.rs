//! A running task of either direction, as whoever started it holds it.

use crate::sink::{SinkTaskHandle, StopMode};
use crate::source::SourceTaskHandle;
use crate::status::TaskStatus;
use std::time::Duration;

/// A task that runs until it is stopped or fails. Dropping the handle does not stop it.
pub enum TaskHandle {
    Sink(SinkTaskHandle),
    Source(SourceTaskHandle),
}

impl TaskHandle {
    pub fn status(&self) -> TaskStatus {
        match self {
            TaskHandle::Sink(sink) => sink.status(),
            TaskHandle::Source(source) => source.status(),
        }
    }

    /// Asks the task to end; see [`TaskHandle::wait`]. The mode matters to members of a group only.
    pub fn stop(&self, mode: StopMode) {
        match self {
            TaskHandle::Sink(sink) => sink.stop(mode),
            TaskHandle::Source(source) => source.stop(),
        }
    }

    /// Waits until the task has ended. False if it has not within `timeout`.
    pub fn wait(&self, timeout: Duration) -> bool {
        match self {
            TaskHandle::Sink(sink) => sink.wait(timeout),
            TaskHandle::Source(source) => source.wait(timeout),
        }
    }

    /// Ends waits for the other side; a source has none that a stop does not end.
    pub fn cancel(&self) {
        match self {
            TaskHandle::Sink(sink) => sink.cancel(),
            TaskHandle::Source(_) => {}
        }
    }
}
