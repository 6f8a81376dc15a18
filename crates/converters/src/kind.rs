//! The setting that every converter of records has beside its own: what it serves.

use config::{ConfigDef, ConfigKey, Importance, Type, Validator};

/// A definition of `converter.type` alone. The framework sets it; users need not.
pub(crate) fn converter_def() -> ConfigDef {
    let sides = ["key", "value", "header"].map(str::to_owned).to_vec();
    let mut def = ConfigDef::new();
    def.define(ConfigKey {
        importance: Importance::Low,
        validator: Some(Validator::OneOf(sides)),
        documentation: "What the converter is for: key, value or header. Set by the worker."
            .to_owned(),
        ..ConfigKey::new("converter.type", Type::String)
    });
    def
}
