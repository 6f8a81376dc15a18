//! The other workers of a cluster: how they are asked, how what they ask is believed, and what keeps this
//! worker and them apart.
//!
//! Place: beside the routes. [`forward`](crate::forward) asks by it, [`watch`] looks from time to time
//! whether it would work, [`presence`] tells which of them do not answer.

mod client;
mod presence;
mod signing;
mod watch;

pub use client::ClientTls;
pub(crate) use client::{Failed, send};
pub(crate) use presence::{Lost, Presences, of_workers};
pub(crate) use watch::{not_taken, note, unreached, watch};

use crate::errors::RestError;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use herder::distributed::keys::{SessionKey, SessionKeys};
use signing::Signing;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long another worker may take for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(90);
/// How long one may take for an answer to whether it is there.
const PROBE_WAIT: Duration = Duration::from_secs(5);

/// Asks who is there; nothing else is done.
const PROBE: HeaderName = HeaderName::from_static("x-copycat-probe");
/// The answer to that: which start of the worker it is.
const INSTANCE: HeaderName = HeaderName::from_static("x-copycat-instance");
/// In an answer: nothing was done, for the signature of the worker that asks is not taken.
const NOT_BELIEVED: HeaderName = HeaderName::from_static("x-copycat-not-believed");

/// What is about the way between this worker and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// The address that this worker advertises.
    Own,
    /// The way to the leader.
    Leader,
    /// The leader does not take what this worker signs.
    Signature,
}

/// What a worker needs to know to be one of several.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// Under which others reach this worker.
    pub url: String,
    /// Which start of this worker it is: the later, the higher.
    pub run: u64,
    /// Java's name of the algorithm by which it signs.
    pub signature_algorithm: String,
    /// By which others may sign. Not empty.
    pub verification_algorithms: Vec<String>,
}

/// See the module.
pub struct Peers {
    pub(crate) url: String,
    signing: Signing,
    agents: RwLock<Agents>,
    run: u64,
    troubles: Mutex<BTreeMap<Trouble, String>>,
    /// The leader that cannot be reached, and since when.
    unreached: Mutex<Option<(String, Instant)>>,
    presence: presence::Presence,
}

#[derive(Clone)]
struct Agents {
    asking: ureq::Agent,
    probing: ureq::Agent,
}

impl Agents {
    fn new(tls: ClientTls) -> Result<Agents, String> {
        let tls = tls.config()?;
        let agent = |wait| client::agent(tls.clone(), wait);
        Ok(Agents { asking: agent(ANSWER_WAIT), probing: agent(PROBE_WAIT) })
    }
}

impl Peers {
    /// # Errors
    /// An algorithm that there is not; a certificate or key that cannot be used.
    pub fn new(settings: PeerSettings, tls: ClientTls) -> Result<Peers, String> {
        let PeerSettings { url, run, signature_algorithm, verification_algorithms } = settings;
        Ok(Peers {
            url: url.trim_end_matches('/').to_owned(),
            signing: Signing::new(&signature_algorithm, verification_algorithms)?,
            agents: RwLock::new(Agents::new(tls)?),
            run,
            troubles: Mutex::default(),
            unreached: Mutex::default(),
            presence: presence::Presence::default(),
        })
    }

    /// Connections from now on have other certificates.
    ///
    /// # Errors
    /// As for [`Peers::new`]; nothing has changed then.
    pub fn renew(&self, tls: ClientTls) -> Result<(), String> {
        let agents = Agents::new(tls)?;
        *self.agents.write().unwrap_or_else(PoisonError::into_inner) = agents;
        Ok(())
    }

