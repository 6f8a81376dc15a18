//! The loop of a source task: poll, transform, encode, send, and store where things stand.
//!
//! One thread does it all. A session goes from taking up position to the first error; what can pass by
//! itself begins a new session at the stored offsets after a pause, so that whatever was on its way is
//! given again. Invariant: an offset is stored only when everything before it is in Kafka, was
//! filtered, or was reported.

use super::acknowledged::{Acknowledged, ROWS_MAX, RecordId, Submitted};
use super::encode::Encoder;
use super::letters::{Given, Letters};
use super::offsets::OffsetStore;
use super::output::{Delivered, OFFSET_ID, Output};
use super::refusals::{Origin, PRODUCER, fenced};
use super::settings::SourceTaskSettings;
use super::singly::Singly;
use super::storing::STALLED_AFTER;
use super::topics::Topics;
use crate::chain::Step;
use crate::errors::explain_all;
use crate::errors::{Backoff, Breaker, Repeats};
use crate::metrics::{Phase, Watch};
use crate::sink::{StopSignal, kafka_error};
use crate::status::{Retrying, State, StatusCell};
use api::{
    Cancel, Error, ErrorKind, PollLimits, Polled, Result, SourceBatch, SourceMap, SourceTask,
    StoredOffsets,
};
use data::{Batch, Reject, Stage};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// A task that has nothing is asked again after this, unless it says when.
const IDLE_WAIT: Duration = Duration::from_millis(100);
/// Offsets are to be stored in time whatever a task says.
const IDLE_WAIT_MAX: Duration = Duration::from_secs(1);
/// What takes larger records, on the way and in the topic.
const RAISE_LIMITS: &str =
    "raise producer.override.max.request.size and the topic's max.message.bytes";
pub(super) const FULL_WAIT: Duration = Duration::from_millis(100);

/// A source task and everything it works with.
pub(crate) struct Work {
    pub(crate) task: Box<dyn SourceTask>,
    pub(crate) steps: Vec<Step>,
    pub(crate) encoder: Encoder,
    pub(crate) settings: SourceTaskSettings,
    pub(crate) status: StatusCell,
    pub(crate) stop: StopSignal,
    pub(crate) topics: Topics,
    pub(crate) letters: Option<Letters>,
    pub(super) state: Progress,
}

/// Where a session stands.
pub(super) struct Progress {
    pub(super) acked: Acknowledged,
    /// Offsets that may be stored and are not yet, the last of each partition.
    pub(super) storable: Vec<(Arc<SourceMap>, SourceMap)>,
    pub(super) stored_at: Instant,
    /// Storing failed: not again before this.
    pub(super) store_again_at: Option<Instant>,
    pub(super) backoff: Backoff,
    pub(super) breaker: Breaker,
    pub(super) retry_since: Option<SystemTime>,
    /// When something was acknowledged last, or there was nothing to wait for.
    pub(super) progress_at: Instant,
    /// When the status was told last that there is no progress.
    pub(super) told_at: Instant,
    /// Set once the task is to stop.
    pub(super) stop_until: Option<Instant>,
    pub(super) notice: Option<String>,
    pub(super) singly: Singly,
    /// Records acknowledged since the last transaction ended.
    pub(super) in_transaction: u64,
    /// The last transaction could not be committed: that records arrive again proves nothing.
    pub(super) commit_failed: bool,
    /// What is said in the log of records that could not be sent.
    pub(super) repeats: Repeats,
    /// Where it goes on was told.
    told_resume: bool,
    /// A batch waits until it can be encoded.
    holding: bool,
    /// Sessions that have ended.
    sessions: u64,
}

/// What a task asks when it takes up position.
struct Stored<'a>(&'a dyn OffsetStore, &'a str);

impl StoredOffsets for Stored<'_> {
    fn offset(&self, partition: &SourceMap) -> Result<Option<SourceMap>> {
        self.0.get(self.1, partition)
    }
}

