//! From a request to the code that answers it, by the table of routes.

use crate::codes::Code;
use crate::errors::RestError;
use crate::request::Asked;
use crate::routes::{self, Found, Operation, Part};
use crate::server::App;
use crate::{
    connectors, internal, loggers, metrics, offsets, openapi, plugins, root, tasks, workers,
};
use axum::Json;
use axum::http::header::{ALLOW, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

/// Which parts of the interface an address offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Everything.
    All,
    /// Everything but `/admin`.
    Main,
    /// `/admin` alone.
    Admin,
}

impl Offer {
    fn has(self, part: Part) -> bool {
        match self {
            Offer::All => true,
            Offer::Main => part == Part::Main,
            Offer::Admin => part == Part::Admin,
        }
    }

    /// What a path names here; `None` if there is nothing.
    pub(crate) fn find(self, path: &[String]) -> Option<Found> {
        routes::find(path).filter(|found| self.has(found.place.part))
    }
}

/// Answers a request that was read in full; `found` is what its path names.
pub(crate) async fn dispatch(
    app: &App,
    asked: &Asked,
    found: Option<Found>,
) -> Result<Response, RestError> {
    let found = found.ok_or_else(|| RestError::http(Code::RouteNotFound))?;
    let allow = found.place.allow;
    if asked.method == Method::OPTIONS {
        let mut response = StatusCode::OK.into_response();
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        return Ok(response);
    }
    let operation = found.place.operation(asked.method.as_str());
    let operation = operation.ok_or_else(|| RestError::wrong_method(allow))?;
    if operation != Operation::Metrics {
        asked.negotiate()?;
    }
    run(app, asked, operation, found).await
}

async fn run(
    app: &App,
    asked: &Asked,
    operation: Operation,
    found: Found,
) -> Result<Response, RestError> {
    use Operation as O;
    let Found { name, task, .. } = found;
    match operation {
        O::Root => Ok(root::root(app).await),
        O::Health => Ok(root::health(app)),
        O::OpenApi => {
            Ok(Json(openapi::document(&app.facts.version, app.users.is_some())).into_response())
        }
        O::Metrics => metrics::answer(app, asked).await,
        O::ListConnectors => connectors::list(app, asked).await,
        O::CreateConnector => connectors::create(app, asked).await,
        O::GetConnector => connectors::get(app, &name),
        O::DeleteConnector => connectors::delete(app, asked, name).await,
        O::GetConfig => connectors::config(app, &name),
        O::PutConfig => connectors::put(app, asked, name).await,
        O::PatchConfig => connectors::patch(app, asked, name).await,
        O::GetStatus => connectors::status(app, &name).await,
        O::Restart => connectors::restart(app, asked, name).await,
        O::Pause => connectors::pause(app, name).await,
        O::Resume => connectors::resume(app, name).await,
        O::Stop => connectors::stop(app, name).await,
        O::ListTasks => tasks::list(app, &name),
        O::GetTaskStatus => tasks::status(app, &name, task).await,
        O::RestartTask => tasks::restart(app, name, task).await,
        O::GetTopics => tasks::topics(app, &name),
        O::ResetTopics => tasks::reset_topics(app, name).await,
        O::GetOffsets => offsets::list(app, name).await,
        O::AlterOffsets => offsets::alter(app, asked, name).await,
        O::ResetOffsets => offsets::reset(app, name).await,
        O::ListPlugins => Ok(plugins::list(app, asked)),
        O::GetPluginConfig => plugins::config(app, asked, &name),
        O::Validate => plugins::validate(app, asked, &name).await,
        O::ListWorkers => workers::list(app, asked).await,
        O::Drain => workers::drain(app, asked, true).await,
        O::Undrain => workers::drain(app, asked, false).await,
        O::ListLoggers => Ok(loggers::list(app)),
        O::GetLogger => loggers::get(app, &name),
        O::SetLogger => loggers::set(app, asked, &name).await,
        O::SetTasks => internal::set_tasks(app, asked, name).await,
        O::Fence => internal::fence(app, name).await,
    }
}
