//! The table of positions: made, claimed and read.
//!
//! Place in the data path: at start and after failures; batches move the rows themselves
//! (`advance`). Positions are read under a row lock, so that a transaction whose connection was lost
//! is waited for, and without waiting for a replica, which may be what held that transaction up.

use super::array;
use super::names;
use super::session::{Session, checked};
use super::settings::PgSettings;
use super::wire::{Format, Param, Pipeline, Rows};
use crate::database::{ClaimError, DbError, DbErrorKind, DbResult, Position};
use crate::table::TableName;
use api::{Seat, StartResolver};
use data::TopicPartition;
use std::collections::HashMap;

/// A position under no offset at all makes another round; more than a few mean a row that comes and
/// goes.
const CLAIM_ROUNDS_MAX: usize = 5;

pub(super) fn offsets_ddl(table: &TableName) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (owner text NOT NULL, topic text NOT NULL, \
         partition integer NOT NULL, next_offset bigint, epoch bigint NOT NULL, topic_id text, \
         updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (owner, topic, partition)) \
         WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, \
         autovacuum_vacuum_threshold = 1000)",
        names::table(table)
    )
}

pub(super) fn dead_letters_ddl(table: &TableName) -> String {
    let index: String = format!("{}_outbox", table.name)
        .chars()
        .scan(0, |bytes, c| {
            *bytes += c.len_utf8();
            (*bytes <= names::IDENTIFIER_BYTES_MAX).then_some(c)
        })
        .collect();
    format!(
        "CREATE TABLE IF NOT EXISTS {0} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
         owner text NOT NULL, connector text NOT NULL, task integer NOT NULL, \
         topic text NOT NULL, partition integer NOT NULL, record_offset bigint NOT NULL, \
         record_timestamp timestamptz, key bytea, value bytea, headers jsonb NOT NULL, \
         stage text NOT NULL, class text NOT NULL, exception text NOT NULL, \
         reason text NOT NULL, sqlstate text, column_name text, target_table text, \
         created_at timestamptz NOT NULL DEFAULT now(), forwarded_at timestamptz);\n\
         CREATE INDEX IF NOT EXISTS {1} ON {0} (id) WHERE forwarded_at IS NULL",
        names::table(table),
        names::ident(&index)
    )
}

/// What the role lacks: why, and the statements that help.
struct Lack {
    text: String,
    sqlstate: String,
    sql: String,
}

/// Makes sure that the tables exist and can be used; what is lacking is told at once for all.
pub(super) fn ensure(session: &mut Session, settings: &PgSettings) -> DbResult<()> {
    let common = &settings.common;
    let mut tables =
        vec![(&common.dead_letters_table, dead_letters_ddl(&common.dead_letters_table))];
    if common.exactly_once {
        tables.insert(0, (&common.offsets_table, offsets_ddl(&common.offsets_table)));
    }
    let mut lacks = Vec::new();
    for (table, ddl) in &tables {
        lacks.extend(match exists(session, table)? {
            true => check_privileges(session, table)?,
            false => create(session, table, ddl)?,
        });
    }
    let Some(first) = lacks.first() else { return Ok(()) };
    let texts: Vec<_> = lacks.iter().map(|lack| lack.text.as_str()).collect();
    let mut sql: Vec<&str> = lacks.iter().flat_map(|lack| lack.sql.lines()).collect();
    // A schema that both need is made once.
    let mut seen = std::collections::HashSet::new();
    sql.retain(|line| seen.insert(*line));
    Err(DbError::new(DbErrorKind::Config, texts.join("; "))
        .sqlstate(first.sqlstate.clone())
        .hint(format!("run as a role that may:\n{}", sql.join("\n"))))
}

/// Whether the table is there; also whether the server takes writes at all.
fn exists(session: &mut Session, table: &TableName) -> DbResult<bool> {
    let rows = session.query(
        "SELECT to_regclass($1::text) IS NOT NULL, current_setting('transaction_read_only')",
        &[Some(&names::table(table))],
    )?;
    if rows.text(0, 1) == Some("on") {
        return Err(DbError::new(DbErrorKind::Connection, "the server takes no writes")
            .sqlstate("25006")
            .hint("list all hosts in the URL with target_session_attrs=read-write"));
    }
    Ok(rows.text(0, 0) == Some("t"))
}

fn check_privileges(session: &mut Session, table: &TableName) -> DbResult<Option<Lack>> {
    let rows = session.query(
        "SELECT has_table_privilege(to_regclass($1::text), 'SELECT') \
         AND has_table_privilege(to_regclass($1::text), 'INSERT') \
         AND has_table_privilege(to_regclass($1::text), 'UPDATE')",
        &[Some(&names::table(table))],
    )?;
    if rows.text(0, 0) == Some("t") {
        return Ok(None);
    }
    let role = session.role()?;
    let text = format!("the role {role} may not use the table {table}");
    let sql = format!("{};", grant(table, &role));
    Ok(Some(Lack { text, sqlstate: "42501".to_owned(), sql }))
}

