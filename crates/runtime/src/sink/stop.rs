//! How a task is told to stop, and in which manner.

use kafka::Waker;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What becomes of the task's seat in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// The task is expected back (restart, shutdown): the seat is kept, nobody else rebalances.
    Stay,
    /// The task is stopped, deleted or moved: the group is left at once.
    Leave,
}

impl StopMode {
    /// A group is let go within two seconds even if the destination does not answer.
    pub(crate) const LEAVE_WAIT: Duration = Duration::from_millis(1_200);
}

#[derive(Clone, Default)]
pub(crate) struct StopSignal {
    mode: Arc<AtomicU8>,
    waker: Arc<Mutex<Option<Waker>>>,
    told: Arc<Condvar>,
}

impl StopSignal {
    pub(crate) fn mode(&self) -> Option<StopMode> {
        match self.mode.load(Ordering::Acquire) {
            0 => None,
            1 => Some(StopMode::Stay),
            _ => Some(StopMode::Leave),
        }
    }

    /// Waits, at most so long, for the task to be told to stop.
    pub(crate) fn wait(&self, timeout: Duration) {
        let stopped = |_: &mut Option<Waker>| self.mode().is_none();
        // Poisoned or not: whether it was told is in the mode.
        drop(self.told.wait_timeout_while(self.waker(), timeout, stopped));
    }

    /// The client to wake; it takes the place of an earlier one.
    pub(crate) fn wake_with(&self, waker: Waker) {
        *self.waker() = Some(waker);
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self, mode: StopMode) {
        let value = if mode == StopMode::Stay { 1 } else { 2 };
        self.mode.store(value, Ordering::Release);
        let waker = self.waker();
        self.told.notify_all();
        if let Some(waker) = waker.as_ref() {
            waker.wake();
        }
    }
}