impl Work {
    #[allow(clippy::too_many_arguments, reason = "made in one place")]
    pub(crate) fn new(
        task: Box<dyn SourceTask>,
        steps: Vec<Step>,
        mut encoder: Encoder,
        settings: SourceTaskSettings,
        status: StatusCell,
        stop: StopSignal,
    ) -> Work {
        let asked = stop.clone();
        let stopped: Cancel = Arc::new(move || asked.mode().is_some());
        encoder.set_cancel(&stopped);
        let state = Progress {
            acked: Acknowledged::default(),
            storable: Vec::new(),
            stored_at: Instant::now(),
            store_again_at: None,
            backoff: Backoff::new(BACKOFF_FIRST, settings.retry_backoff_max),
            breaker: Breaker::new(settings.tolerance_ratio_max),
            retry_since: None,
            progress_at: Instant::now(),
            told_at: Instant::now(),
            stop_until: None,
            notice: None,
            singly: Singly::default(),
            in_transaction: 0,
            commit_failed: false,
            repeats: Repeats::default(),
            told_resume: false,
            holding: false,
            sessions: 0,
        };
        let offsets = match &settings.delivered {
            Delivered::ExactlyOnce { offsets, .. } => Some(offsets.topic().to_owned()),
            Delivered::AtLeastOnce => None,
        };
        let topics = Topics::new(settings.topic_groups.clone(), settings.admin.clone(), offsets);
        let letters = settings.dead_letters.clone().map(|topic| {
            let (admin, metrics) = (settings.admin.clone(), status.metrics().clone());
            Letters::new(topic, admin, &settings.error_log, stop.clone(), metrics)
        });
        Work { task, steps, encoder, settings, status, stop, topics, letters, state }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.mode().is_some()
    }

    /// Runs until stopped or failed. `Err` is what the task is FAILED with.
    pub(crate) fn run(mut self) -> Result<()> {
        loop {
            match self.session() {
                Err(error) if self.can_go_on(&error) => {
                    self.pause(&error);
                    self.state.sessions += 1;
                    // What was on its way is given again, from the stored offsets on.
                    self.state.acked = Acknowledged::default();
                    self.status.metrics().active(0);
                    self.state.in_transaction = 0;
                    self.state.holding = false;
                    self.state.storable.clear();
                }
                Err(error) if error.kind == ErrorKind::Cancelled => return Ok(()),
                other => return other.map_err(fenced),
            }
            if self.stopped() {
                return Ok(());
            }
        }
    }

    fn session(&mut self) -> Result<()> {
        if self.state.sessions > 0 && !self.is_rightful()? {
            return Ok(());
        }
        let (producer, how) = (self.producer_settings(), self.settings.delivered.clone());
        self.state.progress_at = Instant::now();
        let mut output = Output::connect(&producer, &how, &mut |error| {
            if self.stopped() {
                return Err(Error::cancelled());
            }
            self.waiting(error)
        })?;
        self.stop.wake_with(output.waker());
        if !self.is_rightful()? {
            return Ok(());
        }
        match self.rounds(&mut output) {
            Ok(()) => self.finish(&mut output),
            Err(error) if error.kind == ErrorKind::Cancelled => self.finish(&mut output),
            Err(error) => Err(self.broken_off(&mut output, error)),
        }
    }

    /// A connector that is made again under a name that was used goes on where that one was, which is
    /// worth a word. The first task tells it for all.
    fn tell_resume(&self, store: &dyn OffsetStore) -> Result<()> {
        const SHOWN_MAX: usize = 3;
        if self.settings.task != 0 {
            return Ok(());
        }
        let stored = store.list(&self.settings.connector)?;
        let text = |(partition, offset)| {
            format!(
                "{} at {}",
                serde_json::Value::Object(partition),
                serde_json::Value::Object(offset)
            )
        };
        let count = stored.len();
        let mut shown: Vec<String> = stored.into_iter().take(SHOWN_MAX).map(text).collect();
        if count > SHOWN_MAX {
            shown.push(format!("and {} more", count - SHOWN_MAX));
        }
        if count > 0 {
            tracing::info!("resuming from stored offsets: {}", shown.join(", "));
        }
        Ok(())
    }

