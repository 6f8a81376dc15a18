//! `/connectors/{name}/offsets`.

use crate::body;
use crate::codes::Code;
use crate::connectors::find;
use crate::errors::RestError;
use crate::request::Asked;
use crate::server::App;
use axum::Json;
use axum::response::{IntoResponse, Response};
use herder::{Done, Target};
use runtime::OffsetsChange;
use serde_json::{Value, json};

pub(crate) async fn list(app: &App, name: String) -> Result<Response, RestError> {
    let connector = find(app, &name)?;
    let worker = app.herder.worker().clone();
    // Kafka, a file or a database is asked.
    let asking = move || worker.offsets(&name, &connector.config);
    let offsets = tokio::task::spawn_blocking(asking).await;
    let offsets = offsets.map_err(|error| RestError::new(Code::Internal, error.to_string()))??;
    let entry = |(partition, offset)| json!({ "partition": partition, "offset": offset });
    let offsets: Vec<Value> = offsets.into_iter().map(entry).collect();
    Ok(Json(json!({ "offsets": offsets })).into_response())
}

pub(crate) async fn alter(app: &App, asked: &Asked, name: String) -> Result<Response, RestError> {
    change(app, name, body::offsets(&asked.body)?).await
}

pub(crate) async fn reset(app: &App, name: String) -> Result<Response, RestError> {
    change(app, name, OffsetsChange::Reset).await
}

async fn change(app: &App, name: String, change: OffsetsChange) -> Result<Response, RestError> {
    let done = app.herder.alter_offsets(name.clone(), change).await;
    let done = done.map_err(|error| {
        let is_stopped = app.herder.connector(&name).is_some_and(|c| c.target == Target::Stopped);
        let code = if is_stopped { Code::OffsetsInvalid } else { Code::ConnectorNotStopped };
        RestError::from(error).refine(Code::ConfigInvalid, code)
    })?;
    let message = match done {
        Done::Told(text) => text,
        Done::Done | Done::Created => String::new(),
    };
    Ok(Json(json!({ "message": message })).into_response())
}
