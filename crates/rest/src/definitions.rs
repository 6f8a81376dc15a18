//! Definitions of keys and what configurations say about them, as JSON.

use config::{ConfigKey, HIDDEN, Type};
use runtime::{Check, ConfigInfo, ConfigInfos};
use serde_json::{Map, Value, json};

/// A key as user interfaces read it. `order` is what releases before 4.4 call `order_in_group`.
pub(crate) fn definition(key: &ConfigKey) -> Value {
    let default = key.default_text();
    let default =
        if key.kind == Type::Password { default.map(|_| HIDDEN.to_owned()) } else { default };
    json!({
        "name": key.name,
        "type": key.kind.name(),
        "required": key.is_required(),
        "default_value": default,
        "importance": key.importance.name(),
        "documentation": key.documentation,
        "group": key.group,
        "order_in_group": key.order,
        "order": key.order,
        "width": key.width.name(),
        "display_name": key.display_name,
        "dependents": key.dependents,
    })
}

/// The whole answer of a validation.
pub(crate) fn infos(infos: &ConfigInfos) -> Value {
    let configs: Vec<Value> = infos.configs.iter().map(info).collect();
    let mut body = json!({
        "name": infos.name,
        "error_count": infos.error_count,
        "groups": infos.groups,
        "configs": configs,
    });
    let ours = ours(infos);
    if let Some(body) = body.as_object_mut().filter(|_| !ours.is_empty()) {
        body.insert("copycat".to_owned(), Value::Object(ours));
    }
    body
}

/// What there is to say beyond Connect's answer.
fn ours(infos: &ConfigInfos) -> Map<String, Value> {
    let list = |errors: &[config::ConfigError]| -> Vec<Value> {
        let entry = |e: &config::ConfigError| json!({ "name": e.key, "message": e.message });
        errors.iter().map(entry).collect()
    };
    let own: Vec<Value> = infos.own.iter().map(info).collect();
    let members = [
        ("errors", list(&infos.refused)),
        ("hints", list(&infos.hints)),
        ("notices", infos.notices.iter().map(|notice| json!(notice)).collect()),
        ("checks", infos.checks.iter().map(check).collect()),
        ("configs", own),
    ];
    let filled = members.into_iter().filter(|(_, list)| !list.is_empty());
    filled.map(|(name, list)| (name.to_owned(), Value::Array(list))).collect()
}

/// A look outside: `outcome` is ok, failed or skipped.
fn check(check: &Check) -> Value {
    json!({
        "name": check.name,
        "outcome": check.outcome.name(),
        "what": check.what,
        "hint": check.hint,
        "key": check.key,
    })
}

fn info(info: &ConfigInfo) -> Value {
    let value = &info.value;
    json!({
        "definition": info.key.as_ref().map(definition),
        "value": {
            "name": value.name,
            "value": value.value,
            "recommended_values": value.recommended,
            "errors": value.errors,
            "visible": value.visible,
        },
    })
}