pub(super) fn grant(table: &TableName, role: &str) -> String {
    format!("GRANT SELECT, INSERT, UPDATE ON {} TO {}", names::table(table), names::ident(role))
}

/// Workers may start at once, and `IF NOT EXISTS` alone does not keep them apart.
fn create(session: &mut Session, table: &TableName, ddl: &str) -> DbResult<Option<Lack>> {
    let sql = format!("{};\n{ddl}", lock(table));
    let error = match session.execute(&sql) {
        Ok(()) => return Ok(None),
        Err(error) => error,
    };
    let (text, sql) = match error.sqlstate.as_deref() {
        Some("3F000") => missing_schema(session, table)?,
        Some("42501") => {
            let role = session.role()?;
            let text = format!(
                "the table {table} is missing, and the role {role} cannot create it: {error}"
            );
            (text, format!("{ddl};\n{};", grant(table, &role)))
        }
        _ => return Err(error),
    };
    Ok(Some(Lack { text, sqlstate: error.sqlstate.unwrap_or_default(), sql }))
}

/// What is said of a table whose schema does not exist, and the statement that helps. The owner of
/// a schema needs no grants.
pub(super) fn missing_schema(
    session: &mut Session,
    table: &TableName,
) -> DbResult<(String, String)> {
    let role = names::ident(&session.role()?);
    Ok(match &table.schema {
        Some(schema) => (
            format!("the schema {schema} does not exist, so the table {table} cannot be made"),
            format!("CREATE SCHEMA {} AUTHORIZATION {role};", names::ident(schema)),
        ),
        None => (
            format!(
                "no schema of the search path exists, so there is no place for the table {table}"
            ),
            format!("CREATE SCHEMA {role} AUTHORIZATION {role};"),
        ),
    })
}

/// Holds back others that create or alter the same table, until the transaction ends.
pub(super) fn lock(table: &TableName) -> String {
    let key = names::literal(&format!("copycat {table}"));
    format!("SELECT pg_advisory_xact_lock(hashtextextended({key}, 0))")
}

/// A row of the table of positions.
#[derive(Clone, Debug)]
struct Stored {
    next_offset: Option<i64>,
    epoch: i64,
    topic_id: Option<String>,
}

/// Takes the partitions over; see `Database::claim`.
pub(super) fn claim(
    session: &mut Session,
    settings: &PgSettings,
    seats: &[Seat],
    resolver: &mut dyn StartResolver,
) -> Result<Vec<Position>, ClaimError> {
    let mut starts: HashMap<TopicPartition, i64> = HashMap::new();
    let partitions: Vec<TopicPartition> = seats.iter().map(|s| s.tp.clone()).collect();
    for _ in 0..CLAIM_ROUNDS_MAX {
        let stored = read(session, settings, &partitions, false)?;
        check_topics(settings, seats, &stored)?;
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
        if let Some(positions) = take(session, settings, seats, &starts)? {
            return Ok(positions);
        }
    }
    let text = "the stored positions change faster than they can be claimed";
    Err(DbError::new(DbErrorKind::Concurrency, text).into())
}

