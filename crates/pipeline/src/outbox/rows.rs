//! The rows of the outbox: which are due, which are sent, which Kafka refuses; and the lease.
//!
//! Place in the data path: between the database and the sender. Invariant: a row is known by its id and
//! the time it was made, because a promoted replica may give an id a second time.

use super::sender::Message;
use crate::control::{Error, ErrorKind, Questions};
use sql::postgres::wire::Rows as Answer;
use std::sync::Arc;
use std::time::Duration;

/// Messages of one Kafka transaction.
const MESSAGES_MAX: &str = "1000";
/// Bytes of keys and values of one Kafka transaction; a larger message goes alone.
const BYTES_MAX: &str = "8388608";

const MICROS: &str = "(extract(epoch FROM o.created_at) * 1000000)::int8";

const DUE: &str = "SELECT id, micros, topic, partition, key, value, headers FROM (\
    SELECT o.*, (extract(epoch FROM o.created_at) * 1000000)::int8 AS micros, \
      sum(bytes) OVER (ORDER BY o.id) - bytes AS before FROM (\
      SELECT o.*, coalesce(octet_length(o.key), 0) + coalesce(octet_length(o.value), 0) AS bytes \
      FROM pipeline_kafka.outbox o \
      WHERE o.cluster = $1::text AND coalesce(o.retry_at <= clock_timestamp(), true) \
        AND NOT EXISTS (SELECT FROM pipeline_kafka.outbox w WHERE w.cluster = o.cluster \
          AND w.topic = o.topic AND w.retry_at > clock_timestamp() AND w.retry_at < 'infinity') \
      ORDER BY o.id LIMIT $2::int4) o) o \
    WHERE before < $3::int8 ORDER BY id";

const LEASE: &str = "INSERT INTO pipeline_kafka.outbox_senders AS s (cluster, worker) \
    VALUES ($1::text, $2::uuid) \
    ON CONFLICT (cluster) DO UPDATE SET worker = excluded.worker, detail = NULL, \
      taken_at = clock_timestamp() \
    WHERE s.worker <> excluded.worker AND NOT EXISTS (SELECT FROM pipeline_kafka.workers w \
      WHERE w.worker = s.worker AND pipeline_kafka._alive(w.heartbeat_at))";

const HOLDS: &str =
    "SELECT worker = $2::uuid FROM pipeline_kafka.outbox_senders WHERE cluster = $1::text";

const DETAIL: &str = "UPDATE pipeline_kafka.outbox_senders SET detail = $3::text \
    WHERE cluster = $1::text AND worker = $2::uuid AND detail IS DISTINCT FROM $3::text";

const PUT_OFF: &str = "UPDATE pipeline_kafka.outbox o SET error = s.e->>2, \
      retry_at = CASE WHEN s.e->>3 IS NULL THEN 'infinity' \
        ELSE clock_timestamp() + make_interval(secs => (s.e->>3)::float8) END \
    FROM jsonb_array_elements($1::jsonb) AS s(e) \
    WHERE o.id = (s.e->>0)::int8";

/// What Kafka says of a row that it does not take.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) id: i64,
    pub(super) micros: i64,
    pub(super) topic: String,
    pub(super) reason: String,
    /// When it is tried again; `None`: when someone says so.
    pub(super) again_in: Option<Duration>,
}

/// The rows, as one worker sees them.
pub(super) struct Rows {
    questions: Arc<Questions>,
    worker: String,
    /// A lease was asked for.
    leased: bool,
}

impl Rows {
    pub(super) fn new(questions: Arc<Questions>, worker: &str) -> Rows {
        Rows { questions, worker: worker.to_owned(), leased: false }
    }

    /// Takes the lease of a cluster, or finds that another live worker has it (false).
    pub(super) fn hold_lease(&mut self, cluster: &str) -> Result<bool, Error> {
        let params = [Some(cluster), Some(self.worker.as_str())];
        let holds = || self.questions.ask(HOLDS, &params, |rows| rows.text(0, 0) == Some("t"));
        if holds()? {
            return Ok(true);
        }
        self.leased = true;
        self.questions.ask(LEASE, &params, |_| ())?;
        holds()
    }

