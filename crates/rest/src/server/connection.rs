//! Accepts connections and speaks HTTP on them, within limits: how many there are, how long a client may
//! take for the head of a request, for its body, and to take an answer.

use super::stalled::Stalled;
use super::{Service, Socket};
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The line and headers of a request have at most this many bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// A pause where the system has no socket left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Who asks, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) secure: bool,
}

/// Accepts until `end` says so.
pub(super) async fn accept(socket: Socket, service: Arc<Service>, mut end: watch::Receiver<bool>) {
    loop {
        // A place first: clients beyond the limit wait in the system's queue.
        let taking = async {
            let place = service.places.clone().acquire_owned().await;
            (place, socket.listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            taken = taking => taken,
            () = ended(&mut end) => return,
        };
        let Ok(place) = place else { return };
        match accepted {
            Ok((stream, address)) => {
                let (socket, service, end) = (socket.info(), service.clone(), end.clone());
                tokio::spawn(async move {
                    begin(stream, address, socket, service, end).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!("a connection was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Returns when the interface is to end; never if nobody can say so any more.
pub(crate) async fn ended(end: &mut watch::Receiver<bool>) {
    let gone = end.wait_for(|end| *end).await.is_err();
    if gone {
        std::future::pending::<()>().await;
    }
}

/// What connections need of their socket.
pub(super) struct SocketInfo {
    pub(super) tls: Option<super::Tls>,
    pub(super) offer: crate::Offer,
}

async fn begin(
    stream: TcpStream,
    address: SocketAddr,
    socket: SocketInfo,
    service: Arc<Service>,
    end: watch::Receiver<bool>,
) {
    // Answers are written whole, so there is nothing to wait for.
    let _unimportant = stream.set_nodelay(true);
    let peer = Peer { address, secure: socket.tls.is_some() };
    match socket.tls {
        None => serve(stream, peer, socket.offer, service, end).await,
        Some(tls) => {
            let shaking = tls.acceptor().accept(stream);
            match tokio::time::timeout(service.limits.head_timeout, shaking).await {
                Ok(Ok(stream)) => serve(stream, peer, socket.offer, service, end).await,
                Ok(Err(error)) => tracing::debug!("{address}: no TLS connection: {error}"),
                Err(_) => tracing::debug!("{address}: no TLS connection in time"),
            }
        }
    }
}

async fn serve<S>(
    stream: S,
    peer: Peer,
    offer: crate::Offer,
    service: Arc<Service>,
    mut end: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = Stalled::new(stream, service.limits.write_timeout);
    let head_timeout = service.limits.head_timeout;
    let answering = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let service = service.clone();
        async move {
            let request = request.map(Body::new);
            Ok::<_, Infallible>(service.answer(request, peer, offer).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), answering);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        // What was asked is answered still.
        () = ended(&mut end) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("{}: the connection has ended: {error}", peer.address);
    }
}
