//! The connectors' tables: positions and dead letters by owner, made where they are missing.
//!
//! Place in the data path: at start and after failures; batches move the rows themselves
//! (`advance`). What the protocol asks of them is in [`Ledger`].

use super::advance;
use super::array;
use super::building::Building;
use super::dead_letters;
use super::ledger::{Ledger, Starts, Stored, read_with, take_with};
use super::names;
use super::session::Session;
use super::wire::{Format, Rows};
use crate::config::DatabaseSettings;
use crate::database::{DbError, DbErrorKind, DbResult, Position};
use crate::table::TableName;
use crate::write::Transaction;
use api::{DeadLetter, Seat};
use data::TopicPartition;
use std::collections::HashMap;
use std::sync::Arc;

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
fn ensure(session: &mut Session, common: &DatabaseSettings) -> DbResult<()> {
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

/// The tables of one owner.
#[derive(Debug)]
pub(super) struct OwnerTables {
    settings: DatabaseSettings,
    advance_sql: Arc<str>,
    letters_sql: Arc<str>,
}

impl OwnerTables {
    pub(super) fn new(settings: &DatabaseSettings) -> OwnerTables {
        OwnerTables {
            advance_sql: advance::sql(&settings.offsets_table).into(),
            letters_sql: dead_letters::insert_sql(&settings.dead_letters_table).into(),
            settings: settings.clone(),
        }
    }

    fn offsets(&self) -> String {
        names::table(&self.settings.offsets_table)
    }
}

impl Ledger for OwnerTables {
    fn ensure(&self, session: &mut Session) -> DbResult<()> {
        ensure(session, &self.settings)
    }

    fn push_advances(&self, building: &mut Building<'_>, transaction: &Transaction<'_>) {
        advance::push(building, &self.advance_sql, &self.settings.owner, transaction.advances);
    }

    fn push_letters(&self, building: &mut Building<'_>, transaction: &Transaction<'_>) {
        dead_letters::push(building, &self.letters_sql, &self.settings, transaction);
    }

    fn read(
        &self,
        session: &mut Session,
        partitions: &[TopicPartition],
        locked: bool,
    ) -> DbResult<HashMap<TopicPartition, Stored>> {
        let sql = format!(
            "SELECT o.topic, o.partition, o.next_offset, o.epoch, o.topic_id FROM {} o \
             JOIN unnest($2::text[], $3::int4[]) AS w(topic, partition) \
             ON o.topic = w.topic AND o.partition = w.partition WHERE o.owner = $1::text \
             ORDER BY o.topic COLLATE \"C\", o.partition{}",
            self.offsets(),
            if locked { " FOR UPDATE OF o" } else { "" }
        );
        let formats = [Format::Text, Format::Binary, Format::Binary];
        let rows = read_with(session, &sql, &formats, locked, |w| {
            w.value(|b| b.extend_from_slice(self.settings.owner.as_bytes()));
            w.value(|b| array::texts(b, partitions.iter().map(|p| Some(&*p.topic))));
            w.value(|b| array::ints(b, partitions.iter().map(|p| p.partition)));
        })?;
        let mut stored = HashMap::with_capacity(rows.len());
        for row in 0..rows.len() {
            let parsed = rows.text(row, 0).zip(rows.parsed(row, 1)).zip(rows.parsed(row, 3));
            let Some(((topic, partition), epoch)) = parsed else {
                let table = &self.settings.offsets_table;
                let text =
                    format!("a row of {table} cannot be read: partition or epoch is missing");
                return Err(DbError::new(DbErrorKind::Config, text));
            };
            let next_offset = rows.parsed(row, 2);
            let topic_id = rows.text(row, 4).map(str::to_owned);
            let tp = TopicPartition::new(topic, partition);
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
        // A stored start wins over the resolved one; a topic that was created anew is left alone.
        let sql = format!(
            "INSERT INTO {} AS o (owner, topic, partition, next_offset, epoch, topic_id) \
             SELECT $1::text, s.topic, s.partition, s.next_offset, 1, s.topic_id \
             FROM unnest($2::text[], $3::int4[], $4::int8[], $5::text[]) \
             AS s(topic, partition, next_offset, topic_id) \
             ORDER BY s.topic COLLATE \"C\", s.partition \
             ON CONFLICT (owner, topic, partition) DO UPDATE SET \
             next_offset = COALESCE(o.next_offset, EXCLUDED.next_offset), epoch = o.epoch + 1, \
             topic_id = COALESCE(EXCLUDED.topic_id, o.topic_id), updated_at = now() \
             WHERE o.next_offset IS NULL OR o.topic_id IS NULL OR EXCLUDED.topic_id IS NULL \
             OR o.topic_id = EXCLUDED.topic_id \
             RETURNING o.topic, o.partition, o.next_offset, o.epoch",
            self.offsets()
        );
        take_with(
            session,
            &sql,
            &[Format::Binary; 5],
            |w| {
                w.value(|b| b.extend_from_slice(self.settings.owner.as_bytes()));
                w.value(|b| array::texts(b, seats.iter().map(|s| Some(&*s.tp.topic))));
                w.value(|b| array::ints(b, seats.iter().map(|s| s.tp.partition)));
                w.value(|b| array::longs(b, seats.iter().map(|s| starts.get(&s.tp).copied())));
                w.value(|b| array::texts(b, seats.iter().map(|s| s.topic_id.as_deref())));
            },
            |rows| {
                let taken = positions_of(rows);
                seats.iter().map(|seat| taken.get(&seat.tp).copied()).collect()
            },
        )
    }

    fn recreated(&self, tp: &TopicPartition, row: &Stored, old: &str, new: &str) -> DbError {
        let table = self.offsets();
        let row_of = format!(
            "owner = {} AND topic = {}",
            names::literal(&self.settings.owner),
            names::literal(&tp.topic)
        );
        row.of_another_topic(tp, old, new).hint(format!(
            "to read the new topic from its start: UPDATE {table} SET next_offset = NULL, \
             topic_id = NULL, epoch = epoch + 1 WHERE {row_of}; \
             to go on at the stored offsets: UPDATE {table} SET topic_id = {}, epoch = epoch + 1 \
             WHERE {row_of}",
            names::literal(new)
        ))
    }

    fn stored(&self, session: &mut Session) -> DbResult<Vec<(TopicPartition, i64)>> {
        let sql = format!(
            "SELECT topic, partition, next_offset FROM {} WHERE owner = $1::text \
             AND next_offset IS NOT NULL ORDER BY topic COLLATE \"C\", partition",
            self.offsets()
        );
        let rows = session.query(&sql, &[Some(&self.settings.owner)])?;
        let position = |row| {
            let tp = TopicPartition::new(rows.text(row, 0)?, rows.parsed(row, 1)?);
            Some((tp, rows.parsed(row, 2)?))
        };
        Ok((0..rows.len()).filter_map(position).collect())
    }

    /// One statement, so that it is one transaction behind poolers too.
    fn set_positions(
        &self,
        session: &mut Session,
        changes: &[(TopicPartition, Option<i64>)],
    ) -> DbResult<()> {
        let row = |(tp, offset): &(TopicPartition, Option<i64>)| serde_json::json!({ "topic": &*tp.topic, "part": tp.partition, "next": offset });
        let rows = serde_json::Value::Array(changes.iter().map(row).collect()).to_string();
        let sql = format!(
            "INSERT INTO {} AS o (owner, topic, partition, next_offset, epoch) \
             SELECT $1::text, s.topic, s.part, s.next, 1 \
             FROM jsonb_to_recordset($2::jsonb) AS s(topic text, part integer, next bigint) \
             ORDER BY s.topic COLLATE \"C\", s.part \
             ON CONFLICT (owner, topic, partition) DO UPDATE SET \
             next_offset = EXCLUDED.next_offset, epoch = o.epoch + 1, topic_id = NULL, \
             updated_at = now()",
            self.offsets()
        );
        session.query(&sql, &[Some(&self.settings.owner), Some(&rows)]).map(drop)
    }

    fn outbox(&self, session: &mut Session, letters_max: usize) -> DbResult<Vec<DeadLetter>> {
        let common = &self.settings;
        dead_letters::outbox(session, &common.dead_letters_table, &common.owner, letters_max)
    }

    fn forwarded(&self, session: &mut Session, ids: &[i64]) -> DbResult<()> {
        dead_letters::forwarded(session, &self.settings.dead_letters_table, ids)
    }
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
