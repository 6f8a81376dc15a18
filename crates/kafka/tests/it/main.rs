//! Integration tests: over the in-process broker, and over a real one where its semantics matter.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may panic; clippy knows only test functions"
)]

mod mock;
mod real;
mod rebalance;
mod support;