    pub(crate) fn agent(&self) -> ureq::Agent {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).asking.clone()
    }

    fn probing(&self) -> ureq::Agent {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).probing.clone()
    }

    /// Signs a request; `covers` is what the signature is about.
    pub(crate) fn sign<T>(&self, request: &mut Request<T>, key: &SessionKey, covers: &[&[u8]]) {
        self.signing.sign(request.headers_mut(), key, covers);
    }

    /// # Errors
    /// The headers have no signature of these bytes by a key that is good.
    pub(crate) fn verify(
        &self,
        headers: &HeaderMap,
        keys: &SessionKeys,
        covers: &[&[u8]],
    ) -> Result<(), RestError> {
        self.signing.verify(headers, keys.good(Instant::now()), covers)
    }

    /// Whether there is a signature, right or wrong.
    pub(crate) fn is_signed(headers: &HeaderMap) -> bool {
        Signing::is_signed(headers)
    }

    /// The answer to a worker whose signature is not taken.
    pub(crate) fn not_believed(error: RestError) -> Response {
        let mut response = error.into_response();
        response.headers_mut().insert(NOT_BELIEVED, HeaderValue::from_static("true"));
        response
    }

    /// Whether an answer is that of [`Peers::not_believed`].
    pub(crate) fn is_not_believed(response: &Response) -> bool {
        response.headers().contains_key(NOT_BELIEVED)
    }

    /// Whether somebody asks no more than who is there.
    pub(crate) fn is_probe(headers: &HeaderMap) -> bool {
        headers.contains_key(PROBE)
    }

    /// Answers a worker that asks whether this one is there, and whether it would be believed.
    pub(crate) fn answer_probe(&self, headers: &HeaderMap, keys: &SessionKeys) -> Response {
        let verified = match Peers::is_signed(headers) {
            true => self.verify(headers, keys, &[]),
            false => Ok(()),
        };
        let mut response = match verified {
            Ok(()) => StatusCode::NO_CONTENT.into_response(),
            Err(error) => Peers::not_believed(error),
        };
        response.headers_mut().insert(INSTANCE, HeaderValue::from(self.run));
        response
    }

    /// Asks whether somebody is there; signed where there is a key.
    fn probe(&self, url: &str, key: Option<&SessionKey>) -> Result<Response, Failed> {
        let request = Request::get(format!("{}/", url.trim_end_matches('/')));
        let request = request.header(PROBE, "true").body(Vec::new());
        let mut request = request.map_err(|error| Failed::Unreached(error.to_string()))?;
        if let Some(key) = key {
            self.sign(&mut request, key, &[]);
        }
        send(&self.probing(), request)
    }

    fn is_me(&self, response: &Response<Body>) -> bool {
        run_of(response) == Some(self.run)
    }

    /// Which start of another worker has answered; none: it was somebody else.
    fn other(&self, response: &Response<Body>) -> Option<u64> {
        run_of(response).filter(|run| *run != self.run)
    }

    /// Notes a trouble, or its end; all of them where that is news.
    pub(crate) fn note(&self, which: Trouble, what: Option<String>) -> Option<Vec<String>> {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match what.clone() {
            Some(what) => troubles.insert(which, what),
            None => troubles.remove(&which),
        };
        if before == what {
            return None;
        }
        match &what {
            Some(what) => tracing::warn!("{what}"),
            None => {
                let before = before.unwrap_or_default();
                let what = before.split_once("; ").map_or(&*before, |(what, _)| what);
                tracing::info!("this is over: {what}");
            }
        }
        Some(troubles.values().cloned().collect())
    }

    /// Nobody is to be reached now.
    fn no_other_leads(&self) {
        *self.unreached.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Notes whether a leader was reached; for how long it could not be.
    pub(crate) fn reached(&self, url: &str, reached: bool) -> Duration {
        let mut unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
        if reached {
            *unreached = None;
            return Duration::ZERO;
        }
        match &*unreached {
            Some((known, since)) if known == url => since.elapsed(),
            _ => {
                *unreached = Some((url.to_owned(), Instant::now()));
                Duration::ZERO
            }
        }
    }
}

/// Which start of a worker has answered whether it is there; none: it is no worker.
fn run_of(response: &Response<Body>) -> Option<u64> {
    response.headers().get(INSTANCE)?.to_str().ok()?.parse().ok()
}

/// What to do where workers do not reach each other.
pub(crate) const REACH_HINT: &str = "set rest.advertised.host.name, rest.advertised.port and \
     rest.advertised.listener of that worker to an address under which the others reach it; for https, \
     listeners.https.ssl.truststore of each to the authority of the others' certificates";

/// Shared by everything that answers.
pub(crate) type SharedPeers = Arc<Peers>;
