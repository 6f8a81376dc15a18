//! What a sink task's two threads share: the mailbox, seats that are ready, positions, the status.

use super::lane::Closing;
use super::mailbox::{Limits, Mailbox};
use crate::metrics::{Budget, Progress, TaskMetrics};
use crate::status::StatusCell;
use data::TopicPartition;
use kafka::ClientHandle;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the fetch thread asks of the deliver thread.
pub(crate) enum Command {
    /// Newly assigned partitions. The starts come back through [`Shared::seated`].
    Open { partitions: Vec<TopicPartition>, client: ClientHandle },
    /// Give partitions back; `done` is told when nothing of them is in flight any more.
    Close { partitions: Vec<TopicPartition>, lost: bool, done: crossbeam_channel::Sender<()> },
    /// What comes of these from now on begins at that start: earlier records are gone.
    Reseated(BTreeMap<TopicPartition, Seated>),
    /// The log of these is not what it was: settle, then open them again.
    Reopen(Vec<TopicPartition>),
    /// Make durable what was accepted, then end.
    Stop,
}

/// A start, and which opening gave it: where a partition was opened again since, it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seated {
    pub(super) offset: i64,
    pub(super) opening: u64,
}

pub(crate) struct Shared {
    pub(crate) mailbox: Mailbox<Command>,
    pub(crate) status: StatusCell,
    seats: Mutex<BTreeMap<TopicPartition, Seated>>,
    seats_changed: Condvar,
    durable: Mutex<BTreeMap<TopicPartition, i64>>,
    /// For the metrics alone.
    progress: Mutex<Progress>,
    cancelled: AtomicBool,
    delivering: AtomicBool,
    /// What the value converter says most values begin with.
    value_prefix: Mutex<Option<Arc<[u8]>>>,
    /// The destination keeps the positions; the group's are marked as their mirror.
    mirrors: AtomicBool,
    /// Called when starts are ready and when delivering has ended.
    told: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Shared {
    pub(crate) fn new(
        limits: Limits,
        budget: Option<Arc<Budget>>,
        status: StatusCell,
        told: Option<Arc<dyn Fn() + Send + Sync>>,
    ) -> Self {
        Shared {
            mailbox: Mailbox::new(limits, budget.unwrap_or_default(), status.metrics().clone()),
            told,
            status,
            seats: Mutex::default(),
            seats_changed: Condvar::new(),
            durable: Mutex::default(),
            progress: Mutex::default(),
            cancelled: AtomicBool::new(false),
            delivering: AtomicBool::new(true),
            value_prefix: Mutex::default(),
            mirrors: AtomicBool::new(true),
        }
    }

    fn tell(&self) {
        if let Some(told) = &self.told {
            told();
        }
    }

    /// Asks the deliver thread for the starts of partitions.
    pub(crate) fn open(&self, client: &ClientHandle, partitions: &[TopicPartition]) {
        if !partitions.is_empty() {
            let partitions = partitions.to_vec();
            self.mailbox.command(Command::Open { partitions, client: client.clone() });
        }
    }

    /// Nothing of the partitions is delivered any more; what is in flight is to be brought to an end.
    pub(crate) fn begin_close(
        self: &Arc<Self>,
        partitions: &[TopicPartition],
        lost: bool,
    ) -> Closing {
        self.mailbox.drop_partitions(partitions);
        let asked = self.is_delivering() && !partitions.is_empty();
        let done = asked.then(|| {
            let (done, finished) = crossbeam_channel::bounded(1);
            let partitions = partitions.to_vec();
            self.mailbox.command(Command::Close { partitions, lost, done });
            finished
        });
        Closing { shared: self.clone(), done }
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Seated>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The deliver thread has a start for these partitions. The group hears of it too: where nothing
    /// arrives after a crash, its offsets would else stay behind.
    pub(crate) fn seated(&self, starts: Vec<(TopicPartition, i64)>, opening: u64) {
        let mut progress = self.progress();
        starts.iter().for_each(|(tp, offset)| progress.seated(tp, *offset));
        drop(progress);
        self.durable().extend(starts.iter().cloned());
        let seated = |(tp, offset)| (tp, Seated { offset, opening });
        self.seats().extend(starts.into_iter().map(seated));
        self.seats_changed.notify_all();
        self.tell();
    }

    /// Takes all starts that are ready.
    pub(crate) fn take_seats(&self) -> BTreeMap<TopicPartition, Seated> {
        std::mem::take(&mut *self.seats())
    }

    /// Waits until all of these have a start or the time is up; takes what is there.
    pub(crate) fn wait_for_seats(
        &self,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Vec<Option<i64>> {
        let deadline = Instant::now() + timeout;
        let mut seats = self.seats();
        while self.is_delivering() && !partitions.iter().all(|tp| seats.contains_key(tp)) {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { break };
            let waited = self.seats_changed.wait_timeout(seats, left);
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        partitions.iter().map(|tp| Some(seats.remove(tp)?.offset)).collect()
    }

    /// Forgets starts of partitions that were given back meanwhile.
    pub(crate) fn drop_seats(&self, partitions: &[TopicPartition]) {
        self.seats().retain(|tp, _| !partitions.contains(tp));
    }

    fn durable(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, i64>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the partitions stand, as the metrics have it.
    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn metrics(&self) -> &TaskMetrics {
        self.status.metrics()
    }

    /// Positions only ascend while a partition is open.
    pub(crate) fn note_durable(&self, tp: &TopicPartition, next_offset: i64) {
        self.progress().stored(tp, next_offset);
        let mut durable = self.durable();
        match durable.get_mut(tp) {
            Some(position) => *position = next_offset.max(*position),
            None => {
                durable.insert(tp.clone(), next_offset);
            }
        }
    }

    /// Takes the positions that moved since the last call, for the group's offsets.
    pub(crate) fn take_durable(
        &self,
        only: Option<&[TopicPartition]>,
    ) -> Vec<(TopicPartition, i64)> {
        let mut durable = self.durable();
        match only {
            None => std::mem::take(&mut *durable).into_iter().collect(),
            Some(list) => list.iter().filter_map(|tp| durable.remove_entry(tp)).collect(),
        }
    }

    pub(crate) fn set_mirrors(&self, mirrors: bool) {
        self.mirrors.store(mirrors, Ordering::Release);
    }

    pub(crate) fn mirrors(&self) -> bool {
        self.mirrors.load(Ordering::Acquire)
    }

    pub(crate) fn set_value_prefix(&self, prefix: Option<Arc<[u8]>>) {
        *self.value_prefix.lock().unwrap_or_else(PoisonError::into_inner) = prefix;
    }

    pub(crate) fn value_prefix(&self) -> Option<Arc<[u8]>> {
        self.value_prefix.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the destination end soon.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// False once the deliver thread has ended, for whatever reason.
    pub(crate) fn is_delivering(&self) -> bool {
        self.delivering.load(Ordering::Acquire)
    }

    pub(crate) fn delivering_ended(&self) {
        self.delivering.store(false, Ordering::Release);
        self.mailbox.end();
        // Taking the lock orders this with waiters that checked just before.
        drop(self.seats());
        self.seats_changed.notify_all();
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rebalance that began while the last batch failed would else wait for as long as it may.
    #[test]
    fn whoever_waits_for_a_lane_that_has_failed_is_told() {
        let limits = Limits { batch_rows_max: 1, batch_bytes_max: 1, queue_bytes_max: 1 };
        let shared = Arc::new(Shared::new(limits, None, StatusCell::default(), None));
        let before = shared.begin_close(&[TopicPartition::new("t", 0)], false);
        shared.delivering_ended();
        let (done, finished) = crossbeam_channel::bounded(1);
        shared.mailbox.command(Command::Close { partitions: Vec::new(), lost: false, done });
        for asked in [before.done.unwrap(), finished] {
            assert_eq!(asked.try_recv(), Err(crossbeam_channel::TryRecvError::Disconnected));
        }
    }
}
