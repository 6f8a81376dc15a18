//! How far a source task has come: offsets into the store, or transactions with their offsets.

use super::offsets::OffsetChange;
use super::output::Output;
use super::work::{FULL_WAIT, Work};
use crate::metrics::{Phase, Watch};
use api::{Boundary, Error, ErrorKind, Result};
use config::source::TransactionBoundary;
use std::time::{Duration, Instant};

/// Nothing was acknowledged for so long: something is wrong.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(5);

impl Work {
    /// Stores offsets, or ends a transaction, if it is time.
    pub(super) fn end_of_poll(
        &mut self,
        output: &mut Output,
        asked: Option<Boundary>,
    ) -> Result<()> {
        // Batches that are done need not wait for the next flush: they would be all of a minute's.
        self.collect();
        let (boundary, is_due) = match output {
            Output::Plain(_) => return self.store_if_due(),
            Output::Transactional(transactions) => (transactions.boundary(), transactions.is_due()),
        };
        // What a task says counts only where it was asked for.
        match (boundary, asked) {
            (TransactionBoundary::Poll, _) => self.commit(output),
            (TransactionBoundary::Interval, _) if is_due => self.commit(output),
            (TransactionBoundary::Connector, Some(Boundary::Commit)) => self.commit(output),
            (TransactionBoundary::Connector, Some(Boundary::Abort)) => self.abandon(output),
            _ => Ok(()),
        }
    }

    /// Waits until everything has been acknowledged, then commits it with its offsets.
    pub(super) fn commit(&mut self, output: &mut Output) -> Result<()> {
        let metrics = self.status.metrics().clone();
        let mut watch = Watch::start(&metrics);
        self.drain(output)?;
        let changes = self.changes();
        let done = self.commit_changes(output, changes);
        watch.end(Phase::Commit);
        done
    }

    /// Ends the transaction with these offsets. Where it cannot be, its records are given again.
    fn commit_changes(&mut self, output: &mut Output, changes: Vec<OffsetChange>) -> Result<()> {
        if let Output::Transactional(transactions) = output {
            let connector = self.settings.connector.clone();
            let started = Instant::now();
            let ended = transactions.commit(&connector, &changes, &mut |error| self.waiting(error));
            let records = std::mem::take(&mut self.state.in_transaction);
            self.state.commit_failed = ended.is_err();
            if records > 0 || !changes.is_empty() {
                self.status.metrics().committing();
                self.status.metrics().committed(ended.is_ok(), started.elapsed());
            }
            ended?;
            if records > 0 {
                self.status.metrics().stored(records);
                self.status.metrics().transaction(records);
            }
        }
        self.told_stored(changes);
        Ok(())
    }

    /// The task wants none of what it gave since the last boundary, nor to read it again.
    pub(super) fn abandon(&mut self, output: &mut Output) -> Result<()> {
        self.drain(output)?;
        let changes = self.changes();
        if let Output::Transactional(transactions) = output {
            transactions.abort(&mut |error| self.waiting(error))?;
            self.state.in_transaction = 0;
        }
        self.commit_changes(output, changes)
    }

    pub(super) fn drain(&mut self, output: &mut Output) -> Result<()> {
        while output.in_flight() > 0 {
            if self.stopped() && Instant::now() >= self.stop_deadline() {
                return Err(Error::cancelled());
            }
            self.serve(output, FULL_WAIT)?;
        }
        Ok(())
    }

    pub(super) fn changes(&mut self) -> Vec<OffsetChange> {
        self.collect();
        let storable = std::mem::take(&mut self.state.storable);
        storable.into_iter().map(|(partition, offset)| (partition, Some(offset))).collect()
    }

    pub(super) fn collect(&mut self) {
        for (partition, offset) in self.state.acked.take_storable() {
            let storable = &mut self.state.storable;
            match storable.iter_mut().find(|(known, _)| *known == partition) {
                Some(slot) => slot.1 = offset,
                None => storable.push((partition, offset)),
            }
        }
    }

    pub(super) fn told_stored(&mut self, changes: Vec<OffsetChange>) {
        let stored: Vec<_> = changes
            .into_iter()
            .filter_map(|(partition, offset)| Some((partition, offset?)))
            .collect();
        if !stored.is_empty() {
            self.task.committed(&stored);
        }
    }

