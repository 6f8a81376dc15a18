//! What happens when something fails: waits, the breaker, the error log, the dead-letter topic.

mod backoff;
mod breaker;
pub(crate) mod dead_letter_topic;
mod explain;
mod log;
mod repeats;

pub use backoff::Backoff;
pub(crate) use backoff::jitter;
pub use breaker::{Breaker, WINDOW_RECORDS};
pub use explain::explain;
pub(crate) use explain::explain_all;
pub use log::ErrorLog;
pub(crate) use repeats::Repeats;
