//! Errors as Connect answers them, `{"error_code", "message"}`, with our `code` that programs look at, a
//! `hint` what to do and the `path` in the body where there is one to name.

use crate::codes::Code;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONNECTION, HeaderValue};
use axum::response::{IntoResponse, Response};
use herder::HerderError;
use serde_json::json;

/// An error answer.
#[derive(Debug)]
pub(crate) struct RestError {
    pub(crate) code: Code,
    pub(crate) message: String,
    hint: Option<String>,
    /// Where in the body, as a JSON pointer.
    path: Option<String>,
    /// The methods that there are.
    allow: Option<&'static str>,
}

impl RestError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> RestError {
        RestError { code, message: message.into(), hint: None, path: None, allow: None }
    }

    /// An error of HTTP itself, in the words that Connect has for these.
    pub(crate) fn http(code: Code) -> RestError {
        let status = status(code);
        let reason = status.canonical_reason().unwrap_or_default();
        RestError::new(code, format!("HTTP {} {reason}", status.as_u16()))
    }

    /// Paths that exist, but not with this method.
    pub(crate) fn wrong_method(allow: &'static str) -> RestError {
        let mut error = RestError::http(Code::MethodNotAllowed);
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

    /// The same with a code that says more, where the one it has is `from`.
    #[must_use]
    pub(crate) fn refine(mut self, from: Code, to: Code) -> RestError {
        if self.code == from {
            self.code = to;
        }
        self
    }
}

fn status(code: Code) -> StatusCode {
    StatusCode::from_u16(code.facts().1).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<HerderError> for RestError {
    fn from(error: HerderError) -> Self {
        let code = match error {
            HerderError::NotFound(_) => Code::ConnectorNotFound,
            HerderError::Conflict(_) => Code::ConnectorExists,
            HerderError::Invalid(_) => Code::ConfigInvalid,
            HerderError::Failed(_) => Code::OutsideFailed,
            HerderError::Unavailable(_) => Code::ShuttingDown,
            HerderError::Elsewhere => Code::NoLeader,
            HerderError::NoTaker(_) => Code::NoTaker,
        };
        let text = error.to_string();
        match text.split_once("\n  hint: ") {
            Some((message, hint)) => RestError::new(code, message).hint(hint),
            None => RestError::new(code, text),
        }
    }
}

/// What connector code and Kafka have to say about offsets.
impl From<api::Error> for RestError {
    fn from(error: api::Error) -> Self {
        let code = match error.kind {
            api::ErrorKind::Retriable => Code::OutsideFailed,
            _ => Code::OffsetsInvalid,
        };
        let hint = error.hint.clone();
        let answer = RestError::new(code, error.message);
        RestError { hint, ..answer }
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let status = status(self.code);
        let mut body = json!({
            "error_code": status.as_u16(),
            "message": self.message,
            "code": self.code.word(),
        });
        let more = [("hint", self.hint), ("path", self.path)];
        if let Some(body) = body.as_object_mut() {
            for (name, text) in more {
                body.extend(text.map(|text| (name.to_owned(), json!(text))));
            }
        }
        let mut response = (status, Json(body)).into_response();
        if let Some(allow) = self.allow {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        }
        if matches!(self.code, Code::BodyTooLarge | Code::BodyTooSlow | Code::BodyBroken) {
            // The rest of the body is not read, so nothing can follow it.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
