//! Where positions, epochs and dead letters are kept: the part of the protocol that may differ.
//!
//! Place in the data path: [`Ledger`] gives the first and the last statements of every transaction and
//! the questions asked at start and after failures. There are two: the tables of the connectors
//! (`store`), keyed by an owner's name, and those of the SQL control plane (`consumer`). Everything
//! else, the order of steps above all, is one implementation.
//!
//! Invariants: positions are read under a row lock after failures, so that a transaction whose
//! connection was lost is waited for, and without waiting for a replica, which may be what held that
//! transaction up; what is claimed is claimed in one transaction, or nothing of it.

use super::building::Building;
use super::session::{Session, checked};
use super::wire::{Format, Param, ParamWriter, Pipeline, Rows};
use crate::database::{ClaimError, DbError, DbErrorKind, DbResult, Position};
use crate::write::Transaction;
use api::{DeadLetter, Seat, StartResolver};
use data::TopicPartition;
use std::collections::HashMap;

/// A position under no offset at all makes another round; more than a few mean a row that comes and
/// goes.
const CLAIM_ROUNDS_MAX: usize = 5;

/// A row of the table of positions.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) next_offset: Option<i64>,
    pub(super) epoch: i64,
    pub(super) topic_id: Option<String>,
}

impl Stored {
    /// The topic has another id than the row; what to do about it is the caller's to say.
    pub(super) fn of_another_topic(&self, tp: &TopicPartition, old: &str, new: &str) -> DbError {
        let TopicPartition { topic, partition } = tp;
        let offset = self.next_offset.unwrap_or_default();
        let text = format!(
            "the topic {topic} was deleted and created again (its id was {old} and is now {new}); \
             the stored offset {offset} of partition {partition} belongs to the old one"
        );
        DbError::new(DbErrorKind::Config, text)
    }
}

/// Starts by partition, for those that have none stored.
pub(super) type Starts = HashMap<TopicPartition, i64>;

pub(super) trait Ledger: Send + Sync + std::fmt::Debug {
    /// Makes sure that the tables are there and can be used.
    fn ensure(&self, session: &mut Session) -> DbResult<()>;

    /// Adds the statements that move positions: one for each of the transaction's advances, in their
    /// order, each a [`Step::Advance`](super::building::Step) that fails or counts no row where the
    /// position is another.
    fn push_advances(&self, building: &mut Building<'_>, transaction: &Transaction<'_>);

    /// Adds the statement that keeps the transaction's rejects, of which there are some.
    fn push_letters(&self, building: &mut Building<'_>, transaction: &Transaction<'_>);

    /// The rows of partitions; those that are not there are left out.
    fn read(
        &self,
        session: &mut Session,
        partitions: &[TopicPartition],
        locked: bool,
    ) -> DbResult<HashMap<TopicPartition, Stored>>;

    /// Takes the seats over in one transaction, storing starts where nothing is stored. `None`: a
    /// row has changed since it was read, and nothing has been done.
    fn take(
        &self,
        session: &mut Session,
        seats: &[Seat],
        starts: &Starts,
    ) -> DbResult<Option<Vec<Position>>>;

    /// The error of a topic whose id is not the stored one, with both ways on.
    fn recreated(&self, tp: &TopicPartition, row: &Stored, old: &str, new: &str) -> DbError;

    /// Every position of this owner, read under no lock.
    fn stored(&self, session: &mut Session) -> DbResult<Vec<(TopicPartition, i64)>>;

    /// See `Database::set_positions`.
    fn set_positions(
        &self,
        session: &mut Session,
        changes: &[(TopicPartition, Option<i64>)],
    ) -> DbResult<()>;

    /// Letters to forward to a topic, oldest first.
    fn outbox(&self, session: &mut Session, letters_max: usize) -> DbResult<Vec<DeadLetter>>;

    /// Marks letters as forwarded.
    fn forwarded(&self, session: &mut Session, ids: &[i64]) -> DbResult<()>;
}

