//! What a client may take up.

use config::worker::WorkerConfig;
use std::time::Duration;

/// Limits of the interface; all of them are keys of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time.
    pub connections_max: usize,
    /// Bytes of a body.
    pub body_bytes_max: usize,
    /// From the end of the last answer, or the begin of the connection, to the end of a request's
    /// headers.
    pub head_timeout: Duration,
    /// From the end of the headers to that of the body.
    pub body_timeout: Duration,
    /// Without the client taking anything of an answer.
    pub write_timeout: Duration,
}

impl Limits {
    /// What the worker's settings say.
    pub fn of(config: &WorkerConfig) -> Limits {
        let rest = &config.rest;
        Limits {
            connections_max: rest.connections_max,
            body_bytes_max: rest.body_bytes_max,
            head_timeout: Duration::from_millis(rest.head_timeout_ms),
            body_timeout: Duration::from_millis(rest.body_timeout_ms),
            write_timeout: Duration::from_millis(rest.write_timeout_ms),
        }
    }
}
