//! A task's samples on the page.

use super::lag::{Lags, now_ms};
use super::page::Page;
use super::phase::Phase;
use super::table::Metric as M;
use super::task::{About, TaskMetrics};
use super::window::Summary;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many partitions may have series of their own on one page, and how many had to do without.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    left: usize,
    left_out: usize,
}

impl Default for Room {
    fn default() -> Self {
        const PARTITIONS_MAX: usize = 10_000;
        Room { left: PARTITIONS_MAX, left_out: 0 }
    }
}

impl Room {
    /// Says how many were left out.
    pub fn write(self, page: &mut Page) {
        page.add(M::PartitionsLeftOut, &[], self.left_out as f64);
    }
}

fn number(counter: &AtomicU64) -> f64 {
    counter.load(Relaxed) as f64
}

/// The mean of what was noted; where nothing was, what has been so all the time.
fn mean_or(noted: Summary, now: f64) -> f64 {
    if noted.count == 0 { now } else { noted.mean() }
}

/// Milliseconds.
fn ms(micros: f64) -> f64 {
    micros / 1e3
}

/// Where the samples of one task go.
struct Samples<'a> {
    page: &'a mut Page,
    connector: &'a str,
    task: &'a str,
}

impl Samples<'_> {
    fn add(&mut self, metric: M, value: f64) {
        self.page.add(metric, &[self.connector, self.task], value);
    }
}

impl TaskMetrics {
    /// Adds everything there is to say of the task. `paused`: what it does not do it is not meant to.
    pub fn write(
        &self,
        page: &mut Page,
        connector: &str,
        task: u32,
        paused: bool,
        room: &mut Room,
    ) {
        let task = task.to_string();
        let samples = &mut Samples { page, connector, task: &task };
        self.write_task(samples, paused);
        self.write_errors(samples);
        self.write_own(samples);
        match self.about.get() {
            Some(about) if about.sink => {
                self.write_sink(samples);
                self.write_consumer(samples, about);
                self.write_partitions(samples, room);
            }
            Some(about) => {
                self.write_source(samples, about);
                self.write_producer(samples, about);
            }
            None => {}
        }
    }

    fn write_task(&self, samples: &mut Samples<'_>, paused: bool) {
        let (running, rest) = self.ratios();
        samples.add(M::RunningRatio, running);
        samples.add(M::PauseRatio, if paused { rest } else { 0.0 });
        let times = self.commit_times.summary();
        samples.add(M::CommitMaxTime, ms(times.max));
        samples.add(M::CommitAvgTime, ms(times.mean()));
        let batches = self.batches.summary();
        samples.add(M::BatchSizeMax, batches.max);
        samples.add(M::BatchSizeAvg, batches.mean());
        let Summary { count, sum, .. } = self.commit_outcomes.summary();
        let share = |part: u64| if count == 0 { 0.0 } else { part as f64 / count as f64 };
        samples.add(M::CommitFailureShare, share(count.saturating_sub(sum)));
        samples.add(M::CommitSuccessShare, share(sum));
    }

    fn write_source(&self, samples: &mut Samples<'_>, about: &About) {
        samples.add(M::SourcePollRate, self.read.window.summary().rate());
        samples.add(M::SourcePollTotal, number(&self.read.total));
        samples.add(M::SourceWriteRate, self.stored.window.summary().rate());
        samples.add(M::SourceWriteTotal, number(&self.stored.total));
        let polls = self.calls.summary();
        samples.add(M::SourcePollMaxTime, ms(polls.max));
        samples.add(M::SourcePollAvgTime, ms(polls.mean()));
        let active = self.active_window.summary();
        samples.add(M::SourceActive, number(&self.active));
        samples.add(M::SourceActiveMax, active.max.max(number(&self.active)));
        samples.add(M::SourceActiveAvg, mean_or(active, number(&self.active)));
        if about.transactional {
            let sizes = self.transactions.summary();
            samples.add(M::TransactionMin, sizes.min);
            samples.add(M::TransactionMax, sizes.max);
            samples.add(M::TransactionAvg, sizes.mean());
        }
    }

