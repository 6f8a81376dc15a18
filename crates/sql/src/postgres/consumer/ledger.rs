//! The tables of the SQL control plane as a ledger: one consumer's, or one replay's.
//!
//! Place in the data path: the first and the last statements of a consumer's transactions. The tables
//! are made by the control plane's own installation, never here.
//!
//! Invariants: a position is claimed only under the definition that the claimer works by, held until
//! the claim commits; each change of a definition raises the epochs afterwards, so that a worker with
//! an older one can write no more.

use super::letters;
use crate::database::{DbError, DbErrorKind, DbResult, Position};
use crate::postgres::array;
use crate::postgres::building::{Building, Step};
use crate::postgres::ledger::{Ledger, Starts, Stored, read_with, take_with};
use crate::postgres::names;
use crate::postgres::session::Session;
use crate::postgres::wire::{Format, Param, Rows};
use crate::write::{Advance, Transaction};
use api::{DeadLetter, Seat};
use data::TopicPartition;
use std::collections::HashMap;
use std::sync::Arc;

/// The schema of the control plane.
pub(super) const SCHEMA: &str = "pipeline_kafka";
/// A claim that waits for longer asks who is in the way.
const CLAIM_LOCK_MS: u32 = 1000;

/// Whose positions and letters these are.
#[derive(Debug)]
pub(in crate::postgres) struct ConsumerTables {
    pub(super) consumer_id: i32,
    pub(super) replay_id: Option<i64>,
    /// The definition by which the task works.
    pub(super) config_version: i64,
    pub(super) topic: Arc<str>,
    /// As messages name it.
    pub(super) relation: String,
    /// Values begin with the id of their schema.
    pub(super) framed: bool,
    pub(super) worker: Option<String>,
    /// Whoever stands in the way may be ended: backends are what they seem.
    pub(super) ends_backends: bool,
    pub(super) sql: Statements,
}

/// The statements, which depend on nothing but whether they are a replay's: all tasks share them.
#[derive(Clone, Debug)]
pub(super) struct Statements {
    advance: Arc<str>,
    pub(super) letters: Arc<str>,
}

impl Statements {
    pub(super) fn new(replay: bool) -> Statements {
        let (table, owner) = table(replay);
        // A consumer that was dropped has no row: that fails too.
        let advance = format!(
            "WITH moved AS (UPDATE {SCHEMA}.{table} SET next_offset = CASE WHEN next_offset = $3::int8 \
             AND epoch = $4::int8 THEN $5::int8 ELSE 1 / (epoch - epoch) END, \
             rows_total = rows_total + $6::int8, \
             last_timestamp = COALESCE(to_timestamp($7::int8 / 1000.0), last_timestamp), \
             updated_at = now() WHERE {owner} = $1::int8 AND partition = $2::int4 RETURNING 1) \
             SELECT 1 / count(*) FROM moved"
        );
        Statements { advance: advance.into(), letters: letters::insert_sql(SCHEMA).into() }
    }
}

/// The table of positions and the column that says whose a row is.
pub(super) fn table(replay: bool) -> (&'static str, &'static str) {
    if replay { ("replay_offsets", "replay_id") } else { ("offsets", "consumer_id") }
}

impl ConsumerTables {
    fn table(&self) -> (&'static str, &'static str) {
        table(self.replay_id.is_some())
    }

    /// The number that rows of positions are found by.
    fn id(&self) -> i64 {
        self.replay_id.unwrap_or(i64::from(self.consumer_id))
    }

    fn shown(&self) -> String {
        match self.replay_id {
            Some(id) => format!("replay {id} of {} into {}", self.topic, self.relation),
            None => format!("the consumer of {} into {}", self.topic, self.relation),
        }
    }

