//! Dead letters of a source: records that could not be sent where they belong.
//!
//! A letter has what there is of the record: its encoded key and value; as JSON what could not be
//! encoded, or what the task gave where a transform failed; and in headers the source partition and the
//! offset after the record. It is in Kafka when [`Letters::write`] returns.

use super::encode::Encoder;
use super::refusals::Origin;
use crate::errors::ErrorLog;
use crate::errors::dead_letter_topic::DeadLetterTopic;
use crate::metrics::TaskMetrics;
use crate::sink::{DeadLetterSettings, StopSignal};
use api::{DeadLetter, Result, SourceMap};
use data::{Batch, Reject, Rows, Stage};
use serde_json::Value;
use std::sync::Arc;

/// A header that says which source partition a letter comes from, as JSON.
const SOURCE_PARTITION: &str = "__copycat.errors.source.partition";
/// A header with the offset after the record, as JSON: where the source has it.
const SOURCE_OFFSET: &str = "__copycat.errors.source.offset";

/// Keys and values as a task gave them: a transform that fails at a record may have taken it apart.
pub(super) struct Given {
    keys: Rows,
    values: Rows,
}

impl Given {
    pub(super) fn of(records: &Batch) -> Given {
        Given { keys: records.keys.clone(), values: records.values.clone() }
    }
}

pub(crate) struct Letters {
    topic: DeadLetterTopic,
}

impl Letters {
    pub(crate) fn new(
        settings: DeadLetterSettings,
        admin: kafka::ClientSettings,
        log: &ErrorLog,
        stop: StopSignal,
        metrics: Arc<TaskMetrics>,
    ) -> Letters {
        Letters { topic: DeadLetterTopic::new(settings, admin, log, stop, metrics) }
    }

    /// Writes a record's letter and waits for it. A record too large for the topic of letters too
    /// leaves a letter without its value.
    pub(super) fn write(
        &mut self,
        origin: &Origin<'_>,
        after: Option<&Value>,
        encoder: &Encoder,
        reject: &Reject,
    ) -> Result<()> {
        let mut letter = letter(origin, after, encoder, reject);
        if !self.topic.write(&letter)? {
            letter.value = None;
            self.topic.write(&letter)?;
        }
        Ok(())
    }
}

fn letter(
    origin: &Origin<'_>,
    after: Option<&Value>,
    encoder: &Encoder,
    reject: &Reject,
) -> DeadLetter {
    let Origin { records, partition, given, .. } = origin;
    let row = reject.row as usize;
    let encoded = reject.stage == Stage::KafkaProduce;
    let (key, value) = if encoded { encoder.bytes(row) } else { (None, None) };
    let part = |bytes: Option<&[u8]>, rows: &Rows| {
        bytes.map(<[u8]>::to_vec).or_else(|| if encoded { None } else { json(rows, row) })
    };
    let (keys, values) = match given {
        Some(given) if reject.stage == Stage::Transformation => (&given.keys, &given.values),
        _ => (&records.keys, &records.values),
    };
    let place = Value::Object(SourceMap::clone(partition)).to_string();
    let mut headers = vec![(SOURCE_PARTITION.to_owned(), Some(place.into_bytes()))];
    headers.extend(after.map(|at| (SOURCE_OFFSET.to_owned(), Some(at.to_string().into_bytes()))));
    DeadLetter {
        id: 0,
        topic: records.topic(row).to_string(),
        partition: records.partition(row).unwrap_or(-1),
        offset: -1,
        timestamp: records.timestamp(row).unwrap_or(-1),
        key: part(key, keys),
        value: part(value, values),
        headers,
        stage: reject.stage.name().to_owned(),
        class: reject.class.to_string(),
        exception: reject.exception.to_string(),
        message: reject.message.clone(),
    }
}

/// A value that has no encoded form, as readable text; nothing for a null.
fn json(rows: &Rows, row: usize) -> Option<Vec<u8>> {
    let cell = rows.root(row);
    if cell.is_null() {
        return None;
    }
    let mut out = Vec::new();
    data::write_json(rows, rows.schema(row).map(AsRef::as_ref), cell, &mut out);
    Some(out)
}