    /// Gives up all leases.
    pub(super) fn release(&mut self) {
        if !std::mem::take(&mut self.leased) {
            return;
        }
        let sql = "DELETE FROM pipeline_kafka.outbox_senders WHERE worker = $1::uuid";
        if let Err(error) = self.questions.ask(sql, &[Some(&self.worker)], |_| ()) {
            // They go with the heartbeat.
            tracing::debug!("the lease of the outbox stays: {error}");
        }
    }

    /// What is in the way of a cluster's messages, for people to read.
    pub(super) fn set_detail(&self, cluster: &str, detail: Option<&str>) {
        let params = [Some(cluster), Some(self.worker.as_str()), detail];
        if let Err(error) = self.questions.ask(DETAIL, &params, |_| ()) {
            tracing::debug!("the detail of the outbox is not kept: {error}");
        }
    }

    /// The installation, which names the transactional id.
    pub(super) fn installation(&self) -> Result<String, Error> {
        let sql = "SELECT id FROM pipeline_kafka.installation";
        let id = self.questions.ask(sql, &[], |rows| rows.text(0, 0).map(str::to_owned))?;
        id.ok_or_else(|| Error::new(ErrorKind::Schema, "pipeline_kafka.installation is empty"))
    }

    /// What may be sent now, in order, up to the limits of a transaction; with the number of the
    /// connection that said so.
    pub(super) fn due(&self, cluster: &str) -> Result<(u64, Vec<Message>), Error> {
        let params = [Some(cluster), Some(MESSAGES_MAX), Some(BYTES_MAX)];
        let (connection, due) = self.questions.ask_by(DUE, &params, messages)?;
        Ok((connection, due?))
    }

    /// Deletes the rows of a record of progress that are still there.
    pub(super) fn delete(&self, record: &str) -> Result<(), Error> {
        let sql = format!(
            "DELETE FROM pipeline_kafka.outbox o USING jsonb_array_elements($1::jsonb) AS s(e) \
             WHERE o.id = (s.e->>0)::int8 AND {MICROS} = (s.e->>1)::int8"
        );
        self.questions.ask(&sql, &[Some(record)], |_| ())
    }

    /// Keeps what Kafka says of messages that it refuses.
    pub(super) fn put_off(&self, verdicts: &[Verdict]) -> Result<(), Error> {
        let list: serde_json::Value = verdicts
            .iter()
            .map(|v| {
                let seconds = v.again_in.map(|wait| wait.as_secs_f64());
                serde_json::json!([v.id, v.micros, v.reason, seconds])
            })
            .collect();
        let sql = format!("{PUT_OFF} AND {MICROS} = (s.e->>1)::int8");
        self.questions.ask(&sql, &[Some(&list.to_string())], |_| ())
    }
}

fn messages(rows: &Answer) -> Result<Vec<Message>, Error> {
    let message = |row| {
        Some(Message {
            id: rows.parsed(row, 0)?,
            micros: rows.parsed(row, 1)?,
            topic: rows.text(row, 2)?.to_owned(),
            partition: rows.parsed(row, 3),
            key: rows.text(row, 4).map(bytes).transpose().ok()?,
            value: rows.text(row, 5).map(bytes).transpose().ok()?,
            headers: rows.text(row, 6).map(headers).unwrap_or_default(),
        })
    };
    let unreadable = || Error::new(ErrorKind::Bug, "a row of the outbox cannot be read");
    (0..rows.len()).map(|row| message(row).ok_or_else(unreadable)).collect()
}

/// The bytes of a `bytea` in its text form, `\x00ff`.
fn bytes(text: &str) -> Result<Vec<u8>, ()> {
    let digits = text.strip_prefix("\\x").ok_or(())?.as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16).ok_or(());
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Ok((digit(*high)? << 4 | digit(*low)?) as u8),
            _ => Err(()),
        })
        .collect()
}

/// An object of names and texts; `_check_headers` lets nothing else in.
fn headers(text: &str) -> Vec<(String, Option<String>)> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).unwrap_or_default();
    object.into_iter().map(|(name, value)| (name, value.as_str().map(str::to_owned))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read() {
        assert_eq!(bytes("\\x00Ff"), Ok(vec![0, 255]));
        assert_eq!(bytes("\\x"), Ok(Vec::new()));
        assert!(bytes("00").is_err() && bytes("\\x0").is_err() && bytes("\\xzz").is_err());
        let wanted = vec![("a".to_owned(), Some("1".to_owned())), ("b".to_owned(), None)];
        assert_eq!(headers("{\"a\": \"1\", \"b\": null}"), wanted);
    }
}
