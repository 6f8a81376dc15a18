//! Listens, and hands each request to what answers it.

use crate::errors::RestError;
use crate::request::Asked;
use crate::resource::Resource;
use crate::{connectors, loggers, metrics, offsets, plugins, root, tasks};
use axum::Router;
use axum::http::header::{ALLOW, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use headers::Headers;
use herder::Herder;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use listener::{Listener, ServeError, bind};

mod headers;
mod listener;

/// How long a request may take.
const BUDGET: Duration = Duration::from_secs(90);

/// What the worker says of itself.
#[derive(Debug)]
pub struct Facts {
    pub version: String,
    pub commit: String,
    /// `host:port` under which others reach this worker.
    pub worker_id: String,
    /// Filled in once a broker has answered.
    pub kafka_cluster_id: watch::Receiver<Option<String>>,
}

#[derive(Clone)]
pub(crate) struct App {
    pub(crate) herder: Herder,
    pub(crate) facts: Arc<Facts>,
    pub(crate) loggers: Arc<dyn loggers::Loggers>,
}

/// Answers requests until the runtime ends.
pub fn serve(
    sockets: Vec<TcpListener>,
    herder: &Herder,
    facts: Facts,
    loggers: Arc<dyn loggers::Loggers>,
) -> Vec<SocketAddr> {
    let app = App { herder: herder.clone(), facts: Arc::new(facts), loggers };
    let headers = Arc::new(Headers::new(herder.worker().config()));
    let answering = move |request: axum::extract::Request| {
        let (app, headers) = (app.clone(), headers.clone());
        async move {
            let asked = request.headers().clone();
            let mut response = match headers.preflight(request.method(), &asked) {
                Some(response) => response,
                None => answer(app, request).await,
            };
            headers.add_to(response.headers_mut(), &asked);
            response
        }
    };
    let router = Router::new().fallback(answering);
    let mut addresses = Vec::new();
    for socket in sockets {
        addresses.extend(socket.local_addr());
        let router = router.clone();
        tokio::spawn(async move {
            if let Err(error) = axum::serve(socket, router).await {
                tracing::error!("the REST interface has ended: {error}");
            }
        });
    }
    addresses
}

async fn answer(app: App, request: axum::extract::Request) -> Response {
    let asked = match Asked::read(request).await {
        Ok(asked) => asked,
        Err(error) => return error.into_response(),
    };
    match tokio::time::timeout(BUDGET, dispatch(&app, &asked)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => error.into_response(),
        // What was asked goes on.
        Err(_) => RestError::internal("Request timed out").into_response(),
    }
}

async fn dispatch(app: &App, asked: &Asked) -> Result<Response, RestError> {
    if asked.path == ["metrics"] {
        return metrics::answer(app, asked).await;
    }
    let Some(resource) = Resource::find(&asked.path) else {
        return Err(RestError::of_status(StatusCode::NOT_FOUND));
    };
    let is_admin = matches!(resource, Resource::Loggers | Resource::Logger(_));
    if is_admin && app.herder.worker().config().admin_listeners.is_some() {
        return Err(RestError::of_status(StatusCode::NOT_FOUND));
    }
    let allow = resource.allow();
    let method = if asked.method == Method::HEAD { Method::GET } else { asked.method.clone() };
    if method == Method::OPTIONS {
        let mut response = StatusCode::OK.into_response();
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        return Ok(response);
    }
    if !allow.split(',').any(|known| known == method.as_str()) {
        return Err(RestError::wrong_method(allow));
    }
    asked.negotiate()?;
    match (method.as_str(), resource) {
        ("GET", resource) => read(app, asked, resource).await,
        ("DELETE", Resource::Connector(name)) => connectors::delete(app, name).await,
        ("DELETE", Resource::Offsets(name)) => offsets::reset(app, name).await,
        ("PATCH", Resource::Config(name)) => connectors::patch(app, asked, name).await,
        ("PATCH", Resource::Offsets(name)) => offsets::alter(app, asked, name).await,
        ("POST", Resource::Connectors) => connectors::create(app, asked).await,
        ("POST", Resource::Restart(name)) => connectors::restart(app, asked, name).await,
        ("POST", Resource::TaskRestart(name, task)) => tasks::restart(app, name, task).await,
        ("POST", Resource::Tasks(_)) => Err(RestError::internal(
            "Kafka Connect in standalone mode does not support externally setting task \
             configurations.",
        )),
        ("PUT", Resource::Config(name)) => connectors::put(app, asked, name).await,
        ("PUT", Resource::Pause(name)) => connectors::pause(app, name).await,
        ("PUT", Resource::Resume(name)) => connectors::resume(app, name).await,
        ("PUT", Resource::Stop(name)) => connectors::stop(app, name).await,
        ("PUT", Resource::TopicsReset(name)) => tasks::reset_topics(app, &name),
        ("PUT", Resource::PluginValidate(name)) => plugins::validate(app, asked, &name).await,
        ("PUT", Resource::Logger(name)) => loggers::set(app, asked, &name),
        ("PUT", Resource::Fence(_)) => Err(RestError::internal(
            "Kafka Connect in standalone mode does not support exactly-once source connectors.",
        )),
        _ => Err(RestError::wrong_method(allow)),
    }
}

async fn read(app: &App, asked: &Asked, resource: Resource) -> Result<Response, RestError> {
    match resource {
        Resource::Root => Ok(root::root(app).await),
        Resource::Health => Ok(root::health(app)),
        Resource::Connectors => Ok(connectors::list(app, asked)),
        Resource::Connector(name) => connectors::get(app, &name),
        Resource::Config(name) => connectors::config(app, &name),
        Resource::Status(name) => connectors::status(app, &name),
        Resource::Tasks(name) => tasks::list(app, &name),
        Resource::TaskStatus(name, task) => tasks::status(app, &name, task),
        Resource::Topics(name) => tasks::topics(app, &name),
        Resource::Offsets(name) => offsets::list(app, name).await,
        Resource::Plugins => Ok(plugins::list(app, asked)),
        Resource::PluginConfig(name) => plugins::config(app, asked, &name),
        Resource::Loggers => Ok(loggers::list(app)),
        Resource::Logger(name) => loggers::get(app, &name),
        other => Err(RestError::wrong_method(other.allow())),
    }
}
