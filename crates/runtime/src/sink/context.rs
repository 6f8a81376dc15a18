//! The runtime's ear: what a task reports while it works.

use super::shared::Shared;
use crate::errors::{Breaker, ErrorLog, Repeats};
use api::{Error, SinkContext};
use data::{Batch, Reject, TopicPartition};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) struct Context {
    shared: Arc<Shared>,
    breaker: Breaker,
    log: ErrorLog,
    repeats: Repeats,
    /// What to do when the breaker has tripped.
    advice: &'static str,
    reported: bool,
    ignored: BTreeSet<String>,
    /// An error met while a command was served.
    failure: Option<Error>,
}

impl Context {
    pub(crate) fn new(
        shared: Arc<Shared>,
        breaker: Breaker,
        log: ErrorLog,
        advice: &'static str,
    ) -> Self {
        Context {
            shared,
            breaker,
            log,
            repeats: Repeats::default(),
            advice,
            reported: false,
            ignored: BTreeSet::new(),
            failure: None,
        }
    }

    /// Whether rejects became durable since the last call.
    pub(crate) fn take_reported(&mut self) -> bool {
        std::mem::take(&mut self.reported)
    }

    /// Says what was held back in the log, if it is time to.
    pub(crate) fn sum_up(&mut self) {
        self.repeats.warn_due();
    }

    pub(crate) fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// # Errors
    /// The error that was kept while a command was served.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl SinkContext for Context {
    fn durable(&mut self, tp: &TopicPartition, next_offset: i64) {
        self.shared.note_durable(tp, next_offset);
    }

    fn stored(&mut self, rows: u64) {
        self.shared.metrics().stored(rows);
    }

    fn tolerate(&self, records: u64, failed: u64, reason: &str) -> Result<(), Error> {
        match self.breaker.check(records, failed) {
            None => Ok(()),
            Some((failed, records)) => Err(Error::config(format!(
                "{failed} of the last {records} records cannot be stored: the definition must be \
                 wrong, not the records; one of the reasons: {reason}"
            ))
            .hint(self.advice)),
        }
    }

    fn settled(&mut self, records: u64, failed: u64) {
        self.breaker.note(records, failed);
    }

    fn reported(&mut self, batch: &Batch, rejects: &[Reject]) {
        self.reported |= !rejects.is_empty();
        self.shared.metrics().reported(rejects.len() as u64);
        self.shared.metrics().logged(self.log.rejects(&batch.raw, rejects, &mut self.repeats));
    }

    fn ignored(&mut self, what: &str, count: u64) {
        const NAMES_MAX: usize = 1_000;
        self.shared.metrics().ignored(count);
        if self.ignored.len() < NAMES_MAX && self.ignored.insert(what.to_owned()) {
            tracing::info!("ignored: {what} (said once)");
        }
    }

    fn cancelled(&self) -> bool {
        self.shared.is_cancelled()
    }
}
