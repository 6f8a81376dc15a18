//! Files that describe a connector: properties, JSON or YAML.
//!
//! A JSON or YAML file holds either the flat configuration with a `name` in it, or Connect's
//! `{"name", "config", "initial_state"}`.

use super::document;
use super::worker_file::{read_properties, read_text};
use crate::exit::Failure;
use config::{ConfigErrors, Props};
use herder::Target;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// One connector to create.
#[derive(Debug)]
pub(super) struct ConnectorFile {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) config: Props,
    pub(super) target: Target,
}

impl ConnectorFile {
    pub(super) fn wrong(&self, errors: &ConfigErrors) -> Failure {
        Failure::wrong_input(format!("{}: {errors}", self.path.display()))
    }
}

/// # Errors
/// A file cannot be read or understood, or two have the same name.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<ConnectorFile>, Failure> {
    let mut files: Vec<ConnectorFile> = Vec::new();
    for path in paths {
        let file = read(path)?;
        if let Some(other) = files.iter().find(|other| other.name == file.name) {
            let (path, other) = (path.display(), other.path.display());
            return Err(Failure::wrong_input(format!(
                "{path}: a connector named {} is already in {other}",
                file.name
            ))
            .hint("give each connector its own name"));
        }
        files.push(file);
    }
    Ok(files)
}

/// The configuration of a connector, or a part of one: it needs no name.
///
/// # Errors
/// The file cannot be read or understood.
pub(crate) fn read_config(path: &Path) -> Result<Props, Failure> {
    read_any(path).map(|(config, _)| config)
}

fn read(path: &Path) -> Result<ConnectorFile, Failure> {
    let (config, target) = read_any(path)?;
    let name = config.get("name").unwrap_or_default().trim().to_owned();
    if name.is_empty() {
        let text = format!("{}: the connector has no name", path.display());
        return Err(Failure::wrong_input(text).hint("add name=..."));
    }
    Ok(ConnectorFile { path: path.to_owned(), name, config, target })
}

fn read_any(path: &Path) -> Result<(Props, Target), Failure> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let wrong = |message: String| Failure::wrong_input(format!("{}: {message}", path.display()));
    match extension.to_ascii_lowercase().as_str() {
        "json" => {
            let text = read_text(path)?;
            document::from_json(&text).and_then(from_document).map_err(wrong)
        }
        "yaml" | "yml" => {
            let text = read_text(path)?;
            document::from_yaml(&text).and_then(from_document).map_err(wrong)
        }
        _ => from_any(path),
    }
}

/// Connect tries JSON first, whatever the file is called.
fn from_any(path: &Path) -> Result<(Props, Target), Failure> {
    // What is not UTF-8 is not JSON.
    let text = read_text(path).unwrap_or_default();
    if text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok()
    {
        return document::from_json(&text)
            .and_then(from_document)
            .map_err(|message| Failure::wrong_input(format!("{}: {message}", path.display())));
    }
    Ok((read_properties(path)?, Target::Started))
}

fn from_document(document: Value) -> Result<(Props, Target), String> {
    let Value::Object(mut members) = document else {
        return Err("not an object of configuration keys".to_owned());
    };
    let Some(Value::Object(config)) = members.get("config") else {
        return Ok((props(members)?, Target::Started));
    };
    let mut config = props(config.clone())?;
    let target = match members.get("initial_state").and_then(Value::as_str) {
        None => Target::Started,
        Some(state) => match state.to_ascii_uppercase().as_str() {
            "RUNNING" => Target::Started,
            "STOPPED" => Target::Stopped,
            _ => return Err(format!("initial_state {state:?} is not RUNNING or STOPPED")),
        },
    };
    let outer = members.remove("name").and_then(|name| name.as_str().map(str::to_owned));
    match (outer, config.get("name")) {
        (Some(outer), None) => {
            config.insert("name", outer);
        }
        (Some(outer), Some(inner)) if outer != inner => {
            return Err(format!("name {outer:?} differs from name {inner:?} in config"));
        }
        _ => {}
    }
    Ok((config, target))
}

/// Numbers and booleans are taken as their text, as the REST interface does.
fn props(members: Map<String, Value>) -> Result<Props, String> {
    let mut props = Props::new();
    for (key, value) in members {
        let text = match value {
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null => {
                return Err(format!("{key}: null is not a value; leave the key out instead"));
            }
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("{key}: a value is a string, not a list or an object"));
            }
        };
        props.insert(key, text);
    }
    Ok(props)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(name: &str, text: &str) -> Result<ConnectorFile, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn every_form_gives_the_same_connector() {
        let flat =
            json!({ "name": "c", "connector.class": "X", "tasks.max": 2, "auto.create": true });
        let nested = json!({ "name": "c", "config": {
            "connector.class": "X", "tasks.max": "2", "auto.create": "true" } });
        let yaml = "name: c\nconfig:\n  connector.class: X\n  tasks.max: 2\n  auto.create: true\n";
        let properties = "name=c\nconnector.class=X\ntasks.max=2\nauto.create=true\n";
        let forms = [
            file("a.json", &flat.to_string()),
            file("b.json", &nested.to_string()),
            file("c.yaml", yaml),
            file("d.properties", properties),
            file("e.conf", &flat.to_string()),
        ];
        for form in forms {
            let form = form.unwrap();
            let pairs: Vec<_> = form.config.iter().collect();
            assert_eq!(form.name, "c");
            assert_eq!(
                pairs,
                [
                    ("auto.create", "true"),
                    ("connector.class", "X"),
                    ("name", "c"),
                    ("tasks.max", "2")
                ]
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_file() {
        for (name, text, part) in [
            ("a.json", "{", "JSON"),
            ("a.json", "[]", "not an object"),
            ("a.json", r#"{"name":"a","config":{"name":"b"}}"#, "differs"),
            ("a.json", r#"{"name":"a","x":null}"#, "x: null"),
            ("a.json", r#"{"name":"a","config":{},"initial_state":"ASLEEP"}"#, "ASLEEP"),
            ("a.json", r#"{"name":"a","topics":"a","topics":"b"}"#, "topics is given twice"),
            ("a.conf", r#"{"name":"a","topics":"a","topics":"b"}"#, "topics is given twice"),
            ("a.yaml", "name: a\ntopics: a\ntopics: b\n", "topics is given twice"),
            ("a.properties", "topics=t\n", "no name"),
            ("a.properties", "name=c\nname=d\n", "name"),
        ] {
            let failure = file(name, text).unwrap_err();
            assert_eq!(failure.code, crate::exit::WRONG_INPUT);
            assert!(failure.message.contains(part), "{}", failure.message);
            assert!(failure.message.contains(name), "{}", failure.message);
        }
    }
}
