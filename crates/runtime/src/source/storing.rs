//! How far a source task has come: offsets into the store, or transactions with their offsets.

use super::offsets::OffsetChange;
use super::output::{Output, Transactions};
use super::work::{FULL_WAIT, Work};
use api::{Boundary, Error, ErrorKind, Result};
use config::source::TransactionBoundary;
use std::time::{Duration, Instant};

impl Work {
    /// Stores offsets, or ends a transaction, if it is time.
    pub(super) fn end_of_poll(
        &mut self,
        output: &mut Output,
        asked: Option<Boundary>,
    ) -> Result<()> {
        let due = match output {
            Output::Plain(_) => return self.store_if_due(),
            Output::Transactional(transactions) => match transactions.boundary() {
                TransactionBoundary::Poll => true,
                TransactionBoundary::Interval => transactions.is_due(),
                TransactionBoundary::Connector => asked == Some(Boundary::Commit),
            },
        };
        if due {
            return self.commit(output);
        }
        if asked == Some(Boundary::Abort) {
            return self.abandon(output);
        }
        Ok(())
    }

    /// Waits until everything has been acknowledged, then commits it with its offsets.
    pub(super) fn commit(&mut self, output: &mut Output) -> Result<()> {
        self.drain(output)?;
        let changes = self.changes();
        if let Output::Transactional(transactions) = output {
            let connector = self.settings.connector.clone();
            commit_or_abort(transactions, &connector, &changes)?;
        }
        self.told_stored(changes);
        Ok(())
    }

    /// The task wants none of what it gave since the last boundary, nor to read it again.
    pub(super) fn abandon(&mut self, output: &mut Output) -> Result<()> {
        self.drain(output)?;
        let changes = self.changes();
        if let Output::Transactional(transactions) = output {
            transactions.abort()?;
            let connector = self.settings.connector.clone();
            commit_or_abort(transactions, &connector, &changes)?;
        }
        self.told_stored(changes);
        Ok(())
    }

    pub(super) fn drain(&mut self, output: &mut Output) -> Result<()> {
        let mut deadline = None;
        while output.in_flight() > 0 {
            if self.stopped() {
                let deadline =
                    *deadline.get_or_insert(Instant::now() + self.settings.shutdown_timeout);
                if Instant::now() >= deadline {
                    return Err(Error::cancelled());
                }
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
        match self.settings.store.put(&self.settings.connector, &changes) {
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
        let deadline = Instant::now() + self.settings.shutdown_timeout;
        while output.in_flight() > 0 && Instant::now() < deadline {
            self.serve(output, Duration::from_millis(20))?;
        }
        let drained = output.in_flight() == 0;
        match output {
            Output::Plain(_) => self.store(),
            Output::Transactional(transactions) => {
                if drained && transactions.boundary() != TransactionBoundary::Connector {
                    let changes = self.changes();
                    let connector = self.settings.connector.clone();
                    commit_or_abort(transactions, &connector, &changes)?;
                    self.told_stored(changes);
                } else {
                    transactions.abort()?;
                }
            }
        }
        Ok(())
    }
}

/// A transaction that cannot be committed is dropped, and its records are given again.
fn commit_or_abort(
    transactions: &mut Transactions,
    connector: &str,
    changes: &[OffsetChange],
) -> Result<()> {
    transactions.commit(connector, changes).inspect_err(|error| {
        if error.kind == ErrorKind::Retriable
            && let Err(second) = transactions.abort()
        {
            tracing::warn!("a transaction could not be aborted: {}", second.report());
        }
    })
}
