//! How consumers fare, put together from their lanes.

use super::Router;
use super::destination::{Destination, Failure, Feed};
use std::collections::BTreeMap;
use std::time::Duration;

/// One consumer in this process.
#[derive(Clone, Debug, Default)]
pub(in crate::worker) struct Report {
    /// Partitions that this member has.
    pub(in crate::worker) partitions: usize,
    /// Of these, not opened yet.
    pub(in crate::worker) opening: usize,
    /// Of these, with records from before the opening to be written.
    pub(in crate::worker) behind: usize,
    /// What is being retried.
    pub(in crate::worker) retrying: Option<String>,
    /// What ended a lane.
    pub(in crate::worker) failure: Option<Failure>,
}

/// A hiccup that is over sooner is not worth a report.
const RETRY_WORTH_TELLING: Duration = Duration::from_millis(300);

impl Router {
    /// By consumer.
    pub(in crate::worker) fn reports(&self) -> BTreeMap<i32, Report> {
        let mut reports: BTreeMap<i32, Report> = BTreeMap::new();
        for destination in self.lock().destinations.values_mut() {
            destination.listen();
            let told = destination.report();
            for consumer in &destination.consumers {
                reports.entry(*consumer).or_default().add(&told);
            }
        }
        reports
    }
}

impl Report {
    fn add(&mut self, lane: &Report) {
        self.partitions += lane.partitions;
        self.opening += lane.opening;
        self.behind += lane.behind;
        if self.failure.is_none() {
            self.failure.clone_from(&lane.failure);
        }
        if self.retrying.is_none() {
            self.retrying.clone_from(&lane.retrying);
        }
    }
}

impl Destination {
    /// How this lane fares.
    fn report(&self) -> Report {
        let mut report = Report { failure: self.failure.clone(), ..Report::default() };
        for (partition, feed) in &self.feeds {
            report.partitions += 1;
            match feed {
                Feed::Opening => report.opening += 1,
                Feed::Live(_) | Feed::Joining(_) => {
                    report.behind += usize::from(self.is_catching_up(*partition));
                }
                Feed::Behind(_) | Feed::Reading { .. } => report.behind += 1,
            }
        }
        let retrying = self.status.get().retrying.filter(|retrying| {
            retrying.since.elapsed().is_ok_and(|since| since >= RETRY_WORTH_TELLING)
        });
        report.retrying = retrying.map(|retrying| retrying.reason);
        report
    }
}
