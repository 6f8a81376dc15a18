//! Waking a thread that waits on librdkafka queues: a socket pair that queues, and other threads
//! through [`Waker`], write a byte to.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::ffi;

/// When `after` will have passed; a wait without end is a day.
pub(crate) fn deadline(after: Duration) -> Instant {
    Instant::now() + after.min(Duration::from_secs(24 * 60 * 60))
}

/// A wait in milliseconds; rounded up, so that one of less than a millisecond does not spin.
pub(crate) fn millis(wait: Duration) -> i32 {
    wait.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32
}

/// The waiting side.
pub(crate) struct Wake {
    read: UnixStream,
    write: Arc<Target>,
}

#[derive(Debug)]
struct Target {
    stream: UnixStream,
    by_hand: AtomicBool,
}

/// Ends the wait of the thread that polls the client. Cheap to clone; outlives the client harmlessly.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Target>);

impl Waker {
    pub fn wake(&self) {
        self.0.by_hand.store(true, Ordering::Release);
        // A full pipe means that a wake-up is pending already.
        let _ = (&self.0.stream).write(b"1");
    }
}

impl Wake {
    pub(crate) fn new() -> Result<Wake> {
        let pair = || -> std::io::Result<(UnixStream, UnixStream)> {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            write.set_nonblocking(true)?;
            Ok((read, write))
        };
        let (read, write) = pair().map_err(|e| {
            Error::new(ErrorKind::Other, format!("cannot open a socket pair: {e}"))
                .with_hint("raise the limit of open files")
        })?;
        let write = Arc::new(Target { stream: write, by_hand: AtomicBool::new(false) });
        Ok(Wake { read, write })
    }

    /// The descriptor that queues write to.
    pub(crate) fn target(&self) -> BorrowedFd<'_> {
        self.write.stream.as_fd()
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker(self.write.clone())
    }

    /// Whether a [`Waker`] was used since the last call.
    pub(crate) fn by_hand(&self) -> bool {
        self.write.by_hand.swap(false, Ordering::AcqRel)
    }

    /// Forgets wake-ups so far. Call it before looking at the queues, never after.
    pub(crate) fn clear(&self) {
        let mut sink = [0; 64];
        while matches!((&self.read).read(&mut sink), Ok(n) if n == sink.len()) {}
    }

    /// Waits for a wake-up, at most `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) {
        ffi::wait_readable(self.read.as_fd(), timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_before_the_wait_is_not_lost() {
        let wake = Wake::new().unwrap();
        let waker = wake.waker();
        for _ in 0..100 {
            waker.wake();
        }
        wake.wait(Duration::from_secs(60));
        wake.clear();
        assert!(wake.by_hand() && !wake.by_hand());
        std::thread::spawn(move || waker.wake());
        wake.wait(Duration::from_secs(60));
    }
}
