//! Integration tests of configuration: recorded answers of Kafka Connect 4.4, and the derive macro.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may panic; clippy knows only test functions"
)]

mod definitions;
mod derived;
mod sinks;
mod variables;
