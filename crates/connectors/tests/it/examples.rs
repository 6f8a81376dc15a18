//! Every example in a connector's folder is a configuration that works.

use api::ConnectorPlugin;
use config::unknown::{CONNECTOR_PREFIXES, unknown_keys};
use config::{Config, Props, connector::SinkConnectorConfig, source::SourceConnectorConfig};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name).join("examples")
}

fn read(path: &Path) -> Props {
    let text = std::fs::read_to_string(path).expect("an example can be read");
    if path.extension().is_some_and(|e| e == "properties") {
        return config::properties::parse(&text).expect("properties");
    }
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let members = json.get("config").and_then(|c| c.as_object()).expect("a config");
    let mut props: Props = members
        .iter()
        .map(|(key, value)| (key.clone(), value.as_str().expect("text").to_owned()))
        .collect();
    props.insert("name", json.get("name").and_then(|n| n.as_str()).expect("a name"));
    props
}

#[test]
fn every_example_is_valid_and_has_no_unknown_key() {
    for (name, plugin) in connectors::folders() {
        let mut count = 0;
        for entry in std::fs::read_dir(folder(name)).expect("examples") {
            let path = entry.expect("an entry").path();
            let props = read(&path);
            let class = props.get("connector.class").expect("a class").to_owned();
            let found = connectors::find(&class, &props).expect("a connector");
            assert_eq!(found.class, plugin.class, "{path:?}");
            let connector = (found.make)();
            let errors = connector.validate(&props);
            assert!(errors.is_empty(), "{path:?}: {errors:?}");
            let (framework, tasks_min) = match connector {
                api::Connector::Sink(_) => (SinkConnectorConfig::def(), 3),
                api::Connector::Source(_) => (SourceConnectorConfig::def(), 1),
            };
            let own = connector.config_def(&class);
            let unknown = unknown_keys(&props, &[&framework, &own], &CONNECTOR_PREFIXES);
            assert!(unknown.is_empty(), "{path:?}: {unknown:?}");
            let wrong: Vec<_> =
                own.validate(&props).into_iter().filter(|v| !v.errors.is_empty()).collect();
            assert!(wrong.is_empty(), "{path:?}: {wrong:?}");
            let tasks = connector.task_configs(&props, 3).expect("task configs").len();
            assert!((tasks_min..=3).contains(&tasks), "{path:?}: {tasks}");
            count += 1;
        }
        assert!(count > 0, "{name} has no example");
    }
}

fn refusals(plugin: &ConnectorPlugin, pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let props: Props = pairs.iter().copied().collect();
    let errors = (plugin.make)().validate(&props);
    errors.into_iter().map(|error| (error.key, error.message)).collect()
}

#[test]
fn other_databases_are_refused_with_the_names_of_the_supported_ones() {
    let class = ("connector.class", "JdbcSink");
    let found = refusals(
        &connectors::postgres::PLUGIN,
        &[class, ("connection.url", "jdbc:mysql://h/d?password=hunter2")],
    );
    let [(key, message)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(key, "connection.url");
    assert!(message.contains("PostgreSQL") && message.contains("SQLite"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    let found = refusals(&connectors::postgres::PLUGIN, &[class]);
    assert_eq!(found.first().map(|(key, _)| key.as_str()), Some("connection.url"));
    let wrong_class = refusals(
        &connectors::postgres::PLUGIN,
        &[("connector.class", "postgres-sink"), ("connection.url", "sqlite:/tmp/x.db")],
    );
    assert!(wrong_class.iter().any(|(_, m)| m.contains("SqliteSinkConnector")), "{wrong_class:?}");
}

#[test]
fn combinations_that_cannot_work_are_refused() {
    let base = [("connector.class", "postgres-sink"), ("connection.url", "postgresql://h/d")];
    for (extra, key) in [
        (&[("insert.mode", "upsert")][..], "pk.mode"),
        (&[("delete.enabled", "true")], "delete.enabled"),
        (&[("pk.mode", "kafka"), ("pk.fields", "a,b")], "pk.fields"),
        (&[("pk.mode", "record_header")], "pk.fields"),
        (&[("table.name.format", "${nothing}")], "table.name.format"),
        (&[("db.timezone", "Mars/Base")], "db.timezone"),
    ] {
        let pairs: Vec<_> = base.iter().chain(extra).copied().collect();
        let found = refusals(&connectors::postgres::PLUGIN, &pairs);
        assert_eq!(found.first().map(|(k, _)| k.as_str()), Some(key), "{extra:?}: {found:?}");
    }
}
