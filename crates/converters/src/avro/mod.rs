//! Confluent's AvroConverter: records of Avro with their schemas in a registry.
//!
//! Place in the data path: framed payloads to rows in a sink, rows to payloads in a source. The
//! schema model ([`schema`]) is shared by reading and writing.
//!
//! Invariant: nothing here does I/O; schemas come in as text.

pub(crate) mod attributes;
pub(crate) mod connect;
mod markers;
pub(crate) mod options;
pub(crate) mod read;
pub(crate) mod schema;
mod to_avro;
mod write;
