//! `/connector-plugins`.

use crate::body;
use crate::codes::Code;
use crate::definitions::{definition, infos};
use crate::errors::RestError;
use crate::request::Asked;
use crate::server::App;
use axum::Json;
use axum::response::{IntoResponse, Response};
use runtime::{UnknownPlugin, VALIDATE_CONNECT};
use serde_json::{Value, json};

pub(crate) fn list(app: &App, asked: &Asked) -> Response {
    let plugins = app.herder.worker().plugins(asked.flag("connectorsOnly", true)).into_iter();
    let plugins = plugins.map(|plugin| {
        json!({ "class": plugin.class, "type": plugin.kind.name(), "version": plugin.version })
    });
    Json(plugins.collect::<Vec<Value>>()).into_response()
}

pub(crate) fn config(app: &App, asked: &Asked, name: &str) -> Result<Response, RestError> {
    let keys = app.herder.worker().plugin_keys(name, asked.param("version"));
    let keys = keys.map_err(|unknown| match unknown {
        UnknownPlugin::None(text) => RestError::new(Code::PluginNotFound, text),
        UnknownPlugin::Refused(text) => RestError::new(Code::PluginInvalid, text),
    })?;
    Ok(Json(keys.iter().map(definition).collect::<Vec<Value>>()).into_response())
}

pub(crate) async fn validate(app: &App, asked: &Asked, name: &str) -> Result<Response, RestError> {
    const CLASS: &str = "connector.class";
    let given = body::config(&asked.body)?;
    let Some(class) = given.props.get(CLASS) else {
        let keys: Vec<&str> = given.props.keys().collect();
        let text = format!("Connector config {{{}}} contains no connector type", keys.join(", "));
        return Err(RestError::new(Code::BodyInvalid, text).path(format!("/{CLASS}")));
    };
    let short = |class: &str| class.strip_suffix("Connector").unwrap_or(class).to_owned();
    if !short(class).ends_with(&short(name)) {
        let text = format!("Included connector type {class} does not match request type {name}");
        return Err(RestError::new(Code::NameMismatch, text).path(format!("/{CLASS}")));
    }
    let worker = app.herder.worker().clone();
    let connect = asked.flag(VALIDATE_CONNECT, false);
    // Secrets may lie in files, and what is outside takes its time.
    let described =
        tokio::task::spawn_blocking(move || worker.describe_connected(&given, connect)).await;
    let described = described.map_err(|error| RestError::new(Code::Internal, error.to_string()))?;
    let described = described.map_err(|text| RestError::new(Code::ConfigInvalid, text))?;
    Ok(Json(infos(&described)).into_response())
}
