//! Records that a broker refuses, found among those that were sent with them.
//!
//! A broker refuses whole batches. When it does, the session begins anew at what is stored, and its
//! records are sent one by one: the one that is refused then is reported with its contents, and the
//! others go on. Where none is, it was the size of the batch, and batches get smaller.
//!
//! Invariant: a record is reported only when the broker has refused it alone.

use super::acknowledged::RecordId;
use super::output::Output;
use super::refusals::{Origin, PRODUCER};
use super::work::Work;
use api::{Error, Result, SourceBatch, SourceMap};
use data::{Batch, Reject, Stage};
use std::sync::Arc;

/// As many records as librdkafka puts into one batch.
const BATCH_ROWS_MAX: u32 = 10_000;
/// librdkafka's name of what limits a batch, and its default.
const BATCH_BYTES: &str = "batch.size";
const BATCH_BYTES_DEFAULT: u32 = 1_000_000;

/// How the records of a session are sent.
#[derive(Default)]
pub(super) struct Singly {
    /// Records still to be sent one by one.
    left: u32,
    /// Whether one of them was refused.
    found: bool,
    /// Why the record that is on its way was refused.
    refused: Option<kafka::Error>,
    /// A batch may not have more bytes.
    batch_bytes: Option<u32>,
    /// Under exactly-once: the records that were refused, by the offset after them, and why. A refused
    /// record spoils its transaction, so it is left out when it is given again.
    known: Vec<(Arc<SourceMap>, SourceMap, String)>,
    /// The source cannot be asked again.
    once_only: bool,
}

impl Work {
    /// The producer's settings for a session.
    pub(super) fn producer_settings(&self) -> kafka::ClientSettings {
        let mut settings = self.settings.producer.clone();
        if let Some(bytes) = self.state.singly.batch_bytes {
            settings.insert(BATCH_BYTES.to_owned(), bytes.to_string());
        }
        settings
    }

    /// Takes note of a batch before it is sent; rejects what was refused before.
    pub(super) fn known_refused(&mut self, batch: &SourceBatch) -> Vec<Reject> {
        let singly = &mut self.state.singly;
        singly.once_only |= matches!(batch.offsets, api::SourceOffsets::None);
        let own = singly.known.iter().filter(|(partition, ..)| *partition == batch.partition);
        let own: Vec<_> = own.collect();
        if own.is_empty() {
            return Vec::new();
        }
        let refused = |row: usize| {
            let after = batch.offsets.after(row)?;
            let (.., why) = own.iter().find(|(_, offset, _)| *offset == after)?;
            Some(Reject::data(row, Stage::KafkaProduce, PRODUCER, why.clone()))
        };
        (0..batch.records.len()).filter_map(refused).collect()
    }

    /// A record came back refused. `false`: it cannot be found out which one.
    pub(super) fn look_for_refused(&mut self, error: kafka::Error) -> Result<bool> {
        let singly = &mut self.state.singly;
        if singly.left > 0 {
            singly.refused = Some(error);
            return Ok(true);
        }
        if singly.once_only {
            return Ok(false);
        }
        (singly.left, singly.found) = (BATCH_ROWS_MAX, false);
        Err(Error::retriable(format!(
            "the broker refused a batch; its records are sent one by one: {error}"
        )))
    }

    /// After a record was sent: waits for it if records are sent one by one.
    pub(super) fn sent(
        &mut self,
        output: &mut Output,
        records: &Batch,
        partition: &Arc<SourceMap>,
        row: usize,
        id: RecordId,
    ) -> Result<()> {
        if self.state.singly.left == 0 {
            return Ok(());
        }
        self.drain(output)?;
        if let Some(error) = self.state.singly.refused.take() {
            self.state.singly.found = true;
            let why = refused_text(&error);
            if self.settings.is_transactional()
                && let Some(after) = self.state.acked.offset_after(id)
            {
                self.state.singly.known.push((partition.clone(), after, why.clone()));
                return Err(Error::retriable(format!("{why}; what came before it is sent again")));
            }
            let reject = Reject::data(row, Stage::KafkaProduce, PRODUCER, why);
            self.refuse(output, &Origin { records, partition, id, given: None }, reject)?;
            self.state.acked.done(id);
        }
        self.state.singly.left -= 1;
        if self.state.singly.left == 0 { self.in_batches_again(output) } else { Ok(()) }
    }

    /// Records are sent in batches again, smaller ones if no record was to blame.
    fn in_batches_again(&mut self, output: &mut Output) -> Result<()> {
        let singly = &mut self.state.singly;
        singly.known.clear();
        if singly.found {
            return Ok(());
        }
        let set = self.settings.producer.get(BATCH_BYTES).and_then(|bytes| bytes.parse().ok());
        let bytes = singly.batch_bytes.or(set).unwrap_or(BATCH_BYTES_DEFAULT);
        singly.batch_bytes = Some((bytes / 4).max(1));
        self.finish(output)?;
        Err(Error::retriable(format!(
            "the topic takes no batches of {bytes} bytes; they are made smaller"
        ))
        .hint("set producer.override.batch.size below the topic's max.message.bytes"))
    }
}

/// What is wrong with a record that a broker refused.
fn refused_text(error: &kafka::Error) -> String {
    if error.kind() == kafka::ErrorKind::TooLarge {
        return format!("refused by the broker: {error}: raise the topic's max.message.bytes");
    }
    format!("refused by the broker: {error}: is the topic compacted, and the record without a key?")
}