/// One transaction: everything is taken, or nothing. `None`: a row has changed since it was read.
fn take(
    session: &mut Session,
    settings: &PgSettings,
    seats: &[Seat],
    starts: &HashMap<TopicPartition, i64>,
) -> DbResult<Option<Vec<Position>>> {
    let table = names::table(&settings.common.offsets_table);
    // A stored start wins over the resolved one; a topic that was created anew is left alone.
    let sql = format!(
        "INSERT INTO {table} AS o (owner, topic, partition, next_offset, epoch, topic_id) \
         SELECT $1::text, s.topic, s.partition, s.next_offset, 1, s.topic_id \
         FROM unnest($2::text[], $3::int4[], $4::int8[], $5::text[]) \
         AS s(topic, partition, next_offset, topic_id) \
         ORDER BY s.topic COLLATE \"C\", s.partition \
         ON CONFLICT (owner, topic, partition) DO UPDATE SET \
         next_offset = COALESCE(o.next_offset, EXCLUDED.next_offset), epoch = o.epoch + 1, \
         topic_id = COALESCE(EXCLUDED.topic_id, o.topic_id), updated_at = now() \
         WHERE o.next_offset IS NULL OR o.topic_id IS NULL OR EXCLUDED.topic_id IS NULL \
         OR o.topic_id = EXCLUDED.topic_id \
         RETURNING o.topic, o.partition, o.next_offset, o.epoch"
    );
    let mut pipeline = Pipeline::new();
    pipeline.parse("", "BEGIN", &[]).bind("", &[], Format::Text).execute(0);
    local_limits(session, &mut pipeline);
    let at = if session.local_settings().is_some() { 2 } else { 1 };
    pipeline.parse("", &sql, &[]);
    pipeline.bind_with("", &[Format::Binary; 5], Format::Text, |w| {
        w.value(|b| b.extend_from_slice(settings.common.owner.as_bytes()));
        w.value(|b| array::texts(b, seats.iter().map(|s| Some(&*s.tp.topic))));
        w.value(|b| array::ints(b, seats.iter().map(|s| s.tp.partition)));
        w.value(|b| array::longs(b, seats.iter().map(|s| starts.get(&s.tp).copied())));
        w.value(|b| array::texts(b, seats.iter().map(|s| s.topic_id.as_deref())));
    });
    pipeline.execute(0).sync();
    let reply = session.run(&mut pipeline)?;
    if reply.failure.is_some() {
        // The first error is what counts; a session that cannot roll back is dropped by the caller.
        if let Err(error) = session.execute("ROLLBACK") {
            tracing::debug!("rollback: {error}");
        }
        return checked(reply).map(|_| None);
    }
    let taken: HashMap<TopicPartition, Position> =
        reply.statements.get(at).map(|s| positions_of(&s.rows)).unwrap_or_default();
    let positions: Option<Vec<Position>> =
        seats.iter().map(|seat| taken.get(&seat.tp).copied()).collect();
    // Only a transaction without any error gets this far, so the COMMIT means what it says.
    session.execute(if positions.is_some() { "COMMIT" } else { "ROLLBACK" })?;
    Ok(positions)
}

/// Rows with an offset; those without are left out.
fn positions_of(rows: &Rows) -> HashMap<TopicPartition, Position> {
    (0..rows.len())
        .filter_map(|row| {
            let tp = TopicPartition::new(rows.text(row, 0)?, rows.parsed(row, 1)?);
            let next_offset = rows.parsed(row, 2)?;
            Some((tp, Position { next_offset, epoch: rows.parsed(row, 3)? }))
        })
        .collect()
}

fn check_topics(
    settings: &PgSettings,
    seats: &[Seat],
    stored: &HashMap<TopicPartition, Stored>,
) -> DbResult<()> {
    for seat in seats {
        let Some(row) = stored.get(&seat.tp).filter(|s| s.next_offset.is_some()) else { continue };
        if let (Some(old), Some(new)) = (&row.topic_id, &seat.topic_id)
            && old != new
        {
            return Err(recreated(settings, &seat.tp, row, old, new));
        }
    }
    Ok(())
}

fn recreated(
    settings: &PgSettings,
    tp: &TopicPartition,
    row: &Stored,
    old: &str,
    new: &str,
) -> DbError {
    let table = names::table(&settings.common.offsets_table);
    let row_of = format!(
        "owner = {} AND topic = {}",
        names::literal(&settings.common.owner),
        names::literal(&tp.topic)
    );
    let offset = row.next_offset.unwrap_or_default();
    let text = format!(
        "the topic {} was deleted and created again (its id was {old} and is now {new}); the \
         stored offset {offset} of partition {} belongs to the old one",
        tp.topic, tp.partition
    );
    DbError::new(DbErrorKind::Config, text).hint(format!(
        "to read the new topic from its start: UPDATE {table} SET next_offset = NULL, \
         topic_id = NULL, epoch = epoch + 1 WHERE {row_of}; \
         to go on at the stored offsets: UPDATE {table} SET topic_id = {}, epoch = epoch + 1 \
         WHERE {row_of}",
        names::literal(new)
    ))
}

/// The rows as they are, read under a lock; those without an offset count as missing.
pub(super) fn positions(
    session: &mut Session,
    settings: &PgSettings,
    partitions: &[TopicPartition],
) -> DbResult<Vec<Option<Position>>> {
    let stored = read(session, settings, partitions, true)?;
    let position =
        |row: &Stored| Some(Position { next_offset: row.next_offset?, epoch: row.epoch });
    Ok(partitions.iter().map(|tp| stored.get(tp).and_then(position)).collect())
}

/// See `Database::stored`.
pub(super) fn stored(
    session: &mut Session,
    settings: &PgSettings,
) -> DbResult<Vec<(TopicPartition, i64)>> {
    let sql = format!(
        "SELECT topic, partition, next_offset FROM {} WHERE owner = $1::text \
         AND next_offset IS NOT NULL ORDER BY topic COLLATE \"C\", partition",
        names::table(&settings.common.offsets_table)
    );
    let rows = session.query(&sql, &[Some(&settings.common.owner)])?;
    let position = |row| {
        let tp = TopicPartition::new(rows.text(row, 0)?, rows.parsed(row, 1)?);
        Some((tp, rows.parsed(row, 2)?))
    };
    Ok((0..rows.len()).filter_map(position).collect())
}