    /// The row whose definition must still be ours.
    fn live(&self) -> &'static str {
        match self.replay_id {
            Some(_) => {
                "SELECT 1 AS one FROM pipeline_kafka.replays WHERE id = $1::int8 \
                 AND config_version = $2::int8 AND state NOT IN ('done', 'cancelled')"
            }
            None => {
                "SELECT 1 AS one FROM pipeline_kafka.consumers WHERE id = $1::int8 \
                 AND config_version = $2::int8 AND enabled"
            }
        }
    }

    /// Why a claim took nothing: the definition is another one now, or a row has changed.
    fn check_definition(&self, session: &mut Session) -> DbResult<()> {
        let (id, version) = (self.id().to_string(), self.config_version.to_string());
        let found = session.query(self.live(), &[Some(&id), Some(&version)])?;
        if !found.is_empty() {
            return Ok(());
        }
        let text = format!("{} has been changed, paused or dropped", self.shown());
        Err(DbError::new(DbErrorKind::Stale, text)
            .hint("read its definition again, and open it if it is still enabled"))
    }

    fn claim(
        &self,
        session: &mut Session,
        seats: &[Seat],
        starts: &Starts,
    ) -> DbResult<Option<Vec<Position>>> {
        let (table, owner) = self.table();
        let insert = match self.replay_id {
            // The starts and ends of a replay are stored before it is claimed.
            Some(_) => format!(
                "UPDATE {SCHEMA}.{table} AS o SET \
                 next_offset = COALESCE(o.next_offset, s.next_offset), epoch = o.epoch + 1, \
                 topic_id = COALESCE(s.topic_id, o.topic_id), owner_worker = $6::uuid, \
                 owner_pid = pg_backend_pid(), updated_at = now() \
                 FROM seats s, live WHERE o.{owner} = $1::int8 AND o.partition = s.partition \
                 AND (o.topic_id IS NULL OR s.topic_id IS NULL OR o.topic_id = s.topic_id)"
            ),
            None => format!(
                "INSERT INTO {SCHEMA}.{table} AS o ({owner}, partition, next_offset, epoch, \
                 topic_id, owner_worker, owner_pid) \
                 SELECT $1::int8, s.partition, s.next_offset, 1, s.topic_id, $6::uuid, \
                 pg_backend_pid() FROM seats s, live ORDER BY s.partition \
                 ON CONFLICT ({owner}, partition) DO UPDATE SET \
                 next_offset = COALESCE(o.next_offset, EXCLUDED.next_offset), \
                 epoch = o.epoch + 1, topic_id = COALESCE(EXCLUDED.topic_id, o.topic_id), \
                 owner_worker = EXCLUDED.owner_worker, owner_pid = EXCLUDED.owner_pid, \
                 updated_at = now() WHERE o.topic_id IS NULL OR EXCLUDED.topic_id IS NULL \
                 OR o.topic_id = EXCLUDED.topic_id"
            ),
        };
        let sql = format!(
            "WITH live AS MATERIALIZED ({} FOR SHARE), limits AS MATERIALIZED (SELECT \
             set_config('lock_timeout', '{CLAIM_LOCK_MS}', true)), seats AS (SELECT w.* \
             FROM limits, unnest($3::int4[], $4::int8[], $5::text[]::uuid[]) \
             AS w(partition, next_offset, topic_id)) \
             {insert} RETURNING o.partition, o.next_offset, o.epoch",
            self.live()
        );
        let binary = Format::Binary;
        let formats = [binary, binary, binary, binary, binary, Format::Text];
        take_with(
            session,
            &sql,
            &formats,
            |w| {
                w.value(|b| b.extend_from_slice(&self.id().to_be_bytes()));
                w.value(|b| b.extend_from_slice(&self.config_version.to_be_bytes()));
                w.value(|b| array::ints(b, seats.iter().map(|s| s.tp.partition)));
                w.value(|b| array::longs(b, seats.iter().map(|s| starts.get(&s.tp).copied())));
                w.value(|b| array::texts(b, seats.iter().map(|s| s.topic_id.as_deref())));
                match &self.worker {
                    Some(worker) => w.value(|b| b.extend_from_slice(worker.as_bytes())),
                    None => w.null(),
                }
            },
            |rows| {
                let taken = positions_of(rows);
                seats.iter().map(|seat| taken.get(&seat.tp.partition).copied()).collect()
            },
        )
    }

    /// Moves one position: number `n` of the transaction's advances.
    pub(super) fn push_advance(
        &self,
        building: &mut Building<'_>,
        transaction: &Transaction<'_>,
        rows: &[i64],
        (n, advance): (usize, &Advance),
    ) {
        let (rows, last) = told(transaction, rows, advance);
        let last = last.map(i64::to_be_bytes);
        let name = building.prepare(&self.sql.advance);
        let params = [
            Param::Binary(&self.id().to_be_bytes()),
            Param::Binary(&advance.tp.partition.to_be_bytes()),
            Param::Binary(&advance.from.to_be_bytes()),
            Param::Binary(&advance.epoch.to_be_bytes()),
            Param::Binary(&advance.to.to_be_bytes()),
            Param::Binary(&rows.to_be_bytes()),
            last.as_ref().map_or(Param::Null, |last| Param::Binary(last)),
        ];
        building.pipeline.bind(&name, &params, Format::Binary).execute(0);
        building.steps.push(Step::Advance(n));
    }

    /// Ends the backends that hold the rows of these seats: what is left of an owner before us whose
    /// worker is cut off. True: there were some.
    fn end_blockers(&self, session: &mut Session, seats: &[Seat]) -> DbResult<bool> {
        let (table, owner) = self.table();
        // The transaction that has changed a row and not ended is the row's xmax.
        let sql = format!(
            "SELECT a.pid, pg_terminate_backend(a.pid) FROM {SCHEMA}.{table} o \
             JOIN pg_stat_activity a ON a.backend_xid = o.xmax \
             WHERE o.{owner} = $1::int8 AND o.partition = ANY ($2::int4[]) \
             AND a.pid <> pg_backend_pid() AND a.datname = current_database() \
             AND a.usename = current_user AND a.application_name LIKE 'copycat%'"
        );
        let list = names::list(seats, |out, seat| out.push_str(&seat.tp.partition.to_string()));
        let id = self.id().to_string();
        let ended = session.query(&sql, &[Some(&id), Some(&format!("{{{list}}}"))])?;
        for row in 0..ended.len() {
            let pid = ended.text(row, 0).unwrap_or_default();
            tracing::warn!(
                "{}: ended backend {pid}, which held on to a position of its former owner",
                self.shown()
            );
        }
        Ok(!ended.is_empty())
    }
}

