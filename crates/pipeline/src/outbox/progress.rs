//! Which rows of the outbox a committed transaction has: records in a compacted topic, written in the
//! transaction of the messages.
//!
//! Place in the data path: read when a worker takes the outbox over. The last [`RECORDS`] transactions
//! are kept, so that a promoted replica that lags may bring back rows that were sent.

use super::Clients;
use data::TopicPartition;
use kafka::{Admin, Error, ErrorKind, NewTopic, NoRebalance, PollLimits, Result, SinkConsumer};
use std::time::{Duration, Instant};

/// The topic; shared by all databases that send into a cluster.
pub(super) const TOPIC: &str = "pipeline_kafka_outbox";
/// Transactions that are remembered.
const RECORDS: u64 = 256;
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than a transaction that nobody ends may stay open.
const READ_TIMEOUT: Duration = Duration::from_secs(90);
const LIMITS: PollLimits = PollLimits { rows_max: 1_000, bytes_max: 8 << 20 };

/// The records of one database.
#[derive(Debug, Default)]
pub(super) struct Progress {
    prefix: String,
    /// The number of the next transaction.
    next: u64,
    /// Lists of `[id, micros]` as JSON, by their place in the ring.
    sent: Vec<(u64, String)>,
}

impl Progress {
    /// Reads what was committed. The transactional id must have been taken over before, so that
    /// nothing is under way.
    ///
    /// # Errors
    /// Kafka's; a topic that may not be made or read.
    pub(super) fn read(
        clients: &Clients,
        transactional_id: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Progress> {
        create(&clients.admin)?;
        let mut progress =
            Progress { prefix: format!("{transactional_id}/"), ..Progress::default() };
        let mut settings = clients.consumer.clone();
        // The client asks for a name; nobody joins that group.
        settings.insert("group.id".to_owned(), transactional_id.to_owned());
        let mut consumer = SinkConsumer::new(&settings, Box::new(NoRebalance))?;
        let tp = TopicPartition::new(TOPIC, 0);
        let marks = consumer.handle().watermarks(&tp, ASK_TIMEOUT)?;
        if marks.high <= marks.low {
            return Ok(progress);
        }
        consumer.assign_manually(&[(tp.clone(), marks.low)])?;
        let deadline = Instant::now() + READ_TIMEOUT;
        loop {
            if stop() || Instant::now() > deadline {
                let text = format!("topic {TOPIC} could not be read to its end");
                return Err(Error::new(ErrorKind::TimedOut, text));
            }
            let polled = consumer.poll(Duration::from_millis(200), LIMITS)?;
            if let Some(fatal) = consumer.fatal_error() {
                return Err(fatal);
            }
            for batch in &polled.batches {
                progress.take(batch);
            }
            if consumer.position(&tp).is_some_and(|position| position >= marks.high) {
                return Ok(progress);
            }
        }
    }

    fn take(&mut self, batch: &data::RawBatch) {
        for row in 0..batch.len() {
            let key = batch.key(row).and_then(|key| std::str::from_utf8(key).ok());
            let Some(place) = key.and_then(|key| key.strip_prefix(&self.prefix)) else { continue };
            let Ok(place) = place.parse::<u64>() else { continue };
            let value = batch.value(row);
            let record = value.as_deref().and_then(|value| serde_json::from_slice(value).ok());
            let Some(Record { number, sent }) = record else { continue };
            self.sent.retain(|(known, _)| *known != place);
            self.sent.push((place, sent.to_string()));
            self.next = self.next.max(number.saturating_add(1));
        }
    }

    /// What was sent, in lists.
    pub(super) fn sent(&self) -> impl Iterator<Item = &str> {
        self.sent.iter().map(|(_, list)| list.as_str())
    }

    /// Key and value of the record of the next transaction, and the list in it.
    pub(super) fn record(&self, rows: &[(i64, i64)]) -> (String, String, String) {
        let key = format!("{}{}", self.prefix, self.next % RECORDS);
        let list = serde_json::json!(rows);
        let value = serde_json::json!({ "number": self.next, "sent": list });
        (key, value.to_string(), list.to_string())
    }

    /// Everything that was sent, as one list.
    pub(super) fn all(&self) -> String {
        let inner = |list: &str| list.trim_matches(['[', ']']).to_owned();
        let lists: Vec<String> = self.sent().map(inner).filter(|list| !list.is_empty()).collect();
        if lists.is_empty() { "[]".to_owned() } else { format!("[[{}]]", lists.join("],[")) }
    }

    /// The transaction with this list is committed.
    pub(super) fn committed(&mut self, list: &str) {
        let place = self.next % RECORDS;
        self.sent.retain(|(known, _)| *known != place);
        self.sent.push((place, list.to_owned()));
        self.next += 1;
    }
}

#[derive(serde::Deserialize)]
struct Record {
    number: u64,
    sent: serde_json::Value,
}

fn create(admin: &kafka::ClientSettings) -> Result<()> {
    let admin = Admin::new(admin)?;
    match admin.topic(TOPIC, ASK_TIMEOUT) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::UnknownTopic => {}
        Err(error) => return Err(error),
    }
    let new = NewTopic::new(TOPIC, 1).config("cleanup.policy", "compact");
    for outcome in admin.create_topics(&[new], CREATE_TIMEOUT)? {
        match outcome {
            Err(error) if error.kind() != ErrorKind::TopicExists => return Err(error),
            _ => tracing::info!(topic = TOPIC, "topic for the progress of the outbox created"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{RawBatchBuilder, TimestampType};

    #[test]
    fn records_are_a_ring_and_other_databases_do_not_count() {
        let mut progress = Progress { prefix: "mine/".to_owned(), ..Progress::default() };
        let mut builder = RawBatchBuilder::new(TopicPartition::new(TOPIC, 0));
        let mut offset = 0;
        let mut push = |key: &str, value: &str| {
            let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
            builder.push(offset, 0, TimestampType::CreateTime, key, value);
            offset += 1;
        };
        push("mine/4", "{\"number\":260,\"sent\":[[7,70]]}");
        push("other/9", "{\"number\":999,\"sent\":[[1,1]]}");
        push("mine/4", "{\"number\":516,\"sent\":[[8,80],[9,90]]}");
        push("mine/5", "no JSON");
        progress.take(&builder.finish(4));
        assert_eq!(progress.sent().collect::<Vec<_>>(), ["[[8,80],[9,90]]"]);
        let (key, value, list) = progress.record(&[(10, 100)]);
        assert_eq!(
            (key.as_str(), value.as_str(), list.as_str()),
            ("mine/5", "{\"number\":517,\"sent\":[[10,100]]}", "[[10,100]]")
        );
        progress.committed(&list);
        assert_eq!(progress.all(), "[[8,80],[9,90],[10,100]]");
        assert_eq!(Progress::default().all(), "[]");
    }
}