/// Takes the partitions over; see `Database::claim`.
pub(super) fn claim(
    ledger: &dyn Ledger,
    session: &mut Session,
    seats: &[Seat],
    resolver: &mut dyn StartResolver,
) -> Result<Vec<Position>, ClaimError> {
    let mut starts = Starts::new();
    let partitions: Vec<TopicPartition> = seats.iter().map(|s| s.tp.clone()).collect();
    for _ in 0..CLAIM_ROUNDS_MAX {
        let stored = ledger.read(session, &partitions, false)?;
        check_topics(ledger, seats, &stored)?;
        // Kafka is asked outside of a transaction: it may take its time.
        let missing: Vec<TopicPartition> = partitions
            .iter()
            .filter(|tp| stored.get(tp).is_none_or(|s| s.next_offset.is_none()))
            .filter(|tp| !starts.contains_key(tp))
            .cloned()
            .collect();
        if !missing.is_empty() {
            let resolved = resolver.resolve(&missing).map_err(ClaimError::Resolve)?;
            if resolved.len() != missing.len() {
                let text = "the starts of some partitions were not resolved";
                return Err(DbError::new(DbErrorKind::Bug, text).into());
            }
            starts.extend(missing.into_iter().zip(resolved.into_iter().map(|r| r.offset)));
        }
        if let Some(positions) = ledger.take(session, seats, &starts)? {
            return Ok(positions);
        }
    }
    let text = "the stored positions change faster than they can be claimed";
    Err(DbError::new(DbErrorKind::Concurrency, text).into())
}

fn check_topics(
    ledger: &dyn Ledger,
    seats: &[Seat],
    stored: &HashMap<TopicPartition, Stored>,
) -> DbResult<()> {
    for seat in seats {
        let Some(row) = stored.get(&seat.tp).filter(|s| s.next_offset.is_some()) else { continue };
        if let (Some(old), Some(new)) = (&row.topic_id, &seat.topic_id)
            && old != new
        {
            return Err(ledger.recreated(&seat.tp, row, old, new));
        }
    }
    Ok(())
}

/// The rows as they are, read under a lock; those without an offset count as missing.
pub(super) fn positions(
    ledger: &dyn Ledger,
    session: &mut Session,
    partitions: &[TopicPartition],
) -> DbResult<Vec<Option<Position>>> {
    let stored = ledger.read(session, partitions, true)?;
    let position =
        |row: &Stored| Some(Position { next_offset: row.next_offset?, epoch: row.epoch });
    Ok(partitions.iter().map(|tp| stored.get(tp).and_then(position)).collect())
}

/// Runs one statement in a transaction of its own, which is committed if `positions` can make of its
/// rows what was asked for, and else rolled back (`None`).
pub(super) fn take_with<T>(
    session: &mut Session,
    sql: &str,
    formats: &[Format],
    fill: impl FnOnce(&mut ParamWriter<'_>),
    positions: impl FnOnce(&Rows) -> Option<T>,
) -> DbResult<Option<T>> {
    let mut pipeline = Pipeline::new();
    pipeline.parse("", "BEGIN", &[]).bind("", &[], Format::Text).execute(0);
    local_limits(session, &mut pipeline);
    pipeline.parse("", sql, &[]);
    pipeline.bind_with("", formats, Format::Text, fill).execute(0).sync();
    let reply = session.run(&mut pipeline)?;
    if reply.failure.is_some() {
        // The first error is what counts; a session that cannot roll back is dropped by the caller.
        if let Err(error) = session.execute("ROLLBACK") {
            tracing::debug!("rollback: {error}");
        }
        return checked(reply).map(|_| None);
    }
    let found = reply.statements.last().and_then(|statement| positions(&statement.rows));
    // Only a transaction without any error gets this far, so the COMMIT means what it says.
    session.execute(if found.is_some() { "COMMIT" } else { "ROLLBACK" })?;
    Ok(found)
}

/// Runs one question; `locked`: it takes locks, for which no replica is waited for.
pub(super) fn read_with(
    session: &mut Session,
    sql: &str,
    formats: &[Format],
    locked: bool,
    fill: impl FnOnce(&mut ParamWriter<'_>),
) -> DbResult<Rows> {
    let mut pipeline = Pipeline::new();
    if locked {
        let local = "SELECT set_config('synchronous_commit', 'local', true)";
        pipeline.parse("", local, &[]).bind("", &[], Format::Text).execute(0);
    }
    local_limits(session, &mut pipeline);
    pipeline.parse("", sql, &[]);
    pipeline.bind_with("", formats, Format::Text, fill).execute(0).sync();
    let mut reply = checked(session.run(&mut pipeline)?)?;
    Ok(reply.statements.pop().unwrap_or_default().rows)
}

/// Behind a pooler, the time limits of this transaction.
fn local_limits(session: &Session, pipeline: &mut Pipeline) {
    if let Some(limits) = session.local_settings() {
        let none: [Param<'_>; 0] = [];
        pipeline.parse("", &limits, &[]).bind("", &none, Format::Text).execute(0);
    }
}
