//! Ctrl-C, and the other ways to ask a command to end: a flag that the command looks at.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of a command that was interrupted, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// Whether the user wants to stop.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on SIGINT, SIGTERM and SIGHUP set the flag instead of ending the process.
    pub(crate) fn listen() -> io::Result<Interrupt> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let flag = Arc::new(AtomicBool::new(false));
        let mut signals = {
            let _entered = runtime.enter();
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
                .into_iter()
                .map(signal)
                .collect::<io::Result<Vec<_>>>()?
        };
        let shared = flag.clone();
        let wait = async move {
            let waits = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
            first(waits.collect()).await;
            shared.store(true, Ordering::Relaxed);
            // Nothing is left to do here, but the signals must stay taken.
            std::future::pending::<()>().await;
        };
        std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(wait))?;
        Ok(Interrupt(flag))
    }

    /// The flag itself.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Ends with the first of these that ends.
async fn first<F: Future + Unpin>(mut futures: Vec<F>) {
    std::future::poll_fn(|context| {
        let mut polled = futures.iter_mut().map(|future| std::pin::Pin::new(future).poll(context));
        if polled.any(|state| state.is_ready()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
