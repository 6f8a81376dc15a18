//! Workers that share their connectors through Kafka.
//!
//! What they agree on stands in Kafka Connect's three compacted topics, in its own forms, so that a
//! cluster of Java workers can be taken over and handed back: `topics` has the records and what
//! follows from reading them, without I/O; `log` reads and writes them.

pub mod log;
pub mod topics;
