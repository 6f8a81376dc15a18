//! Kafka Connect's config and status topics: their records, byte for byte as a Java worker writes
//! them, and the state that a worker reaches by reading them in order. (The offsets topic is
//! [`runtime::source::offsets`].)
//!
//! Pure: no I/O, no clock. A record is read as a Java worker reads it, so that both see one state;
//! what neither can use is skipped with one [`Oddity`], which says why, and never ends a worker.
//!
//! Invariant: records that nobody here knows are left alone. Keys of our own begin with
//! [`OWN_PREFIX`]; a Java worker skips them with a line in its log.

mod config_key;
mod config_record;
mod config_state;
mod json;
mod properties;
mod session_key;
mod status_record;
mod status_state;

pub use config_key::ConfigKey;
pub use config_record::{ConfigRecord, RestartRequest};
pub use config_state::{ConfigEvent, ConfigState, ConnectorState};
pub use properties::Properties;
pub use session_key::SessionKey;
pub use status_record::{Reported, Status, StatusKey, StatusRecord, TopicUse};
pub use status_state::{ConnectorStatuses, News, Statuses};

/// How keys of records begin that are Copycat's own, in any of the topics.
pub const OWN_PREFIX: &str = "copycat-";

/// A record's key and value as they are written; no value is a tombstone.
pub type Written = (Vec<u8>, Option<Vec<u8>>);

/// A record as it is read. Timestamp and headers mean nothing.
#[derive(Clone, Copy, Debug)]
pub struct ReadRecord<'a> {
    /// Records of one partition are in order; nothing is known of the order of others among each other.
    pub partition: i32,
    pub offset: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
}

impl ReadRecord<'_> {
    /// Every record of a batch, in order.
    pub fn each(batch: &data::RawBatch, mut take: impl FnMut(&ReadRecord<'_>)) {
        for (row, record) in batch.records().iter().enumerate() {
            let value = batch.value(row);
            let (key, value) = (batch.key(row), value.as_deref());
            take(&ReadRecord {
                partition: batch.tp().partition,
                offset: record.offset,
                key,
                value,
            });
        }
    }
}

/// A record that was skipped, and why. Secrets in it are not told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record at offset {offset} with key '{key}' was skipped: {why}")]
pub struct Oddity {
    pub offset: i64,
    pub key: String,
    pub why: String,
    /// It is no JSON at all. Only then does a Java worker not count it as read.
    pub undecodable: bool,
}

impl Oddity {
    /// Tells of it, once, with its place and what to do.
    pub fn warn(&self, place: &data::TopicPartition) {
        tracing::warn!(
            "{place}: {self}. What was known before stays. The next record with its key takes its place: \
             for a connector, PUT its configuration again; a key that nobody knows goes with a record of \
             that key without a value (a tombstone)"
        );
    }
}

/// Why a value cannot be used, before it is known where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    why: String,
    undecodable: bool,
}

impl Unusable {
    fn new(why: impl Into<String>) -> Unusable {
        Unusable { why: why.into(), undecodable: false }
    }

    fn undecodable(why: impl Into<String>) -> Unusable {
        Unusable { why: why.into(), undecodable: true }
    }

    fn of(self, record: &ReadRecord<'_>) -> Oddity {
        /// Keys are short; a long one is none of ours.
        const SHOWN_CHARS: usize = 200;
        let key = record.key.map_or_else(|| "null".into(), String::from_utf8_lossy);
        let key = key.chars().take(SHOWN_CHARS).collect();
        Oddity { offset: record.offset, key, why: self.why, undecodable: self.undecodable }
    }
}

/// A record's key as text: bytes that are none are replaced, as Java does.
fn text_key<'a>(record: &ReadRecord<'a>) -> Result<std::borrow::Cow<'a, str>, Unusable> {
    record.key.map(String::from_utf8_lossy).ok_or_else(|| Unusable::new("it has no key"))
}
