//! Recorded validations: the definitions of Kafka's own plugins, their values and error texts.

use std::collections::BTreeMap;

use config::{ConfigDef, ConfigKey, Importance, Type, Validator, Width, invalid};
use serde_json::Value;

/// Recorded texts that are faults of the JVM: a key swapped for a value, a null pointer.
const FAULTS: [&str; 4] = [
    "config-cast-value-1",
    "config-regexrouter-empty",
    "config-topicnamematches-3",
    "config-topicnamematches-4",
];

fn one_of(values: &[&str]) -> Validator {
    Validator::OneOf(values.iter().map(|value| (*value).to_owned()).collect())
}

fn any_case(values: &[&str]) -> Validator {
    Validator::OneOfIgnoreCase(values.iter().map(|value| (*value).to_owned()).collect())
}

fn renames() -> Validator {
    let list = Validator::List { empty: true, null: false };
    let pairs = Validator::custom(|key, value| match value {
        config::Value::List(items) => {
            let bad = items.iter().find(|item| item.split(':').count() != 2);
            bad.map_or(Ok(()), |bad| {
                Err(invalid(key, value, &format!("Invalid rename mapping: {bad}")))
            })
        }
        _ => Ok(()),
    });
    Validator::All(vec![list, pairs])
}

fn cast_spec() -> Validator {
    Validator::custom(|_, value| match value {
        config::Value::List(items) if items.iter().any(|item| item.ends_with(":bytes")) => {
            Err("Cast transformation does not support casting to BYTES; supported types are \
                 [INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING]"
                .to_owned())
        }
        config::Value::Null => Err("Must specify at least one field to cast.".to_owned()),
        _ => Ok(()),
    })
}

/// The validators of the recorded plugins; the recording has only names and types.
fn validator(class: &str, key: &str) -> Option<Validator> {
    let class = class.rsplit('.').next().unwrap();
    let class = class.split('$').next().unwrap();
    Some(match (class, key) {
        ("Cast", "spec") => cast_spec(),
        ("DropHeaders", "headers") => Validator::List { empty: true, null: false },
        ("MaskField" | "ValueToKey", "fields") => Validator::List { empty: false, null: false },
        ("ReplaceField", "include" | "exclude") => Validator::List { empty: true, null: false },
        ("ReplaceField", "renames") => renames(),
        ("HeaderFrom", "fields" | "headers") => Validator::NonEmptyList,
        ("HeaderFrom", "operation") => one_of(&["move", "copy"]),
        ("InsertHeader", _) => Validator::NonNull,
        ("MaskField", "replacement") | ("HasHeaderKey", "name") => Validator::NonEmpty,
        ("TopicNameMatches", "pattern") => {
            Validator::All(vec![Validator::NonEmpty, Validator::Regex])
        }
        ("RegexRouter", "regex") => Validator::Regex,
        ("TimestampConverter", "target.type") => {
            one_of(&["string", "unix", "Date", "Time", "Timestamp"])
        }
        ("JsonConverter", "decimal.format") => any_case(&["NUMERIC", "BASE64"]),
        (_, "field.syntax.version") => any_case(&["V1", "V2"]),
        (_, "converter.type") => one_of(&["key", "value", "header"]),
        _ => return None,
    })
}

fn kind(name: &str) -> Type {
    let kinds = [
        Type::Boolean,
        Type::String,
        Type::Int,
        Type::Short,
        Type::Long,
        Type::Double,
        Type::List,
        Type::Class,
        Type::Password,
    ];
    kinds.into_iter().find(|kind| kind.name() == name).unwrap()
}

fn key(class: &str, recorded: &Value) -> ConfigKey {
    let text = |member: &str| recorded[member].as_str().map(str::to_owned);
    let name = text("name").unwrap();
    let required = recorded["required"].as_bool().unwrap();
    ConfigKey {
        default: if required { None } else { Some(text("default")) },
        importance: match recorded["importance"].as_str().unwrap() {
            "HIGH" => Importance::High,
            "MEDIUM" => Importance::Medium,
            _ => Importance::Low,
        },
        width: if recorded["width"] == "NONE" { Width::None } else { Width::Medium },
        validator: validator(class, &name),
        ..ConfigKey::new(name, kind(recorded["type"].as_str().unwrap()))
    }
}

