//! `GET /` and `GET /health`.

use crate::server::App;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::PoisonError;

/// The worker's version, and the Kafka cluster's id once a broker has told it.
pub(crate) fn root(app: &App) -> Response {
    let id = app.facts.kafka_cluster_id.read().unwrap_or_else(PoisonError::into_inner).clone();
    Json(json!({
        "version": app.facts.version,
        "commit": app.facts.commit,
        "kafka_cluster_id": id,
    }))
    .into_response()
}

pub(crate) fn health(app: &App) -> Response {
    let (code, status, message) = if app.herder.is_ready() {
        let message = "Worker has completed startup and is ready to handle requests.";
        (StatusCode::OK, "healthy", message)
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting", "Worker is still starting up.")
    };
    (code, Json(json!({ "status": status, "message": message }))).into_response()
}
