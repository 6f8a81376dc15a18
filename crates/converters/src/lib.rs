//! The converters that are built in: bytes of keys and values to rows, and back.
//!
//! One folder per converter, one line in [`plugins`]. Converters are looked up by the spellings
//! Kafka Connect accepts: the full class name, the simple name, and the simple name without
//! `Converter`.

mod batch;
mod byte_array;
mod json;
mod string;

use api::ConverterPlugin;

static PLUGINS: [ConverterPlugin; 3] = [string::PLUGIN, byte_array::PLUGIN, json::PLUGIN];

/// All converters.
pub fn plugins() -> &'static [ConverterPlugin] {
    &PLUGINS
}

/// The converter of this class name or alias.
pub fn find(name: &str) -> Option<&'static ConverterPlugin> {
    PLUGINS.iter().find(|plugin| plugin.class == name || plugin.aliases.contains(&name))
}