/// The rows written of each batch.
pub(super) fn rows_of(transaction: &Transaction<'_>) -> Vec<i64> {
    let mut rows = vec![0; transaction.batches.len()];
    for place in transaction.writes.iter().flat_map(|write| &write.rows) {
        if let Some(count) = rows.get_mut(place.batch as usize) {
            *count += 1;
        }
    }
    rows
}

/// The rows written of a partition, and the time of its last record before the new position.
fn told(transaction: &Transaction<'_>, rows: &[i64], advance: &Advance) -> (i64, Option<i64>) {
    let index = advance.batch as usize;
    let Some(batch) = transaction.batches.get(index) else { return (0, None) };
    let records = batch.raw.records();
    let end = records.partition_point(|record| record.offset < advance.to);
    let last = end.checked_sub(1).and_then(|at| records.get(at));
    let time = last.map(|record| record.timestamp).filter(|time| *time != -1);
    (rows.get(index).copied().unwrap_or_default(), time)
}

fn positions_of(rows: &Rows) -> HashMap<i32, Position> {
    let position = |row| {
        let next_offset = rows.parsed(row, 1)?;
        Some((rows.parsed(row, 0)?, Position { next_offset, epoch: rows.parsed(row, 2)? }))
    };
    (0..rows.len()).filter_map(position).collect()
}

impl Ledger for ConsumerTables {
    fn ensure(&self, session: &mut Session) -> DbResult<()> {
        ensure(session)
    }

    fn push_advances(&self, building: &mut Building<'_>, transaction: &Transaction<'_>) {
        let rows = rows_of(transaction);
        for (n, advance) in transaction.advances.iter().enumerate() {
            self.push_advance(building, transaction, &rows, (n, advance));
        }
    }

    fn push_letters(&self, building: &mut Building<'_>, transaction: &Transaction<'_>) {
        letters::push(building, self, transaction, &|_| true);
    }

    fn read(
        &self,
        session: &mut Session,
        partitions: &[TopicPartition],
        locked: bool,
    ) -> DbResult<HashMap<TopicPartition, Stored>> {
        let (table, owner) = self.table();
        let sql = format!(
            "SELECT o.partition, o.next_offset, o.epoch, o.topic_id FROM {SCHEMA}.{table} o \
             WHERE o.{owner} = $1::int8 AND o.partition = ANY ($2::int4[]) \
             ORDER BY o.partition{}",
            if locked { " FOR UPDATE OF o" } else { "" }
        );
        let rows = read_with(session, &sql, &[Format::Binary; 2], locked, |w| {
            w.value(|b| b.extend_from_slice(&self.id().to_be_bytes()));
            w.value(|b| array::ints(b, partitions.iter().map(|p| p.partition)));
        })?;
        let mut stored = HashMap::with_capacity(rows.len());
        for row in 0..rows.len() {
            let (Some(partition), Some(epoch)) = (rows.parsed(row, 0), rows.parsed(row, 2)) else {
                let text = format!("a row of {SCHEMA}.{table} cannot be read");
                return Err(DbError::new(DbErrorKind::Config, text));
            };
            let next_offset = rows.parsed(row, 1);
            let topic_id = rows.text(row, 3).map(str::to_owned);
            let tp = TopicPartition { topic: self.topic.clone(), partition };
            stored.insert(tp, Stored { next_offset, epoch, topic_id });
        }
        Ok(stored)
    }

