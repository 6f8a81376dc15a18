//! Requests that only the leader of a cluster can do: passed on to it, whichever worker was asked.
//!
//! A worker that does not lead answers itself what it can; what changes something it passes on to the
//! leader with the client's login, and answers as the leader did, once it has read itself what the
//! leader wrote. While nobody leads, requests wait; nobody is told to come back later.
//!
//! What is passed on is signed with the key that the cluster's workers share (see
//! [`peers`](crate::peers)): the signature covers method, path and body, those of the internal endpoints
//! the body alone, as Kafka Connect has it.
//!
//! Invariants: a request that was passed on, and says so with a right signature, is not passed on again,
//! so that two workers that both believe the other to lead cannot play ball. Without one it is a
//! client's like any other. In either case its login is checked.

use crate::codes::Code;
use crate::connectors;
use crate::dispatch::dispatch;
use crate::errors::RestError;
use crate::peers::{Failed, Peers, REACH_HINT, Trouble, not_taken, note, send, unreached};
use crate::request::Asked;
use crate::routes::{Found, Operation};
use crate::server::App;
use crate::status::Selection;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use herder::Leader;
use herder::distributed::keys::{SessionKey, SessionKeys};
use std::time::{Duration, Instant};

/// How long a request waits for a leader.
const LEADER_WAIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
/// How long a worker waits until it has read what the leader wrote.
const READ_WAIT: Duration = Duration::from_secs(5);

/// Says that a request was passed on, and by whom.
const FORWARDED: HeaderName = HeaderName::from_static("x-copycat-forwarded");
/// In an answer to such a request: nothing was done, this worker does not lead.
const NOT_LEADER: HeaderName = HeaderName::from_static("x-copycat-not-leader");
/// What the leader had written when it answered.
const VERSION: HeaderName = HeaderName::from_static("x-copycat-version");

