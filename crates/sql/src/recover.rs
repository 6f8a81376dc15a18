//! What is done about errors: read the positions again, narrow, plan again, wait, or give up.
//!
//! Invariant: after any failure positions are read again under a lock before anything is written;
//! only errors of rows can make rejects.

use crate::bind::{Part, SINK_TASK};
use crate::database::{DbError, DbErrorKind};
use crate::outcome::{Lost, judge};
use crate::pipeline::Flight;
use crate::sink::SqlSink;
use crate::work::{Finding, Narrow};
use crate::write::{RefusedBy, RejectRow, RowRef};
use api::{Error, ErrorKind, Result, SinkContext};
use data::{Reject, Stage, TopicPartition};
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Attempts since something last became durable.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tries {
    drift: u32,
    concurrency: u32,
    stale: u32,
    retriable: u32,
}

/// Plans are made again so many times before a changed table is an error.
const DRIFT_MAX: u32 = 1;
/// Deadlocks and lock timeouts in a row that are repeated at once.
const CONCURRENCY_MAX: u32 = 5;
/// An attempt that took longer is not repeated at once.
const AT_ONCE_MAX: Duration = Duration::from_millis(500);
/// A position that did not fit and was then found to fit; more often than this is a riddle.
const STALE_MAX: u32 = 3;
/// The longest pause before a deadlock victim tries again, times the attempts so far.
const JITTER_MAX: Duration = Duration::from_millis(20);

/// Why a step came to no good end.
pub(crate) enum Trouble {
    /// `flight`: the transaction it is about, where it never was in flight.
    Database {
        error: DbError,
        flight: Option<Box<Flight>>,
    },
    Api(Error),
}

impl From<DbError> for Trouble {
    fn from(error: DbError) -> Self {
        Trouble::Database { error, flight: None }
    }
}

impl SqlSink {
    /// Prepares for another attempt.
    ///
    /// # Errors
    /// Where the runtime or an operator must act first.
    pub(crate) fn recover(
        &mut self,
        trouble: Trouble,
        context: &mut dyn SinkContext,
    ) -> Result<()> {
        let (error, flight) = match trouble {
            Trouble::Api(error) => return Err(error),
            Trouble::Database { error, flight } => (error, flight),
        };
        let failed = flight.map(|flight| *flight).or_else(|| match error.kind {
            DbErrorKind::Data => self.pipe.flights.pop_front(),
            _ => None,
        });
        self.give_up_connection(&error);
        self.pipe.abandon();
        self.suspect = true;
        match error.kind {
            DbErrorKind::Data => match self.table_changed(failed.as_ref()) {
                Ok(true) => Ok(()),
                Ok(false) => self.narrow_down(error, failed),
                Err(error) => self.recover(Trouble::from(error), context),
            },
            DbErrorKind::Drift => {
                self.binders.forget();
                self.pipe.db.forget_tables();
                self.tries.drift += 1;
                if self.tries.drift > DRIFT_MAX {
                    let mut error = api_error(error);
                    error.kind = ErrorKind::Config;
                    return Err(error);
                }
                Ok(())
            }
            DbErrorKind::Concurrency => {
                self.tries.concurrency += 1;
                // A lock that was waited for long is waited for in the open, where a task can stop.
                let long = self.began.elapsed() >= AT_ONCE_MAX;
                if self.tries.concurrency > CONCURRENCY_MAX || long {
                    self.tries.concurrency = 0;
                    return Err(self.count_retry(api_error(error)));
                }
                // Between two that met: one must be late.
                std::thread::park_timeout(jitter(self.tries.concurrency));
                Ok(())
            }
            DbErrorKind::Stale => {
                self.tries.stale += 1;
                if self.tries.stale > STALE_MAX {
                    return Err(Error::bug(format!(
                        "the positions in the database are ours, and still: {}",
                        error.message
                    )));
                }
                // Reading the positions tells whose they are.
                self.resync(context).map_err(|trouble| match trouble {
                    Trouble::Api(error) => error,
                    Trouble::Database { error, .. } => {
                        self.give_up_connection(&error);
                        self.count_retry(api_error(error))
                    }
                })
            }
            DbErrorKind::Connection | DbErrorKind::Resource => {
                Err(self.count_retry(api_error(error)))
            }
            DbErrorKind::Config | DbErrorKind::Cancelled | DbErrorKind::Bug => {
                Err(api_error(error))
            }
        }
    }

