//! Waits between attempts at something outside: doubling, capped, with jitter.

use std::time::Duration;

/// Doubles from `first` to `max`. Jitter is the caller's number, so that this stays pure.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    attempts: u32,
}

impl Backoff {
    pub fn new(first: Duration, max: Duration) -> Backoff {
        Backoff { first, max, attempts: 0 }
    }

    /// Attempts that have failed since the last success.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    pub fn succeeded(&mut self) {
        self.attempts = 0;
    }

    /// Notes a failure and gives the wait before the next attempt: between 75 % and 100 % of the
    /// doubled delay, by `jitter` in 0..1.
    pub fn failed(&mut self, jitter: f64) -> Duration {
        let doubled = self.first.saturating_mul(1 << self.attempts.min(20));
        self.attempts = self.attempts.saturating_add(1);
        doubled.min(self.max).mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 4.0)
    }
}

/// Spreads retries of many tasks; the hash state of a new map is random enough for that.
pub(crate) fn jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(0_u8);
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_to_the_cap_and_starts_over_after_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let waits: Vec<_> = (0..6).map(|_| backoff.failed(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(backoff.attempts(), 6);
        backoff.succeeded();
        assert_eq!(backoff.failed(0.0).as_millis(), 75);
    }
}
