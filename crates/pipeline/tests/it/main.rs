//! The control schema against a real server.

mod reports;
