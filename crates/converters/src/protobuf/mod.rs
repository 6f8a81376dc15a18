//! Confluent's ProtobufConverter: Protobuf with schemas from a registry.
//!
//! Place in the data path: fetched bytes to rows in a sink, rows to bytes in a source. A schema's text is
//! compiled to descriptors once; from these come the Connect schema and a plan, by which records are
//! read straight into cells ([`unfold`], [`read`]), or a text and a plan by which they are written.
//!
//! Invariants: one record never affects another; a record that is not exactly a message of its schema
//! is a data error that names field and byte.

mod compile;
mod fault;
mod field_type;
mod finish;
mod known;
mod meta;
mod options;
mod plan;
mod read;
mod unfold;
mod wire;

#[cfg(test)]
mod read_tests;

const CLASS: &str = "io.confluent.connect.protobuf.ProtobufConverter";
