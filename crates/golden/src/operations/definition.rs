//! Configuration definitions: what a plugin's keys are, and what they say of a configuration.

use super::{settled, text_of};
use crate::fault::{At, Fault};
use config::{ConfigDef, ConfigKey};
use serde_json::{Value as Json, json};

fn definition(input: &Json) -> Result<ConfigDef, (Fault, At)> {
    let class = input["class"].as_str().unwrap_or_default();
    let converter = || converters::find(class).map(|plugin| (plugin.config_def)());
    let transform = || transforms::find(class).map(|plugin| (plugin.config_def)());
    let predicate = || transforms::find_predicate(class).map(|plugin| (plugin.config_def)());
    converter()
        .or_else(transform)
        .or_else(predicate)
        .ok_or_else(|| (Fault::new("unknown", format!("no plugin {class}")), At::Input))
}

pub(super) fn validate(input: &Json) -> Json {
    let texts: Vec<(&String, Option<String>)> = input["config"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key, text_of(value)))
        .collect();
    let entry = |key: &str| {
        let found = texts.iter().find(|(name, _)| *name == key);
        found.map(|(_, text)| text.as_deref())
    };
    settled(definition(input).map(|def| {
        let values = def.validate_with(entry).into_iter().map(|value| {
            let node = json!({"name": value.name, "value": value.value, "errors": value.errors});
            (value.name, node)
        });
        sorted(values.collect())
    }))
}

pub(super) fn describe(input: &Json) -> Json {
    let described =
        |def: ConfigDef| def.keys().map(|key| (key.name.clone(), describe_key(key))).collect();
    settled(definition(input).map(|def| sorted(described(def))))
}

fn describe_key(key: &ConfigKey) -> Json {
    json!({
        "name": key.name,
        "type": key.kind.name(),
        "required": key.is_required(),
        "default": key.default_text(),
        "importance": key.importance.name(),
        "group": key.group,
        "order": key.order,
        "width": key.width.name(),
        "displayName": key.display_name,
        "dependents": key.dependents,
    })
}

/// Definitions keep their order; the vectors have the keys by name.
fn sorted(mut configs: Vec<(String, Json)>) -> Json {
    configs.sort_by(|a, b| a.0.cmp(&b.0));
    let configs: Vec<Json> = configs.into_iter().map(|(_, node)| node).collect();
    json!({"configs": configs})
}
