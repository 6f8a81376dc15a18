//! The forms in which a document describes connectors.

use crate::{Connector, Content, FileError, State, Wanted};
use config::Props;
use serde_json::{Map, Value};

type Members = Map<String, Value>;

/// Adds the connectors of a document.
pub(crate) fn read(source: &str, document: Value, to: &mut Content) -> Result<(), FileError> {
    let wrong = |message: String| FileError::new(format!("{source}: {message}"));
    let members = match document {
        Value::Object(members) => members,
        Value::Array(list) => {
            for (index, document) in list.into_iter().enumerate() {
                read(&format!("{source}, entry {}", index + 1), document, to)?;
            }
            return Ok(());
        }
        _ => return Err(wrong("not an object of configuration keys".to_owned())),
    };
    if members.contains_key("apiVersion") && members.contains_key("kind") {
        return kubernetes(source, members, to);
    }
    if is_expanded(&members) {
        for (_, entry) in members {
            let info = entry.get("info").cloned().unwrap_or_default();
            read(source, info, to)?;
        }
        return Ok(());
    }
    let connector = match members.get("config") {
        Some(Value::Object(_)) => nested(source, members),
        _ => props(members).map(|config| {
            let name = name_in(&config);
            Connector { source: source.to_owned(), name, config, state: None }
        }),
    };
    to.connectors.push(connector.map_err(wrong)?);
    Ok(())
}

/// The name in a configuration, if there is one.
pub(crate) fn name_in(config: &Props) -> Option<String> {
    let name = config.get("name").unwrap_or_default().trim();
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// What `GET /connectors?expand=info` answers: connectors by name.
fn is_expanded(members: &Members) -> bool {
    let config = |entry: &Value| entry.pointer("/info/config").is_some_and(Value::is_object);
    !members.is_empty() && members.values().all(config)
}

/// Connect's body of a new connector, or of one that is there: other members say nothing here.
fn nested(source: &str, mut members: Members) -> Result<Connector, String> {
    let config = match members.remove("config") {
        Some(Value::Object(config)) => config,
        _ => Members::new(),
    };
    let mut config = props(config)?;
    let state = match members.get("initial_state").and_then(Value::as_str) {
        None => None,
        Some(text) => Some(Wanted { state: state(text, "initial_state")?, initial: true }),
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
    Ok(Connector { source: source.to_owned(), name: name_in(&config), config, state })
}

/// An object of Kubernetes: Strimzi's connector, a list of such, or something else.
fn kubernetes(source: &str, mut members: Members, to: &mut Content) -> Result<(), FileError> {
    let wrong = |message: String| FileError::new(format!("{source}: {message}"));
    let kind = members.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind.as_str() {
        "KafkaConnector" => {
            let connector = strimzi(source, &mut members, &mut to.notices).map_err(wrong)?;
            to.connectors.push(connector);
        }
        "List" | "KafkaConnectorList" => {
            let items = members.remove("items").unwrap_or(Value::Array(Vec::new()));
            read(source, items, to)?;
        }
        _ => to.notices.push(format!("{source}: a {kind} is no connector, passed over")),
    }
    Ok(())
}

fn strimzi(
    source: &str,
    members: &mut Members,
    notices: &mut Vec<String>,
) -> Result<Connector, String> {
    let name = members.get("metadata").and_then(|metadata| metadata.get("name"));
    let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err("metadata.name is missing".to_owned());
    }
    let Some(Value::Object(mut spec)) = members.remove("spec") else {
        return Err("spec is missing".to_owned());
    };
    let mut config = match spec.remove("config") {
        None | Some(Value::Null) => Props::new(),
        Some(Value::Object(config)) => props(config)?,
        Some(_) => return Err("spec.config is not an object of configuration keys".to_owned()),
    };
    let mut take = |member: &str, key: &str| -> Result<(), String> {
        let Some(value) = spec.remove(member) else { return Ok(()) };
        config.insert(key, text(&format!("spec.{member}"), value)?);
        Ok(())
    };
    take("class", "connector.class")?;
    take("tasksMax", "tasks.max")?;
    take("version", "connector.plugin.version")?;
    config.insert("name", name.as_str());
    let paused = spec.remove("pause").and_then(|pause| pause.as_bool());
    let asked = spec.remove("state");
    let state = match (asked.as_ref().and_then(Value::as_str), paused) {
        (Some(text), _) => Some(state(text, "spec.state")?),
        (None, Some(true)) => Some(State::Paused),
        (None, Some(false)) => Some(State::Running),
        (None, None) => None,
    };
    for member in spec.keys() {
        notices.push(format!("{source}: spec.{member} is for Strimzi's operator, passed over"));
    }
    let state = state.map(|state| Wanted { state, initial: false });
    Ok(Connector { source: source.to_owned(), name: Some(name), config, state })
}

fn state(text: &str, member: &str) -> Result<State, String> {
    match text.to_ascii_uppercase().as_str() {
        "RUNNING" => Ok(State::Running),
        "PAUSED" => Ok(State::Paused),
        "STOPPED" => Ok(State::Stopped),
        _ => Err(format!("{member} {text:?} is not RUNNING, PAUSED or STOPPED")),
    }
}

/// Numbers and booleans are taken as their text, as the REST interface does.
fn props(members: Members) -> Result<Props, String> {
    let mut props = Props::new();
    for (key, value) in members {
        let text = text(&key, value)?;
        props.insert(key, text);
    }
    Ok(props)
}

fn text(key: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null => Err(format!("{key}: null is not a value; leave the key out instead")),
        Value::Array(_) | Value::Object(_) => {
            Err(format!("{key}: a value is a string, not a list or an object"))
        }
    }
}
