//! The deliver thread: decodes batches, hands them to the task, retries what is worth retrying.
//!
//! It owns the task and calls nothing else that blocks. Infrastructure errors never end it: they are
//! retried with backoff for ever while the status says why and when next. Commands of the fetch
//! thread are served between calls and during backoff, so a rebalance never waits for a database
//! that is down.

use super::context::Context;
use super::mailbox::Next;
use super::shared::{Command, Shared};
use super::start::{Resolver, Starts};
use crate::chain::Chain;
use crate::errors::dead_letter_topic::DeadLetterTopic;
use crate::errors::{Backoff, jitter};
use crate::metrics::{Phase, Watch};
use crate::status::Retrying;
use api::{Cancel, Error, ErrorKind, SinkTask};
use data::{Batch, RawBatch, TopicPartition};
use kafka::ClientHandle;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long the thread sleeps when nothing happens; everything that happens wakes it.
const IDLE_WAIT: Duration = Duration::from_secs(1);
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// How long dead letters wait for a pause; then some are forwarded between batches.
const LETTERS_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct Deliver {
    pub(crate) task: Box<dyn SinkTask>,
    pub(crate) chain: Chain,
    pub(crate) context: Context,
    pub(crate) shared: Arc<Shared>,
    pub(crate) starts: Box<dyn Starts>,
    pub(crate) dead_letters: Option<DeadLetterTopic>,
    state: Progress,
}

/// Where the thread stands between two calls of the task.
struct Progress {
    /// Partitions whose batches the task takes.
    open: BTreeSet<TopicPartition>,
    /// Partitions to be opened (again).
    opening: BTreeSet<TopicPartition>,
    /// Opened again after fencing: records fetched before are dropped.
    /// The number is that of the opening whose start is waited for.
    reseating: BTreeMap<TopicPartition, u64>,
    /// How often partitions were opened.
    openings: u64,
    client: Option<ClientHandle>,
    /// Batches that wait until what decoding them needs can be had. They were given to nobody; nothing
    /// is taken from the mailbox before they were.
    held: Vec<RawBatch>,
    /// The task has accepted what it has not settled.
    unsettled: bool,
    backoff: Backoff,
    retry_at: Option<Instant>,
    retry_since: Option<SystemTime>,
    /// There may be dead letters to forward.
    outbox: bool,
    /// From here on they are even if there is no pause.
    forward_at: Instant,
}

impl Deliver {
    pub(crate) fn new(
        mut task: Box<dyn SinkTask>,
        mut chain: Chain,
        context: Context,
        shared: Arc<Shared>,
        starts: Box<dyn Starts>,
        dead_letters: Option<DeadLetterTopic>,
        backoff_max: Duration,
    ) -> Self {
        let state = Progress {
            open: BTreeSet::new(),
            opening: BTreeSet::new(),
            reseating: BTreeMap::new(),
            openings: 0,
            client: None,
            held: Vec::new(),
            unsettled: false,
            backoff: Backoff::new(BACKOFF_FIRST, backoff_max),
            retry_at: None,
            retry_since: None,
            outbox: dead_letters.is_some(),
            forward_at: Instant::now(),
        };
        shared.set_mirrors(task.keeps_positions());
        if task.uses_headers() {
            chain.use_headers();
        }
        let asked = shared.clone();
        task.set_cancel(Arc::new(move || asked.is_cancelled()));
        let asked = shared.clone();
        // What they wait for is asked for again when the command was served.
        let called: Cancel = Arc::new(move || asked.is_cancelled() || asked.mailbox.is_called());
        chain.set_cancel(&called);
        Deliver { task, chain, context, shared, starts, dead_letters, state }
    }