    fn take(
        &self,
        session: &mut Session,
        seats: &[Seat],
        starts: &Starts,
    ) -> DbResult<Option<Vec<Position>>> {
        let mut claimed = self.claim(session, seats, starts);
        let waited = |error: &DbError| error.sqlstate.as_deref() == Some("55P03");
        if self.ends_backends
            && claimed.as_ref().is_err_and(waited)
            && self.end_blockers(session, seats)?
        {
            claimed = self.claim(session, seats, starts);
        }
        let claimed = claimed?;
        if claimed.is_none() {
            self.check_definition(session)?;
        }
        Ok(claimed)
    }

    fn recreated(&self, tp: &TopicPartition, row: &Stored, old: &str, new: &str) -> DbError {
        let (topic, relation) = (names::literal(&tp.topic), names::literal(&self.relation));
        let error = row.of_another_topic(tp, old, new);
        match self.replay_id {
            Some(id) => error.hint(format!(
                "the range of this replay is gone: SELECT {SCHEMA}.replay_cancel({id}), and call \
                 replay again"
            )),
            None => error.hint(format!(
                "to read the new topic from its start: \
                 SELECT {SCHEMA}.set_offsets({topic}, {relation}, 'earliest')"
            )),
        }
    }

    fn stored(&self, session: &mut Session) -> DbResult<Vec<(TopicPartition, i64)>> {
        let (table, owner) = self.table();
        let sql = format!(
            "SELECT partition, next_offset FROM {SCHEMA}.{table} WHERE {owner} = $1::int8 \
             AND next_offset IS NOT NULL ORDER BY partition"
        );
        let rows = session.query(&sql, &[Some(&self.id().to_string())])?;
        let position = |row| {
            let tp = TopicPartition { topic: self.topic.clone(), partition: rows.parsed(row, 0)? };
            Some((tp, rows.parsed(row, 1)?))
        };
        Ok((0..rows.len()).filter_map(position).collect())
    }

    fn set_positions(
        &self,
        session: &mut Session,
        changes: &[(TopicPartition, Option<i64>)],
    ) -> DbResult<()> {
        let (table, owner) = self.table();
        let row = |(tp, offset): &(TopicPartition, Option<i64>)| serde_json::json!({ "part": tp.partition, "next": offset });
        let rows = serde_json::Value::Array(changes.iter().map(row).collect()).to_string();
        let sql = format!(
            "UPDATE {SCHEMA}.{table} o SET next_offset = s.next, epoch = o.epoch + 1, \
             topic_id = NULL, updated_at = now() \
             FROM jsonb_to_recordset($2::jsonb) AS s(part integer, next bigint) \
             WHERE o.{owner} = $1::int8 AND o.partition = s.part"
        );
        session.query(&sql, &[Some(&self.id().to_string()), Some(&rows)]).map(drop)
    }

    /// Letters stay in their table.
    fn outbox(&self, _session: &mut Session, _letters_max: usize) -> DbResult<Vec<DeadLetter>> {
        Ok(Vec::new())
    }

    fn forwarded(&self, _session: &mut Session, _ids: &[i64]) -> DbResult<()> {
        Ok(())
    }
}

/// Whether the control plane is there, and the server takes writes.
pub(in crate::postgres) fn ensure(session: &mut Session) -> DbResult<()> {
    let sql = format!(
        "SELECT to_regclass('{SCHEMA}.offsets') IS NOT NULL, \
         current_setting('transaction_read_only')"
    );
    let rows = session.query(&sql, &[])?;
    if rows.text(0, 1) == Some("on") {
        return Err(DbError::new(DbErrorKind::Connection, "the server takes no writes")
            .sqlstate("25006")
            .hint("list all hosts in the URL with target_session_attrs=read-write"));
    }
    if rows.text(0, 0) != Some("t") {
        let text = format!("the schema {SCHEMA} is not installed in this database");
        return Err(DbError::new(DbErrorKind::Config, text)
            .sqlstate("3F000")
            .hint("install it: copycat pg install --database-url …"));
    }
    Ok(())
}
