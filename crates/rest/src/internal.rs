//! What only workers ask of each other: `POST /connectors/{connector}/tasks` and
//! `PUT /connectors/{connector}/fence`. The signature was verified before.

use crate::body;
use crate::codes::Code;
use crate::connectors::find;
use crate::errors::RestError;
use crate::request::Asked;
use crate::server::App;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use runtime::Direction;

pub(crate) async fn set_tasks(
    app: &App,
    asked: &Asked,
    name: String,
) -> Result<Response, RestError> {
    if app.peers.is_none() {
        return Err(RestError::new(
            Code::Unsupported,
            "Kafka Connect in standalone mode does not support externally setting task \
             configurations.",
        ));
    }
    let tasks = body::task_configs(&asked.body)?;
    app.herder.set_tasks(name, tasks).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn fence(app: &App, name: String) -> Result<Response, RestError> {
    if app.peers.is_none() {
        return Err(RestError::new(
            Code::Unsupported,
            "Kafka Connect in standalone mode does not support exactly-once source connectors.",
        ));
    }
    if find(app, &name)?.direction != Some(Direction::Source) {
        let message = format!("Connector {name} is not a source connector");
        return Err(RestError::new(Code::ConfigInvalid, message));
    }
    let fenced = app.herder.fence(name).await;
    fenced.map_err(|error| {
        RestError::from(error).refine(Code::ConnectorExists, Code::FencingFailed)
    })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
