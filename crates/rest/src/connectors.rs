//! `/connectors` and what a connector as a whole is asked to do.

use crate::body;
use crate::codes::Code;
use crate::errors::RestError;
use crate::peers::Presences;
use crate::request::{Asked, encode};
use crate::server::App;
use crate::status::{self, Selection};
use axum::Json;
use axum::http::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use config::{Given, Props};
use herder::{ConnectorView, Done, Target, View};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const NAME: &str = "name";

/// In a restart that was passed on: what the worker selects that was asked.
pub(crate) const SELECTED: HeaderName = HeaderName::from_static("x-copycat-selected");

/// Names alone, or with `?expand=` an object of what was asked for.
pub(crate) async fn list(app: &App, asked: &Asked) -> Result<Response, RestError> {
    let view = app.herder.view();
    let expand = Expand {
        wanted: asked.params("expand").next().is_some(),
        status: asked.params("expand").any(|what| what == "status"),
        info: asked.params("expand").any(|what| what == "info"),
    };
    if !expand.wanted {
        return Ok(Json(view.connectors.into_keys().collect::<Vec<_>>()).into_response());
    }
    // With thousands of connectors it is long, and others want to be answered meanwhile.
    let facts = app.facts.clone();
    let others = match expand.status {
        true => status::others(view.connectors.values().map(AsRef::as_ref)),
        false => BTreeSet::new(),
    };
    let others = app.presences(&others).await;
    let text = move || expanded(&view, expand, &facts.worker_id, &others);
    let text = tokio::task::spawn_blocking(text).await;
    let text = text.map_err(|error| RestError::new(Code::Internal, error.to_string()))?;
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

/// What is told of each connector.
#[derive(Clone, Copy)]
struct Expand {
    wanted: bool,
    status: bool,
    info: bool,
}

/// One connector after the other is written, so that there is never a tree of all of them.
fn expanded(view: &View, expand: Expand, worker_id: &str, others: &Presences) -> String {
    let mut text = String::from("{");
    for (name, connector) in &view.connectors {
        let mut entry = Map::new();
        if expand.status {
            let body = status::body(name, connector, worker_id, (None, others));
            entry.insert("status".to_owned(), body);
        }
        if expand.info {
            entry.insert("info".to_owned(), info_body(name, connector));
        }
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        text.push_str(&Value::Object(entry).to_string());
    }
    text.push('}');
    text
}

pub(crate) fn get(app: &App, name: &str) -> Result<Response, RestError> {
    Ok(Json(info_body(name, &*find(app, name)?)).into_response())
}

pub(crate) fn config(app: &App, name: &str) -> Result<Response, RestError> {
    Ok(Json(config_json(&find(app, name)?.config)).into_response())
}

pub(crate) async fn status(app: &App, name: &str) -> Result<Response, RestError> {
    let connector = app.herder.connector(name).ok_or_else(|| no_status(name))?;
    let others = app.presences(&status::others([&*connector])).await;
    let body = status::body(name, &connector, &app.facts.worker_id, (None, &others));
    Ok(Json(body).into_response())
}

pub(crate) async fn create(app: &App, asked: &Asked) -> Result<Response, RestError> {
    let body::NewConnector { name, config, initial_state } = body::new_connector(&asked.body)?;
    let target = target(initial_state.as_deref())?;
    let config = with_name(&name, config)?;
    app.herder.create(name.clone(), config, target).await?;
    created(app, asked, &name)
}

pub(crate) async fn put(app: &App, asked: &Asked, name: String) -> Result<Response, RestError> {
    let config = with_name(&name, body::config(&asked.body)?)?;
    match app.herder.put(name.clone(), config).await? {
        Done::Created => created(app, asked, &name),
        _ => get(app, &name),
    }
}

pub(crate) async fn patch(app: &App, asked: &Asked, name: String) -> Result<Response, RestError> {
    let patch = body::config(&asked.body)?;
    check_name(&name, &patch)?;
    app.herder.patch(name.clone(), patch).await?;
    get(app, &name)
}

pub(crate) async fn delete(app: &App, asked: &Asked, name: String) -> Result<Response, RestError> {
    if asked.flag("offsets", false) {
        app.herder.delete_with_offsets(name).await?;
    } else {
        app.herder.delete(name).await?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn stop(app: &App, name: String) -> Result<Response, RestError> {
    app.herder.retarget(name, Target::Stopped).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn pause(app: &App, name: String) -> Result<Response, RestError> {
    app.herder.retarget(name, Target::Paused).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

pub(crate) async fn resume(app: &App, name: String) -> Result<Response, RestError> {
    app.herder.retarget(name, Target::Started).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Without flags the connector alone; with them what they select, which the answer tells.
pub(crate) async fn restart(app: &App, asked: &Asked, name: String) -> Result<Response, RestError> {
    let include_tasks = asked.flag("includeTasks", false);
    let only_failed = asked.flag("onlyFailed", false);
    if !include_tasks && !only_failed {
        app.herder.restart(name).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let (selection, response) = selected(app, asked, &name).ok_or_else(|| {
        RestError::new(Code::ConnectorNotFound, format!("Unknown connector: {name}"))
    })?;
    // Whoever was asked has seen more of its own tasks than the leader has.
    let told = asked.header(&SELECTED).and_then(|value| Selection::read(value.to_str().ok()?));
    let Selection { connector, tasks } = told.unwrap_or(selection);
    app.herder.begin_restart(name, connector, tasks).await?;
    Ok(response)
}

/// What a restart with flags selects, as far as this worker knows, and what it answers; none where it
/// selects nothing by itself or there is no such connector.
pub(crate) fn selected(app: &App, asked: &Asked, name: &str) -> Option<(Selection, Response)> {
    let include_tasks = asked.flag("includeTasks", false);
    let only_failed = asked.flag("onlyFailed", false);
    let connector = app.herder.connector(name).filter(|_| include_tasks || only_failed)?;
    let selection = Selection {
        connector: !only_failed || connector.is_failed(),
        tasks: match (include_tasks, only_failed) {
            (false, _) => Default::default(),
            (true, true) => connector.failed_tasks().into_iter().collect(),
            (true, false) => (0..connector.tasks.len() as u32).collect(),
        },
    };
    let known = (Some(&selection), &Presences::default());
    let body = status::body(name, &connector, &app.facts.worker_id, known);
    Some((selection, (StatusCode::ACCEPTED, Json(body)).into_response()))
}

pub(crate) fn find(app: &App, name: &str) -> Result<Arc<ConnectorView>, RestError> {
    let found = app.herder.connector(name);
    found.ok_or_else(|| {
        RestError::new(Code::ConnectorNotFound, format!("Connector {name} not found"))
    })
}

pub(crate) fn no_status(name: &str) -> RestError {
    RestError::new(Code::ConnectorNotFound, format!("No status found for connector {name}"))
}

fn created(app: &App, asked: &Asked, name: &str) -> Result<Response, RestError> {
    let mut response = get(app, name)?;
    *response.status_mut() = StatusCode::CREATED;
    let host = asked.host().unwrap_or(&app.facts.worker_id);
    let location = format!("{}://{host}/connectors/{}", asked.scheme(), encode(name));
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

fn target(initial_state: Option<&str>) -> Result<Target, RestError> {
    let Some(text) = initial_state else { return Ok(Target::Started) };
    match text.to_ascii_uppercase().as_str() {
        "RUNNING" => Ok(Target::Started),
        "PAUSED" => Ok(Target::Paused),
        "STOPPED" => Ok(Target::Stopped),
        _ => {
            let text = format!("initial_state is {text}, and must be RUNNING, PAUSED or STOPPED");
            Err(RestError::new(Code::BodyInvalid, text).path("/initial_state"))
        }
    }
}

/// The configuration with its name in it.
fn with_name(name: &str, mut config: Given) -> Result<Given, RestError> {
    check_name(name, &config)?;
    if config.entry(NAME).is_none() {
        config.insert(NAME.to_owned(), Some(name.to_owned()));
    }
    Ok(config)
}

fn check_name(name: &str, config: &Given) -> Result<(), RestError> {
    match config.props.get(NAME) {
        Some(other) if other != name => Err(RestError::new(
            Code::NameMismatch,
            format!(
                "Connector name configuration ({other}) doesn't match connector name in the URL \
                 ({name})"
            ),
        )),
        _ => Ok(()),
    }
}

fn info_body(name: &str, view: &ConnectorView) -> Value {
    let tasks: Vec<Value> =
        (0..view.tasks.len()).map(|task| json!({ "connector": name, "task": task })).collect();
    let config = config_json(&view.config);
    json!({ "name": name, "config": config, "tasks": tasks, "type": status::direction(view) })
}

/// The configuration as the user wrote it: references to secrets are never resolved here.
pub(crate) fn config_json(config: &Props) -> Value {
    let members = config.iter().map(|(key, value)| (key.to_owned(), json!(value)));
    Value::Object(members.collect::<Map<String, Value>>())
}
