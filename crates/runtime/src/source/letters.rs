//! Dead letters of a source: records that could not be sent where they belong.
//!
//! A letter has what there is of the record: its encoded key and value, or as JSON what could not be
//! encoded; and in headers the source partition. It is in Kafka when [`Letters::write`] returns.

use super::encode::Encoder;
use crate::errors::ErrorLog;
use crate::errors::dead_letter_topic::DeadLetterTopic;
use crate::metrics::TaskMetrics;
use crate::sink::{DeadLetterSettings, StopSignal};
use api::{DeadLetter, Result, SourceMap};
use data::{Batch, Reject, Rows, Stage};
use std::sync::Arc;

/// A header that says which source partition a letter comes from, as JSON.
const SOURCE_PARTITION: &str = "__copycat.errors.source.partition";

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
    pub(crate) fn write(
        &mut self,
        records: &Batch,
        partition: &Arc<SourceMap>,
        encoder: &Encoder,
        reject: &Reject,
    ) -> Result<()> {
        let mut letter = letter(records, partition, encoder, reject);
        if !self.topic.write(&letter)? {
            letter.value = None;
            self.topic.write(&letter)?;
        }
        Ok(())
    }
}

fn letter(
    records: &Batch,
    partition: &Arc<SourceMap>,
    encoder: &Encoder,
    reject: &Reject,
) -> DeadLetter {
    let row = reject.row as usize;
    let encoded = reject.stage == Stage::KafkaProduce;
    let (key, value) = if encoded { encoder.bytes(row) } else { (None, None) };
    let part = |bytes: Option<&[u8]>, rows: &Rows| {
        bytes.map(<[u8]>::to_vec).or_else(|| if encoded { None } else { json(rows, row) })
    };
    let place = serde_json::Value::Object(SourceMap::clone(partition)).to_string();
    DeadLetter {
        id: 0,
        topic: records.topic(row).to_string(),
        partition: records.partition(row).unwrap_or(-1),
        offset: -1,
        timestamp: records.timestamp(row).unwrap_or(-1),
        key: part(key, &records.keys),
        value: part(value, &records.values),
        headers: vec![(SOURCE_PARTITION.to_owned(), Some(place.into_bytes()))],
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
