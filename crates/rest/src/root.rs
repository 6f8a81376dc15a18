//! `GET /` and `GET /health`.

use crate::server::App;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::PoisonError;

/// The worker's version, and the Kafka cluster's id once a broker has told it.
pub(crate) async fn root(State(app): State<App>) -> Json<Value> {
    let id = app.facts.kafka_cluster_id.read().unwrap_or_else(PoisonError::into_inner).clone();
    Json(json!({
        "version": app.facts.version,
        "commit": app.facts.commit,
        "kafka_cluster_id": id,
    }))
}

pub(crate) async fn health(State(app): State<App>) -> (StatusCode, Json<Value>) {
    let (code, status, message) = if app.herder.view().ready {
        let message = "Worker has completed startup and is ready to handle requests.";
        (StatusCode::OK, "healthy", message)
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting", "Worker is still starting up.")
    };
    (code, Json(json!({ "status": status, "message": message })))
}
