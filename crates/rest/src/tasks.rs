//! Tasks, and the topics they touch.

use crate::codes::Code;
use crate::connectors::{config_json, find};
use crate::errors::RestError;
use crate::server::App;
use crate::status;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

pub(crate) fn list(app: &App, name: &str) -> Result<Response, RestError> {
    let connector = find(app, name)?;
    let task = |(id, task): (usize, &herder::TaskView)| {
        let config = config_json(&task.config);
        json!({ "id": { "connector": name, "task": id }, "config": config })
    };
    let tasks: Vec<Value> = connector.tasks.iter().enumerate().map(task).collect();
    Ok(Json(tasks).into_response())
}

pub(crate) async fn status(app: &App, name: &str, task: i64) -> Result<Response, RestError> {
    let none =
        || RestError::new(Code::TaskNotFound, format!("No status found for task {name}-{task}"));
    let connector = app.herder.connector(name).ok_or_else(none)?;
    let id = u32::try_from(task).map_err(|_| none())?;
    let others = app.presences(&status::others([&*connector])).await;
    let body = status::task_body(&connector, id, &app.facts.worker_id, &others).ok_or_else(none)?;
    Ok(Json(body).into_response())
}

pub(crate) async fn restart(app: &App, name: String, task: i64) -> Result<Response, RestError> {
    let unknown = || match app.herder.connector(&name) {
        Some(_) => RestError::new(Code::TaskNotFound, format!("Task {name}-{task} not found")),
        None => RestError::new(Code::ConnectorNotFound, format!("Unknown connector: {name}")),
    };
    let id = u32::try_from(task).map_err(|_| unknown())?;
    app.herder.restart_task(name.clone(), id).await.map_err(|error| {
        let code = unknown().code;
        RestError::from(error).refine(Code::ConnectorNotFound, code)
    })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Connectors that there are not have no topics.
pub(crate) fn topics(app: &App, name: &str) -> Result<Response, RestError> {
    if !app.herder.worker().config().topic_tracking_enable {
        return Err(RestError::new(Code::TopicTrackingDisabled, "Topic tracking is disabled."));
    }
    let topics = app.herder.connector(name).map(|c| c.topics.list()).unwrap_or_default();
    let mut body = Map::new();
    body.insert(name.to_owned(), json!({ "topics": topics }));
    Ok(Json(Value::Object(body)).into_response())
}

pub(crate) async fn reset_topics(app: &App, name: String) -> Result<Response, RestError> {
    let config = app.herder.worker().config();
    if !config.topic_tracking_enable {
        return Err(RestError::new(Code::TopicTrackingDisabled, "Topic tracking is disabled."));
    }
    if !config.topic_tracking_allow_reset {
        return Err(RestError::new(
            Code::TopicTrackingDisabled,
            "Topic tracking reset is disabled.",
        ));
    }
    if app.peers.is_some() {
        app.herder.reset_topics(name).await?;
    } else if let Some(connector) = app.herder.connector(&name) {
        connector.topics.reset();
    }
    Ok(StatusCode::ACCEPTED.into_response())
}
