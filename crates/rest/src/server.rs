//! Listens, and hands each request to what answers it.

use crate::auth::{Refused, Users};
use crate::codes::Code;
use crate::dispatch::Offer;
use crate::errors::RestError;
use crate::peers::{self, Peers, Presences, SharedPeers};
use crate::request::{Asked, Bodies};
use crate::{forward, loggers};
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONNECTION, HeaderValue};
use axum::response::{IntoResponse, Response};
pub(crate) use connection::ended;
use connection::{Peer, SocketInfo};
use headers::Headers;
use herder::Herder;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

pub use limits::Limits;
pub use listener::{Listener, Scheme, ServeError, bind};
pub use tls::{ClientCertificate, Material, Tls};

mod connection;
mod headers;
mod limits;
mod listener;
mod stalled;
mod tls;

/// How long a request may take once it is read.
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
    /// Who may ask; everybody if there are none.
    pub(crate) users: Option<Arc<Users>>,
    /// None: this worker is alone.
    pub(crate) peers: Option<SharedPeers>,
}

impl App {
    /// How the other workers at these URLs are.
    pub(crate) async fn presences(&self, urls: &BTreeSet<Arc<str>>) -> Presences {
        match &self.peers {
            Some(peers) => peers::of_workers(peers, urls).await,
            None => Presences::default(),
        }
    }
}

/// An open socket and what is offered there.
#[derive(Debug)]
pub struct Socket {
    pub listener: TcpListener,
    pub tls: Option<Tls>,
    pub offer: Offer,
}

impl Socket {
    fn info(&self) -> SocketInfo {
        SocketInfo { tls: self.tls.clone(), offer: self.offer }
    }
}

/// Everything that the interface is made of.
pub struct Setup {
    pub sockets: Vec<Socket>,
    pub herder: Herder,
    pub facts: Facts,
    pub loggers: Arc<dyn loggers::Loggers>,
    pub users: Option<Arc<Users>>,
    pub limits: Limits,
    /// The other workers of a cluster.
    pub peers: Option<Arc<Peers>>,
}

/// The interface while it answers. When it is dropped, it goes on until the runtime ends.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    end: watch::Sender<bool>,
    accepting: Vec<JoinHandle<()>>,
    /// All of them are free when no connection is left.
    places: Arc<Semaphore>,
    connections_max: usize,
}

impl Server {
    /// Where it listens, in the order of the sockets.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Accepts no connections any more, answers what was asked already and ends. False if that takes
    /// longer than `timeout`.
    pub async fn stop(self, timeout: Duration) -> bool {
        let Server { end, accepting, places, connections_max, .. } = self;
        // Those who accept may have ended.
        let _gone = end.send(true);
        let ending = async {
            for task in accepting {
                let _ended = task.await;
            }
            let all = u32::try_from(connections_max).unwrap_or(u32::MAX);
            // Nobody closes it.
            let _all = places.acquire_many(all).await;
        };
        tokio::time::timeout(timeout, ending).await.is_ok()
    }
}

/// Answers requests until it is stopped or the runtime ends.
pub fn serve(setup: Setup) -> Server {
    let Setup { sockets, herder, facts, loggers, users, limits, peers } = setup;
    let headers = Headers::new(herder.worker().config());
    let app = App { herder, facts: Arc::new(facts), loggers, users, peers };
    let service = Arc::new(Service {
        app,
        headers,
        bodies: Bodies::new(limits.body_bytes_max, limits.body_timeout),
        places: Arc::new(Semaphore::new(limits.connections_max)),
        limits,
    });
    let (end, ending) = watch::channel(false);
    if let Some(peers) = service.app.peers.clone() {
        tokio::spawn(peers::watch(service.app.clone(), peers, ending.clone()));
    }
    let (places, connections_max) = (service.places.clone(), limits.connections_max);
    let addresses = sockets.iter().filter_map(|s| s.listener.local_addr().ok()).collect();
    let accept =
        |socket: Socket| tokio::spawn(connection::accept(socket, service.clone(), ending.clone()));
    let accepting = sockets.into_iter().map(accept).collect();
    Server { addresses, end, accepting, places, connections_max }
}

/// What all connections share.
struct Service {
    app: App,
    headers: Headers,
    bodies: Bodies,
    /// One for each connection that there may be.
    places: Arc<Semaphore>,
    limits: Limits,
}

impl Service {
    async fn answer(&self, request: Request, peer: Peer, offer: Offer) -> Response {
        let begin = Instant::now();
        let (method, target) = (request.method().clone(), request.uri().to_string());
        let asked = request.headers().clone();
        let mut response = match self.headers.preflight(&method, &asked) {
            Some(response) => response,
            None => self.ask(request, peer, offer).await,
        };
        self.headers.add_to(response.headers_mut(), &asked);
        tracing::debug!(
            "{} \"{method} {target}\" {} in {} ms",
            peer.address,
            response.status().as_u16(),
            begin.elapsed().as_millis()
        );
        response
    }

    async fn ask(&self, request: Request, peer: Peer, offer: Offer) -> Response {
        match self.asked(request, peer, offer).await {
            Ok(response) => response,
            Err(error) => error.into_response(),
        }
    }

    async fn asked(
        &self,
        request: Request,
        peer: Peer,
        offer: Offer,
    ) -> Result<Response, RestError> {
        let (parts, body) = request.into_parts();
        if let Some(peers) = self.app.peers.as_ref().filter(|_| Peers::is_probe(&parts.headers)) {
            return Ok(peers.answer_probe(&parts.headers, &self.app.herder.session_keys()));
        }
        let path = Asked::path(&parts);
        let found = path.as_ref().ok().and_then(|path| offer.find(path));
        let operation = found.as_ref().and_then(|f| f.place.operation(parts.method.as_str()));
        // Workers among themselves sign instead; what has addresses of its own asks for nothing.
        let open = operation.is_some_and(|o| o.is_internal()) || offer == Offer::Admin;
        if let Some(users) = self.app.users.as_ref().filter(|_| !open) {
            let changes = !matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
            let checked = users.check(parts.headers.get(AUTHORIZATION), changes).await;
            let mut refused = match checked {
                Ok(()) => None,
                Err(Refused::Unknown) => Some(crate::auth::unauthorized()),
                Err(Refused::ReadOnly) => Some(crate::auth::read_only().into_response()),
            };
            if let Some(refused) = &mut refused {
                // Nobody reads the body of somebody who may not send it.
                refused.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            if let Some(refused) = refused {
                return Ok(refused);
            }
        }
        // Before anything else is said: a body that nobody reads ends the connection.
        let body = self.bodies.read(body).await?;
        path?;
        let asked = Asked::new(parts, body, peer.secure);
        match tokio::time::timeout(BUDGET, forward::answer(&self.app, &asked, found)).await {
            Ok(answered) => answered,
            // What was asked goes on.
            Err(_) => Err(RestError::new(Code::TimedOut, "Request timed out")),
        }
    }
}
