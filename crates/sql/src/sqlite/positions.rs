//! Positions of partitions: claimed, read and moved.
//!
//! Place in the data path: [`advance`] is the first statement of every transaction, so that an owner
//! who was replaced fails before it has written anything.
//!
//! Invariant: a position moves only from the value, and under the epoch, that the owner saw.

use super::catalogue::quote_table;
use super::connection::{Waiting, begin, commit, roll_back};
use super::error::{Doing, classify};
use super::storage::NOW;
use crate::config::DatabaseSettings;
use crate::database::{ClaimError, DbError, DbErrorKind, DbResult, Position};
use crate::write::Advance;
use api::{Seat, StartResolver};
use data::TopicPartition;
use rusqlite::{Connection, OptionalExtension, params};

/// Resolving a start asks Kafka, which must not happen under the file's only write lock. So missing
/// rows are found, resolved, and looked at again; more rounds than this mean that somebody keeps
/// removing the positions.
const ROUNDS_MAX: usize = 5;

struct Stored {
    next_offset: Option<i64>,
    epoch: i64,
    topic_id: Option<String>,
}

/// The statements about one offset table.
pub(super) struct PositionSql {
    select: String,
    insert: String,
    take: String,
    advance: String,
    stored: String,
    set: String,
}

impl PositionSql {
    pub(super) fn new(options: &DatabaseSettings) -> PositionSql {
        let table = quote_table(&options.offsets_table);
        let row = "owner = ?1 AND topic = ?2 AND \"partition\" = ?3";
        PositionSql {
            select: format!("SELECT next_offset, epoch, topic_id FROM {table} WHERE {row}"),
            insert: format!(
                "INSERT INTO {table} (owner, topic, \"partition\", next_offset, epoch, topic_id, \
                 updated_at) VALUES (?1, ?2, ?3, ?4, 1, ?5, {NOW})"
            ),
            take: format!(
                "UPDATE {table} SET next_offset = ?4, epoch = epoch + 1, \
                 topic_id = coalesce(?5, topic_id), updated_at = {NOW} WHERE {row}"
            ),
            advance: format!(
                "UPDATE {table} SET next_offset = ?4, updated_at = {NOW} \
                 WHERE {row} AND next_offset = ?5 AND epoch = ?6"
            ),
            stored: format!(
                "SELECT topic, \"partition\", next_offset FROM {table} WHERE owner = ?1 \
                 AND next_offset IS NOT NULL ORDER BY topic, \"partition\""
            ),
            set: format!(
                "INSERT INTO {table} (owner, topic, \"partition\", next_offset, epoch, updated_at) \
                 VALUES (?1, ?2, ?3, ?4, 1, {NOW}) \
                 ON CONFLICT (owner, topic, \"partition\") DO UPDATE SET \
                 next_offset = excluded.next_offset, epoch = epoch + 1, topic_id = NULL, \
                 updated_at = excluded.updated_at"
            ),
        }
    }

    fn read(
        &self,
        connection: &Connection,
        owner: &str,
        tp: &TopicPartition,
    ) -> DbResult<Option<Stored>> {
        connection
            .query_row(&self.select, params![owner, &*tp.topic, tp.partition], |r| {
                Ok(Stored { next_offset: r.get(0)?, epoch: r.get(1)?, topic_id: r.get(2)? })
            })
            .optional()
            .map_err(|e| classify(&e, Doing::Statement))
    }

    /// See [`crate::database::Database::stored`].
    pub(super) fn stored(
        &self,
        connection: &Connection,
        owner: &str,
    ) -> DbResult<Vec<(TopicPartition, i64)>> {
        let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
        let mut select = connection.prepare(&self.stored).map_err(fail)?;
        let rows = select.query_map(params![owner], |row| {
            let topic: String = row.get(0)?;
            Ok((TopicPartition::new(topic, row.get(1)?), row.get(2)?))
        });
        rows.map_err(fail)?.collect::<Result<_, _>>().map_err(fail)
    }

    /// See [`crate::database::Database::set_positions`]; the transaction is already open.
    pub(super) fn set(
        &self,
        connection: &Connection,
        owner: &str,
        changes: &[(TopicPartition, Option<i64>)],
    ) -> DbResult<()> {
        let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
        let mut set = connection.prepare(&self.set).map_err(fail)?;
        for (tp, offset) in changes {
            set.execute(params![owner, &*tp.topic, tp.partition, offset]).map_err(fail)?;
        }
        Ok(())
    }

    /// Moves positions; the transaction is already open.
    /// # Errors
    /// `Stale` where a row is not where it should be.
    pub(super) fn advance(
        &self,
        connection: &Connection,
        owner: &str,
        advances: &[Advance],
    ) -> DbResult<()> {
        if advances.is_empty() {
            return Ok(());
        }
        let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
        let mut update = connection.prepare(&self.advance).map_err(fail)?;
        for a in advances {
            let row = params![owner, &*a.tp.topic, a.tp.partition, a.to, a.from, a.epoch];
            if update.execute(row).map_err(fail)? != 1 {
                return Err(self.stale(connection, owner, a));
            }
        }
        Ok(())
    }

    fn stale(&self, connection: &Connection, owner: &str, a: &Advance) -> DbError {
        let found = match self.read(connection, owner, &a.tp) {
            Ok(Some(Stored { next_offset: Some(offset), epoch, .. })) => {
                format!("it is at {offset} under epoch {epoch}")
            }
            Ok(Some(Stored { epoch, .. })) => format!("it has no offset, epoch {epoch}"),
            Ok(None) => "it is gone".to_owned(),
            Err(error) => format!("it could not be read: {error}"),
        };
        let (tp, from, epoch) = (&a.tp, a.from, a.epoch);
        DbError::new(
            DbErrorKind::Stale,
            format!("the position of {tp} should be {from} under epoch {epoch}; {found}"),
        )
    }
}

