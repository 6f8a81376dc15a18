//! The breaker: tells a poison record from a wrong definition.
//!
//! One bad record among many is reported and the task goes on. When more than the tolerated share
//! of the recent records fail, the converter, the mapping or the table is wrong, and going on would
//! drain the topic into the dead letters. Pure; fed once a batch.

use std::collections::VecDeque;

/// The share is only judged over this many records or more.
pub const WINDOW_RECORDS: u64 = 100;

/// Counts outcomes over the last [`WINDOW_RECORDS`] or more records.
#[derive(Debug)]
pub struct Breaker {
    ratio_max: f64,
    window: VecDeque<(u64, u64)>,
}

impl Breaker {
    /// `ratio_max` 1 switches the breaker off.
    pub fn new(ratio_max: f64) -> Breaker {
        Breaker { ratio_max, window: VecDeque::new() }
    }

    /// Notes that of `records` records, now settled for good, `failed` were reported.
    pub fn note(&mut self, records: u64, failed: u64) {
        push(&mut self.window, records, failed);
    }

    /// Whether the definition must be wrong if `failed` of the next `records` records are reported:
    /// `Some((failed, records))` of the window if more than the tolerated share would fail.
    pub fn check(&self, records: u64, failed: u64) -> Option<(u64, u64)> {
        let mut window = self.window.clone();
        push(&mut window, records, failed);
        let (records, failed) = total(&window);
        let wrong = self.ratio_max < 1.0
            && records >= WINDOW_RECORDS
            && failed as f64 > records as f64 * self.ratio_max;
        wrong.then_some((failed, records))
    }
}

/// Adds an outcome and lets go of what is older than the last [`WINDOW_RECORDS`] records.
fn push(window: &mut VecDeque<(u64, u64)>, records: u64, failed: u64) {
    window.push_back((records, failed));
    while let Some(first) = window.front()
        && total(window).0 - first.0 >= WINDOW_RECORDS
    {
        window.pop_front();
    }
}

fn total(window: &VecDeque<(u64, u64)>) -> (u64, u64) {
    window.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_records_never_trip_it_and_many_bad_ones_do() {
        let mut breaker = Breaker::new(0.5);
        assert_eq!(breaker.check(99, 99), None);
        breaker.note(99, 99);
        assert_eq!(breaker.check(1, 1), Some((100, 100)));
        assert_eq!(breaker.check(1, 1), Some((100, 100)), "asking changes nothing");
    }

    #[test]
    fn old_outcomes_leave_the_window() {
        let mut breaker = Breaker::new(0.5);
        breaker.note(1_000, 0);
        breaker.note(60, 60);
        assert_eq!(breaker.check(39, 39), None, "99 of 1,099");
        assert_eq!(breaker.check(40, 40), Some((100, 100)));
        breaker.note(100, 0);
        assert_eq!(breaker.check(50, 50), None, "50 of 150: the 60 are gone");
        let mut off = Breaker::new(1.0);
        off.note(500, 500);
        assert_eq!(off.check(500, 500), None);
    }
}
