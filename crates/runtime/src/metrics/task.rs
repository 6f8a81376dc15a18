//! What one task counts.
//!
//! Every counter is written by one of the task's threads, once a batch, and read by anybody.

use super::budget::Budget;
use super::lag::Lags;
use super::phase::Phase;
use super::startups::Starts;
use super::window::{Windowed, Windows, now};
use crate::status::{Counters, State};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What kind of task it is that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// Whether it is a sink; else a source.
    pub(crate) sink: bool,
    /// The name of its consumer or producer.
    pub(crate) client_id: String,
    /// A source whose records come in transactions.
    pub(crate) transactional: bool,
}

/// The counters of a task since it was made.
#[derive(Debug)]
pub struct TaskMetrics {
    pub(super) about: OnceLock<About>,
    /// The worker's count of starts, until this one is told.
    starts: Option<Arc<Starts>>,
    budget: Arc<Budget>,
    start_told: AtomicBool,
    made: Duration,
    state: AtomicU8,
    /// When this state began, and the time in RUNNING before it, in milliseconds.
    state_since: AtomicU64,
    running_before: AtomicU64,
    retrying: AtomicBool,

    pub(super) read: Counted,
    pub(super) read_bytes: AtomicU64,
    pub(super) sent: Counted,
    pub(super) stored: Counted,
    pub(super) reported: AtomicU64,
    pub(super) ignored: AtomicU64,
    pub(super) fetched: AtomicU64,
    pub(super) fetched_bytes: AtomicU64,
    pub(super) refused: AtomicU64,

    /// Records of a batch.
    pub(super) batches: Windowed,
    /// Microseconds of a put of a sink, a poll of a source.
    pub(super) calls: Windowed,
    pub(super) active: AtomicU64,
    pub(super) active_window: Windowed,
    /// Records of a transaction.
    pub(super) transactions: Windowed,
    stages: [AtomicU64; 6],

    pub(super) commit_attempts: AtomicU64,
    pub(super) commits: Counted,
    /// Microseconds of a commit.
    pub(super) commit_times: Windowed,
    /// 1 for one that succeeded, 0 for one that failed.
    pub(super) commit_outcomes: Windowed,

    pub(super) failures: AtomicU64,
    pub(super) failed_records: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) logged: AtomicU64,
    pub(super) letters: AtomicU64,
    pub(super) letter_failures: AtomicU64,
    /// Milliseconds since 1970.
    pub(super) last_error: AtomicI64,

    pub(super) rebalances: AtomicU64,
    pub(super) queue_bytes: AtomicU64,
    lags: Mutex<Lags>,
}

/// A number that goes up, and how fast it does.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) total: AtomicU64,
    pub(super) window: Windowed,
}

impl Counted {
    fn new(windows: Windows) -> Counted {
        Counted { total: AtomicU64::new(0), window: Windowed::new(windows) }
    }

    fn add(&self, count: u64) {
        if count > 0 {
            self.total.fetch_add(count, Relaxed);
            self.window.record(count);
        }
    }
}

impl Default for TaskMetrics {
    fn default() -> Self {
        TaskMetrics::new(Windows::default(), None, Arc::default())
    }
}

/// Of this kind there is one a task, so that a zero costs nothing to write.
fn zero() -> AtomicU64 {
    AtomicU64::new(0)
}

impl TaskMetrics {
    pub(crate) fn new(
        windows: Windows,
        starts: Option<Arc<Starts>>,
        budget: Arc<Budget>,
    ) -> TaskMetrics {
        let made = now();
        let windowed = || Windowed::new(windows);
        TaskMetrics {
            about: OnceLock::new(),
            starts,
            budget,
            start_told: AtomicBool::new(false),
            made,
            state: AtomicU8::new(State::Unassigned as u8),
            state_since: AtomicU64::new(made.as_millis() as u64),
            running_before: zero(),
            retrying: AtomicBool::new(false),
            read: Counted::new(windows),
            read_bytes: zero(),
            sent: Counted::new(windows),
            stored: Counted::new(windows),
            reported: zero(),
            ignored: zero(),
            fetched: zero(),
            fetched_bytes: zero(),
            refused: zero(),
            batches: windowed(),
            calls: windowed(),
            active: zero(),
            active_window: windowed(),
            transactions: windowed(),
            stages: std::array::from_fn(|_| zero()),
            commit_attempts: zero(),
            commits: Counted::new(windows),
            commit_times: windowed(),
            commit_outcomes: windowed(),
            failures: zero(),
            failed_records: zero(),
            skipped: zero(),
            retries: zero(),
            logged: zero(),
            letters: zero(),
            letter_failures: zero(),
            last_error: AtomicI64::new(0),
            rebalances: zero(),
            queue_bytes: zero(),
            lags: Mutex::default(),
        }
    }

