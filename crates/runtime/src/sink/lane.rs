//! One destination and the thread that delivers to it.
//!
//! Place in the data path: behind a fetch thread, which feeds one lane (a connector's sink task) or
//! several (the consumers of one group, each with a lane of its own). What is said of the mailbox
//! holds for each lane: batches of a partition are given in the order of offsets, each beginning where
//! the one before ended, and only while the destination has the partition open.

use super::context::Context;
use super::deliver::Deliver;
use super::mailbox::Limits;
use super::shared::{Command, Seated, Shared};
use super::start::Starts;
use crate::chain::Chain;
use crate::errors::{Breaker, ErrorLog};
use crate::metrics::Budget;
use crate::status::StatusCell;
use api::{Error, SinkTask};
use data::{RawBatch, TopicPartition};
use kafka::ClientHandle;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the deliver thread may take to notice that it was cancelled.
const CANCEL_WAIT: Duration = Duration::from_secs(1);

/// What a lane is made with, beside its destination.
pub struct LaneSettings {
    /// Of the thread.
    pub name: String,
    pub limits: Limits,
    /// Bytes that wait in this and in other lanes; `None`: nobody counts them.
    pub budget: Option<Arc<Budget>>,
    /// The share of failed records at which the breaker trips; 1: never.
    pub tolerance_ratio_max: f64,
    /// What to do when the breaker has tripped.
    pub advice: &'static str,
    pub error_log: ErrorLog,
    pub retry_backoff_max: Duration,
    /// Called when starts are ready and when the lane has ended; must not wait.
    pub told: Arc<dyn Fn() + Send + Sync>,
}

/// A destination that is being delivered to. Dropping the handle does not end it.
pub struct Lane {
    shared: Arc<Shared>,
    outcome: crossbeam_channel::Receiver<Result<(), Error>>,
    /// Starts that were taken and not acted upon yet.
    taken: Mutex<BTreeMap<TopicPartition, Seated>>,
}

/// Partitions that a lane was asked to give back.
pub struct Closing {
    pub(super) shared: Arc<Shared>,
    pub(super) done: Option<crossbeam_channel::Receiver<()>>,
}

impl Closing {
    /// Waits until nothing of the partitions is in flight any more; false: not within the time.
    pub fn wait(&self, deadline: Instant) -> bool {
        let Some(done) = &self.done else { return true };
        done.recv_deadline(deadline).is_ok() || !self.shared.is_delivering()
    }
}

