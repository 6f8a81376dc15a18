//! The converters that are built in: bytes of keys and values to rows, and back.
//!
//! One folder per converter, one line in [`plugins`]. Converters are looked up by the spellings
//! Kafka Connect accepts: the full class name, the simple name, and the simple name without
//! `Converter`.

mod ahead;
mod avro;
mod batch;
mod boolean;
mod byte_array;
mod json;
mod json_schema;
mod kind;
mod number;
mod protobuf;
mod registered;
mod settings;
mod simple_header;
mod string;
mod utf8;

use api::ConverterPlugin;
use config::Props;

static PLUGINS: [ConverterPlugin; 13] = [
    string::PLUGIN,
    byte_array::PLUGIN,
    json::PLUGIN,
    boolean::PLUGIN,
    number::SHORT,
    number::INTEGER,
    number::LONG,
    number::FLOAT,
    number::DOUBLE,
    simple_header::PLUGIN,
    avro::PLUGIN,
    json_schema::PLUGIN,
    protobuf::PLUGIN,
];

/// All converters.
pub fn plugins() -> &'static [ConverterPlugin] {
    &PLUGINS
}

/// A converter of messages that are bare values of this one schema, as text of that kind, without an id
/// in front; `props` has the format's own settings.
///
/// # Errors
/// `Config`: the text is no schema of that kind, or a setting is wrong.
pub fn inline(
    kind: registry::Kind,
    text: &str,
    props: &Props,
) -> api::Result<Box<dyn api::Converter>> {
    match kind {
        registry::Kind::Avro => registered::inline::<avro::Avro>(text, props),
        registry::Kind::Json => registered::inline::<json_schema::JsonSchema>(text, props),
        registry::Kind::Protobuf => registered::inline::<protobuf::Protobuf>(text, props),
    }
}

/// The converter of this class name or alias.
pub fn find(name: &str) -> Option<&'static ConverterPlugin> {
    PLUGINS.iter().find(|plugin| plugin.class == name || plugin.aliases.contains(&name))
}
