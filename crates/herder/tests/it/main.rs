//! Integration tests: what workers share through Kafka, over a real broker.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may panic; clippy knows only test functions"
)]

mod leader;
mod log;
mod offsets;
mod support;