    /// Polls and sends until stopped.
    fn rounds(&mut self, output: &mut Output) -> Result<()> {
        let stop = self.stop.clone();
        self.settings.store.refresh(&move || stop.mode().is_some())?;
        let store = self.settings.store.clone();
        if !std::mem::replace(&mut self.state.told_resume, true) {
            self.tell_resume(&*store)?;
        }
        self.task.start(&Stored(&*store, &self.settings.connector))?;
        let limits = PollLimits {
            rows_max: self.settings.batch_rows_max.min(ROWS_MAX),
            bytes_max: self.settings.batch_bytes_max,
        };
        self.status.update(|status| status.state = State::Running);
        while !self.stopped() {
            let polled = self.poll(&limits);
            let answered = polled.is_ok();
            let polled = match polled {
                Ok(polled) => polled,
                Err(error) if error.kind == ErrorKind::Retriable => {
                    self.pause(&error);
                    Polled::default()
                }
                Err(error) => return Err(error),
            };
            self.say_notice();
            self.state.repeats.warn_due();
            let gave = !polled.batches.is_empty();
            for batch in polled.batches {
                self.give(output, batch)?;
            }
            let busy = if gave { Duration::ZERO } else { IDLE_WAIT };
            self.end_of_poll(output, polled.boundary)?;
            if answered && output.in_flight() == 0 {
                self.settled();
            }
            let wait = polled.idle.unwrap_or(busy).min(IDLE_WAIT_MAX);
            self.serve(output, wait)?;
        }
        Ok(())
    }

    fn poll(&mut self, limits: &PollLimits) -> Result<Polled> {
        let mut watch = Watch::start(self.status.metrics());
        let polled = self.task.poll(limits);
        let micros = watch.end(Phase::Fetch);
        let batches = polled.iter().flat_map(|polled| &polled.batches);
        let records: usize = batches.map(|batch| batch.records.len()).sum();
        if records > 0 {
            self.status.metrics().polled(records as u64, micros);
        }
        polled
    }

    /// Takes one batch all the way to the producer.
    fn give(&mut self, output: &mut Output, batch: SourceBatch) -> Result<()> {
        let metrics = self.status.metrics().clone();
        let known = self.known_refused(&batch);
        let SourceBatch { mut records, partition, offsets } = batch;
        let rows = records.len();
        metrics.read(rows as u64, records.raw.bytes() as u64);
        let submitted = self.state.acked.submit(&partition, offsets, rows);
        metrics.active(self.state.acked.open());
        let mut watch = Watch::start(&metrics);
        let kept = self.letters.is_some() && !self.steps.is_empty();
        let given = kept.then(|| Given::of(&records));
        for step in &mut self.steps {
            if records.alive.count() == 0 {
                break;
            }
            step.apply(&mut records);
        }
        explain_all(&mut records, self.settings.error_log.coordinates);
        watch.end(Phase::Transform);
        if records.alive.count() > 0 {
            self.encode(output, &mut records)?;
        }
        watch.end(Phase::Encode);
        self.check_timestamps(&mut records);
        for reject in known {
            records.reject(reject);
        }
        let mut sent_up_to = 0;
        let rejects = std::mem::take(&mut records.rejects);
        self.breaker(rows, rejects.len())?;
        for reject in rejects {
            let row = reject.row as usize;
            self.send_rows(output, &records, &partition, submitted, sent_up_to..row)?;
            sent_up_to = row + 1;
            let (id, given) = (submitted.id(row), given.as_ref());
            let origin = Origin { records: &records, partition: &partition, id, given };
            self.refuse(output, &origin, reject)?;
            self.state.acked.done(id);
        }
        let sent = self.send_rows(output, &records, &partition, submitted, sent_up_to..rows);
        watch.end(Phase::Write);
        sent
    }

