//! Errors as Connect answers them: `{"error_code", "message"}`, with a `hint` what to do and the `path`
//! in the body where there is one to name.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{ALLOW, HeaderValue};
use axum::response::{IntoResponse, Response};
use herder::HerderError;
use serde_json::json;

/// An error answer.
#[derive(Debug)]
pub(crate) struct RestError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    hint: Option<String>,
    /// Where in the body, as a JSON pointer.
    path: Option<String>,
    /// The methods that there are.
    allow: Option<&'static str>,
}

impl RestError {
    fn new(status: StatusCode, message: impl Into<String>) -> RestError {
        RestError { status, message: message.into(), hint: None, path: None, allow: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> RestError {
        RestError::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> RestError {
        RestError::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> RestError {
        RestError::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> RestError {
        RestError::new(StatusCode::FORBIDDEN, message)
    }

    /// An error of HTTP itself.
    pub(crate) fn of_status(status: StatusCode) -> RestError {
        let reason = status.canonical_reason().unwrap_or_default();
        RestError::new(status, format!("HTTP {} {reason}", status.as_u16()))
    }

    /// Paths that exist, but not with this method.
    pub(crate) fn wrong_method(allow: &'static str) -> RestError {
        let mut error = RestError::of_status(StatusCode::METHOD_NOT_ALLOWED);
        error.allow = Some(allow);
        error
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> RestError {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn path(mut self, path: impl Into<String>) -> RestError {
        self.path = Some(path.into());
        self
    }
}

impl From<HerderError> for RestError {
    fn from(error: HerderError) -> Self {
        let status = match error {
            HerderError::NotFound(_) => StatusCode::NOT_FOUND,
            HerderError::Conflict(_) => StatusCode::CONFLICT,
            HerderError::Invalid(_) => StatusCode::BAD_REQUEST,
            HerderError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            HerderError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let text = error.to_string();
        match text.split_once("\n  hint: ") {
            Some((message, hint)) => RestError::new(status, message).hint(hint),
            None => RestError::new(status, text),
        }
    }
}

/// What connector code and Kafka have to say about offsets.
impl From<api::Error> for RestError {
    fn from(error: api::Error) -> Self {
        let status = match error.kind {
            api::ErrorKind::Retriable => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        let hint = error.hint.clone();
        let answer = RestError::new(status, error.message);
        RestError { hint, ..answer }
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let mut body = json!({ "error_code": self.status.as_u16(), "message": self.message });
        let more = [("hint", self.hint), ("path", self.path)];
        if let Some(body) = body.as_object_mut() {
            for (name, text) in more {
                body.extend(text.map(|text| (name.to_owned(), json!(text))));
            }
        }
        let mut response = (self.status, Json(body)).into_response();
        if let Some(allow) = self.allow {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}
