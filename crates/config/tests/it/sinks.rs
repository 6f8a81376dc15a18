//! Recorded validations of a sink connector: the framework's keys as the REST interface shows them.

use config::connector::{SinkConnectorConfig, validate_sink};
use config::{Config, ConfigKey};
use serde_json::{Value, json};

fn vectors() -> Vec<Value> {
    let lines = include_str!("../testdata/sink-validation.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn shown(key: &ConfigKey) -> Value {
    json!({
        "name": key.name,
        "type": key.kind.name(),
        "required": key.is_required(),
        "default_value": key.default_text(),
        "importance": key.importance.name(),
        "group": key.group,
        "width": key.width.name(),
        "display_name": key.display_name,
        "dependents": key.dependents,
        "order_in_group": key.order,
    })
}

#[test]
fn definitions_are_shown_as_recorded() {
    let def = SinkConnectorConfig::def();
    let vector = vectors().into_iter().find(|vector| vector.get("definitions").is_some()).unwrap();
    let recorded = vector["definitions"].as_array().unwrap().clone();
    assert!(recorded.len() > 15, "{}", recorded.len());
    for recorded in recorded {
        let key = def.get(recorded["name"].as_str().unwrap()).unwrap();
        assert_eq!(shown(key), recorded);
    }
    assert_eq!(def.groups(), ["Common", "Transforms", "Predicates", "Error Handling"]);
}

#[test]
fn values_and_messages_are_as_recorded() {
    let vectors = vectors();
    assert!(vectors.len() > 20, "{}", vectors.len());
    for vector in vectors {
        let config = vector["config"].as_object().unwrap();
        let values = validate_sink(|key| config.get(key).map(Value::as_str));
        for (name, recorded) in vector["values"].as_object().unwrap() {
            let Some(value) = values.iter().find(|value| value.name == *name) else {
                // A key that only another definition, or none, has.
                continue;
            };
            let got = json!({"value": value.value, "errors": value.errors});
            assert_eq!(got, *recorded, "{} {name}", vector["id"]);
        }
    }
}
