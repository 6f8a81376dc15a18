//! The memory that fetched bytes lie in, used again and again.
//!
//! Place in the data path: the fetch thread takes an arena for every batch; whoever lets go of the
//! batch last, usually after its transaction has ended, gives it back. So a task that is busy asks the
//! operating system for no pages, which would cost more than copying the bytes into them.
//!
//! Invariant: a pool keeps no more than its limits, whatever was taken from it.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// Arenas that a pool keeps at most.
const KEPT_MAX: usize = 8;

/// Bytes of a batch. Returns to its pool when dropped.
#[derive(Debug, Default)]
pub struct Arena {
    bytes: Vec<u8>,
    home: Option<Arc<Shelf>>,
}

impl Arena {
    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes room for so many bytes more.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }
}

impl Deref for Arena {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Arena {
    fn from(bytes: Vec<u8>) -> Arena {
        Arena { bytes, home: None }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            home.put(std::mem::take(&mut self.bytes));
        }
    }
}

/// Where the arenas of one task come from.
#[derive(Clone, Debug)]
pub struct ArenaPool {
    shelf: Arc<Shelf>,
}

#[derive(Debug)]
struct Shelf {
    /// Empty vectors; the one that came last is taken first, since it may still be in a cache.
    free: Mutex<Vec<Vec<u8>>>,
    bytes_max: usize,
}

impl ArenaPool {
    /// A pool that keeps at most `bytes_max` bytes of memory that is not in use.
    pub fn new(bytes_max: usize) -> ArenaPool {
        ArenaPool { shelf: Arc::new(Shelf { free: Mutex::default(), bytes_max }) }
    }

    /// An empty arena.
    pub fn take(&self) -> Arena {
        let free = self.shelf.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Arena { bytes: free.unwrap_or_default(), home: Some(self.shelf.clone()) }
    }
}

impl Shelf {
    fn put(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = free.iter().map(Vec::capacity).sum();
        if bytes.capacity() > 0
            && free.len() < KEPT_MAX
            && kept + bytes.capacity() <= self.bytes_max
        {
            free.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_returns_empty_when_its_last_holder_lets_go() {
        let pool = ArenaPool::new(1 << 20);
        let mut arena = pool.take();
        arena.extend_from_slice(&[7; 1000]);
        let place = arena.as_ptr();
        let shared = Arc::new(arena);
        let other = shared.clone();
        drop(shared);
        assert!(pool.take().as_ptr() != place, "still held");
        drop(other);
        let again = pool.take();
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }

    #[test]
    fn a_pool_keeps_no_more_than_its_limits() {
        let kept = |pool: &ArenaPool| {
            let free = pool.shelf.free.lock().unwrap();
            (free.len(), free.iter().map(Vec::capacity).sum::<usize>())
        };
        let pool = ArenaPool::new(10_000);
        let arenas: Vec<Arena> = (0..20)
            .map(|n| {
                let mut arena = pool.take();
                arena.extend_from_slice(&vec![1; 100 * n]);
                arena
            })
            .collect();
        let mut huge = pool.take();
        huge.reserve(10_001);
        drop(huge);
        assert_eq!(kept(&pool), (0, 0));
        drop(arenas);
        let (count, bytes) = kept(&pool);
        assert!(count == KEPT_MAX && bytes <= 10_000, "{count} {bytes}");
    }
}
