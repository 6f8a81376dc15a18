//! The bytes that wait in several queues together: those of all tasks of a worker, those of a group.
//!
//! Invariant: what a queue has added it takes away again, at the latest when it is dropped.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A budget for records. Bytes that several queues share are counted by each.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    bytes: AtomicUsize,
    queues: AtomicUsize,
}

impl Default for Budget {
    /// One without a limit.
    fn default() -> Self {
        Budget::new(usize::MAX)
    }
}

impl Budget {
    pub fn new(bytes_max: usize) -> Budget {
        Budget { bytes_max, bytes: AtomicUsize::new(0), queues: AtomicUsize::new(0) }
    }

    /// What is used of it, in bytes.
    pub fn used_bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// What is left of it, in bytes.
    pub(crate) fn left_bytes(&self) -> usize {
        self.bytes_max.saturating_sub(self.used_bytes())
    }

    /// How many queues share it.
    pub(crate) fn queues(&self) -> usize {
        self.queues.load(Relaxed)
    }

    pub(crate) fn join(&self) {
        self.queues.fetch_add(1, Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.queues.fetch_sub(1, Relaxed);
    }

    /// A queue has `after` bytes now, and had `before`.
    pub(crate) fn change(&self, before: usize, after: usize) {
        if after >= before {
            self.bytes.fetch_add(after - before, Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Relaxed);
        }
    }
}
