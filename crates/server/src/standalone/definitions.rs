//! Tests of what the definitions of all plugins tell user interfaces.

use super::plugins;
use config::{Config, ConfigKey, Props, Type, Width};
use runtime::Worker;
use std::collections::BTreeSet;

fn worker() -> Worker {
    let props = [
        ("key.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
    ];
    Worker::new(props.into_iter().collect(), plugins(), "localhost:8083".to_owned()).unwrap()
}

/// What a key leaves empty.
fn gaps(key: &ConfigKey) -> Vec<&'static str> {
    let choice = key.kind == Type::Boolean
        || key.validator.as_ref().is_some_and(|validator| !validator.choices().is_empty());
    [
        ("documentation", key.documentation.trim().is_empty()),
        ("group", key.group.as_deref().unwrap_or_default().is_empty()),
        ("order", key.order < 0),
        ("width", key.width == Width::None),
        ("display name", key.display_name.is_empty()),
        ("recommended values", choice && key.recommended.is_empty()),
    ]
    .into_iter()
    .filter_map(|(name, empty)| empty.then_some(name))
    .collect()
}

/// Connect's definitions stay as they are there, but each key says what it is for.
#[test]
fn nothing_is_left_empty_that_user_interfaces_render() {
    let worker = worker();
    let mut wrong = Vec::new();
    let mut own = 0;
    let connectors = connectors::plugins().iter();
    let aliases = connectors.flat_map(|plugin| plugin.aliases).map(ToString::to_string);
    let classes = worker.plugins(false).into_iter().map(|plugin| plugin.class.to_owned());
    for name in classes.chain(aliases) {
        let of_connect = name.starts_with("org.apache.kafka.")
            || name.contains("ileStream")
            || name.starts_with("file-");
        let keys = worker.plugin_keys(&name, None).unwrap();
        let names: BTreeSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names.len(), keys.len(), "{name} has a key twice");
        for key in &keys {
            let framework = config::connector::SinkConnectorConfig::def().get(&key.name).is_some()
                || config::source::SourceConnectorConfig::def().get(&key.name).is_some();
            let mut gaps = gaps(key);
            if of_connect || framework {
                gaps.retain(|gap| *gap == "documentation");
            } else {
                own += 1;
            }
            let strays = key.dependents.iter().filter(|other| !names.contains(other.as_str()));
            let strays: Vec<&String> = strays.collect();
            if !gaps.is_empty() || !strays.is_empty() {
                wrong.push(format!("{name} {}: {gaps:?} {strays:?}", key.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(own > 100, "only {own} keys were looked at");
}

#[test]
fn a_misspelt_key_is_told_wherever_it_stands() {
    let base = [
        ("name", "c"),
        ("topics", "t"),
        ("connection.url", "postgresql://localhost/d"),
        ("transforms", "a"),
        ("transforms.a.type", "org.apache.kafka.connect.transforms.HoistField$Value"),
        ("transforms.a.field", "x"),
        ("predicates", "p"),
        ("predicates.p.type", "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"),
        ("predicates.p.pattern", "x"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
    ];
    for (class, wrong, right) in [
        ("postgres-sink", "insert.mod", "insert.mode"),
        ("sqlite-sink", "auto.craete", "auto.create"),
        ("datagen", "shap", "shape"),
        ("FileStreamSource", "batch.sise", "batch.size"),
        ("FileStreamSink", "flie", "file"),
        ("postgres-sink", "tasks.maks", "tasks.max"),
        ("postgres-sink", "transforms.a.filed", "transforms.a.field"),
        ("postgres-sink", "predicates.p.patern", "predicates.p.pattern"),
        ("postgres-sink", "value.converter.schema.enable", "value.converter.schemas.enable"),
        ("postgres-sink", "consumer.override.max.poll.record", "max.poll.records"),
        ("postgres-sink", "error.tolerance", "errors.tolerance"),
    ] {
        let url = if class == "sqlite-sink" { "sqlite:/tmp/x.db" } else { base[2].1 };
        let more =
            [("connector.class", class), ("connection.url", url), ("topic", "t"), (wrong, "1")];
        let props: Props = base.iter().chain(&more).copied().collect();
        let told = match worker().validate(&props) {
            Ok(validated) => validated.notices.join("\n"),
            Err(errors) => errors.to_string(),
        };
        assert!(told.contains(&format!("did you mean {right}?")), "{class} {wrong}: {told}");
    }
}
