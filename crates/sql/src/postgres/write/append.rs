//! When an upsert is tried as an append.
//!
//! Place in the data path: asked once per transaction of an upserting plan. Rows whose keys are all
//! new are written twice as fast by COPY; one key that exists costs a transaction that is rolled
//! back. So attempts go on while they succeed, and after a failure they pause for 1, 2, 4 …
//! transactions.

/// Longest pause between attempts, in transactions.
const PAUSE_MAX: u32 = 1024;

#[derive(Debug)]
pub(super) struct Append {
    /// Transactions until the next attempt.
    left: u32,
    /// The next pause.
    pause: u32,
}

impl Default for Append {
    fn default() -> Append {
        Append { left: 0, pause: 1 }
    }
}

impl Append {
    pub(super) fn is_due(&self) -> bool {
        self.left == 0
    }

    /// A transaction that could have been an attempt was not one.
    pub(super) fn passed(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    pub(super) fn failed(&mut self) {
        self.left = self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    pub(super) fn succeeded(&mut self) {
        self.pause = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_an_attempt_succeeds() {
        let mut append = Append::default();
        let mut attempts = 0;
        for _ in 0..1000 {
            if append.is_due() {
                attempts += 1;
                append.failed();
            } else {
                append.passed();
            }
        }
        assert_eq!(attempts, 10, "1000 transactions over existing keys");
        append.succeeded();
        append.left = 0;
        append.failed();
        assert_eq!(append.left, 1);
    }
}