    /// Encodes a batch. What a converter cannot reach is waited for, with the batch in hand: nothing of
    /// it was sent, and nothing is polled meanwhile.
    fn encode(&mut self, output: &mut Output, records: &mut Batch) -> Result<()> {
        loop {
            let error = match self.encoder.encode(records) {
                Err(error) if error.kind == ErrorKind::Retriable => error,
                other => {
                    self.state.holding = false;
                    return other;
                }
            };
            self.state.holding = true;
            let until = Instant::now() + self.failed(&error);
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                self.serve(output, left.min(FULL_WAIT))?;
                if self.stopped() {
                    return Err(Error::cancelled());
                }
            }
        }
    }

    fn send_rows(
        &mut self,
        output: &mut Output,
        records: &Batch,
        partition: &Arc<SourceMap>,
        submitted: Submitted,
        range: std::ops::Range<usize>,
    ) -> Result<()> {
        let mut touched = None;
        for row in range {
            if !records.alive.is_alive(row) {
                // Filtered on purpose.
                self.state.acked.done(submitted.id(row));
                continue;
            }
            let topic = records.topic(row);
            self.topics.ensure(topic)?;
            self.send(output, records, partition, row, submitted.id(row))?;
            if touched != Some(topic) {
                self.status.touch(topic);
                touched = Some(topic);
            }
        }
        Ok(())
    }

    fn send(
        &mut self,
        output: &mut Output,
        records: &Batch,
        partition: &Arc<SourceMap>,
        row: usize,
        id: RecordId,
    ) -> Result<()> {
        loop {
            let mut headers = Vec::new();
            let record = self.encoder.record(records, row, &mut headers, id.number());
            match output.send(&record) {
                Ok(()) => return self.sent(output, records, partition, row, id),
                Err(error) if error.kind() == kafka::ErrorKind::QueueFull => {
                    self.serve(output, FULL_WAIT)?;
                    if self.stopped() {
                        return Err(Error::cancelled());
                    }
                }
                Err(error) if error.kind() == kafka::ErrorKind::TooLarge => {
                    let text = format!("{error}: {RAISE_LIMITS}");
                    let reject = Reject::data(row, Stage::KafkaProduce, PRODUCER, text);
                    self.refuse(output, &Origin { records, partition, id, given: None }, reject)?;
                    self.state.acked.done(id);
                    return Ok(());
                }
                Err(error) => return Err(Work::send_error(error)),
            }
        }
    }

    /// Takes the outcomes that have come in.
    pub(super) fn serve(&mut self, output: &mut Output, wait: Duration) -> Result<()> {
        let mut stored = 0;
        let mut failed = None;
        for delivery in output.poll(wait) {
            if delivery.id == OFFSET_ID {
                continue;
            }
            match delivery.result {
                Ok(_) => {
                    stored += 1;
                    self.state.acked.done(RecordId::from_number(delivery.id));
                }
                Err(error) => {
                    // A client that cannot go on drops what it holds, which tells nothing of records.
                    if output.fatal_error().is_some() {
                        continue;
                    }
                    self.status.metrics().refused();
                    // Others of the same batch fail likewise; what was acknowledged is to be noted.
                    if failed.is_none() {
                        failed = self.undelivered(output, delivery.id, error).err();
                    }
                }
            }
        }
        if stored > 0 {
            if matches!(output, Output::Plain(_)) {
                self.status.metrics().stored(stored);
            }
            self.status.metrics().active(self.state.acked.open());
            self.state.in_transaction += stored;
            self.settled();
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if stored > 0 || output.in_flight() == 0 {
            self.state.progress_at = Instant::now();
        } else if self.state.progress_at.elapsed() >= STALLED_AFTER {
            let latest = output.latest_error().map(kafka_error);
            self.stalled(latest.unwrap_or_else(|| Error::retriable("Kafka acknowledges nothing")));
        }
        if let Some(fatal) = output.fatal_error() {
            return Err(kafka_error(fatal));
        }
        Ok(())
    }

    /// Notes a failure that may pass: in the status, and in the log now and then.
    pub(super) fn failed(&mut self, error: &Error) -> Duration {
        let wait = self.state.backoff.failed(crate::errors::jitter());
        self.status.metrics().retried();
        let attempts = self.state.backoff.attempts();
        let since = *self.state.retry_since.get_or_insert_with(SystemTime::now);
        let reason = error.report();
        if attempts == 1 || attempts.is_power_of_two() {
            tracing::warn!(attempts, next_in_ms = wait.as_millis() as u64, "retrying: {reason}");
        }
        let next_attempt = SystemTime::now() + wait;
        self.status.update(|status| {
            // It has begun, whatever it waits for.
            status.state = State::Running;
            status.retrying =
                Some(Retrying { reason, sqlstate: None, attempts, since, next_attempt });
        });
        wait
    }

    pub(super) fn pause(&mut self, error: &Error) {
        let wait = self.failed(error);
        self.stop.wait(wait);
    }

    pub(super) fn settled(&mut self) {
        let state = &self.state;
        let waits = state.holding || state.commit_failed || state.store_again_at.is_some();
        if self.state.retry_since.is_some() && !waits {
            self.state.backoff.succeeded();
            self.state.retry_since = None;
            self.status.update(|status| status.retrying = None);
            tracing::info!("working again");
        }
    }

    /// Tells what a task waits for: in the log once, in the status as long as it does.
    fn say_notice(&mut self) {
        let notice = self.task.notice();
        if notice != self.state.notice {
            if let Some(text) = &notice {
                tracing::info!("{text}");
            }
            self.status.update(|status| status.notice.clone_from(&notice));
            self.state.notice = notice;
        }
    }
}