    /// Whether a table is not what it was when the plans were made: then the row may be good. Asked
    /// once for each `put` that has bad rows.
    fn table_changed(&mut self, failed: Option<&Flight>) -> Result<bool, DbError> {
        let accepted = failed.map(|flight| flight.accepted);
        if accepted.is_none() || self.checked == accepted {
            return Ok(false);
        }
        self.pipe.db.connect()?;
        let changed = self.binders.refresh(&mut self.pipe)?;
        self.checked = accepted;
        Ok(changed)
    }

    /// Takes note of a transaction that failed because of one of its rows.
    fn narrow_down(&mut self, mut error: DbError, failed: Option<Flight>) -> Result<()> {
        let Some(flight) = failed else {
            return Err(Error::bug(format!("no transaction to explain: {}", error.message)));
        };
        let index = flight.accepted.checked_sub(self.first);
        let Some(accepted) = index.and_then(|index| self.queue.get_mut(index as usize)) else {
            // Its partitions have been given away meanwhile.
            return Ok(());
        };
        let narrow = match &mut self.narrow {
            Some(narrow) => narrow,
            None => self.narrow.insert(Narrow::new(accepted, &flight.parts)),
        };
        let located = flight.locate(&error);
        let first = match located {
            Some(row) => Some(row.batch),
            None => flight.parts.first().map(|part| part.batch),
        };
        let one = |part: &&Part| first.is_some_and(|first| accepted.are_one(part.batch, first));
        let parts: Vec<Part> = flight.parts.iter().filter(one).cloned().collect();
        if located.is_none() && parts.len() < flight.parts.len() {
            // One partition after the other first; that may be all it takes.
            return Ok(());
        }
        if parts.is_empty() {
            return Err(Error::bug(format!("a row of no part failed: {}", error.message)));
        }
        let bad = match narrow.failed(accepted, &parts, located.map(|r| (r.batch, r.row))) {
            Finding::Row(batch, row) => vec![RowRef { batch, row }],
            Finding::OneOf(rows) => flight.to_blame(&error, &rows),
            Finding::Smaller => return Ok(()),
            Finding::NoRow => {
                let mut error = plain_error(&error);
                error.kind = ErrorKind::Config;
                return Err(error
                    .hint("no record of the transaction is to blame: see the table's triggers"));
            }
        };
        for at in bad {
            let place = flight.place_of(at);
            let table = place.or_else(|| flight.writes.first().map(|write| (write, 0)));
            let table = table.map(|(write, _)| write.plan.table.name.clone());
            if let Some((write, index)) = place {
                self.pipe.db.explain(&mut error, write, index, &accepted.batches);
            }
            let mut reject = reject_of(at.row, &error);
            if let Some(batch) = accepted.batches.get(at.batch as usize) {
                reject.message = batch.about(at.row as usize, reject.message);
            }
            let by = match error.at_commit {
                true => RefusedBy::Committing,
                false => RefusedBy::Writing,
            };
            let bad = RejectRow { batch: at.batch, reject, by, table };
            accepted.bad.insert((at.batch, at.row), bad);
        }
        Ok(())
    }

    /// Reads the positions of everything that is ours and goes on from there.
    pub(crate) fn resync(&mut self, context: &mut dyn SinkContext) -> Result<(), Trouble> {
        self.pipe.db.connect()?;
        let lost = if self.settings.exactly_once() { self.read_positions()? } else { Vec::new() };
        self.pipe.unknown.clear();
        self.suspect = false;
        // First, so that nothing is told about them: where they stand is not our doing.
        for lost in &lost {
            self.drop_partition(&lost.tp);
        }
        self.land(context);
        for accepted in &mut self.queue {
            for line in &mut accepted.lines {
                line.sent = line.done;
            }
        }
        self.land(context);
        match lost.first() {
            None => Ok(()),
            Some(first) => {
                // That explains it, however often.
                self.tries.stale = 0;
                Err(Trouble::Api(fenced(first, &lost)))
            }
        }
    }

