//! Confluent's AvroConverter: records of Avro with their schemas in a registry.
//!
//! Place in the data path: framed payloads to rows in a sink, rows to payloads in a source. The
//! schema model ([`schema`]) is shared by reading and writing.
//!
//! Invariant: nothing here does I/O; schemas come in as text.

mod attributes;
mod connect;
mod format;
mod markers;
mod options;
mod read;
mod room;
#[cfg(test)]
mod round_trips;
mod schema;
mod to_avro;
mod write;

use api::ConverterPlugin;
pub(crate) use format::Avro;

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: format::CLASS,
    aliases: &["AvroConverter", "Avro"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: crate::registered::config_def::<Avro>,
    make: crate::registered::make::<Avro>,
};
