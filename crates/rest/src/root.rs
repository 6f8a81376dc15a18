//! `GET /` and `GET /health`.

use crate::server::App;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::Duration;

/// How long the cluster's id is waited for where no broker has told it yet.
const ID_WAIT: Duration = Duration::from_secs(1);

/// The worker's version, and the Kafka cluster's id if a broker has told it.
pub(crate) async fn root(app: &App) -> Response {
    let mut told = app.facts.kafka_cluster_id.clone();
    let told = tokio::time::timeout(ID_WAIT, told.wait_for(Option::is_some)).await;
    let id = told.ok().and_then(|told| told.ok().and_then(|id| id.clone()));
    Json(json!({
        "version": app.facts.version,
        "commit": app.facts.commit,
        "kafka_cluster_id": id,
    }))
    .into_response()
}

pub(crate) fn health(app: &App) -> Response {
    let (code, status, message) = if app.herder.is_ready() {
        let message = "Worker has completed startup and is ready to handle requests.".to_owned();
        (StatusCode::OK, "healthy", message)
    } else {
        let waits = app.herder.waits().map(|waits| format!(" {waits}")).unwrap_or_default();
        let message = format!("Worker is still starting up.{waits}");
        (StatusCode::SERVICE_UNAVAILABLE, "starting", message)
    };
    (code, Json(json!({ "status": status, "message": message }))).into_response()
}