/// See `Database::set_positions`. One statement, so that it is one transaction behind poolers too.
pub(super) fn set_positions(
    session: &mut Session,
    settings: &PgSettings,
    changes: &[(TopicPartition, Option<i64>)],
) -> DbResult<()> {
    let row = |(tp, offset): &(TopicPartition, Option<i64>)| serde_json::json!({ "topic": &*tp.topic, "part": tp.partition, "next": offset });
    let rows = serde_json::Value::Array(changes.iter().map(row).collect()).to_string();
    let sql = format!(
        "INSERT INTO {} AS o (owner, topic, partition, next_offset, epoch) \
         SELECT $1::text, s.topic, s.part, s.next, 1 \
         FROM jsonb_to_recordset($2::jsonb) AS s(topic text, part integer, next bigint) \
         ORDER BY s.topic COLLATE \"C\", s.part \
         ON CONFLICT (owner, topic, partition) DO UPDATE SET next_offset = EXCLUDED.next_offset, \
         epoch = o.epoch + 1, topic_id = NULL, updated_at = now()",
        names::table(&settings.common.offsets_table)
    );
    session.query(&sql, &[Some(&settings.common.owner), Some(&rows)]).map(drop)
}

fn read(
    session: &mut Session,
    settings: &PgSettings,
    partitions: &[TopicPartition],
    locked: bool,
) -> DbResult<HashMap<TopicPartition, Stored>> {
    let sql = format!(
        "SELECT o.topic, o.partition, o.next_offset, o.epoch, o.topic_id FROM {} o \
         JOIN unnest($2::text[], $3::int4[]) AS w(topic, partition) \
         ON o.topic = w.topic AND o.partition = w.partition WHERE o.owner = $1::text \
         ORDER BY o.topic COLLATE \"C\", o.partition{}",
        names::table(&settings.common.offsets_table),
        if locked { " FOR UPDATE OF o" } else { "" }
    );
    let mut pipeline = Pipeline::new();
    if locked {
        let local = "SELECT set_config('synchronous_commit', 'local', true)";
        pipeline.parse("", local, &[]).bind("", &[], Format::Text).execute(0);
    }
    local_limits(session, &mut pipeline);
    pipeline.parse("", &sql, &[]);
    pipeline.bind_with("", &[Format::Text, Format::Binary, Format::Binary], Format::Text, |w| {
        w.value(|b| b.extend_from_slice(settings.common.owner.as_bytes()));
        w.value(|b| array::texts(b, partitions.iter().map(|p| Some(&*p.topic))));
        w.value(|b| array::ints(b, partitions.iter().map(|p| p.partition)));
    });
    pipeline.execute(0).sync();
    let mut reply = checked(session.run(&mut pipeline)?)?;
    let rows = reply.statements.pop().unwrap_or_default().rows;
    let mut stored = HashMap::with_capacity(rows.len());
    for row in 0..rows.len() {
        let parsed = rows.text(row, 0).zip(rows.parsed(row, 1)).zip(rows.parsed(row, 3));
        let Some(((topic, partition), epoch)) = parsed else {
            let table = &settings.common.offsets_table;
            let text = format!("a row of {table} cannot be read: partition or epoch is missing");
            return Err(DbError::new(DbErrorKind::Config, text));
        };
        let next_offset = rows.parsed(row, 2);
        let topic_id = rows.text(row, 4).map(str::to_owned);
        stored
            .insert(TopicPartition::new(topic, partition), Stored { next_offset, epoch, topic_id });
    }
    Ok(stored)
}

/// Behind a pooler, the time limits of this transaction.
fn local_limits(session: &Session, pipeline: &mut Pipeline) {
    if let Some(limits) = session.local_settings() {
        let none: [Param<'_>; 0] = [];
        pipeline.parse("", &limits, &[]).bind("", &none, Format::Text).execute(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_name_what_they_are_told() {
        let name = TableName { schema: Some("ops".to_owned()), name: "d".repeat(63) };
        let ddl = dead_letters_ddl(&name);
        assert!(ddl.starts_with("CREATE TABLE IF NOT EXISTS \"ops\".\"ddd"));
        let index = ddl.split("INDEX IF NOT EXISTS ").nth(1).unwrap();
        assert!(index.find(" ON ").unwrap() <= names::IDENTIFIER_BYTES_MAX + 2);
        assert!(offsets_ddl(&name).contains("fillfactor = 50"));
    }
}
