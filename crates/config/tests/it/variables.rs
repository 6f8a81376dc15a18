//! Recorded look-ups of `${provider:path:key}` and what is stored for tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use config::Props;
use config::providers::{ConfigProvider, Providers, put_references_back};
use serde_json::{Value, json};

type Lookups = Arc<Mutex<BTreeMap<(String, String), Vec<String>>>>;

/// A provider with fixed values that writes down what it is asked.
struct Fixed {
    name: String,
    paths: BTreeMap<String, BTreeMap<String, String>>,
    lookups: Lookups,
}

impl ConfigProvider for Fixed {
    fn get(&self, path: &str, keys: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
        let asked = keys.iter().cloned().collect();
        self.lookups.lock().unwrap().insert((self.name.clone(), path.to_owned()), asked);
        let values = self.paths.get(path).cloned().unwrap_or_default();
        Ok(values.into_iter().filter(|(key, _)| keys.contains(key)).collect())
    }
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let object = value.as_object().unwrap();
    object
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn props(value: &Value) -> Props {
    texts(value).into_iter().collect()
}

fn providers(value: &Value, lookups: &Lookups) -> Providers {
    let mut providers = Providers::new();
    for (name, paths) in value.as_object().unwrap() {
        let paths = paths.as_object().unwrap();
        let paths = paths.iter().map(|(path, values)| (path.clone(), texts(values))).collect();
        let fixed = Fixed { name: name.clone(), paths, lookups: lookups.clone() };
        providers.register(name.clone(), Box::new(fixed));
    }
    providers
}

fn vectors(op: &str) -> Vec<Value> {
    let vectors: Vec<Value> = include_str!("../testdata/config-variables.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|vector| vector["op"] == op)
        .collect();
    assert!(!vectors.is_empty());
    vectors
}

#[test]
fn references_are_resolved_as_recorded() {
    for vector in vectors("config.transform") {
        let lookups = Lookups::default();
        let input = &vector["input"];
        let resolved =
            providers(&input["providers"], &lookups).resolve(&props(&input["config"])).unwrap();
        let config = texts(&vector["output"]["config"]);
        let got: BTreeMap<String, String> = resolved.props.into_iter().collect();
        assert_eq!(got, config, "{}", vector["id"]);
        let made: Vec<Value> = lookups
            .lock()
            .unwrap()
            .iter()
            .map(|((provider, path), keys)| json!({"provider": provider, "path": path, "keys": keys}))
            .collect();
        assert_eq!(Value::from(made), vector["output"]["lookups"], "{}", vector["id"]);
    }
}

#[test]
fn references_are_put_back_as_recorded() {
    for vector in vectors("config.reverse") {
        if vector["id"] == "reverse-renamed" {
            continue; // Better than recorded: see the next test.
        }
        let raw = props(&vector["input"]["connector"]);
        // What the connector returns does not matter for keys of the same name.
        let resolved = Providers::new().resolve(&raw).unwrap();
        let tasks = vector["input"]["tasks"].as_array().unwrap();
        let expected = vector["output"]["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), expected.len());
        for (task, expected) in tasks.iter().zip(expected) {
            let mut stored = put_references_back(&raw, &resolved, &props(task));
            if vector["id"] == "reverse-extra-keys" {
                assert_eq!(stored.remove("task.id").as_deref(), Some("0"));
                stored.insert("task.id", "0");
            }
            assert_eq!(stored, props(expected), "{}", vector["id"]);
        }
    }
}

/// B013: a secret that a connector stores under another key must not be written in clear.
#[test]
fn b013_a_secret_under_another_key_is_stored_as_its_reference() {
    let lookups = Lookups::default();
    let providers =
        providers(&json!({"p": {"/f": {"k": "v1", "long": "correct-horse"}}}), &lookups);
    let raw = props(&json!({
        "password": "${p:/f:k}",
        "url": "jdbc:x?password=${p:/f:long}",
        "plain": "v1",
    }));
    let resolved = providers.resolve(&raw).unwrap();
    let task = props(&json!({
        "db.password": "v1",
        "plain": "v1",
        "url": "jdbc:x?password=correct-horse",
        "pool.url": "jdbc:x?password=correct-horse&a=b",
        "version": "v10",
    }));
    let stored = put_references_back(&raw, &resolved, &task);
    let expected = props(&json!({
        "db.password": "${p:/f:k}",
        "plain": "v1",
        "url": "jdbc:x?password=${p:/f:long}",
        "pool.url": "jdbc:x?password=${p:/f:long}&a=b",
        "version": "v10",
    }));
    assert_eq!(stored, expected);
    let again = providers.resolve(&stored).unwrap();
    assert_eq!(again.props, task);
}

#[test]
fn a_provider_that_fails_is_named_with_the_key() {
    struct Broken;
    impl ConfigProvider for Broken {
        fn get(
            &self,
            path: &str,
            _: &BTreeSet<String>,
        ) -> Result<BTreeMap<String, String>, String> {
            Err(format!("cannot read {path}"))
        }
    }
    let mut providers = Providers::new();
    providers.register("v", Box::new(Broken));
    let props = props(&json!({"a": "x", "b": "${v:/s:k}", "c": "${v:/s:l}"}));
    let error = providers.resolve(&props).err().unwrap();
    assert_eq!(error.to_string(), "b: secret provider v: cannot read /s");
}
