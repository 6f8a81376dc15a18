//! The dead-letter table: rejects go in with the rows' transaction, and out to a topic later.
//!
//! Place in the data path: the last statement of a transaction that has rejects; the outbox reads
//! them again in the order of insertion. Writing must never fail for what a record contains, so NUL
//! characters in text become U+FFFD; the record's bytes are kept as they are.

use super::array;
use super::building::{Building, Step};
use super::names;
use super::session::Session;
use super::wire::{Format, ParamWriter, Rows};
use crate::config::DatabaseSettings;
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::table::TableName;
use crate::write::{RejectRow, Transaction};
use api::DeadLetter;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use data::{RawBatch, RawRecord};
use std::borrow::Cow;
use std::sync::Arc;

/// The INSERT: constants first, then an array for each column.
pub(super) fn insert_sql(table: &TableName) -> String {
    format!(
        "INSERT INTO {} (owner, connector, task, topic, partition, record_offset, \
         record_timestamp, key, value, headers, stage, class, exception, reason, sqlstate, \
         column_name, target_table) \
         SELECT $1::text, $2::text, $3::int4, r.topic, r.partition, r.record_offset, \
         r.record_timestamp, r.key, r.value, r.headers::jsonb, r.stage, r.class, r.exception, \
         r.reason, r.sqlstate, r.column_name, r.target_table \
         FROM unnest($4::text[], $5::int4[], $6::int8[], $7::timestamptz[], $8::bytea[], \
         $9::bytea[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], \
         $15::text[], $16::text[], $17::text[]) \
         AS r(topic, partition, record_offset, record_timestamp, key, value, headers, stage, \
         class, exception, reason, sqlstate, column_name, target_table)",
        names::table(table)
    )
}

const PARAMS: usize = 17;

/// A reject with its record.
pub(super) struct Letter<'a> {
    pub(super) raw: &'a RawBatch,
    pub(super) record: Option<&'a RawRecord>,
    pub(super) reject: &'a RejectRow,
}

/// The rejects of a transaction with their records.
pub(super) fn letters_of<'a>(transaction: &Transaction<'a>) -> Vec<Letter<'a>> {
    let letter = |reject: &'a RejectRow| {
        let raw = &*transaction.batches.get(reject.batch as usize)?.raw;
        let record = raw.records().get(reject.reject.row as usize);
        Some(Letter { raw, record, reject })
    };
    transaction.rejects.iter().filter_map(letter).collect()
}

impl Letter<'_> {
    pub(super) fn offset(&self) -> Option<i64> {
        self.record.map(|record| record.offset)
    }

    /// Milliseconds since 1970, where the record has a time.
    pub(super) fn timestamp(&self) -> Option<i64> {
        self.record.map(|record| record.timestamp).filter(|time| *time != -1)
    }

    pub(super) fn key(&self) -> Option<&[u8]> {
        self.record.and_then(|record| self.raw.get(record.key))
    }

    pub(super) fn value(&self) -> Option<Cow<'_, [u8]>> {
        self.raw.value(self.reject.reject.row as usize)
    }

    /// `[["name", "base64" or null], …]`
    pub(super) fn headers(&self) -> String {
        headers_json(self.raw, self.reject.reject.row as usize)
    }
}

/// Adds the statement that stores all rejects of a transaction.
pub(super) fn push(
    building: &mut Building<'_>,
    sql: &Arc<str>,
    settings: &DatabaseSettings,
    transaction: &Transaction<'_>,
) {
    let letters = letters_of(transaction);
    let name = building.prepare(sql);
    building
        .pipeline
        .bind_with(&name, &[Format::Binary; PARAMS], Format::Binary, |w| {
            w.value(|buf| buf.extend_from_slice(clean(&settings.owner).as_bytes()));
            w.value(|buf| buf.extend_from_slice(clean(&settings.connector).as_bytes()));
            w.value(|buf| buf.extend(i32::try_from(settings.task).unwrap_or(0).to_be_bytes()));
            records(w, &letters);
            let mut texts = |get: &dyn Fn(&RejectRow) -> Option<String>| {
                let column: Vec<Option<String>> = letters.iter().map(|l| get(l.reject)).collect();
                w.value(|b| array::texts(b, column.iter().map(Option::as_deref)));
            };
            texts(&|r| Some(r.reject.stage.name().to_owned()));
            texts(&|r| Some(clean(&r.reject.class).into_owned()));
            texts(&|r| Some(clean(&r.reject.exception).into_owned()));
            texts(&|r| Some(clean(&r.reject.message).into_owned()));
            texts(&|r| r.reject.sqlstate.as_deref().map(|t| clean(t).into_owned()));
            texts(&|r| r.reject.column.as_deref().map(|t| clean(t).into_owned()));
            texts(&|r| r.table.as_ref().map(|t| clean(&t.to_string()).into_owned()));
        })
        .execute(0);
    building.steps.push(Step::DeadLetters);
}

