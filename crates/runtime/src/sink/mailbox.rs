//! What lies between a task's fetch thread and its deliver thread: batches, and commands that
//! overtake them.
//!
//! Records of a partition that arrive while the deliver thread is busy are joined into one batch, up
//! to the limits, so that a backlog fills transactions by itself and one record goes out at once.
//!
//! Invariants: at most one batch a partition waits; batches of a partition leave in offset order;
//! once a partition is dropped, nothing of it leaves any more until it is seated again; what waits and
//! what the deliver thread has taken last counts for the worker's budget.

use crate::metrics::{Budget, TaskMetrics};
use data::{RawBatch, TopicPartition};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Limits of one mailbox.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Records of one waiting batch.
    pub batch_rows_max: usize,
    /// Bytes of one waiting batch.
    pub batch_bytes_max: usize,
    /// Bytes of all waiting batches together; above it the fetch thread stops fetching.
    pub queue_bytes_max: usize,
}

/// What the deliver thread gets next.
#[derive(Debug)]
pub(crate) enum Next<C> {
    Command(C),
    /// At most one batch a partition.
    Batches(Vec<RawBatch>),
    /// Nothing came within the time given.
    Idle,
}

#[derive(Debug)]
struct State<C> {
    commands: VecDeque<C>,
    batches: VecDeque<RawBatch>,
    /// Bytes that wait, and bytes that the deliver thread is at.
    bytes: usize,
    taken: usize,
    /// Nobody serves commands any more.
    ended: bool,
}

#[derive(Debug)]
pub(crate) struct Mailbox<C> {
    state: Mutex<State<C>>,
    changed: Condvar,
    limits: Limits,
    /// Counts what waits in this and in other mailboxes.
    budget: Arc<Budget>,
    metrics: Arc<TaskMetrics>,
}

/// What a task may fetch while the worker's budget is used up and it has nothing to do, in bytes.
const SCANT_BYTES: usize = 64 << 10;

impl<C> Mailbox<C> {
    pub(crate) fn new(limits: Limits, budget: Arc<Budget>, metrics: Arc<TaskMetrics>) -> Self {
        let (commands, batches) = (VecDeque::new(), VecDeque::new());
        let state = State { commands, batches, bytes: 0, taken: 0, ended: false };
        metrics.budget().join();
        Mailbox { state: Mutex::new(state), changed: Condvar::new(), limits, budget, metrics }
    }

    /// So many bytes wait now, and so many are being delivered.
    fn account(&self, state: &mut State<C>, bytes: usize, taken: usize) {
        self.budget.change(state.bytes, bytes);
        self.metrics.queued(state.bytes + state.taken, bytes + taken);
        (state.bytes, state.taken) = (bytes, taken);
    }