    /// The task is about to start.
    pub(crate) fn starting(&self) {
        if let Some(starts) = &self.starts {
            starts.attempt();
        }
    }

    /// Says what the task is; the first time counts.
    pub(crate) fn is(&self, about: About) {
        self.about.get_or_init(|| about);
    }

    /// The task's state is, or still is, this one.
    pub(crate) fn status(&self, state: State, retrying: bool) {
        self.retrying.store(retrying, Relaxed);
        let before = self.state.swap(state as u8, Relaxed);
        if before == state as u8 {
            return;
        }
        let now = now().as_millis() as u64;
        let since = self.state_since.swap(now, Relaxed);
        if before == State::Running as u8 {
            self.running_before.fetch_add(now.saturating_sub(since), Relaxed);
        }
        let told = matches!(state, State::Running | State::Failed);
        if told
            && let Some(starts) = &self.starts
            && !self.start_told.swap(true, Relaxed)
        {
            starts.done(state == State::Running);
        }
        if state == State::Failed {
            self.erred();
        }
    }

    /// The state's place among [`State::ALL`].
    pub fn state(&self) -> State {
        let number = self.state.load(Relaxed);
        State::ALL.into_iter().find(|state| *state as u8 == number).unwrap_or(State::Unassigned)
    }

    pub(super) fn is_retrying(&self) -> bool {
        self.retrying.load(Relaxed)
    }

    /// The shares of its time since it was made in which the task was RUNNING, and at rest until now.
    pub(super) fn ratios(&self) -> (f64, f64) {
        let now = now().as_millis() as u64;
        let age = now.saturating_sub(self.made.as_millis() as u64).max(1) as f64;
        let here = now.saturating_sub(self.state_since.load(Relaxed));
        let state = self.state();
        let current = if state == State::Running { here } else { 0 };
        let running = (self.running_before.load(Relaxed) + current) as f64 / age;
        let rest = if state == State::Unassigned { here as f64 / age } else { 0.0 };
        (running.min(1.0), rest.min(1.0))
    }

    /// A batch was read.
    pub(crate) fn read(&self, records: u64, bytes: u64) {
        self.read.add(records);
        self.read_bytes.fetch_add(bytes, Relaxed);
    }

    /// A batch was given to the connector of a sink, and it took so many microseconds.
    pub(crate) fn put(&self, records: u64, micros: u64) {
        self.sent.add(records);
        self.batches.record(records);
        self.calls.record(micros);
    }

    /// A poll of a source gave records, after so many microseconds.
    pub(crate) fn polled(&self, records: u64, micros: u64) {
        self.batches.record(records);
        self.calls.record(micros);
    }

    pub(crate) fn stored(&self, records: u64) {
        self.stored.add(records);
    }

    /// Records failed for good; `skipped`: the task goes on without them.
    pub(crate) fn reported(&self, records: u64) {
        if records > 0 {
            self.reported.fetch_add(records, Relaxed);
            self.skipped.fetch_add(records, Relaxed);
            self.record_failed(records);
        }
    }

    /// Records failed for good.
    pub(crate) fn record_failed(&self, records: u64) {
        self.failures.fetch_add(records, Relaxed);
        self.failed_records.fetch_add(records, Relaxed);
        self.erred();
    }

    pub(crate) fn ignored(&self, values: u64) {
        self.ignored.fetch_add(values, Relaxed);
    }

    pub(crate) fn fetched(&self, records: u64, bytes: u64) {
        self.fetched.fetch_add(records, Relaxed);
        self.fetched_bytes.fetch_add(bytes, Relaxed);
    }

