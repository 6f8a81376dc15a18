//! Records set aside: written with the rows' own transaction, read back for forwarding.
//!
//! Place in the data path: the last statements of a transaction that has rejects; the outbox is read
//! after the commit. A letter keeps the record's bytes as they were fetched.
//!
//! The outbox of a task has its own letters, and those of other tasks of the connector once they
//! are older than a minute: so two tasks do not forward the same letters all the time, and none is
//! left behind by a task that is gone.

use super::catalogue::quote_table;
use super::connection::{Waiting, begin, commit, roll_back};
use super::error::{Doing, classify};
use super::storage::NOW;
use crate::config::DatabaseSettings;
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::write::{RejectRow, Transaction};
use api::DeadLetter;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data::{Batch, write_json_string};
use rusqlite::{Connection, Row, named_params, params};

/// Letters of other tasks become everybody's after this time.
const ORPHAN_AGE: &str = "-60 seconds";

/// The statements about one dead-letter table.
pub(super) struct LetterSql {
    insert: String,
    outbox: String,
    forwarded: String,
}

impl LetterSql {
    pub(super) fn new(settings: &DatabaseSettings) -> LetterSql {
        let table = quote_table(&settings.dead_letters_table);
        LetterSql {
            insert: format!(
                "INSERT INTO {table} (owner, connector, task, topic, \"partition\", \
                 record_offset, record_timestamp, \"key\", value, headers, stage, class, \
                 exception, reason, sqlstate, column_name, target_table) VALUES (:owner, \
                 :connector, :task, :topic, :partition, :offset, :timestamp, :key, :value, \
                 :headers, :stage, :class, :exception, :reason, :sqlstate, :column, :table)"
            ),
            outbox: format!(
                "SELECT id, topic, \"partition\", record_offset, record_timestamp, \"key\", value, \
                 headers, stage, class, exception, reason FROM {table} WHERE forwarded_at IS NULL \
                 AND owner = ?1 AND connector = ?2 AND (task = ?3 OR created_at < \
                 strftime('%Y-%m-%d %H:%M:%f', 'now', '{ORPHAN_AGE}')) ORDER BY id LIMIT ?4"
            ),
            forwarded: format!("UPDATE {table} SET forwarded_at = {NOW} WHERE id = ?1"),
        }
    }

    /// Writes the rejects of a transaction that is already open.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        settings: &DatabaseSettings,
        transaction: &Transaction<'_>,
    ) -> DbResult<()> {
        if transaction.rejects.is_empty() {
            return Ok(());
        }
        let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
        let mut statement = connection.prepare(&self.insert).map_err(fail)?;
        for reject in transaction.rejects {
            let batch = transaction.batches.get(reject.batch as usize).ok_or_else(|| {
                DbError::new(DbErrorKind::Bug, "a reject names a batch that is not there")
            })?;
            insert_one(&mut statement, settings, batch, reject)?;
        }
        Ok(())
    }

    /// See [`crate::database::Database::outbox`].
    pub(super) fn outbox(
        &self,
        connection: &Connection,
        settings: &DatabaseSettings,
        letters_max: usize,
    ) -> DbResult<Vec<DeadLetter>> {
        let limit = i64::try_from(letters_max).unwrap_or(i64::MAX);
        let of = params![settings.owner, settings.connector, settings.task, limit];
        connection
            .prepare(&self.outbox)
            .and_then(|mut statement| statement.query_map(of, letter)?.collect())
            .map_err(|e| classify(&e, Doing::Statement))
    }

    /// See [`crate::database::Database::forwarded`].
    pub(super) fn forwarded(
        &self,
        connection: &Connection,
        waiting: &Waiting,
        ids: &[i64],
    ) -> DbResult<()> {
        begin(connection, waiting)?;
        let marked = connection.prepare(&self.forwarded).and_then(|mut statement| {
            ids.iter().try_for_each(|id| statement.execute([id]).map(|_| ()))
        });
        let done = marked
            .map_err(|e| classify(&e, Doing::Statement))
            .and_then(|()| commit(connection, waiting));
        if done.is_err() {
            roll_back(connection)?;
        }
        done
    }
}

fn insert_one(
    statement: &mut rusqlite::Statement<'_>,
    settings: &DatabaseSettings,
    batch: &Batch,
    row: &RejectRow,
) -> DbResult<()> {
    let reject = &row.reject;
    let at = reject.row as usize;
    let record = batch.raw.records().get(at).ok_or_else(|| {
        DbError::new(DbErrorKind::Bug, "a reject names a record that is not there")
    })?;
    let done = statement.execute(named_params! {
        ":owner": settings.owner,
        ":connector": settings.connector,
        ":task": settings.task,
        ":topic": &*batch.tp().topic,
        ":partition": batch.tp().partition,
        ":offset": record.offset,
        ":timestamp": (record.timestamp != -1).then_some(record.timestamp),
        ":key": batch.raw.key(at),
        ":value": batch.raw.value(at),
        ":headers": headers_to_json(batch, at),
        ":stage": reject.stage.name(),
        ":class": &*reject.class,
        ":exception": &*reject.exception,
        ":reason": reject.message,
        ":sqlstate": reject.sqlstate,
        ":column": reject.column,
        ":table": row.table.as_ref().map(ToString::to_string),
    });
    done.map(|_| ()).map_err(|e| broken(classify(&e, Doing::Statement)))
}

/// A letter that cannot be written is no fault of a row: rejecting it again would not end.
fn broken(mut error: DbError) -> DbError {
    if error.kind == DbErrorKind::Data {
        error.kind = DbErrorKind::Config;
        error.message = format!("a dead letter cannot be stored: {}", error.message);
        error.hint =
            Some("look at the constraints and triggers of the dead-letter table".to_owned());
    }
    error
}

fn headers_to_json(batch: &Batch, row: usize) -> String {
    let mut out = vec![b'['];
    for (name, value) in batch.raw.headers(row) {
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'[');
        write_json_string(name, &mut out);
        out.push(b',');
        match value {
            Some(bytes) => write_json_string(&STANDARD.encode(bytes), &mut out),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b']');
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}

fn headers_from_json(text: &str) -> Vec<(String, Option<Vec<u8>>)> {
    let parsed: Result<Vec<(String, Option<String>)>, _> = serde_json::from_str(text);
    match parsed {
        Ok(headers) => headers
            .into_iter()
            .map(|(name, value)| (name, value.and_then(|v| STANDARD.decode(v).ok())))
            .collect(),
        Err(error) => {
            tracing::warn!(%error, "the headers of a dead letter were changed and are left out");
            Vec::new()
        }
    }
}

fn letter(row: &Row<'_>) -> rusqlite::Result<DeadLetter> {
    Ok(DeadLetter {
        id: row.get(0)?,
        topic: row.get(1)?,
        partition: row.get(2)?,
        offset: row.get(3)?,
        timestamp: row.get::<_, Option<i64>>(4)?.unwrap_or(-1),
        key: row.get(5)?,
        value: row.get(6)?,
        headers: headers_from_json(&row.get::<_, String>(7)?),
        stage: row.get(8)?,
        class: row.get(9)?,
        exception: row.get(10)?,
        message: row.get(11)?,
    })
}
