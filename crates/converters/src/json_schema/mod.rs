//! Confluent's JsonSchemaConverter: JSON whose schema, in JSON Schema, is in a registry.
//!
//! Place in the data path: bytes without their framing to rows, and rows to such bytes. The registry
//! and the framing are `registered`'s; JSON text is read and written by what `json` has.
//!
//! - [`connect`] compiles the text of a schema into a Connect schema and a plan;
//! - the reader of `json`, with [`read`] and [`union`] for what is JSON Schema's own, reads values by
//!   the plan;
//! - [`text`] writes a Connect schema as JSON Schema, [`write`] the values.
//!
//! Invariants: a record never makes a panic, a wrong value is a fault with its path; a text is read
//! into the schema that it was written for.

mod annotate;
mod compatible;
mod connect;
mod documents;
mod format;
mod hash_order;
mod iso;
mod options;
mod parts;
mod read;
mod stack;
mod text;
mod tree;
mod union;
mod validate;
mod write;

#[cfg(test)]
mod tests;

use api::ConverterPlugin;
use data::Schema;
pub(crate) use format::JsonSchema;

/// The registry entry.
pub(crate) const PLUGIN: ConverterPlugin = ConverterPlugin {
    class: format::CLASS,
    aliases: &["JsonSchemaConverter", "JsonSchema"],
    version: env!("CARGO_PKG_VERSION"),
    config_def: crate::registered::config_def::<JsonSchema>,
    make: crate::registered::make::<JsonSchema>,
};

/// The name of a struct that stands for `oneOf` or `anyOf`.
const ONE_OF: &str = "io.confluent.connect.json.OneOf";
/// The parameter that enums have, and the start of those of their words.
const ENUM: &str = "io.confluent.connect.json.Enum";
/// The same with `generalized.sum.type.support`, for enums and unions.
const CONNECT_ENUM: &str = "org.apache.kafka.connect.data.Enum";
const CONNECT_UNION: &str = "org.apache.kafka.connect.data.Union";
/// The parameter of a struct that contains itself, and of the map that stands for it inside.
const ID: &str = "io.confluent.connect.json.Id";
/// The parameter of text that is the JSON of a value of any kind.
const ANY: &str = "io.confluent.connect.json.Any";
/// The name of such text, which destinations know as JSON.
const JSON_NAME: &str = "io.debezium.data.Json";
/// The word of an enum that stands for null.
const NULL_SYMBOL: &str = "<NULL>";

/// Whether a struct's fields are alternatives.
fn is_union(schema: &Schema) -> bool {
    schema.kind() == data::Type::Struct
        && (schema.name() == Some(ONE_OF) || schema.parameter(CONNECT_UNION).is_some())
}