    /// Kafka did not take a record.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(crate) fn active(&self, records: u64) {
        self.active.store(records, Relaxed);
        self.active_window.record(records);
    }

    pub(crate) fn transaction(&self, records: u64) {
        self.transactions.record(records);
    }

    pub(crate) fn spent(&self, stage: Phase, time: Duration) {
        if let Some(spent) = self.stages.get(stage as usize) {
            spent.fetch_add(time.as_nanos() as u64, Relaxed);
        }
    }

    pub(super) fn seconds(&self, stage: Phase) -> f64 {
        self.stages.get(stage as usize).map_or(0.0, |spent| spent.load(Relaxed) as f64 / 1e9)
    }

    /// Offsets are being committed.
    pub(crate) fn committing(&self) {
        self.commit_attempts.fetch_add(1, Relaxed);
    }

    /// ... and were, or were not.
    pub(crate) fn committed(&self, succeeded: bool, took: Duration) {
        if succeeded {
            self.commits.add(1);
            self.commit_times.record(took.as_micros() as u64);
        }
        self.commit_outcomes.record(u64::from(succeeded));
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
        self.erred();
    }

    fn erred(&self) {
        self.last_error.store(super::lag::now_ms(), Relaxed);
    }

    /// Lines of single records in the error log.
    pub(crate) fn logged(&self, lines: u64) {
        self.logged.fetch_add(lines, Relaxed);
    }

    /// Records were sent to the dead-letter topic, or could not be.
    pub(crate) fn letters(&self, records: u64, failed: bool) {
        self.letters.fetch_add(records, Relaxed);
        self.letter_failures.fetch_add(u64::from(failed), Relaxed);
    }

    /// The group has told the task which partitions it has.
    pub(crate) fn has_joined(&self) -> bool {
        self.rebalances.load(Relaxed) > 0
    }

    pub(crate) fn rebalanced(&self) {
        self.rebalances.fetch_add(1, Relaxed);
    }

    /// The task's queue has `after` bytes now, and had `before`.
    pub(crate) fn queued(&self, before: usize, after: usize) {
        self.queue_bytes.store(after as u64, Relaxed);
        self.budget.change(before, after);
    }

    /// The worker's, for the queues of all tasks.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Where the partitions stand. Somebody who reads the last report just now gets this one later.
    pub(crate) fn report(&self, lags: Lags) {
        if let Ok(mut slot) = self.lags.try_lock() {
            let before = std::mem::replace(&mut *slot, lags);
            drop(slot);
            drop(before);
        }
    }

    pub(super) fn lags(&self) -> Lags {
        self.lags.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The counters that a status has.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            records_read: self.read.total.load(Relaxed),
            records_stored: self.stored.total.load(Relaxed),
            records_reported: self.reported.load(Relaxed),
            values_ignored: self.ignored.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Format, Page, Startups};

    #[test]
    fn a_start_is_told_once_as_what_the_task_was_first() {
        let startups = Startups::default();
        let task = || {
            let starts = Some(startups.tasks.clone());
            let task = TaskMetrics::new(Windows::default(), starts, Arc::default());
            task.starting();
            task
        };
        let [good, bad, waiting] = [(); 3].map(|()| task());
        good.status(State::Running, false);
        good.status(State::Failed, false);
        bad.status(State::Failed, false);
        bad.status(State::Running, false);
        waiting.status(State::Unassigned, true);
        let mut page = Page::new(Format::Text);
        startups.write(&mut page);
        let text = page.finish();
        for (name, value) in [
            ("attempts_total", "3"),
            ("success_total", "1"),
            ("failure_total", "1"),
            ("failure_percentage", "0.5"),
        ] {
            let line = format!("kafka_connect_worker_task_startup_{name} {value}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(waiting.is_retrying() && !good.is_retrying());
        assert!(good.last_error.load(Relaxed) > 0 && waiting.last_error.load(Relaxed) == 0);
    }

    #[test]
    fn time_in_running_is_a_share_of_the_tasks_time() {
        let task = TaskMetrics::default();
        assert_eq!(task.ratios().0, 0.0);
        task.status(State::Running, false);
        let (running, rest) = task.ratios();
        assert!((0.0..=1.0).contains(&running) && rest == 0.0);
        task.status(State::Unassigned, false);
        let (running, rest) = task.ratios();
        assert!(running + rest <= 1.0 && task.state() == State::Unassigned);
    }
}
