//! A connection whose client must take what it is sent: without progress for some time a write fails,
//! and the connection ends.

use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

pub(super) struct Stalled<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalled<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Stalled<S> {
        Stalled { stream, patience, waiting: None }
    }

    /// What a write gives; an error where it has waited for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client takes nothing any more")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalled<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_left() {
        let (near, mut far) = duplex(4);
        let mut near = Stalled::new(near, Duration::from_secs(30));
        near.write_all(b"1234").await.unwrap();
        let error = near.write_all(b"5").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // What it takes in time is written.
        let mut taken = [0; 4];
        far.read_exact(&mut taken).await.unwrap();
        let mut near = Stalled::new(near.stream, Duration::from_secs(30));
        near.write_all(b"5").await.unwrap();
    }
}
