//! Workers that share their connectors through Kafka.
//!
//! What they agree on stands in Kafka Connect's three compacted topics, in its own forms, so that a
//! cluster of Java workers can be taken over and handed back: `topics` has the records and what
//! follows from reading them, without I/O; `log` reads and writes them.
//!
//! The other pure parts, from the bottom: [`cluster`] is what a worker has read, [`membership`] who is
//! alive, [`assignment`] the balance of tasks over workers, [`member`] what one worker decides. A
//! simulation of whole clusters in virtual time, with faults from a seed, is their test.

pub mod assignment;
pub mod cluster;
mod driver;
pub mod keys;
pub mod log;
pub mod member;
pub mod membership;
pub mod records;
#[cfg(test)]
mod simulation;
pub mod topics;

pub use driver::{ClusterSettings, LogLevels, run_number};
