//! Recorded answers of Kafka Connect, and the same questions asked of Copycat's crates.
//!
//! A vector is a case with what Apache Kafka Connect's own libraries answered: `{"id", "op", "input",
//! "output"}`, a line each. [`run`] puts the cases of a folder to Copycat's crates, through their public
//! API, and compares. `cargo xtask golden` is its command; a test of this crate runs it over `testdata`.
//!
//! Place in the data path: none. Invariant: no rule of Connect's is known here, only its notation, so
//! that a vector that passes says something about the crates.

pub mod batches;
pub mod compare;
pub mod differential;
pub mod exceptions;
pub mod fault;
pub mod notation;
pub mod operations;
pub mod run;
pub mod text;

use std::path::{Path, PathBuf};

/// The folder of our own vectors, from the top of the project.
pub const TESTDATA: &str = "crates/golden/testdata";

/// The top of the project, where this crate was built.
pub fn project() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.join("../..").canonicalize().unwrap_or_else(|_| own.to_owned())
}
