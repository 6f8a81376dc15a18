//! Rates, means and extremes of the last while, as Kafka's metrics have them: over a number of windows,
//! the youngest of which is not over yet.
//!
//! One thread records, any thread reads, nobody waits: a reader that comes just when a window begins may
//! miss what was recorded in that moment.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Time on a clock of the process's own.
pub(crate) fn now() -> Duration {
    BEGIN.elapsed()
}

/// Most windows that are kept.
const WINDOWS_MAX: u32 = 60;

/// How long values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// `metrics.num.samples`
    pub count: u32,
    /// `metrics.sample.window.ms`
    pub length_ms: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Windows { count: 2, length_ms: 30_000 }
    }
}

/// One window's values. `number` counts windows from 1.
#[derive(Debug, Default)]
struct Slot {
    number: AtomicU64,
    count: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
    min: AtomicU64,
}

/// Values of the last windows.
#[derive(Debug)]
pub(crate) struct Windowed {
    length_ms: u64,
    slots: Box<[Slot]>,
}

/// What they come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) count: u64,
    pub(crate) sum: u64,
    /// NaN without values.
    pub(crate) max: f64,
    pub(crate) min: f64,
    /// The time that it is about.
    seconds: f64,
}

impl Summary {
    /// NaN without values.
    pub(crate) fn mean(self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.sum as f64 / self.count as f64 }
    }

    /// The sum of the values a second.
    pub(crate) fn rate(self) -> f64 {
        if self.sum == 0 { 0.0 } else { self.sum as f64 / self.seconds }
    }
}

impl Windowed {
    pub(crate) fn new(windows: Windows) -> Windowed {
        let count = windows.count.clamp(1, WINDOWS_MAX);
        let slots = (0..count).map(|_| Slot::default()).collect();
        Windowed { length_ms: windows.length_ms.max(1), slots }
    }

    pub(crate) fn record(&self, value: u64) {
        self.record_at(value, now());
    }

    fn record_at(&self, value: u64, now: Duration) {
        let number = now.as_millis() as u64 / self.length_ms + 1;
        let place = (number % self.slots.len() as u64) as usize;
        let Some(slot) = self.slots.get(place) else { return };
        if slot.number.load(Relaxed) != number {
            slot.count.store(0, Relaxed);
            slot.sum.store(0, Relaxed);
            slot.max.store(0, Relaxed);
            slot.min.store(u64::MAX, Relaxed);
            slot.number.store(number, Relaxed);
        }
        slot.sum.fetch_add(value, Relaxed);
        slot.max.fetch_max(value, Relaxed);
        slot.min.fetch_min(value, Relaxed);
        slot.count.fetch_add(1, Relaxed);
    }

    pub(crate) fn summary(&self) -> Summary {
        self.summary_at(now())
    }

    fn summary_at(&self, now: Duration) -> Summary {
        let millis = now.as_millis() as u64;
        let number = millis / self.length_ms + 1;
        let before = self.slots.len() as u64 - 1;
        let whole = before * self.length_ms;
        let millis = (whole + millis % self.length_ms).max(1);
        let mut all = Summary {
            count: 0,
            sum: 0,
            max: f64::NAN,
            min: f64::NAN,
            seconds: millis as f64 / 1e3,
        };
        for slot in &self.slots {
            let (own, count) = (slot.number.load(Relaxed), slot.count.load(Relaxed));
            if own > number || own + before < number || count == 0 {
                continue;
            }
            all.count += count;
            all.sum += slot.sum.load(Relaxed);
            all.max = all.max.max(slot.max.load(Relaxed) as f64);
            all.min = all.min.min(slot.min.load(Relaxed) as f64);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn values_count_for_the_windows_that_are_kept() {
        let windowed = Windowed::new(Windows { count: 2, length_ms: 1_000 });
        let empty = windowed.summary_at(at(500));
        assert_eq!((empty.count, empty.rate()), (0, 0.0));
        assert!(empty.mean().is_nan() && empty.max.is_nan() && empty.min.is_nan());
        windowed.record_at(4, at(500));
        windowed.record_at(10, at(900));
        windowed.record_at(1, at(1_500));
        let both = windowed.summary_at(at(1_500));
        assert_eq!((both.count, both.sum, both.max, both.min), (3, 15, 10.0, 1.0));
        assert_eq!((both.mean(), both.rate()), (5.0, 10.0));
        let later = windowed.summary_at(at(2_000));
        assert_eq!((later.count, later.max), (1, 1.0));
        assert_eq!(windowed.summary_at(at(3_000)).count, 0);
        windowed.record_at(7, at(3_000));
        assert_eq!(windowed.summary_at(at(3_999)).sum, 7);
    }
}
