//! The transactional producer of the outbox.
//!
//! Place in the data path: the last step of the produce side. Invariants: a transaction is committed
//! only if Kafka has taken every message of it; one whose outcome is not known is asked for until it is,
//! or left to the next owner of the transactional id.

use super::Clients;
use super::progress::{Progress, TOPIC};
use super::rows::Verdict;
use kafka::{Delivery, Error, ErrorKind, ProducerRecord, Result, TransactionalProducer};
use std::time::{Duration, Instant};

const INIT_TIMEOUT: Duration = Duration::from_secs(60);
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long Kafka may take for the messages of a transaction.
const SEND_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);
/// When a message is tried again whose topic does not exist or may not be written.
const AGAIN: Duration = Duration::from_secs(10);
/// The number of the record of progress; messages have that of their place.
const PROGRESS: usize = usize::MAX;

/// A row of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: i64,
    /// When it was made, in microseconds since 1970.
    pub(super) micros: i64,
    pub(super) topic: String,
    pub(super) partition: Option<i32>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(String, Option<String>)>,
}

/// What has become of a transaction.
pub(super) enum Sent {
    /// Committed; the list of its rows.
    All(String),
    /// Aborted because of these.
    Refused(Vec<Verdict>),
}

pub(super) struct Sender {
    producer: TransactionalProducer,
    progress: Progress,
}

impl Sender {
    /// Fences the sender before, and gives the lists of the rows that were sent.
    ///
    /// # Errors
    /// Kafka's.
    pub(super) fn take_over(
        clients: &Clients,
        installation: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Sender, Vec<String>)> {
        let transactional_id = format!("pipeline_kafka-{installation}-outbox");
        let mut settings = clients.producer.clone();
        settings.insert("transactional.id".to_owned(), transactional_id.clone());
        let producer = TransactionalProducer::new(&settings)?;
        producer.init(INIT_TIMEOUT)?;
        let progress = Progress::read(clients, &transactional_id, stop)?;
        let sent = progress.sent().map(str::to_owned).collect();
        Ok((Sender { producer, progress }, sent))
    }

    /// The rows that are known to be sent, as one list.
    pub(super) fn sent(&self) -> String {
        self.progress.all()
    }

    /// Sends messages in one transaction. After an error the sender must not be used again.
    ///
    /// # Errors
    /// Kafka is away, or another worker has taken over: nothing, or everything, was sent.
    pub(super) fn send(&mut self, messages: &[Message], stop: &dyn Fn() -> bool) -> Result<Sent> {
        let rows: Vec<(i64, i64)> = messages.iter().map(|m| (m.id, m.micros)).collect();
        let (key, value, list) = self.progress.record(&rows);
        self.producer.begin()?;
        let progress = ProducerRecord {
            topic: TOPIC,
            partition: Some(0),
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            id: PROGRESS,
            ..ProducerRecord::default()
        };
        let mut outcomes = Outcomes { verdicts: Vec::new(), error: None };
        let deadline = Instant::now() + SEND_TIMEOUT;
        for (index, message) in messages.iter().enumerate() {
            let headers: Vec<_> = message
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_deref().map(str::as_bytes)))
                .collect();
            let record = ProducerRecord {
                topic: &message.topic,
                partition: message.partition,
                key: message.key.as_deref(),
                value: message.value.as_deref(),
                headers: &headers,
                timestamp: Some(message.micros / 1000),
                id: index,
            };
            self.hand_over(&record, messages, &mut outcomes, deadline)?;
        }
        self.hand_over(&progress, messages, &mut outcomes, deadline)?;
        while self.producer.in_flight() > 0 && outcomes.error.is_none() {
            outcomes.take(self.producer.poll(POLL), messages);
            if stop() || Instant::now() > deadline {
                let text = "Kafka has not taken the messages in time";
                outcomes.error = Some(Error::new(ErrorKind::TimedOut, text));
            }
        }
        outcomes.take(self.producer.poll(Duration::ZERO), messages);
        if let Some(error) = outcomes.error {
            return Err(error);
        }
        if !outcomes.verdicts.is_empty() {
            self.producer.abort(COMMIT_TIMEOUT)?;
            return Ok(Sent::Refused(outcomes.verdicts));
        }
        self.commit()?;
        self.progress.committed(&list);
        Ok(Sent::All(list))
    }

    fn hand_over(
        &self,
        record: &ProducerRecord<'_>,
        messages: &[Message],
        outcomes: &mut Outcomes,
        deadline: Instant,
    ) -> Result<()> {
        loop {
            match self.producer.send_batch(std::slice::from_ref(record))? {
                0 if Instant::now() > deadline => {
                    return Err(Error::new(
                        ErrorKind::TimedOut,
                        "the producer's buffer stays full",
                    ));
                }
                0 => outcomes.take(self.producer.poll(POLL), messages),
                _ => return Ok(()),
            }
        }
    }

    fn commit(&self) -> Result<()> {
        let deadline = Instant::now() + SEND_TIMEOUT;
        loop {
            match self.producer.commit(COMMIT_TIMEOUT) {
                // Not decided yet.
                Err(error) if error.is_retriable() && Instant::now() < deadline => {}
                other => return other,
            }
        }
    }
}

/// What has come back of a transaction.
struct Outcomes {
    verdicts: Vec<Verdict>,
    /// An error that says nothing of a single message.
    error: Option<Error>,
}

impl Outcomes {
    fn take(&mut self, deliveries: Vec<Delivery>, messages: &[Message]) {
        for Delivery { id, result } in deliveries {
            let Err(error) = result else { continue };
            let again_in = match error.kind() {
                ErrorKind::TooLarge | ErrorKind::Configuration => None,
                ErrorKind::UnknownTopic | ErrorKind::Authorization => Some(AGAIN),
                _ => {
                    self.error.get_or_insert(error);
                    continue;
                }
            };
            match messages.get(id) {
                Some(message) => self.verdicts.push(Verdict {
                    id: message.id,
                    micros: message.micros,
                    topic: message.topic.clone(),
                    reason: error.to_string(),
                    again_in,
                }),
                None => self.error = Some(error),
            }
        }
    }
}
