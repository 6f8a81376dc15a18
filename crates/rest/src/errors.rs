//! Errors as Connect answers them: `{"error_code", "message"}`.

use axum::Json;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use herder::HerderError;
use serde_json::json;

/// An error answer.
#[derive(Debug)]
pub(crate) struct RestError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl RestError {
    pub(crate) fn not_found(message: impl Into<String>) -> RestError {
        RestError { status: StatusCode::NOT_FOUND, message: message.into() }
    }
}

impl From<HerderError> for RestError {
    fn from(error: HerderError) -> Self {
        let status = match error {
            HerderError::NotFound(_) => StatusCode::NOT_FOUND,
            HerderError::Conflict(_) => StatusCode::CONFLICT,
            HerderError::Invalid(_) => StatusCode::BAD_REQUEST,
            HerderError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        RestError { status, message: error.to_string() }
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let body = json!({ "error_code": self.status.as_u16(), "message": self.message });
        (self.status, Json(body)).into_response()
    }
}

/// Paths that do not exist.
pub(crate) async fn unknown_path(_uri: Uri) -> RestError {
    RestError::not_found("HTTP 404 Not Found")
}

/// Paths that exist, but not with this method.
pub(crate) async fn wrong_method(_method: Method) -> RestError {
    let message = "HTTP 405 Method Not Allowed".to_owned();
    RestError { status: StatusCode::METHOD_NOT_ALLOWED, message }
}
