//! How a task is told to stop, and in which manner.

use kafka::Waker;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
}

impl StopSignal {
    pub(crate) fn mode(&self) -> Option<StopMode> {
        match self.mode.load(Ordering::Acquire) {
            0 => None,
            1 => Some(StopMode::Stay),
            _ => Some(StopMode::Leave),
        }
    }

    /// The consumer to wake; it takes the place of an earlier one.
    pub(crate) fn wake_with(&self, waker: Waker) {
        *self.waker() = Some(waker);
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self, mode: StopMode) {
        let value = if mode == StopMode::Stay { 1 } else { 2 };
        self.mode.store(value, Ordering::Release);
        if let Some(waker) = self.waker().as_ref() {
            waker.wake();
        }
    }
}
