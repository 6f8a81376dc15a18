//! Confluent's ProtobufConverter: Protobuf with schemas from a registry.
//!
//! Place in the data path: fetched bytes to rows in a sink, rows to bytes in a source. A schema's text is
//! compiled to descriptors once; from these come the Connect schema and a plan, by which records are
//! read straight into cells ([`unfold`], [`read`]), or a text and a plan by which they are written.
//!
//! Invariants: one record never affects another; a record that is not exactly a message of its schema
//! is a data error that names field and byte.

mod compatible;
mod compile;
mod deep;
mod fault;
mod field_type;
mod finish;
mod format;
mod known;
mod meta;
mod names_of;
mod numbers;
mod options;
mod plan;
mod read;
mod text;
mod to_proto;
mod unfold;
mod wire;
mod write;
mod write_plan;

#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod malformed_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod write_tests;

use crate::registered;
use api::ConverterPlugin;

pub(crate) use format::Protobuf;

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: CLASS,
    aliases: &["ProtobufConverter", "Protobuf"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: registered::config_def::<Protobuf>,
    make: registered::make::<Protobuf>,
};

const CLASS: &str = "io.confluent.connect.protobuf.ProtobufConverter";