fn vectors() -> Vec<Value> {
    let lines = include_str!("../testdata/configdef-validation.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Class, key, type and default (`-`: required, `null`: null) where the recording has validations
/// but no description.
const UNDESCRIBED: &str = "\
ExtractField field STRING -
ExtractField field.syntax.version STRING V1
ExtractField replace.null.with.default BOOLEAN true
Flatten delimiter STRING .
HeaderFrom fields LIST -
HeaderFrom headers LIST -
HeaderFrom operation STRING -
HeaderFrom replace.null.with.default BOOLEAN true
HoistField field STRING -
InsertField offset.field STRING null
InsertField partition.field STRING null
InsertField replace.null.with.default BOOLEAN true
InsertField static.field STRING null
InsertField static.value STRING null
InsertField timestamp.field STRING null
InsertField topic.field STRING null
TimestampConverter field STRING empty
TimestampConverter format STRING empty
TimestampConverter replace.null.with.default BOOLEAN true
TimestampConverter target.type STRING -
TimestampConverter unix.precision STRING milliseconds
TopicNameMatches pattern STRING -
LongConverter converter.type STRING -
JsonConverter converter.type STRING -
JsonConverter decimal.format STRING BASE64
JsonConverter replace.null.with.default BOOLEAN true
JsonConverter schema.content STRING null
JsonConverter schemas.cache.size INT 1000
JsonConverter schemas.enable BOOLEAN true";

/// The definitions of [`UNDESCRIBED`], by simple class name.
fn undescribed() -> BTreeMap<String, ConfigDef> {
    let mut definitions: BTreeMap<String, ConfigDef> = BTreeMap::new();
    for line in UNDESCRIBED.lines() {
        let [class, name, type_name, default] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        definitions.entry(class.to_owned()).or_default().define(ConfigKey {
            default: match default {
                "-" => None,
                "null" => Some(None),
                "empty" => Some(Some(String::new())),
                text => Some(Some(text.to_owned())),
            },
            validator: validator(class, name),
            ..ConfigKey::new(name, kind(type_name))
        });
    }
    definitions
}

/// The definition of each recorded class. `$Key` and `$Value` share one.
fn definitions() -> BTreeMap<String, ConfigDef> {
    let mut definitions = BTreeMap::new();
    for vector in vectors().iter().filter(|vector| vector["op"] == "configdef.describe") {
        let class = vector["input"]["class"].as_str().unwrap();
        let mut def = ConfigDef::new();
        for recorded in vector["output"]["configs"].as_array().unwrap() {
            def.define(key(class, recorded));
        }
        definitions.insert(class.split('$').next().unwrap().to_owned(), def);
    }
    definitions
}

#[test]
fn defaults_are_shown_as_recorded() {
    let definitions = definitions();
    for vector in vectors().iter().filter(|vector| vector["op"] == "configdef.describe") {
        let class = vector["input"]["class"].as_str().unwrap();
        let def = definitions.get(class.split('$').next().unwrap()).unwrap();
        for recorded in vector["output"]["configs"].as_array().unwrap() {
            let key = def.get(recorded["name"].as_str().unwrap()).unwrap();
            assert_eq!(key.is_required(), recorded["required"].as_bool().unwrap());
            let default = key.default_text();
            assert_eq!(default.as_deref(), recorded["default"].as_str(), "{}", vector["id"]);
            assert_eq!(i64::from(key.order), recorded["order"].as_i64().unwrap().min(-1));
        }
    }
}

#[test]
fn values_and_messages_are_as_recorded() {
    let mut definitions = definitions();
    for (class, def) in undescribed() {
        let package = match class.as_str() {
            "JsonConverter" => "json",
            "LongConverter" => "converters",
            "TopicNameMatches" => "transforms.predicates",
            _ => "transforms",
        };
        definitions.insert(format!("org.apache.kafka.connect.{package}.{class}"), def);
    }
    let mut compared = 0;
    for vector in vectors().iter().filter(|vector| vector["op"] == "configdef.validate") {
        let id = vector["id"].as_str().unwrap();
        let class = vector["input"]["class"].as_str().unwrap();
        let Some(def) = definitions.get(class.split('$').next().unwrap()) else { continue };
        if FAULTS.contains(&id) {
            continue;
        }
        let config = vector["input"]["config"].as_object().unwrap();
        let values = def.validate_with(|key| config.get(key).map(Value::as_str));
        let recorded = vector["output"]["configs"].as_array().unwrap();
        assert_eq!(values.len(), recorded.len(), "{id}");
        for recorded in recorded {
            let name = recorded["name"].as_str().unwrap();
            let value = values.iter().find(|value| value.name == name).unwrap();
            assert_eq!(value.value.as_deref(), recorded["value"].as_str(), "{id} {name}");
            let errors: Vec<&str> =
                recorded["errors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(value.errors, errors, "{id} {name}");
        }
        compared += 1;
    }
    assert!(compared > 75, "only {compared} vectors have a definition");
}
