//! What becomes of records that cannot be sent, and of errors that end a session.

use super::acknowledged::RecordId;
use super::letters::Given;
use super::output::Output;
use super::work::Work;
use crate::sink::kafka_error;
use api::{Error, ErrorKind, Result, SourceMap, Tolerance};
use data::{Batch, Reject, Stage};
use std::sync::Arc;

/// The class that Connect names for what fails on the way to Kafka.
pub(super) const PRODUCER: &str = "org.apache.kafka.connect.runtime.WorkerSourceTask";

/// What Kafka takes for "none".
const NO_TIMESTAMP: i64 = -1;

/// A record on its way, among those of its batch.
pub(super) struct Origin<'a> {
    pub(super) records: &'a Batch,
    pub(super) partition: &'a Arc<SourceMap>,
    pub(super) id: RecordId,
    /// The batch as the task gave it, where transforms may have changed it.
    pub(super) given: Option<&'a Given>,
}

impl Work {
    pub(super) fn check_timestamps(&self, records: &mut Batch) {
        for row in 0..records.len() {
            if let Some(time) = records.timestamp(row).filter(|time| *time < NO_TIMESTAMP) {
                let text = format!("Invalid record timestamp {time}");
                records.reject(Reject::data(row, Stage::KafkaProduce, PRODUCER, text));
            }
        }
    }

    pub(super) fn breaker(&mut self, rows: usize, failed: usize) -> Result<()> {
        if let Some((failed, records)) = self.state.breaker.check(rows as u64, failed as u64)
            && self.settings.tolerance == Tolerance::All
        {
            return Err(Error::data(format!(
                "{failed} of the last {records} records failed: the definition is wrong, not the \
                 record"
            ))
            .hint("correct the transforms or converters, or set errors.tolerance.max.ratio=1"));
        }
        self.state.breaker.note(rows as u64, failed as u64);
        Ok(())
    }

    /// What a record that cannot be sent does to the task.
    pub(super) fn refuse(
        &mut self,
        output: &mut Output,
        origin: &Origin<'_>,
        reject: Reject,
    ) -> Result<()> {
        let Origin { records, partition, id, .. } = origin;
        let after = self.state.acked.offset_after(*id).map(serde_json::Value::Object);
        let (log, repeats) = (&self.settings.error_log, &mut self.state.repeats);
        log.source_reject(records, partition, &reject, repeats);
        self.status.metrics().logged(u64::from(self.settings.error_log.each_record));
        if let Some(letters) = &mut self.letters {
            letters.write(origin, after.as_ref(), &self.encoder, &reject)?;
        }
        if self.settings.tolerance == Tolerance::None {
            // What was given before it is good, and stays.
            self.finish(output)?;
            let topic = records.topic(reject.row as usize);
            let row = reject.row;
            let after =
                after.map_or_else(String::new, |offset| format!(", offset after it {offset}"));
            return Err(Error::data(format!(
                "a record for topic {topic} could not be sent (source partition {}, record {row} of \
                 its poll{after}): {} in {}: {}",
                serde_json::Value::Object(SourceMap::clone(partition)),
                reject.stage.name(),
                reject.class,
                reject.message
            ))
            .hint(
                "correct the record, the transforms or the converter; or set errors.tolerance=all \
                 to report such records and go on",
            ));
        }
        self.status.metrics().reported(1);
        Ok(())
    }

    /// An error of a record's way to Kafka, whose text names the topic.
    pub(super) fn send_error(error: kafka::Error) -> Error {
        const INVALID_TOPIC: i32 = 17;
        match error.kind() {
            _ if error.is_forbidden() => {
                Error::config(format!("a topic may not be written: {error}"))
                    .hint("grant Write on the topic to the connector's principal")
            }
            _ if error.code() == INVALID_TOPIC => Error::config(error.to_string()).hint(
                "names of topics have up to 249 letters, digits, '.', '_' and '-': correct the \
                 connector's topic, or the transforms that change it",
            ),
            kafka::ErrorKind::UnknownTopic => {
                Error::config(format!("a topic is not there, and the broker makes none: {error}"))
                    .hint(
                        "create the topic, or set topic.creation.default.partitions and \
                 topic.creation.default.replication.factor (-1 for the broker's defaults)",
                    )
            }
            kafka::ErrorKind::Abortable => Error::retriable(error.to_string()),
            _ => kafka_error(error),
        }
    }

    /// A record that the client gave up: for its own sake, since retries have no end.
    pub(super) fn undelivered(
        &mut self,
        output: &Output,
        id: usize,
        error: kafka::Error,
    ) -> Result<()> {
        use kafka::ErrorKind as K;
        // Whoever may not write a topic learns it before a record of it is sent.
        if error.is_purged()
            && let Some(cause) = output.spoiled().filter(kafka::Error::is_forbidden)
        {
            return Err(Work::send_error(cause.about(error)));
        }
        if !matches!(error.kind(), K::TooLarge | K::Other) {
            return Err(Work::send_error(error));
        }
        if self.look_for_refused(error.clone())? {
            return Ok(());
        }
        if self.settings.tolerance == Tolerance::All && !self.settings.is_transactional() {
            let text = || format!("refused by the broker and left out: {error}");
            self.state.repeats.warn(1, text);
            self.status.metrics().reported(1);
            self.state.acked.done(RecordId::from_number(id));
            return Ok(());
        }
        let hint = if error.kind() == K::TooLarge {
            "raise the topic's max.message.bytes, or set errors.tolerance=all to go on without such \
             records"
        } else {
            "is the topic compacted, and the record without a key? Correct that, or set \
             errors.tolerance=all to go on without such records"
        };
        Err(Error::data(format!("a record was refused by the broker: {error}")).hint(hint))
    }
}

/// A task that is fenced stops for good: taking the transactions back would fence the other in turn.
pub(super) fn fenced(error: Error) -> Error {
    if error.kind != ErrorKind::Fenced {
        return error;
    }
    Error::config(format!(
        "another process has taken over this task's transactions: {}",
        error.message
    ))
    .hint("two workers run this connector with the same group.id: stop one of them")
}
