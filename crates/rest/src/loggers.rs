//! `/admin/loggers`.

use crate::body;
use crate::codes::Code;
use crate::errors::RestError;
use crate::request::Asked;
use crate::server::App;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

/// The level of a logger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggerLevel {
    /// `OFF`, `FATAL`, `ERROR`, `WARN`, `INFO`, `DEBUG`, `TRACE` or `ALL`.
    pub level: String,
    /// When somebody changed it; milliseconds since 1970.
    pub last_modified: Option<u64>,
}

/// The process's loggers, as its logging keeps them. Names have dots; `root` is above all.
pub trait Loggers: Send + Sync {
    /// Every logger that is known.
    fn list(&self) -> Vec<(String, LoggerLevel)>;

    /// One logger.
    fn get(&self, name: &str) -> Option<LoggerLevel>;

    /// Sets the level of a logger and of all whose names begin with its name; gives those whose
    /// level is another now. `None`: there is no such level.
    fn set(&self, name: &str, level: &str) -> Option<Vec<String>>;

    /// Whether there is such a level.
    fn has_level(&self, level: &str) -> bool;
}

pub(crate) fn list(app: &App) -> Response {
    let loggers = app.loggers.list().into_iter();
    let loggers: Map<String, Value> = loggers.map(|(name, level)| (name, json(&level))).collect();
    Json(Value::Object(loggers)).into_response()
}

pub(crate) fn get(app: &App, name: &str) -> Result<Response, RestError> {
    let found = app.loggers.get(name);
    let level = found
        .ok_or_else(|| RestError::new(Code::LoggerNotFound, format!("Logger {name} not found.")))?;
    Ok(Json(json(&level)).into_response())
}

/// For one worker alone the scopes `worker` and `cluster` differ in the answer only; in a cluster every
/// worker sets the level when it reads of it.
pub(crate) async fn set(app: &App, asked: &Asked, name: &str) -> Result<Response, RestError> {
    let level = body::level(&asked.body)?;
    let unknown = || {
        RestError::new(Code::LevelUnknown, format!("invalid log level '{level}'."))
            .hint("there are OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE, ALL")
    };
    let scope = asked.param("scope");
    let for_all = scope.is_some_and(|scope| scope.eq_ignore_ascii_case("cluster"));
    if for_all && app.peers.is_some() {
        if !app.loggers.has_level(&level) {
            return Err(unknown());
        }
        app.herder.set_log_level(name.to_owned(), level).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let changed = app.loggers.set(name, &level).ok_or_else(unknown)?;
    match scope {
        Some(_) if for_all => Ok(StatusCode::NO_CONTENT.into_response()),
        other => {
            if let Some(scope) = other.filter(|scope| !scope.eq_ignore_ascii_case("worker")) {
                tracing::warn!("log level of {name}: scope {scope} is taken for worker");
            }
            Ok(Json(changed).into_response())
        }
    }
}

fn json(level: &LoggerLevel) -> Value {
    json!({ "level": level.level, "last_modified": level.last_modified })
}
