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

    /// Notes `failed` of `records` records and says whether the definition must be wrong:
    /// `Some((failed, records))` of the window if more than the share failed.
    pub fn note(&mut self, records: u64, failed: u64) -> Option<(u64, u64)> {
        self.window.push_back((records, failed));
        let mut total = self.total();
        while let Some(first) = self.window.front()
            && total.0 - first.0 >= WINDOW_RECORDS
        {
            self.window.pop_front();
            total = self.total();
        }
        let (records, failed) = total;
        let wrong = self.ratio_max < 1.0
            && records >= WINDOW_RECORDS
            && failed as f64 > records as f64 * self.ratio_max;
        wrong.then_some((failed, records))
    }

    fn total(&self) -> (u64, u64) {
        self.window.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_records_never_trip_it_and_many_bad_ones_do() {
        let mut breaker = Breaker::new(0.5);
        assert_eq!(breaker.note(99, 99), None);
        assert_eq!(breaker.note(1, 1), Some((100, 100)));
    }

    #[test]
    fn old_outcomes_leave_the_window() {
        let mut breaker = Breaker::new(0.5);
        assert_eq!(breaker.note(1_000, 0), None);
        assert_eq!(breaker.note(60, 60), None, "60 of 1,060");
        assert_eq!(breaker.note(60, 60), Some((120, 120)));
        let mut off = Breaker::new(1.0);
        assert_eq!(off.note(500, 500), None);
    }
}