    /// The state is a queue without rules that a panic could break halfway.
    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn command(&self, command: C) {
        let mut state = self.lock();
        if !state.ended {
            state.commands.push_back(command);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Drops commands from now on, and those that wait: whoever waits for an answer learns that there
    /// will be none.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let unserved = std::mem::take(&mut state.commands);
        drop(state);
        drop(unserved);
    }

    /// Adds a fetched batch: to the waiting one of its partition where that has room.
    pub(crate) fn push(&self, batch: RawBatch) {
        let mut state = self.lock();
        let before = batch.bytes();
        let last = state.batches.iter_mut().rev().find(|waiting| waiting.tp() == batch.tp());
        let rest = match last {
            Some(waiting)
                if waiting.len() + batch.len() <= self.limits.batch_rows_max
                    && waiting.bytes() + batch.bytes() <= self.limits.batch_bytes_max =>
            {
                waiting.append(batch).err().map(|rest| *rest)
            }
            _ => Some(batch),
        };
        state.batches.extend(rest);
        let (bytes, taken) = (state.bytes + before, state.taken);
        self.account(&mut state, bytes, taken);
        drop(state);
        self.changed.notify_all();
    }

    /// Whether more may be fetched.
    pub(crate) fn has_room(&self) -> bool {
        self.room().is_some()
    }

    /// How many bytes may be fetched; `None`: nothing now.
    pub(crate) fn room(&self) -> Option<usize> {
        self.room_in(&self.lock())
    }

    fn room_in(&self, state: &State<C>) -> Option<usize> {
        if state.bytes >= self.limits.queue_bytes_max {
            return None;
        }
        let left = self.metrics.budget().left_bytes();
        if left > 0 {
            return Some(left.clamp(SCANT_BYTES, self.limits.queue_bytes_max.max(SCANT_BYTES)));
        }
        // Tasks that are held up by others go on, if slowly.
        (state.bytes + state.taken == 0).then_some(SCANT_BYTES)
    }

    /// Waits until more may be fetched, at most `timeout`. What other tasks let go of is noticed at the
    /// end of the time.
    pub(crate) fn wait_for_room(&self, timeout: Duration) -> bool {
        let full = |state: &mut State<C>| self.room_in(state).is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, full);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The next command, else the first waiting batch of every partition, else waits.
    pub(crate) fn next(&self, timeout: Duration) -> Next<C> {
        let empty = |state: &mut State<C>| state.commands.is_empty() && state.batches.is_empty();
        let mut state = self.lock();
        let bytes = state.bytes;
        self.account(&mut state, bytes, 0);
        let waited = self.changed.wait_timeout_while(state, timeout, empty);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(command) = state.commands.pop_front() {
            return Next::Command(command);
        }
        let taken = take_first_of_each(&mut state.batches);
        if taken.is_empty() {
            return Next::Idle;
        }
        let bytes =
            |batches: &mut dyn Iterator<Item = &RawBatch>| batches.map(RawBatch::bytes).sum();
        let (left, out) = (bytes(&mut state.batches.iter()), bytes(&mut taken.iter()));
        self.account(&mut state, left, out);
        drop(state);
        self.changed.notify_all();
        Next::Batches(taken)
    }

    /// Whether a command waits.
    pub(crate) fn is_called(&self) -> bool {
        !self.lock().commands.is_empty()
    }

    /// The next command alone; batches stay. For waits in which nothing can be delivered.
    pub(crate) fn next_command(&self, timeout: Duration) -> Option<C> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if let Some(command) = state.commands.pop_front() {
                return Some(command);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Forgets waiting batches of these partitions.
    pub(crate) fn drop_partitions(&self, partitions: &[TopicPartition]) {
        let mut state = self.lock();
        state.batches.retain(|batch| !partitions.contains(batch.tp()));
        let (bytes, taken) = (state.batches.iter().map(RawBatch::bytes).sum(), state.taken);
        self.account(&mut state, bytes, taken);
        drop(state);
        self.changed.notify_all();
    }

    /// Forgets everything that waits: the task has ended.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.batches.clear();
        self.account(&mut state, 0, 0);
    }
}

impl<C> Drop for Mailbox<C> {
    fn drop(&mut self) {
        self.clear();
        self.metrics.budget().leave();
    }
}

fn take_first_of_each(batches: &mut VecDeque<RawBatch>) -> Vec<RawBatch> {
    let mut taken: Vec<RawBatch> = Vec::new();
    let mut left = VecDeque::new();
    for batch in batches.drain(..) {
        if taken.iter().any(|t| t.tp() == batch.tp()) {
            left.push_back(batch);
        } else {
            taken.push(batch);
        }
    }
    *batches = left;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Windows;
    use data::{RawBatchBuilder, TimestampType};

    fn batch(partition: i32, from: i64, rows: i64) -> RawBatch {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", partition));
        for offset in from..from + rows {
            builder.push(offset, 0, TimestampType::CreateTime, None, Some(b"0123456789"));
        }
        builder.finish(from + rows)
    }

    fn mailbox() -> Mailbox<&'static str> {
        of_budgets(Arc::default(), Arc::default())
    }

