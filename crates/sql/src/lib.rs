//! Records into SQL databases, each exactly once: the protocol, and what databases share.
//!
//! One transaction moves the offset row of each partition, writes the rows, and writes the rejects;
//! nothing else decides where a partition stands. [`SqlSink`](sink::SqlSink) drives that protocol
//! over the [`Database`](database::Database) trait, which `postgres` and `sqlite` implement.
//!
//! Invariants (each has a test):
//! - the rows of offsets `[a, next_offset)` have been applied exactly once or have a dead letter, and
//!   nothing beyond;
//! - `next_offset` moves only in a transaction that saw the value it moves from, under its epoch;
//! - after any failure the row is read again, locked; memory and Kafka are never trusted for it.

mod bind;
pub mod config;
pub mod consumer;
pub mod database;
mod ddl;
mod envelope;
mod epoch;
mod evolve;
pub mod foreign;
mod group;
mod header;
mod key;
pub mod look;
mod member;
pub mod naming;
mod outcome;
mod path;
mod pipeline;
mod plan;
pub mod postgres;
mod recover;
mod reduce;
mod resolve;
mod set;
pub mod settings;
mod shape;
pub mod sink;
pub mod sqlite;
pub mod table;
pub mod together;
mod unavailable;
mod wanted;
mod work;
pub mod write;

#[cfg(test)]
mod bind_tests;
#[cfg(test)]
mod sink_tests;