impl Lane {
    /// Starts a lane. What it fails with shows in the status, and in [`Lane::outcome`].
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        settings: LaneSettings,
        task: Box<dyn SinkTask>,
        chain: Chain,
        starts: Box<dyn Starts>,
        status: StatusCell,
    ) -> Result<Lane, Error> {
        let LaneSettings { name, limits, budget, error_log, .. } = settings;
        let shared = Arc::new(Shared::new(limits, budget, status, Some(settings.told)));
        let breaker = Breaker::new(settings.tolerance_ratio_max);
        let context = Context::new(shared.clone(), breaker, error_log, settings.advice);
        let backoff_max = settings.retry_backoff_max;
        let deliver = Deliver::new(task, chain, context, shared, starts, None, backoff_max);
        let fail = move |shared: &Shared, error: &Error| shared.status.fail(error);
        Lane::spawn(deliver, name, tracing::Span::current(), fail)
    }

    /// Runs a deliver loop on a thread of its own; `failed` is called there with what it ended with.
    pub(crate) fn spawn(
        deliver: Deliver,
        name: String,
        span: tracing::Span,
        failed: impl FnOnce(&Shared, &Error) + Send + 'static,
    ) -> Result<Lane, Error> {
        let (send, outcome) = crossbeam_channel::bounded(1);
        let shared = deliver.shared.clone();
        let ending = shared.clone();
        let body = move || {
            let _entered = span.entered();
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| deliver.run()));
            let result = caught.unwrap_or_else(|_| {
                Err(Error::bug("the task panicked").hint("please report this with the log above"))
            });
            if let Err(error) = &result {
                failed(&ending, error);
            }
            // The receiver waits for exactly one result, or has given up.
            let _gone = send.send(result);
            ending.delivering_ended();
        };
        std::thread::Builder::new()
            .name(name)
            .spawn(body)
            .map_err(|error| Error::bug("a thread could not be started").source(error))?;
        Ok(Lane { shared, outcome, taken: Mutex::default() })
    }

    /// Asks the destination for the starts of partitions; they come through [`Lane::take_seats`].
    pub fn open(&self, client: &ClientHandle, partitions: &[TopicPartition]) {
        self.shared.open(client, partitions);
    }

    /// Has partitions opened again because the log is not what it was.
    pub fn reopen(&self, partitions: &[TopicPartition]) {
        self.shared.mailbox.command(Command::Reopen(partitions.to_vec()));
    }

    /// Gives partitions back: nothing of them is delivered any more. `lost`: somebody else has them.
    pub fn close(&self, partitions: &[TopicPartition], lost: bool) -> Closing {
        self.shared.begin_close(partitions, lost)
    }

    /// Takes all starts that are ready.
    pub fn take_seats(&self) -> BTreeMap<TopicPartition, i64> {
        let seats = self.shared.take_seats();
        let starts = seats.iter().map(|(tp, seat)| (tp.clone(), seat.offset)).collect();
        self.taken().extend(seats);
        starts
    }

    /// Each insertion and removal leaves the map whole.
    fn taken(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Seated>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all of these have a start or the time is up; takes what is there.
    pub fn wait_for_seats(
        &self,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Vec<Option<i64>> {
        self.shared.wait_for_seats(partitions, timeout)
    }

    /// What is pushed from now on begins at the start that was taken last; the rest is forgotten.
    pub fn reseated(&self, partitions: &[TopicPartition]) {
        self.shared.mailbox.drop_partitions(partitions);
        let mut taken = self.taken();
        let seats = partitions.iter().filter_map(|tp| taken.remove_entry(tp)).collect();
        drop(taken);
        self.shared.mailbox.command(Command::Reseated(seats));
    }

    pub fn push(&self, batch: RawBatch) {
        self.shared.mailbox.push(batch);
    }

    /// Whether more may be pushed.
    pub fn has_room(&self) -> bool {
        self.shared.mailbox.has_room()
    }

    /// Waits until more may be pushed, at most `timeout`.
    pub fn wait_for_room(&self, timeout: Duration) -> bool {
        self.shared.mailbox.wait_for_room(timeout)
    }

    /// Forgets what waits of these partitions.
    pub fn drop_partitions(&self, partitions: &[TopicPartition]) {
        self.shared.mailbox.drop_partitions(partitions);
    }

    /// Takes the positions that moved since the last call.
    pub fn take_durable(&self) -> Vec<(TopicPartition, i64)> {
        self.shared.take_durable(None)
    }

    /// False once the thread has ended, for whatever reason.
    pub fn is_delivering(&self) -> bool {
        self.shared.is_delivering()
    }

    /// Makes durable what was accepted, then ends.
    pub fn stop(&self) {
        self.shared.mailbox.command(Command::Stop);
    }

    /// Ends waits for the destination soon.
    pub fn cancel(&self) {
        self.shared.cancel();
    }

    /// What the lane ended with, once: `None` while it runs and after it was told.
    pub fn outcome(&self) -> Option<Result<(), Error>> {
        self.outcome.try_recv().ok()
    }

    /// Waits for the end; a destination that does not answer in time is cancelled and left to itself.
    /// # Errors
    /// What the lane ended with.
    pub fn join(&self, deadline: Instant) -> Result<(), Error> {
        if let Ok(result) = self.outcome.recv_deadline(deadline) {
            return result;
        }
        self.shared.cancel();
        self.outcome.recv_timeout(CANCEL_WAIT).unwrap_or_else(|_| {
            tracing::warn!("the destination does not answer; its last transaction is left to it");
            Ok(())
        })
    }
}