    /// One that counts for its group's budget and for the worker's.
    fn of_budgets(group: Arc<Budget>, worker: Arc<Budget>) -> Mailbox<&'static str> {
        let limits = Limits { batch_rows_max: 5, batch_bytes_max: 10_000, queue_bytes_max: 300 };
        let metrics = TaskMetrics::new(Windows::default(), None, worker);
        Mailbox::new(limits, group, Arc::new(metrics))
    }

    fn taken(mailbox: &Mailbox<&'static str>) -> Vec<(i32, i64, usize)> {
        match mailbox.next(Duration::ZERO) {
            Next::Batches(batches) => batches
                .iter()
                .map(|b| (b.partition(), b.first_offset().unwrap(), b.len()))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arrivals_join_up_to_the_limit_and_keep_their_order() {
        let mailbox = mailbox();
        for b in [batch(0, 0, 3), batch(1, 7, 1), batch(0, 3, 2), batch(0, 5, 2), batch(1, 8, 1)] {
            mailbox.push(b);
        }
        assert_eq!(taken(&mailbox), [(0, 0, 5), (1, 7, 2)]);
        assert_eq!(taken(&mailbox), [(0, 5, 2)]);
        assert!(matches!(mailbox.next(Duration::ZERO), Next::Idle));
    }

    #[test]
    fn commands_overtake_and_dropped_partitions_are_gone() {
        let mailbox = mailbox();
        mailbox.push(batch(0, 0, 4));
        mailbox.push(batch(1, 0, 4));
        assert_eq!(mailbox.room(), None);
        mailbox.command("close");
        mailbox.drop_partitions(&[TopicPartition::new("t", 0)]);
        assert!(matches!(mailbox.next(Duration::ZERO), Next::Command("close")));
        assert_eq!(taken(&mailbox), [(1, 0, 4)]);
        assert!(mailbox.room().is_some() && mailbox.wait_for_room(Duration::ZERO));
    }

    #[test]
    fn a_budget_that_others_use_up_leaves_a_task_little_and_what_is_taken_counts() {
        let budget = Arc::new(Budget::new(200));
        let [one, other] = [(); 2].map(|()| of_budgets(Arc::default(), budget.clone()));
        assert_eq!(other.room(), Some(SCANT_BYTES));
        one.push(batch(0, 0, 4));
        assert!(budget.used_bytes() > 200);
        assert_eq!((one.room(), other.room()), (None, Some(SCANT_BYTES)));
        other.push(batch(0, 0, 1));
        let waiting = budget.used_bytes();
        assert_eq!(other.room(), None, "it has something to do");
        assert!(!other.wait_for_room(Duration::ZERO), "nobody may spin meanwhile");
        assert_eq!(budget.queues(), 2);
        assert_eq!(taken(&one), [(0, 0, 4)]);
        assert_eq!(budget.used_bytes(), waiting, "it is being delivered");
        assert!(matches!(one.next(Duration::ZERO), Next::Idle));
        assert!(budget.used_bytes() < 200);
        one.push(batch(0, 4, 4));
        drop((one, other));
        assert_eq!((budget.used_bytes(), budget.queues()), (0, 0));
    }

    #[test]
    fn the_budget_knows_what_waits_in_all_of_them() {
        let budget = Arc::new(Budget::default());
        let [a, b] = [(); 2].map(|()| of_budgets(budget.clone(), Arc::default()));
        let one = batch(0, 0, 4).bytes();
        a.push(batch(0, 0, 4));
        b.push(batch(0, 0, 4));
        b.push(batch(1, 0, 4));
        assert_eq!(budget.used_bytes(), 3 * one);
        assert!(matches!(a.next(Duration::ZERO), Next::Batches(_)));
        b.drop_partitions(&[TopicPartition::new("t", 1)]);
        assert_eq!(budget.used_bytes(), one);
        drop(b);
        assert_eq!(budget.used_bytes(), 0);
    }
}