    fn write_sink(&self, samples: &mut Samples<'_>) {
        samples.add(M::SinkReadRate, self.read.window.summary().rate());
        samples.add(M::SinkReadTotal, number(&self.read.total));
        samples.add(M::SinkSendRate, self.sent.window.summary().rate());
        samples.add(M::SinkSendTotal, number(&self.sent.total));
        samples.add(M::SinkCommitSeqNo, number(&self.commit_attempts));
        samples.add(M::SinkCommitRate, self.commits.window.summary().rate());
        samples.add(M::SinkCommitTotal, number(&self.commits.total));
        // The client tells outcomes in the order of the commits.
        samples.add(M::SinkSkipRate, 0.0);
        samples.add(M::SinkSkipTotal, 0.0);
        let puts = self.calls.summary();
        samples.add(M::SinkPutMaxTime, ms(puts.max));
        samples.add(M::SinkPutAvgTime, ms(puts.mean()));
        let active = self.active_window.summary();
        samples.add(M::SinkActive, number(&self.active));
        samples.add(M::SinkActiveMax, active.max.max(number(&self.active)));
        samples.add(M::SinkActiveAvg, mean_or(active, number(&self.active)));
    }

    fn write_errors(&self, samples: &mut Samples<'_>) {
        samples.add(M::RecordFailures, number(&self.failures));
        samples.add(M::RecordErrors, number(&self.failed_records));
        samples.add(M::RecordsSkipped, number(&self.skipped));
        samples.add(M::Retries, number(&self.retries));
        samples.add(M::ErrorsLogged, number(&self.logged));
        samples.add(M::LettersSent, number(&self.letters));
        samples.add(M::LettersFailed, number(&self.letter_failures));
        samples.add(M::LastError, self.last_error.load(Relaxed) as f64);
    }

    fn write_own(&self, samples: &mut Samples<'_>) {
        samples.add(M::TaskRead, number(&self.read.total));
        samples.add(M::TaskBytes, number(&self.read_bytes));
        samples.add(M::TaskStored, number(&self.stored.total));
        samples.add(M::TaskLetters, number(&self.reported));
        samples.add(M::TaskIgnored, number(&self.ignored));
        samples.add(M::TaskRetries, number(&self.retries));
        samples.add(M::TaskRetrying, f64::from(u8::from(self.is_retrying())));
        samples.add(M::TaskQueue, number(&self.queue_bytes));
        for stage in Phase::ALL {
            let labels = [samples.connector, samples.task, stage.name()];
            samples.page.add(M::TaskStage, &labels, self.seconds(stage));
        }
    }

    fn write_consumer(&self, samples: &mut Samples<'_>, about: &About) {
        let lags = self.lags();
        let labels = [about.client_id.as_str(), samples.connector, samples.task];
        let mut add = |metric, value| samples.page.add(metric, &labels, value);
        add(M::ConsumerRecords, number(&self.fetched));
        add(M::ConsumerBytes, number(&self.fetched_bytes));
        add(M::ConsumerPartitions, lags.assigned as f64);
        add(M::ConsumerRebalances, number(&self.rebalances));
        let furthest = lags.partitions.iter().map(|lag| lag.fetch_lag).max();
        add(M::ConsumerLagMax, furthest.map_or(f64::NAN, |lag| lag as f64));
    }

    fn write_producer(&self, samples: &mut Samples<'_>, about: &About) {
        let labels = [about.client_id.as_str(), samples.connector, samples.task];
        samples.page.add(M::ProducerRecords, &labels, number(&self.stored.total));
        samples.page.add(M::ProducerErrors, &labels, number(&self.refused));
    }

    fn write_partitions(&self, samples: &mut Samples<'_>, room: &mut Room) {
        let Lags { assigned, known, partitions } = self.lags();
        let now = now_ms();
        let age = |oldest: Option<i64>| {
            oldest.map_or(0.0, |at| now.saturating_sub(at).max(0) as f64 / 1e3)
        };
        samples.add(M::SinkPartitions, assigned as f64);
        if known {
            let furthest = partitions.iter().map(|lag| lag.lag).max();
            samples.add(M::SinkLagMax, furthest.map_or(f64::NAN, |lag| lag as f64));
            samples.add(M::TaskLag, partitions.iter().map(|lag| lag.lag).sum::<u64>() as f64);
            let oldest = partitions.iter().filter_map(|lag| lag.oldest).min();
            samples.add(M::TaskAge, age(oldest));
        }
        let shown = partitions.len().min(room.left);
        room.left -= shown;
        room.left_out += partitions.len() - shown;
        for lag in partitions.iter().take(shown) {
            let partition = lag.tp.partition.to_string();
            let labels = [samples.connector, samples.task, &*lag.tp.topic, &partition];
            samples.page.add(M::PartitionLag, &labels, lag.lag as f64);
            samples.page.add(M::PartitionSeconds, &labels, age(lag.oldest));
            samples.page.add(M::PartitionOffset, &labels, lag.stored as f64);
        }
    }
}