    /// Runs until stopped or failed. `Err` is what the task is FAILED with.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        loop {
            let next = self.next();
            let result = match next {
                Next::Command(Command::Stop) => return self.stop(),
                Next::Command(command) => {
                    self.serve(command);
                    Ok(())
                }
                // Partitions that wait do not wait until nothing comes for the others.
                Next::Batches(batches) => self.deliver(batches).and_then(|()| self.open()),
                Next::Idle if self.retry_wait().is_some() => Ok(()),
                Next::Idle => self.catch_up(),
            };
            self.judge(result)?;
        }
    }

    fn next(&mut self) -> Next<Command> {
        let wait = match self.retry_wait() {
            Some(wait) => wait,
            None if self.state.held.is_empty() => {
                return self.shared.mailbox.next(self.idle_wait());
            }
            None => Duration::ZERO,
        };
        match self.shared.mailbox.next_command(wait) {
            Some(command) => Next::Command(command),
            None if self.state.held.is_empty() || self.retry_wait().is_some() => Next::Idle,
            None => Next::Batches(std::mem::take(&mut self.state.held)),
        }
    }

    fn retry_wait(&self) -> Option<Duration> {
        let at = self.state.retry_at?;
        at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Work that is left makes the thread look at its mailbox without waiting.
    fn idle_wait(&self) -> Duration {
        if self.state.unsettled || self.can_open() || self.state.outbox {
            Duration::ZERO
        } else {
            IDLE_WAIT
        }
    }

    fn can_open(&self) -> bool {
        !self.state.opening.is_empty()
    }

    fn serve(&mut self, command: Command) {
        match command {
            Command::Open { partitions, client } => {
                self.state.opening.extend(partitions);
                self.state.client = Some(client);
                self.open_if_calm();
            }
            Command::Close { partitions, lost, done } => {
                self.close(&partitions, lost);
                // The fetch thread may have stopped waiting.
                let _gone = done.send(());
            }
            Command::Reseated(seats) => {
                // Those that were taken back since wait for the next opening's start.
                let due = |tp: &TopicPartition, opening: u64| {
                    seats.get(tp).is_some_and(|seat| seat.opening >= opening)
                };
                self.state.reseating.retain(|tp, opening| !due(tp, *opening));
            }
            Command::Reopen(partitions) => self.open_anew(&partitions),
            Command::Stop => {}
        }
    }

    /// A rebalance waits for the answer, so seats are taken at once unless a retry of the task is
    /// pending.
    fn open_if_calm(&mut self) {
        if self.state.retry_at.is_none() || !self.state.held.is_empty() {
            let result = self.open();
            if let Err(error) = self.judge(result) {
                // Kept for the next turn of the loop, which ends the task with it.
                self.context.fail(error);
            }
        }
    }

    fn close(&mut self, partitions: &[TopicPartition], lost: bool) {
        if !lost && self.state.unsettled && self.state.retry_at.is_none() {
            let result = self.flush();
            self.state.unsettled = result.is_err();
            if let Err(error) = self.judge(result) {
                self.context.fail(error);
            }
        }
        self.task.close(partitions, lost, &mut self.context);
        self.state.held.retain(|batch| !partitions.contains(batch.tp()));
        for tp in partitions {
            self.state.open.remove(tp);
            self.state.opening.remove(tp);
            self.state.reseating.remove(tp);
        }
    }

    /// What is left to do when nothing waits in the mailbox.
    fn catch_up(&mut self) -> Result<(), Error> {
        self.context.sum_up();
        self.context.check()?;
        if self.state.unsettled {
            self.flush()?;
            self.state.unsettled = false;
        }
        self.open()?;
        self.forward()?;
        self.settled();
        Ok(())
    }

    fn deliver(&mut self, batches: Vec<RawBatch>) -> Result<(), Error> {
        self.context.check()?;
        let state = &self.state;
        let wanted =
            |tp: &TopicPartition| state.open.contains(tp) && !state.reseating.contains_key(tp);
        let wanted: Vec<RawBatch> = batches.into_iter().filter(|b| wanted(b.tp())).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        if let Err(error) = wanted.iter().try_for_each(|raw| self.chain.prepare(raw)) {
            return Err(self.hold(wanted, error));
        }
        self.note_read(&wanted);
        let decoded = self.decode(wanted);
        self.shared.set_value_prefix(self.chain.value.value_prefix());
        self.state.unsettled = true;
        self.put(decoded)?;
        self.state.outbox |= self.context.take_reported();
        if self.task.keeps_letters() {
            // A backlog may take hours; its letters are not all to come at its end.
            if self.state.outbox && Instant::now() >= self.state.forward_at {
                self.flush()?;
                self.state.unsettled = false;
                self.forward()?;
            }
        } else {
            // They are in memory alone, and so are not left to pile up until there is a pause.
            while self.state.outbox {
                self.forward()?;
            }
        }
        self.settled();
        Ok(())
    }

    /// Keeps batches that nothing can be said of yet. What was accepted before does not wait for them.
    fn hold(&mut self, batches: Vec<RawBatch>, error: Error) -> Error {
        self.state.held = batches;
        if error.kind != ErrorKind::Retriable {
            return error;
        }
        if self.state.unsettled {
            match self.flush() {
                Ok(()) => self.state.unsettled = false,
                Err(of_task) => return of_task,
            }
        }
        self.open().err().unwrap_or(error)
    }

    fn note_read(&self, batches: &[RawBatch]) {
        let read: usize = batches.iter().map(RawBatch::len).sum();
        let bytes: usize = batches.iter().map(RawBatch::bytes).sum();
        self.shared.metrics().read(read as u64, bytes as u64);
        let mut progress = self.shared.progress();
        for batch in batches {
            progress.delivered(batch.tp(), batch.next_offset());
        }
        drop(progress);
        for batch in batches.iter().filter(|batch| !batch.is_empty()) {
            self.shared.status.touch(&batch.tp().topic);
        }
    }

    fn decode(&mut self, raw: Vec<RawBatch>) -> Vec<Batch> {
        let mut watch = Watch::start(self.shared.metrics());
        let mut batches: Vec<Batch> = raw.into_iter().map(|raw| self.chain.decode(raw)).collect();
        watch.end(Phase::Decode);
        batches.iter_mut().for_each(|batch| self.chain.transform(batch));
        watch.end(Phase::Transform);
        batches
    }

    fn put(&mut self, batches: Vec<Batch>) -> Result<(), Error> {
        let records: usize = batches.iter().map(|batch| batch.alive.count()).sum();
        let metrics = self.shared.metrics();
        let mut watch = Watch::start(metrics);
        let result = self.task.put(batches, &mut self.context);
        let micros = watch.end(Phase::Write);
        if records > 0 {
            metrics.put(records as u64, micros);
        }
        metrics.active(self.shared.progress().active());
        result
    }

    /// Makes everything durable that the task has accepted.
    fn flush(&mut self) -> Result<(), Error> {
        let mut watch = Watch::start(self.shared.metrics());
        let result = self.task.flush(&mut self.context);
        watch.end(Phase::Commit);
        self.shared.metrics().active(self.shared.progress().active());
        result
    }

    fn open(&mut self) -> Result<(), Error> {
        let Some(client) = self.state.client.clone().filter(|_| self.can_open()) else {
            return Ok(());
        };
        let partitions: Vec<TopicPartition> = self.state.opening.iter().cloned().collect();
        let seats = self.starts.seats(&client, &partitions)?;
        let mirrors = self.task.keeps_positions();
        let starts = self.starts.as_mut();
        let mut resolver = Resolver { starts, client: &client, mirrors };
        let starts = self.task.open(&seats, &mut resolver, &mut self.context)?;
        let starts: Vec<_> = partitions.into_iter().zip(starts).collect();
        for (tp, offset) in &starts {
            tracing::info!(partition = %tp, offset, "reading from");
        }
        self.state.open.extend(self.state.opening.iter().cloned());
        self.state.opening.clear();
        // The last owner may have left letters behind.
        self.state.outbox |= self.dead_letters.is_some();
        self.state.openings += 1;
        self.shared.seated(starts, self.state.openings);
        self.settled();
        Ok(())
    }

    fn forward(&mut self) -> Result<(), Error> {
        self.state.outbox |= self.context.take_reported();
        let Some(topic) = self.dead_letters.as_mut().filter(|_| self.state.outbox) else {
            self.state.outbox = false;
            return Ok(());
        };
        self.state.outbox = topic.forward(self.task.as_mut())?;
        self.state.forward_at = Instant::now() + LETTERS_WAIT;
        if !self.task.keeps_letters() {
            self.flush()?;
        }
        Ok(())
    }

    /// Sorts an error by who must act; only what ends the task is given back.
    fn judge(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = result else { return Ok(()) };
        match error.kind {
            ErrorKind::Retriable => self.retry(&error),
            ErrorKind::Fenced => self.reopen(&error),
            ErrorKind::Cancelled => {}
            ErrorKind::Data | ErrorKind::Config | ErrorKind::Bug => return Err(error),
        }
        Ok(())
    }

    fn retry(&mut self, error: &Error) {
        let state = &mut self.state;
        let wait = state.backoff.failed(jitter());
        let since = *state.retry_since.get_or_insert_with(SystemTime::now);
        state.retry_at = Some(Instant::now() + wait);
        let attempts = state.backoff.attempts();
        let reason = error.report();
        if attempts == 1 || attempts.is_power_of_two() {
            tracing::warn!(attempts, next_in_ms = wait.as_millis() as u64, "retrying: {reason}");
        }
        self.shared.metrics().retried();
        let sqlstate = error.sqlstate.clone();
        let next_attempt = SystemTime::now() + wait;
        self.shared.status.update(|status| {
            status.retrying = Some(Retrying { reason, sqlstate, attempts, since, next_attempt });
        });
    }

    /// Another owner moved our rows: everything in flight is void, ask where things stand.
    fn reopen(&mut self, error: &Error) {
        tracing::warn!("position taken over, reading it again: {}", error.report());
        let all: Vec<TopicPartition> = self.state.open.iter().cloned().collect();
        self.task.close(&all, true, &mut self.context);
        self.take_back(&all);
        self.state.unsettled = false;
        self.retry(error);
    }

    /// The log is not what it was: what was accepted is settled first, as far as that works.
    fn open_anew(&mut self, partitions: &[TopicPartition]) {
        let open = &self.state.open;
        let known: Vec<TopicPartition> =
            partitions.iter().filter(|tp| open.contains(tp)).cloned().collect();
        self.close(&known, false);
        self.take_back(&known);
        self.open_if_calm();
    }

    /// Partitions are to be opened again; records of them that were fetched before are void.
    fn take_back(&mut self, partitions: &[TopicPartition]) {
        self.shared.mailbox.drop_partitions(partitions);
        self.state.held.retain(|batch| !partitions.contains(batch.tp()));
        self.state.open.retain(|tp| !partitions.contains(tp));
        let next = self.state.openings + 1;
        self.state.reseating.extend(partitions.iter().map(|tp| (tp.clone(), next)));
        self.state.opening.extend(partitions.iter().cloned());
    }

    fn settled(&mut self) {
        if !self.state.held.is_empty() {
            return;
        }
        if self.state.retry_at.take().is_some() {
            self.state.backoff.succeeded();
            self.state.retry_since = None;
            self.shared.status.update(|status| status.retrying = None);
            tracing::info!("working again");
        }
    }

    /// One last attempt to make durable what was accepted; what cannot be is read again later.
    fn stop(mut self) -> Result<(), Error> {
        if self.state.unsettled
            && let Err(error) = self.flush()
        {
            tracing::warn!("stopped before everything was written: {}", error.report());
        }
        let all: Vec<TopicPartition> = self.state.open.iter().cloned().collect();
        self.task.close(&all, false, &mut self.context);
        Ok(())
    }
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