    pub(super) fn store_if_due(&mut self) -> Result<()> {
        let state = &self.state;
        let waiting = state.store_again_at.is_some_and(|at| Instant::now() < at);
        let due = state.stored_at.elapsed() >= self.settings.flush_interval;
        if (due || state.store_again_at.is_some()) && !waiting {
            self.store();
        }
        Ok(())
    }

    /// Stores what may be stored. A store that does not take it is asked again: the records are in
    /// Kafka, and what is at stake is only how many would be given again.
    pub(super) fn store(&mut self) {
        self.collect();
        self.state.stored_at = Instant::now();
        if self.state.storable.is_empty() {
            self.state.store_again_at = None;
            return;
        }
        let storable = &self.state.storable;
        let changes: Vec<OffsetChange> =
            storable.iter().map(|(p, offset)| (p.clone(), Some(offset.clone()))).collect();
        let metrics = self.status.metrics().clone();
        let started = Instant::now();
        metrics.committing();
        let put = self.settings.store.put(&self.settings.connector, &changes);
        metrics.committed(put.is_ok(), started.elapsed());
        metrics.spent(Phase::Commit, started.elapsed());
        match put {
            Ok(()) => {
                self.state.storable.clear();
                if self.state.store_again_at.take().is_some() {
                    tracing::info!("source offsets are stored again");
                    self.settled();
                }
                self.told_stored(changes);
            }
            Err(error) => {
                let wait = self.failed(&error);
                self.state.store_again_at = Some(Instant::now() + wait);
            }
        }
    }

    /// One last attempt to get everything into Kafka and stored; what cannot be is given again.
    pub(super) fn finish(&mut self, output: &mut Output) -> Result<()> {
        let deadline = if self.stopped() {
            self.stop_deadline()
        } else {
            Instant::now() + self.settings.shutdown_timeout
        };
        while output.in_flight() > 0 && Instant::now() < deadline {
            self.serve(output, Duration::from_millis(20))?;
        }
        let drained = output.in_flight() == 0;
        match output {
            Output::Plain(_) => self.store(),
            Output::Transactional(transactions) => {
                if drained && transactions.boundary() != TransactionBoundary::Connector {
                    let changes = self.changes();
                    self.commit_changes(output, changes)?;
                } else {
                    output.discard();
                }
            }
        }
        Ok(())
    }

    /// When a task that is to stop waits no longer, so that it has ended before it is given up.
    pub(super) fn stop_deadline(&mut self) -> Instant {
        let wait = self.settings.shutdown_timeout * 4 / 5;
        *self.state.stop_until.get_or_insert_with(|| Instant::now() + wait)
    }

    /// A step of a transaction waits for Kafka.
    pub(super) fn waiting(&mut self, error: Error) -> Result<()> {
        if self.stopped() && Instant::now() >= self.stop_deadline() {
            return Err(Error::cancelled());
        }
        self.stalled(error);
        Ok(())
    }

    /// What cannot go on shows in the status after a while.
    pub(super) fn stalled(&mut self, error: Error) {
        let since = self.state.progress_at.max(self.state.told_at);
        if since.elapsed() >= STALLED_AFTER {
            self.state.told_at = Instant::now();
            self.failed(&error);
        }
    }

    /// The end of a session by an error: what is acknowledged is kept, what is not is given again.
    pub(super) fn broken_off(&mut self, output: &mut Output, error: Error) -> Error {
        if error.kind == ErrorKind::Fenced
            && let Some(timeout) = output.outlived()
        {
            return Error::retriable(format!(
                "a transaction was open for longer than transaction.timeout.ms, {} ms, and the broker \
                 ended it: {}",
                timeout.as_millis(),
                error.message
            ))
            .hint("its records are sent again; raise producer.override.transaction.timeout.ms");
        }
        match output {
            Output::Plain(_) if error.kind == ErrorKind::Retriable => self.store(),
            Output::Plain(_) => {
                if let Err(second) = self.finish(output) {
                    tracing::warn!("not everything could be sent: {}", second.report());
                }
            }
            // A new session takes the transaction over.
            Output::Transactional(_) if error.kind == ErrorKind::Retriable => {}
            Output::Transactional(_) => output.discard(),
        }
        error
    }
}
