//! `/connectors` and what lies below it.

use crate::errors::RestError;
use crate::server::App;
use crate::status;
use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use config::Props;
use herder::ConnectorView;
use serde_json::{Map, Value, json};

/// The connector's name in the path.
pub(crate) struct Name(String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = RestError;

    /// A name that is no text (`%ff`) is nobody's.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, RestError> {
        let name = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = name.map_err(|rejection| {
            RestError::not_found(format!("HTTP 404 Not Found: {}", rejection.body_text()))
        })?;
        Ok(Name(name))
    }
}

pub(crate) async fn list(State(app): State<App>) -> Json<Vec<String>> {
    Json(app.herder.view().connectors.into_keys().collect())
}

pub(crate) async fn get(
    State(app): State<App>,
    Name(name): Name,
) -> Result<Json<Value>, RestError> {
    let view = find(&app, &name)?;
    let tasks: Vec<Value> =
        (0..view.tasks.len()).map(|task| json!({ "connector": name, "task": task })).collect();
    let config = config_json(&view.config);
    let direction = view.direction.name();
    Ok(Json(json!({ "name": name, "config": config, "tasks": tasks, "type": direction })))
}

pub(crate) async fn config(
    State(app): State<App>,
    Name(name): Name,
) -> Result<Json<Value>, RestError> {
    Ok(Json(config_json(&find(&app, &name)?.config)))
}

pub(crate) async fn status(
    State(app): State<App>,
    Name(name): Name,
) -> Result<Json<Value>, RestError> {
    let view = app.herder.view();
    let connector = view.connectors.get(&name);
    let connector = connector
        .ok_or_else(|| RestError::not_found(format!("No status found for connector {name}")))?;
    let body = status::body(&name, connector, &app.facts.worker_id, &app.facts.version);
    Ok(Json(body))
}

pub(crate) async fn stop(
    State(app): State<App>,
    Name(name): Name,
) -> Result<StatusCode, RestError> {
    app.herder.stop(name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn resume(
    State(app): State<App>,
    Name(name): Name,
) -> Result<StatusCode, RestError> {
    app.herder.resume(name).await?;
    Ok(StatusCode::ACCEPTED)
}

fn find(app: &App, name: &str) -> Result<ConnectorView, RestError> {
    let found = app.herder.view().connectors.remove(name);
    found.ok_or_else(|| RestError::not_found(format!("Connector {name} not found")))
}

/// The configuration as the user wrote it: references to secrets are never resolved here.
fn config_json(config: &Props) -> Value {
    let members = config.iter().map(|(key, value)| (key.to_owned(), json!(value)));
    Value::Object(members.collect::<Map<String, Value>>())
}
