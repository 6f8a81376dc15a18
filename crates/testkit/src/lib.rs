//! Real servers, a real worker process and reproducible randomness for tests and benchmarks.
//!
//! Only ever a dev-dependency (`xtask` aside): nothing here is in the data path. Tests get the
//! shared broker and database of one run from [`kafka::bootstrap`] and [`postgres::database`];
//! tests that break servers start their own with [`kafka::Broker`] and [`postgres::Server`].
//!
//! What does not work panics with what to do about it: the caller is a test. [`eventually`] is the
//! only way to wait; there are no sleeps that stand for a condition.

pub mod avro;
pub mod kafka;
mod ports;
pub mod postgres;
mod private;
pub mod process;
mod random;
pub mod registry;
pub mod replay;
mod shared;
mod wait;

pub use ports::free_port;
pub use random::{Rng, seed, soak, unique};
pub use wait::{eventually, holds_for, progress};
