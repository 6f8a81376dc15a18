//! Which crate may use which: one direction, so that a connector's author needs to know `api` only
//! and the data plane never learns of REST. ARCHITECTURE.md draws it.

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Finding;

/// Each crate with the crates of ours that it may use outside its tests, lowest first.
const LAYERS: [(&str, &[&str]); 21] = [
    ("data", &[]),
    ("config-derive", &[]),
    ("config", &["data", "config-derive"]),
    ("api", &["data", "config"]),
    ("keystores", &[]),
    ("registry", &["data", "config", "api", "keystores"]),
    ("converters", &["data", "config", "api", "registry"]),
    ("transforms", &["data", "config", "api"]),
    ("sql", &["data", "config", "api"]),
    ("connectors", &["data", "config", "api", "sql"]),
    ("connector-files", &["config"]),
    ("cli", &["config", "connector-files"]),
    ("kafka", &["data", "config", "keystores"]),
    ("runtime", &["data", "config", "api", "kafka"]),
    ("pipeline", &["data", "config", "api", "registry", "converters", "sql", "kafka", "runtime"]),
    ("herder", &["data", "config", "api", "kafka", "runtime"]),
    ("rest", &["data", "config", "api", "runtime", "herder"]),
    ("server", SERVER),
    ("golden", &["data", "config", "api", "converters", "transforms", "runtime", "herder"]),
    ("testkit", &[]),
    ("xtask", XTASK),
];

/// The binary wires everything together.
const SERVER: &[&str] = &[
    "data",
    "config",
    "api",
    "keystores",
    "registry",
    "converters",
    "transforms",
    "sql",
    "connectors",
    "kafka",
    "runtime",
    "pipeline",
    "herder",
    "rest",
    "connector-files",
    "cli",
];

/// The benchmarks and checks of what the other crates offer.
const XTASK: &[&str] = &[
    "data",
    "config",
    "api",
    "registry",
    "converters",
    "transforms",
    "sql",
    "herder",
    "golden",
    "testkit",
];

/// Crates of others that only some of ours may use.
const RESERVED: [(&str, &[&str]); 5] = [
    ("rdkafka", &["kafka", "testkit", "xtask"]),
    ("rdkafka-sys", &["kafka"]),
    ("axum", &["rest"]),
    ("ureq", &["cli", "registry", "rest"]),
    ("tokio", &["herder", "rest", "server"]),
];

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo does not run")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(of_metadata(&metadata))
}

fn of_metadata(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let mut add = |message| {
            let path = format!("crates/{name}/Cargo.toml");
            findings.push(Finding { path, line: 0, message });
        };
        let Some((_, allowed)) = LAYERS.iter().find(|(crate_name, _)| *crate_name == name) else {
            add("a new crate; give it its place in crates/xtask/src/tidy/layers.rs".to_owned());
            continue;
        };
        let used = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        for used in used.iter().filter(|used| used["kind"].as_str() != Some("dev")) {
            let used = used["name"].as_str().unwrap_or_default();
            let ours = LAYERS.iter().any(|(crate_name, _)| *crate_name == used);
            if ours && !allowed.contains(&used) {
                add(format!("{name} may not use {used}; the layers are in ARCHITECTURE.md"));
            }
            let reserved = RESERVED.iter().find(|(crate_name, _)| *crate_name == used);
            if let Some((_, users)) = reserved
                && !users.contains(&name)
            {
                add(format!("{used} is for {} only", users.join(", ")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tidy::messages;

    #[test]
    fn layers_go_one_way() {
        let metadata = json!({"packages": [
            {"name": "api", "dependencies": [
                {"name": "data", "kind": null},
                {"name": "kafka", "kind": null},
                {"name": "testkit", "kind": "dev"},
                {"name": "rdkafka", "kind": null},
            ]},
            {"name": "novel", "dependencies": []},
            {"name": "runtime", "dependencies": [{"name": "testkit", "kind": null}]},
        ]});
        assert_eq!(
            messages(of_metadata(&metadata)),
            [
                "api may not use kafka; the layers are in ARCHITECTURE.md",
                "rdkafka is for kafka, testkit, xtask only",
                "a new crate; give it its place in crates/xtask/src/tidy/layers.rs",
                "runtime may not use testkit; the layers are in ARCHITECTURE.md",
            ]
        );
    }

    #[test]
    fn every_layer_is_above_those_it_uses() {
        for (index, (name, uses)) in LAYERS.iter().enumerate() {
            let below = LAYERS.get(..index).unwrap_or_default();
            for used in *uses {
                assert!(below.iter().any(|(below, _)| below == used), "{name} is below {used}");
            }
        }
    }
}