/// An array a column of the records: topic, partition, offset, timestamp, key, value, headers.
pub(super) fn records(w: &mut ParamWriter<'_>, letters: &[Letter<'_>]) {
    let all = || letters.iter();
    w.value(|b| array::texts(b, all().map(|l| Some(&**l.raw.topic()))));
    w.value(|b| array::ints(b, all().map(|l| l.raw.partition())));
    w.value(|b| array::longs(b, all().map(Letter::offset)));
    w.value(|b| array::instants(b, all().map(Letter::timestamp)));
    w.value(|b| array::blobs(b, all().map(Letter::key)));
    w.value(|b| array::blobs(b, all().map(Letter::value)));
    let headers: Vec<String> = all().map(Letter::headers).collect();
    w.value(|b| array::texts(b, headers.iter().map(|h| Some(h.as_str()))));
}

/// Text without NUL characters.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn headers_json(raw: &RawBatch, row: usize) -> String {
    let headers: Vec<(Cow<'_, str>, Option<String>)> =
        raw.headers(row).map(|(name, v)| (clean(name), v.map(|v| BASE64.encode(v)))).collect();
    // A list of texts always has a JSON form.
    serde_json::to_string(&headers).unwrap_or_else(|_| "[]".to_owned())
}

/// Letters of the owner that are not forwarded, oldest first.
pub(super) fn outbox(
    session: &mut Session,
    table: &TableName,
    owner: &str,
    letters_max: usize,
) -> DbResult<Vec<DeadLetter>> {
    let sql = format!(
        "SELECT id, topic, partition, record_offset, \
         floor(extract(epoch FROM record_timestamp) * 1000)::int8, encode(key, 'hex'), \
         encode(value, 'hex'), headers::text, stage, class, exception, reason FROM {} \
         WHERE owner = $1::text AND forwarded_at IS NULL ORDER BY id LIMIT $2::int8",
        names::table(table)
    );
    let rows = session.query(&sql, &[Some(owner), Some(&letters_max.to_string())])?;
    (0..rows.len())
        .map(|row| {
            letter(&rows, row).ok_or_else(|| {
                let id = rows.text(row, 0).unwrap_or("?");
                let text = format!("the dead letter with id {id} in {table} cannot be read");
                DbError::new(DbErrorKind::Config, text)
            })
        })
        .collect()
}

fn letter(rows: &Rows, row: usize) -> Option<DeadLetter> {
    let text = |at: usize| rows.text(row, at).unwrap_or_default().to_owned();
    let bytes = |at: usize| match rows.get(row, at) {
        Some(hex) => Some(Some(from_hex(hex)?)),
        None => Some(None),
    };
    let encoded: Vec<(String, Option<String>)> =
        serde_json::from_str(rows.text(row, 7).unwrap_or("[]")).ok()?;
    let headers = encoded
        .into_iter()
        .map(|(name, value)| match value {
            Some(value) => Some((name, Some(BASE64.decode(value).ok()?))),
            None => Some((name, None)),
        })
        .collect::<Option<Vec<_>>>()?;
    Some(DeadLetter {
        id: rows.parsed(row, 0)?,
        topic: text(1),
        partition: rows.parsed(row, 2)?,
        offset: rows.parsed(row, 3)?,
        timestamp: rows.parsed(row, 4).unwrap_or(-1),
        key: bytes(5)?,
        value: bytes(6)?,
        headers,
        stage: text(8),
        class: text(9),
        exception: text(10),
        message: text(11),
    })
}

fn from_hex(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |d: u8| char::from(d).to_digit(16).map(|d| d as u8);
    hex.chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

/// Marks letters as forwarded.
pub(super) fn forwarded(session: &mut Session, table: &TableName, ids: &[i64]) -> DbResult<()> {
    let sql = format!(
        "UPDATE {} SET forwarded_at = now() WHERE id = ANY($1::int8[]) AND forwarded_at IS NULL",
        names::table(table)
    );
    let list = names::list(ids, |out, id| out.push_str(&id.to_string()));
    session.query(&sql, &[Some(&format!("{{{list}}}"))]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{RawBatchBuilder, TimestampType, TopicPartition};

    #[test]
    fn headers_keep_order_duplicates_and_nulls() {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
        builder.header("a", Some(b"1"));
        builder.header("a\0", None);
        builder.push(0, 0, TimestampType::CreateTime, None, None);
        let raw = builder.finish(1);
        assert_eq!(headers_json(&raw, 0), "[[\"a\",\"MQ==\"],[\"a\u{fffd}\",null]]");
    }

    #[test]
    fn hex_is_read_or_refused() {
        assert_eq!(from_hex(b"00ff"), Some(vec![0, 255]));
        assert_eq!(from_hex(b"0"), None);
        assert_eq!(from_hex(b"zz"), None);
    }
}