/// See [`crate::database::Database::claim`].
pub(super) fn claim(
    connection: &Connection,
    waiting: &Waiting,
    options: &DatabaseSettings,
    sql: &PositionSql,
    seats: &[Seat],
    resolver: &mut dyn StartResolver,
) -> Result<Vec<Position>, ClaimError> {
    let mut starts: Vec<Option<i64>> = vec![None; seats.len()];
    for _ in 0..ROUNDS_MAX {
        let missing = missing(connection, options, sql, seats, &starts)?;
        if !missing.is_empty() {
            let partitions: Vec<TopicPartition> =
                missing.iter().filter_map(|i| seats.get(*i)).map(|s| s.tp.clone()).collect();
            let resolved = resolver.resolve(&partitions).map_err(ClaimError::Resolve)?;
            if resolved.len() != missing.len() {
                let text = "the resolver answered for another number of partitions";
                return Err(DbError::new(DbErrorKind::Bug, text).into());
            }
            for (index, start) in missing.iter().zip(resolved) {
                if let Some(slot) = starts.get_mut(*index) {
                    *slot = Some(start.offset);
                }
            }
        }
        begin(connection, waiting)?;
        match take(connection, options, sql, seats, &starts) {
            Ok(Some(positions)) => {
                if let Err(error) = commit(connection, waiting) {
                    roll_back(connection)?;
                    return Err(error.into());
                }
                return Ok(positions);
            }
            Ok(None) => roll_back(connection)?,
            Err(error) => {
                roll_back(connection)?;
                return Err(error.into());
            }
        }
    }
    Err(DbError::new(
        DbErrorKind::Concurrency,
        "the positions keep disappearing while they are claimed",
    )
    .hint(format!("find out who changes {}", options.offsets_table))
    .into())
}

/// Indexes of seats that have neither a stored nor a resolved start.
fn missing(
    connection: &Connection,
    options: &DatabaseSettings,
    sql: &PositionSql,
    seats: &[Seat],
    starts: &[Option<i64>],
) -> DbResult<Vec<usize>> {
    let mut missing = Vec::new();
    for (index, (seat, start)) in seats.iter().zip(starts).enumerate() {
        let stored = sql.read(connection, &options.owner, &seat.tp)?;
        if let Some(stored) = &stored {
            check_topic(options, seat, stored)?;
        }
        if start.is_none() && stored.is_none_or(|s| s.next_offset.is_none()) {
            missing.push(index);
        }
    }
    Ok(missing)
}

/// Takes every seat; `None` where a start is needed that was not resolved before.
fn take(
    connection: &Connection,
    options: &DatabaseSettings,
    sql: &PositionSql,
    seats: &[Seat],
    starts: &[Option<i64>],
) -> DbResult<Option<Vec<Position>>> {
    let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
    let mut positions = Vec::with_capacity(seats.len());
    for (seat, start) in seats.iter().zip(starts) {
        let tp = &seat.tp;
        let stored = sql.read(connection, &options.owner, tp)?;
        let known = stored.as_ref().and_then(|s| s.next_offset);
        let Some(next_offset) = known.or(*start) else { return Ok(None) };
        let row = params![options.owner, &*tp.topic, tp.partition, next_offset, seat.topic_id];
        let epoch = match stored {
            Some(stored) => {
                check_topic(options, seat, &stored)?;
                connection.execute(&sql.take, row).map_err(fail)?;
                stored.epoch + 1
            }
            None => {
                connection.execute(&sql.insert, row).map_err(fail)?;
                1
            }
        };
        positions.push(Position { next_offset, epoch });
    }
    Ok(Some(positions))
}

/// A topic of the same name and another id is another topic: its offsets mean nothing here.
fn check_topic(options: &DatabaseSettings, seat: &Seat, stored: &Stored) -> DbResult<()> {
    let (Some(now), Some(then)) = (&seat.topic_id, &stored.topic_id) else { return Ok(()) };
    let Some(offset) = stored.next_offset.filter(|_| now != then) else { return Ok(()) };
    let table = quote_table(&options.offsets_table);
    let topic = &seat.tp.topic;
    let text = |s: &str| format!("'{}'", s.replace('\'', "''"));
    let row = format!("WHERE owner = {} AND topic = {}", text(&options.owner), text(topic));
    Err(DbError::new(
        DbErrorKind::Config,
        format!(
            "the topic {topic} was deleted and created again (id {then} before, {now} now); the \
             stored position {offset} of partition {} belongs to the old one",
            seat.tp.partition
        ),
    )
    .hint(format!(
        "to start afresh, as auto.offset.reset says: UPDATE {table} SET next_offset = NULL, \
         topic_id = NULL, epoch = epoch + 1 {row}; to go on from the stored positions: UPDATE \
         {table} SET topic_id = {} {row}",
        text(now)
    )))
}

/// See [`crate::database::Database::positions`]. The file's write lock is taken, so that a
/// transaction of another process is waited for; a row marked "no offset" counts as missing.
pub(super) fn read_locked(
    connection: &Connection,
    waiting: &Waiting,
    options: &DatabaseSettings,
    sql: &PositionSql,
    partitions: &[TopicPartition],
) -> DbResult<Vec<Option<Position>>> {
    begin(connection, waiting)?;
    let read = |tp: &TopicPartition| {
        let stored = sql.read(connection, &options.owner, tp)?;
        Ok(stored.and_then(|s| {
            s.next_offset.map(|next_offset| Position { next_offset, epoch: s.epoch })
        }))
    };
    let rows = partitions.iter().map(read).collect();
    roll_back(connection)?;
    rows
}
