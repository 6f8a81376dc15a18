//! Integration tests: over the in-process broker, and over a real one where its semantics matter.

mod mock;
mod real;
mod rebalance;
mod support;
