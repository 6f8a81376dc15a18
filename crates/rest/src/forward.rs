//! Requests that only the leader of a cluster can do: passed on to it, whichever worker was asked.
//!
//! A worker that does not lead answers itself what it can; what changes something it passes on to the
//! leader with the client's login, and answers as the leader did, once it has read itself what the
//! leader wrote. While nobody leads, requests wait; nobody is told to come back later.
//!
//! Invariant: a request that was passed on is not passed on again, so that two workers that both believe
//! the other to lead cannot play ball.

use crate::codes::Code;
use crate::dispatch::dispatch;
use crate::errors::RestError;
use crate::request::Asked;
use crate::routes::{Found, Operation};
use crate::server::App;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode};
use axum::response::Response;
use herder::Leader;
use std::time::{Duration, Instant};

/// How long a request waits for a leader.
const LEADER_WAIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
/// How long the leader may take for one.
const ANSWER_WAIT: Duration = Duration::from_secs(90);
/// How long a worker waits until it has read what the leader wrote.
const READ_WAIT: Duration = Duration::from_secs(5);
const BODY_BYTES_MAX: u64 = 64 << 20;

/// Says that a request was passed on, and by whom.
const FORWARDED: HeaderName = HeaderName::from_static("x-copycat-forwarded");
/// In an answer to such a request: nothing was done, this worker does not lead.
const NOT_LEADER: HeaderName = HeaderName::from_static("x-copycat-not-leader");
/// What the leader had written when it answered.
const VERSION: HeaderName = HeaderName::from_static("x-copycat-version");

/// Answers a request here or through the leader.
///
/// # Errors
/// As [`dispatch`]; nobody leads for longer than the wait.
pub(crate) async fn answer(
    app: &App,
    asked: &Asked,
    found: Option<Found>,
) -> Result<Response, RestError> {
    let end = Instant::now() + LEADER_WAIT;
    let forwarded = asked.header(&FORWARDED).is_some();
    let of_leader = found.as_ref().is_some_and(|found| {
        found.place.operation(asked.method.as_str()).is_some_and(Operation::is_of_leader)
    });
    if !of_leader {
        return dispatch(app, asked, found).await;
    }
    loop {
        let leader = app.herder.leader();
        if leader == Leader::Here {
            match dispatch(app, asked, found.clone()).await {
                Err(error) if error.code == Code::NoLeader => {}
                Ok(response) if forwarded => return Ok(with_version(app, response)),
                answered => return answered,
            }
        }
        if forwarded {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(NOT_LEADER, HeaderValue::from_static("true"));
            return Ok(response);
        }
        if let Leader::At(url) = leader
            && let Some(response) = pass_on(app, asked, &url).await?
        {
            return Ok(response);
        }
        if Instant::now() >= end {
            let message = "no worker of the cluster leads, or the one that does cannot be reached";
            return Err(RestError::new(Code::NoLeader, message).hint(
                "look at the logs of the workers: a leader needs Kafka, and the others its \
                 advertised address (rest.advertised.host.name)",
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn with_version(app: &App, mut response: Response) -> Response {
    let version = HeaderValue::from(app.herder.version());
    response.headers_mut().insert(VERSION, version);
    response
}

/// The leader's answer; none where it did not get the request, or does not lead.
async fn pass_on(app: &App, asked: &Asked, url: &str) -> Result<Option<Response>, RestError> {
    let mut request = Request::builder().method(asked.method.clone());
    request = request.uri(format!("{}{}", url.trim_end_matches('/'), asked.target));
    request = request.header(FORWARDED, app.facts.worker_id.as_str());
    for name in [AUTHORIZATION, CONTENT_TYPE] {
        if let Some(value) = asked.header(&name) {
            request = request.header(name, value.clone());
        }
    }
    let request = request.body(asked.body.to_vec());
    let request = request.map_err(|error| RestError::new(Code::Internal, error.to_string()))?;
    let agent = app.agent.clone();
    let asking = tokio::task::spawn_blocking(move || send(&agent, request));
    let answered = asking.await.map_err(|e| RestError::new(Code::Internal, e.to_string()))?;
    let response = match answered {
        Ok(response) => response,
        Err(Failed::Unreached(why)) => {
            tracing::warn!("the leader at {url} cannot be reached: {why}");
            return Ok(None);
        }
        Err(Failed::Lost(why)) => {
            let message = format!("the leader at {url} did not answer: {why}");
            let hint = "the change may have been made: look, and ask again if it was not";
            return Err(RestError::new(Code::OutsideFailed, message).hint(hint));
        }
    };
    if response.headers().contains_key(NOT_LEADER) {
        return Ok(None);
    }
    let version = response.headers().get(VERSION).and_then(|v| v.to_str().ok()?.parse().ok());
    read_up_to(app, version.unwrap_or(0)).await;
    Ok(Some(response))
}

/// Waits until this worker knows what the leader wrote, so that the next question finds it.
async fn read_up_to(app: &App, version: u64) {
    let end = Instant::now() + READ_WAIT;
    while app.herder.version() < version && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

enum Failed {
    /// The request did not arrive.
    Unreached(String),
    /// Nobody knows.
    Lost(String),
}

fn send(agent: &ureq::Agent, request: Request<Vec<u8>>) -> Result<Response, Failed> {
    let answered = agent.run(request).map_err(|error| match error {
        ureq::Error::ConnectionFailed
        | ureq::Error::HostNotFound
        | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Failed::Unreached(error.to_string())
        }
        ureq::Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            Failed::Unreached(io.to_string())
        }
        other => Failed::Lost(other.to_string()),
    })?;
    let (parts, mut body) = answered.into_parts();
    let body = body.with_config().limit(BODY_BYTES_MAX).read_to_vec();
    let body = body.map_err(|error| Failed::Lost(error.to_string()))?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = parts.status;
    for name in [CONTENT_TYPE, LOCATION, VERSION, NOT_LEADER] {
        if let Some(value) = parts.headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response)
}

/// The client by which workers ask each other.
pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(Duration::from_secs(2)))
        .timeout_global(Some(ANSWER_WAIT))
        .build()
        .into()
}
