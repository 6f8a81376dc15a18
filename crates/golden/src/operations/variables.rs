//! References to secrets: resolved for what runs, and put back for what is stored.

use super::{Surroundings, props, settled};
use crate::fault::{At, CONFIG, Fault};
use config::Props;
use config::providers::{ConfigProvider, Providers, Resolved, put_references_back};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

type Lookups = Arc<Mutex<Vec<Json>>>;

/// A provider with fixed values that notes what it is asked.
struct Recorded {
    name: String,
    paths: Json,
    lookups: Lookups,
}

impl ConfigProvider for Recorded {
    fn get(&self, path: &str, keys: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
        let lookup = json!({"provider": self.name, "path": path, "keys": keys});
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).push(lookup);
        let values = self.paths[path].as_object().into_iter().flatten();
        let values = values.filter(|(key, _)| keys.contains(*key));
        Ok(values
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect())
    }
}

fn resolve(providers: &Json, props: &Props, lookups: &Lookups) -> Result<Resolved, (Fault, At)> {
    let mut registered = Providers::new();
    for (name, paths) in providers.as_object().into_iter().flatten() {
        let (paths, lookups) = (paths.clone(), lookups.clone());
        registered.register(name, Box::new(Recorded { name: name.clone(), paths, lookups }));
    }
    let resolved = registered.resolve(props);
    resolved.map_err(|errors| (Fault::new(CONFIG, errors.to_string()), At::Apply))
}

fn texts(props: &Props) -> Json {
    let members = props.iter().map(|(key, value)| (key.to_owned(), json!(value)));
    Json::Object(members.collect::<Map<_, _>>())
}

pub(super) fn transform(input: &Json) -> Json {
    let lookups = Lookups::default();
    let resolved = resolve(&input["providers"], &props(&input["config"]), &lookups);
    settled(resolved.map(|resolved| {
        let mut made = lookups.lock().unwrap_or_else(PoisonError::into_inner).clone();
        made.sort_by_key(ToString::to_string);
        json!({"config": texts(&resolved.props), "lookups": made})
    }))
}

pub(super) fn reverse(input: &Json, surroundings: &Surroundings) -> Json {
    let raw = props(&input["connector"]);
    let resolved = resolve(&surroundings.providers, &raw, &Lookups::default());
    settled(resolved.map(|resolved| {
        let tasks = input["tasks"].as_array().into_iter().flatten();
        let stored = tasks.map(|task| texts(&put_references_back(&raw, &resolved, &props(task))));
        json!({"tasks": stored.collect::<Vec<_>>()})
    }))
}