    /// Finds out which unknown transactions were committed; gives the partitions that are lost.
    fn read_positions(&mut self) -> Result<Vec<Lost>, Trouble> {
        // All of them: a database that went back in time must be noticed without new records too.
        let tps: Vec<TopicPartition> = self.owned.keys().cloned().collect();
        if tps.is_empty() {
            return Ok(Vec::new());
        }
        let positions = self.pipe.db.positions(&tps)?;
        if positions.len() != tps.len() {
            let text = "the database answered for other partitions than it was asked for";
            return Err(DbError::new(DbErrorKind::Bug, text).into());
        }
        let read: Vec<_> = tps.into_iter().zip(positions).collect();
        let ends: Vec<_> = self.pipe.unknown.iter().map(|flight| flight.ends.clone()).collect();
        let outcome = judge(&self.owned, &read, &ends);
        self.pipe.landed.extend(self.pipe.unknown.drain(..outcome.committed));
        Ok(outcome.lost)
    }

    /// Counts an attempt that failed for reasons outside; where the user asked for it, the task
    /// ends after so many.
    pub(crate) fn count_retry(&mut self, error: Error) -> Error {
        if error.kind != ErrorKind::Retriable {
            return error;
        }
        self.tries.retriable += 1;
        let config = &self.settings.config;
        if !config.max_retries_strict || self.tries.retriable <= config.max_retries {
            return error;
        }
        let tries = self.tries.retriable;
        Error {
            kind: ErrorKind::Config,
            message: format!("gave up after {tries} attempts: {}", error.message),
            ..error
        }
        .hint("max.retries.strict=false repeats such attempts for ever")
    }
}

fn fenced(first: &Lost, lost: &[Lost]) -> Error {
    let each = lost.iter().map(|l| format!("partition {}: {}", l.tp, l.why));
    let text = each.collect::<Vec<_>>().join("; ");
    Error::fenced(text).record(first.tp.clone(), first.position)
}

fn reject_of(row: u32, error: &DbError) -> Reject {
    let conversion = error.sqlstate.is_none();
    Reject {
        row,
        stage: Stage::TaskPut,
        class: Cow::Borrowed(SINK_TASK),
        exception: Cow::Borrowed(match conversion {
            true => "org.apache.kafka.connect.errors.DataException",
            false => "java.sql.SQLException",
        }),
        message: error.message.clone(),
        sqlstate: error.sqlstate.clone(),
        column: error.column.clone(),
    }
}

fn plain_error(error: &DbError) -> Error {
    let mut plain = Error::new(kind_of(error.kind), error.message.clone());
    plain.hint.clone_from(&error.hint);
    plain.sqlstate.clone_from(&error.sqlstate);
    plain
}

/// A database's error as the runtime knows it.
pub(crate) fn api_error(error: DbError) -> Error {
    plain_error(&error)
}

fn kind_of(kind: DbErrorKind) -> ErrorKind {
    match kind {
        DbErrorKind::Connection | DbErrorKind::Resource | DbErrorKind::Concurrency => {
            ErrorKind::Retriable
        }
        DbErrorKind::Data => ErrorKind::Data,
        DbErrorKind::Drift | DbErrorKind::Config => ErrorKind::Config,
        DbErrorKind::Stale => ErrorKind::Fenced,
        DbErrorKind::Cancelled => ErrorKind::Cancelled,
        DbErrorKind::Bug => ErrorKind::Bug,
    }
}

/// A pause that differs from process to process; nothing depends on its length.
fn jitter(attempt: u32) -> Duration {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let most = (JITTER_MAX * attempt).as_micros() as u64;
    Duration::from_micros(random % most.max(1))
}
