//! The plugins a worker offers, as the binary wires them. The runtime itself knows none.

use api::{
    ConnectorPlugin, Converter, ConverterPlugin, Error, PredicatePlugin, Side, TransformPlugin,
};
use config::Props;

/// Look-ups over the built-in lists.
#[derive(Clone, Copy)]
pub struct Plugins {
    /// The connector of a class name, with the rest of the config to tell namesakes apart; else what
    /// exists.
    pub connector: fn(&str, &Props) -> Result<&'static ConnectorPlugin, String>,
    /// Every connector as messages name it.
    pub connectors: fn() -> Vec<String>,
    /// Every connector.
    pub connector_plugins: fn() -> &'static [&'static ConnectorPlugin],
    pub converter_plugins: fn() -> &'static [ConverterPlugin],
    pub converter: fn(&str) -> Option<&'static ConverterPlugin>,
    /// Every converter class, for messages.
    pub converters: fn() -> Vec<&'static str>,
    pub transform: fn(&str) -> Option<&'static TransformPlugin>,
    pub transforms: fn() -> &'static [&'static TransformPlugin],
    pub predicate: fn(&str) -> Option<&'static PredicatePlugin>,
    pub predicates: fn() -> &'static [&'static PredicatePlugin],
}

impl Plugins {
    /// # Errors
    /// The class is unknown: names what exists, the nearest first.
    pub(crate) fn find_converter(&self, class: &str) -> Result<&'static ConverterPlugin, String> {
        if let Some(found) = (self.converter)(class) {
            return Ok(found);
        }
        let all = (self.converters)();
        let nearest = config::suggest::nearest(class, all.iter().copied());
        let guess =
            nearest.map_or_else(|| ".".to_owned(), |name| format!("; did you mean {name}?"));
        Err(format!("Class {class} could not be found{guess} Built in: {}", all.join(", ")))
    }

    /// Makes the converter that `key` names, from the keys below it.
    ///
    /// # Errors
    /// The class is unknown, or its settings are wrong.
    pub fn make_converter(
        &self,
        key: &str,
        side: Side,
        props: &Props,
    ) -> Result<Box<dyn Converter>, Error> {
        let class = props.get(key).unwrap_or_default();
        let plugin = self.find_converter(class).map_err(Error::config)?;
        (plugin.make)(&props.with_prefix(&format!("{key}.")), side)
    }
}
