//! How many connectors and tasks were started, and how that went.

use super::page::Page;
use super::table::Metric;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Starts of one kind of thing.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    attempts: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
}

impl Starts {
    pub(crate) fn attempt(&self) {
        self.attempts.fetch_add(1, Relaxed);
    }

    pub(crate) fn done(&self, succeeded: bool) {
        let counter = if succeeded { &self.succeeded } else { &self.failed };
        counter.fetch_add(1, Relaxed);
    }

    /// `metrics`: attempts, success and its share, failure and its share.
    fn write(&self, page: &mut Page, metrics: [Metric; 5]) {
        let (good, bad) = (self.succeeded.load(Relaxed) as f64, self.failed.load(Relaxed) as f64);
        let attempts = self.attempts.load(Relaxed) as f64;
        let share = |part: f64| if good + bad > 0.0 { part / (good + bad) } else { 0.0 };
        let values = [attempts, good, share(good), bad, share(bad)];
        for (metric, value) in metrics.into_iter().zip(values) {
            page.add(metric, &[], value);
        }
    }
}

/// The starts of a worker's connectors and tasks.
#[derive(Debug, Default)]
pub struct Startups {
    pub(crate) connectors: Starts,
    pub(crate) tasks: Arc<Starts>,
}

impl Startups {
    pub fn write(&self, page: &mut Page) {
        use Metric as M;
        self.connectors.write(
            page,
            [
                M::ConnectorStartAttempts,
                M::ConnectorStartSuccess,
                M::ConnectorStartSuccessShare,
                M::ConnectorStartFailure,
                M::ConnectorStartFailureShare,
            ],
        );
        self.tasks.write(
            page,
            [
                M::TaskStartAttempts,
                M::TaskStartSuccess,
                M::TaskStartSuccessShare,
                M::TaskStartFailure,
                M::TaskStartFailureShare,
            ],
        );
    }
}
