//! The control schema against a real server.

mod bench;
mod reports;
mod worker;
