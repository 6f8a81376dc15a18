//! The two tables of ours in the user's file: where partitions stand, and records set aside.
//!
//! Place in the data path: checked when a task connects. Invariant: rows of the offset table are
//! changed, never deleted; a NULL `next_offset` is the mark "no offset", which the next claim fills.

use super::catalogue::{quote, quote_table};
use super::connection::{Waiting, begin, commit, roll_back, run};
use super::error::{Doing, classify};
use crate::config::DatabaseSettings;
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::table::TableName;
use rusqlite::{Connection, OptionalExtension};

/// The time as text, in the form of SQLite's own date functions (UTC, milliseconds).
pub(super) const NOW: &str = "strftime('%Y-%m-%d %H:%M:%f', 'now')";

const OFFSET_COLUMNS: &str =
    "owner, topic, \"partition\", next_offset, epoch, topic_id, updated_at";

const LETTER_COLUMNS: &str = "id, owner, connector, task, topic, \"partition\", record_offset, \
     record_timestamp, \"key\", value, headers, stage, class, exception, reason, sqlstate, \
     column_name, target_table, created_at, forwarded_at";

/// The statement that creates the offset table.
pub(super) fn offsets_sql(name: &TableName) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (\n  owner TEXT NOT NULL,\n  topic TEXT NOT NULL,\n  \
         \"partition\" INTEGER NOT NULL,\n  next_offset INTEGER,\n  epoch INTEGER NOT NULL,\n  \
         topic_id TEXT,\n  updated_at TEXT,\n  PRIMARY KEY (owner, topic, \"partition\")\n\
         ) WITHOUT ROWID",
        quote_table(name)
    )
}

/// The statements that create the dead-letter table. The record's timestamp is in milliseconds
/// since the epoch, exactly as Kafka has it; headers are a JSON array of `[name, base64 or null]`.
pub(super) fn letters_sql(name: &TableName) -> String {
    let index = TableName { schema: name.schema.clone(), name: format!("{}_outbox", name.name) };
    format!(
        "CREATE TABLE IF NOT EXISTS {} (\n  id INTEGER PRIMARY KEY AUTOINCREMENT,\n  \
         owner TEXT NOT NULL,\n  connector TEXT NOT NULL,\n  task INTEGER NOT NULL,\n  \
         topic TEXT NOT NULL,\n  \"partition\" INTEGER NOT NULL,\n  \
         record_offset INTEGER NOT NULL,\n  record_timestamp INTEGER,\n  \"key\" BLOB,\n  \
         value BLOB,\n  headers TEXT NOT NULL,\n  stage TEXT NOT NULL,\n  class TEXT NOT NULL,\n  \
         exception TEXT NOT NULL,\n  reason TEXT NOT NULL,\n  sqlstate TEXT,\n  \
         column_name TEXT,\n  target_table TEXT,\n  \
         created_at TEXT NOT NULL DEFAULT ({NOW}),\n  forwarded_at TEXT\n);\n\
         CREATE INDEX IF NOT EXISTS {} ON {} (id) WHERE forwarded_at IS NULL",
        quote_table(name),
        quote_table(&index),
        quote(&name.name)
    )
}

/// Makes sure that both tables are there and have our columns.
/// # Errors
/// `Config` where a table of that name has other columns.
pub(super) fn ensure(
    connection: &Connection,
    waiting: &Waiting,
    settings: &DatabaseSettings,
) -> DbResult<()> {
    let (offsets, letters) = (&settings.offsets_table, &settings.dead_letters_table);
    let wanted = [
        settings.exactly_once.then(|| (offsets, offsets_sql(offsets))),
        Some((letters, letters_sql(letters))),
    ];
    for (name, sql) in wanted.into_iter().flatten() {
        if is_there(connection, name)? {
            continue;
        }
        begin(connection, waiting)?;
        if let Err(error) = run(connection, &sql).and_then(|()| commit(connection, waiting)) {
            roll_back(connection)?;
            return Err(error);
        }
        tracing::info!(table = %name, "table created");
    }
    if settings.exactly_once {
        check_columns(connection, offsets, OFFSET_COLUMNS, "offsets.table")?;
    }
    check_columns(connection, letters, LETTER_COLUMNS, "dead.letters.table")
}

fn is_there(connection: &Connection, name: &TableName) -> DbResult<bool> {
    let sql = format!(
        "SELECT 1 FROM {}sqlite_schema WHERE name = ?1 COLLATE NOCASE",
        name.schema.as_deref().map(|s| quote(s) + ".").unwrap_or_default()
    );
    let found = connection.query_row(&sql, [&name.name], |_| Ok(())).optional();
    Ok(found.map_err(|e| classify(&e, Doing::Statement))?.is_some())
}

fn check_columns(
    connection: &Connection,
    name: &TableName,
    columns: &str,
    key: &str,
) -> DbResult<()> {
    let sql = format!("SELECT {columns} FROM {} LIMIT 0", quote_table(name));
    match connection.prepare(&sql) {
        Ok(_) => Ok(()),
        Err(e) => {
            let error = classify(&e, Doing::Statement);
            if !matches!(error.kind, DbErrorKind::Drift | DbErrorKind::Config) {
                return Err(error);
            }
            let message = format!("the table {name} is not one of ours: {error}");
            Err(DbError::new(DbErrorKind::Config, message)
                .sqlstate("42703")
                .hint(format!("set {key} to another name, or rename that table")))
        }
    }
}