/// Answers a request here or through the leader.
///
/// # Errors
/// As [`dispatch`]; nobody leads for longer than the wait; what only workers ask is not signed as they do.
pub(crate) async fn answer(
    app: &App,
    asked: &Asked,
    found: Option<Found>,
) -> Result<Response, RestError> {
    if found.as_ref().is_some_and(|found| found.place.is_of_connectors()) {
        joined(app).await?;
    }
    let operation = found.as_ref().and_then(|f| f.place.operation(asked.method.as_str()));
    if let (Some(operation), Some(found)) = (operation, &found)
        && operation.is_of_worker()
    {
        return crate::workers::answer(app, asked, found.clone()).await;
    }
    let Some(operation) = operation.filter(|operation| operation.is_of_leader()) else {
        return dispatch(app, asked, found).await;
    };
    let forwarded = match believed(app, asked, operation) {
        Ok(forwarded) => forwarded,
        Err(error) if asked.header(&FORWARDED).is_some() => return Ok(Peers::not_believed(error)),
        Err(error) => return Err(error),
    };
    let restart = operation == Operation::Restart && !forwarded;
    let selected =
        found.as_ref().filter(|_| restart).and_then(|f| connectors::selected(app, asked, &f.name));
    let (selection, shown) = selected.unzip();
    let passing = Passing { asked, operation, selection };
    let end = Instant::now() + LEADER_WAIT;
    loop {
        let leader = app.herder.leader();
        if leader == Leader::Here {
            match dispatch(app, asked, found.clone()).await {
                Err(error) if error.code == Code::NoLeader => {}
                // Another one leads soon.
                Err(error) if forwarded && error.code == Code::ShuttingDown => {}
                Err(error) if forwarded => return Ok(with_version(app, error.into_response())),
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
        let why = match leader {
            Leader::At(url) => match pass_on(app, &passing, &url).await? {
                // The client sees what it would see here.
                Ok(response) if response.status() == StatusCode::ACCEPTED => {
                    return Ok(shown.unwrap_or(response));
                }
                Ok(response) => return Ok(response),
                Err(why) => why,
            },
            Leader::Here | Leader::Nobody => Why::Nobody,
        };
        if app.herder.has_ended() {
            let error = RestError::new(Code::ShuttingDown, "Worker is shutting down");
            return Err(error.hint("nothing was changed; ask another worker of the cluster"));
        }
        if Instant::now() >= end || why.is_settled() {
            return Err(why.into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until this worker has read which connectors its cluster has.
///
/// # Errors
/// It waits for something else for longer itself.
async fn joined(app: &App) -> Result<(), RestError> {
    let end = Instant::now() + LEADER_WAIT;
    while app.herder.is_joining() {
        if Instant::now() >= end || app.herder.has_ended() {
            let waits = app.herder.waits();
            let text = "this worker has not read yet which connectors its cluster has";
            let error = RestError::new(Code::Starting, text);
            return Err(match waits {
                Some(waits) => error.hint(waits),
                None => {
                    error.hint("ask another worker of the cluster, or look at the log of this one")
                }
            });
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Why a request was not passed on, though nothing was done that could not be done again.
enum Why {
    Nobody,
    /// Nobody can be told from somebody without a key.
    NoKey,
    /// The leader at this address; `long`: it is known that it cannot be.
    Unreached {
        text: String,
        long: bool,
    },
    /// It reads another key.
    OtherKey(String),
    OtherAlgorithms(String),
}

impl Why {
    /// Waiting does not help.
    fn is_settled(&self) -> bool {
        matches!(self, Why::Unreached { long: true, .. } | Why::OtherAlgorithms(_))
    }
}

impl From<Why> for RestError {
    fn from(why: Why) -> RestError {
        match why {
            Why::Nobody => RestError::new(Code::NoLeader, "no worker of the cluster leads")
                .hint("look at the logs of the workers: a leader needs Kafka"),
            Why::NoKey => RestError::new(
                Code::NoSessionKey,
                "this worker has not read a session key from the config topic",
            )
            .hint("look at the log of the leader, which writes one"),
            Why::Unreached { text, .. } => {
                RestError::new(Code::LeaderUnreached, text).hint(REACH_HINT)
            }
            Why::OtherKey(url) => {
                let text = format!("the leader at {url} has another session key than this worker");
                let hint = "look whether both read the same config topic";
                RestError::new(Code::WorkersDiffer, text).hint(hint)
            }
            Why::OtherAlgorithms(url) => RestError::new(Code::WorkersDiffer, not_taken(&url)),
        }
    }
}

/// Whether another worker has passed this on.
fn believed(app: &App, asked: &Asked, operation: Operation) -> Result<bool, RestError> {
    let Some(peers) = &app.peers else { return Ok(false) };
    let forwarded = asked.header(&FORWARDED).is_some();
    let covers = covers(asked, operation);
    let covers: Vec<&[u8]> = covers.iter().map(|piece| &**piece).collect();
    let verify = || peers.verify(asked.headers(), &app.herder.session_keys(), &covers);
    if operation.is_internal() {
        return verify().map(|()| forwarded);
    }
    if !forwarded || !Peers::is_signed(asked.headers()) {
        return Ok(false);
    }
    verify().map(|()| true)
}

/// What a signature is about.
fn covers(asked: &Asked, operation: Operation) -> Vec<&[u8]> {
    if operation.is_internal() {
        return vec![&asked.body];
    }
    let (method, target) = (asked.method.as_str(), asked.target.as_str());
    vec![method.as_bytes(), b" ", target.as_bytes(), b"\n", &asked.body]
}

fn with_version(app: &App, mut response: Response) -> Response {
    let version = HeaderValue::from(app.herder.version());
    response.headers_mut().insert(VERSION, version);
    response
}

/// The leader's answer, or why it did nothing.
async fn pass_on(
    app: &App,
    passing: &Passing<'_>,
    url: &str,
) -> Result<Result<Response, Why>, RestError> {
    let Some(peers) = app.peers.clone() else { return Ok(Err(Why::Nobody)) };
    let keys = app.herder.session_keys();
    let Some(key) = keys.current() else { return Ok(Err(Why::NoKey)) };
    let request = passing.request(app, url, &peers, key)?;
    let agent = peers.agent();
    let mut response = match sent(app, agent, request).await? {
        Ok(response) => response,
        Err(Failed::Unreached(why)) => {
            let text = unreached(&peers, url, &why);
            let long = peers.reached(url, false) > LEADER_WAIT;
            note(app, Trouble::Leader, Some(text)).await;
            let text = format!("the leader cannot be reached at {url}: {why}");
            return Ok(Err(Why::Unreached { text, long }));
        }
        Err(Failed::Lost(why)) => {
            let message = format!("the leader at {url} did not answer: {why}");
            let hint = "the change may have been made: look, and ask again if it was not";
            return Err(RestError::new(Code::OutsideFailed, message).hint(hint));
        }
    };
    peers.reached(url, true);
    note(app, Trouble::Leader, None).await;
    if Peers::is_not_believed(&response) {
        // A key that was replaced just now is read in a moment.
        let differs = response.status() == StatusCode::BAD_REQUEST;
        let url = url.to_owned();
        if !differs {
            return Ok(Err(Why::OtherKey(url)));
        }
        note(app, Trouble::Signature, Some(not_taken(&url))).await;
        return Ok(Err(Why::OtherAlgorithms(url)));
    }
    if response.headers().contains_key(NOT_LEADER) {
        return Ok(Err(Why::Nobody));
    }
    let version = response.headers().get(VERSION).and_then(|v| v.to_str().ok()?.parse().ok());
    read_up_to(app, version.unwrap_or(0)).await;
    own_headers(passing.asked, &mut response);
    Ok(Ok(response))
}

/// Whether another worker has sent it here.
///
/// # Errors
/// It says so, and has signed it wrongly.
pub(crate) fn was_passed_on(
    app: &App,
    asked: &Asked,
    operation: Operation,
) -> Result<bool, RestError> {
    believed(app, asked, operation)
}

/// The answer of one worker that is meant, whoever leads.
///
/// # Errors
/// It did not get the request, or nobody knows what it did.
pub(crate) async fn ask_worker(
    app: &App,
    asked: &Asked,
    operation: Operation,
    name: &str,
    url: &str,
) -> Result<Response, RestError> {
    let unreached = |why: &str| {
        let message = format!("worker {name} cannot be reached at {url}: {why}");
        RestError::new(Code::WorkerUnreached, message).hint(REACH_HINT)
    };
    let Some(peers) = app.peers.clone() else { return Err(unreached("there is no cluster")) };
    let keys = keys_read(app).await;
    let Some(key) = keys.current() else { return Err(Why::NoKey.into()) };
    let passing = Passing { asked, operation, selection: None };
    let request = passing.request(app, url, &peers, key)?;
    let agent = peers.agent();
    match sent(app, agent, request).await? {
        Ok(mut response) => {
            own_headers(asked, &mut response);
            Ok(response)
        }
        Err(Failed::Unreached(why)) => Err(unreached(&why)),
        Err(Failed::Lost(why)) => {
            let message = format!("worker {name} at {url} did not answer: {why}");
            let hint = "look at /workers whether it was done";
            Err(RestError::new(Code::OutsideFailed, message).hint(hint))
        }
    }
}

/// What another worker answers; this one does not wait for it beyond its own end.
async fn sent(
    app: &App,
    agent: ureq::Agent,
    request: Request<Vec<u8>>,
) -> Result<Result<Response, Failed>, RestError> {
    let ended = async {
        while !app.herder.has_ended() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        answered = tokio::task::spawn_blocking(move || send(&agent, request)) => {
            answered.map_err(|error| RestError::new(Code::Internal, error.to_string()))
        }
        () = ended => {
            let message = "this worker ends before another one has answered";
            let hint = "the change may have been made: look, and ask again if it was not";
            Err(RestError::new(Code::OutsideFailed, message).hint(hint))
        }
    }
}

/// The keys of the cluster; a new one has none for a moment.
async fn keys_read(app: &App) -> SessionKeys {
    let end = Instant::now() + LEADER_WAIT;
    loop {
        let keys = app.herder.session_keys();
        if keys.current().is_some() || Instant::now() >= end {
            return keys;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A request on its way to another worker.
struct Passing<'a> {
    asked: &'a Asked,
    operation: Operation,
    /// What a restart selects by what this worker knows.
    selection: Option<Selection>,
}

impl Passing<'_> {
    fn request(
        &self,
        app: &App,
        url: &str,
        peers: &Peers,
        key: &SessionKey,
    ) -> Result<Request<Vec<u8>>, RestError> {
        let asked = self.asked;
        let mut request = Request::builder().method(asked.method.clone());
        request = request.uri(format!("{}{}", url.trim_end_matches('/'), asked.target));
        request = request.header(FORWARDED, app.facts.worker_id.as_str());
        if let Some(selection) = &self.selection {
            request = request.header(connectors::SELECTED, selection.text());
        }
        for name in [AUTHORIZATION, CONTENT_TYPE] {
            if let Some(value) = asked.header(&name) {
                request = request.header(name, value.clone());
            }
        }
        let request = request.body(asked.body.to_vec());
        let mut request =
            request.map_err(|error| RestError::new(Code::Internal, error.to_string()))?;
        peers.sign(&mut request, key, &covers(asked, self.operation));
        Ok(request)
    }
}

/// What the client is told: the leader's answer, at the address that was asked.
fn own_headers(asked: &Asked, response: &mut Response) {
    let kept = [CONTENT_TYPE, LOCATION];
    let all = std::mem::take(response.headers_mut());
    for name in kept {
        let Some(value) = all.get(&name) else { continue };
        let location = Some(value).filter(|_| name == LOCATION);
        let location = location.and_then(|value| asked.at_own_address(value.to_str().ok()?));
        let location = location.and_then(|text| HeaderValue::from_str(&text).ok());
        response.headers_mut().insert(name, location.unwrap_or_else(|| value.clone()));
    }
}

/// Waits until this worker knows what the leader wrote, so that the next question finds it.
async fn read_up_to(app: &App, version: u64) {
    let end = Instant::now() + READ_WAIT;
    while app.herder.version() < version && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
