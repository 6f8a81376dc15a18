//! Look-ups outside that converters make, counted for the whole process: whoever asks adds to them, the
//! page of metrics shows them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Look-ups in Schema Registries.
pub static SCHEMA_LOOKUPS: Lookups = Lookups::new();

/// Counters since the start of the process.
#[derive(Debug)]
pub struct Lookups {
    requests: AtomicU64,
    failures: AtomicU64,
    known: AtomicU64,
    micros: AtomicU64,
}

/// What was counted until now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupCounts {
    /// Requests that were sent.
    pub requests: u64,
    /// Of these, those that had no usable answer.
    pub failures: u64,
    /// Look-ups that needed no request, since the answer was known.
    pub known: u64,
    /// Spent in requests, failed ones included.
    pub seconds: f64,
}

impl Lookups {
    const fn new() -> Lookups {
        Lookups {
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            known: AtomicU64::new(0),
            micros: AtomicU64::new(0),
        }
    }

    /// Notes a request and how long it took.
    pub fn asked(&self, took: Duration, failed: bool) {
        self.requests.fetch_add(1, Relaxed);
        self.failures.fetch_add(u64::from(failed), Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Relaxed);
    }

    /// Notes that nothing had to be asked.
    pub fn known(&self) {
        self.known.fetch_add(1, Relaxed);
    }

    pub fn counts(&self) -> LookupCounts {
        LookupCounts {
            requests: self.requests.load(Relaxed),
            failures: self.failures.load(Relaxed),
            known: self.known.load(Relaxed),
            seconds: self.micros.load(Relaxed) as f64 / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_failures_and_answers_that_were_known_are_counted() {
        let lookups = Lookups::new();
        lookups.asked(Duration::from_millis(250), false);
        lookups.asked(Duration::from_millis(500), true);
        lookups.known();
        let counts = LookupCounts { requests: 2, failures: 1, known: 1, seconds: 0.75 };
        assert_eq!(lookups.counts(), counts);
    }
}
