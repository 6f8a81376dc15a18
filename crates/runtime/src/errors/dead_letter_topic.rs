//! Forwards dead letters from the destination's table to a Kafka topic: at least once, in order.
//!
//! A topic cannot be part of the rows' transaction, so the table is its outbox: letters are read from
//! it after the commit, produced, and marked as forwarded once Kafka has acknowledged them. Letters
//! left over by a crash are forwarded at the next start. The header names are Connect's.

use crate::errors::ErrorLog;
use crate::sink::DeadLetterSettings;
use crate::sink::kafka_error;
use api::{DeadLetter, Error, SinkTask};
use kafka::{Admin, ErrorKind, NewTopic, Producer, ProducerRecord};
use std::time::Duration;

/// Letters read and forwarded at once.
const LETTERS_MAX: usize = 500;
const ADMIN_TIMEOUT: Duration = Duration::from_secs(10);
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct DeadLetterTopic {
    settings: DeadLetterSettings,
    admin: kafka::ClientSettings,
    connector: String,
    task: String,
    producer: Option<Producer>,
}

impl DeadLetterTopic {
    pub(crate) fn new(
        settings: DeadLetterSettings,
        admin: kafka::ClientSettings,
        log: &ErrorLog,
    ) -> Self {
        let (connector, task) = (log.connector.clone(), log.task.to_string());
        DeadLetterTopic { settings, admin, connector, task, producer: None }
    }

    /// Forwards up to [`LETTERS_MAX`] letters. True: there may be more.
    pub(crate) fn forward(&mut self, task: &mut dyn SinkTask) -> Result<bool, Error> {
        let letters = task.outbox(LETTERS_MAX)?;
        if letters.is_empty() {
            return Ok(false);
        }
        self.send(&letters)?;
        let ids: Vec<i64> = letters.iter().map(|letter| letter.id).collect();
        task.forwarded(&ids)?;
        Ok(letters.len() == LETTERS_MAX)
    }

    fn send(&mut self, letters: &[DeadLetter]) -> Result<(), Error> {
        let producer = match self.producer.take() {
            Some(producer) => producer,
            None => self.connect()?,
        };
        for (id, letter) in letters.iter().enumerate() {
            let context = self.context_headers(letter);
            let original = letter.headers.iter().map(|(n, v)| (n.as_str(), v.as_deref()));
            let added = context.iter().map(|(n, v)| (*n, Some(v.as_bytes())));
            let headers: Vec<_> = original.chain(added).collect();
            let record = ProducerRecord {
                topic: &self.settings.topic,
                partition: None,
                key: letter.key.as_deref(),
                value: letter.value.as_deref(),
                headers: &headers,
                timestamp: (letter.timestamp >= 0).then_some(letter.timestamp),
                id,
            };
            producer.send(&record).map_err(|error| self.not_sent(error))?;
        }
        producer.flush(SEND_TIMEOUT).map_err(|error| self.not_sent(error))?;
        let outcomes = producer.poll(Duration::ZERO);
        if outcomes.len() < letters.len() {
            return Err(Error::retriable("the dead-letter topic has not acknowledged all records"));
        }
        for outcome in outcomes {
            outcome.result.map_err(|error| self.not_sent(error))?;
        }
        self.producer = Some(producer);
        Ok(())
    }

    fn not_sent(&self, error: kafka::Error) -> Error {
        let topic = &self.settings.topic;
        let mut error = kafka_error(error);
        error.message = format!("dead letters not forwarded to topic {topic}: {}", error.message);
        error
    }

    /// The topic is created where it is missing; a race with another creator is fine.
    fn connect(&self) -> Result<Producer, Error> {
        let DeadLetterSettings { topic, replication_factor, producer, .. } = &self.settings;
        let admin = Admin::new(&self.admin).map_err(kafka_error)?;
        match admin.topic(topic, ADMIN_TIMEOUT) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {
                let mut new = NewTopic::new(topic.as_str(), 1);
                new.replication = replication_factor.unwrap_or(-1);
                let created =
                    admin.create_topics(&[new], ADMIN_TIMEOUT).map_err(|e| self.not_sent(e))?;
                for outcome in created {
                    match outcome {
                        Err(error) if error.kind() != ErrorKind::TopicExists => {
                            return Err(self.not_created(&error));
                        }
                        _ => tracing::info!("dead-letter topic {topic} created"),
                    }
                }
            }
            Err(error) => return Err(self.not_sent(error)),
        }
        Producer::new(producer).map_err(kafka_error)
    }

    fn not_created(&self, error: &kafka::Error) -> Error {
        let topic = &self.settings.topic;
        let message = format!("dead-letter topic {topic} could not be created: {error}");
        if error.is_retriable() {
            return Error::retriable(message);
        }
        Error::config(message).hint(
            "create the topic, or correct errors.deadletterqueue.topic.replication.factor (without \
             it the broker's default is used)",
        )
    }

    fn context_headers(&self, letter: &DeadLetter) -> Vec<(&'static str, String)> {
        if !self.settings.context_headers {
            return Vec::new();
        }
        let exception = &letter.exception;
        vec![
            ("__connect.errors.topic", letter.topic.clone()),
            ("__connect.errors.partition", letter.partition.to_string()),
            ("__connect.errors.offset", letter.offset.to_string()),
            ("__connect.errors.connector.name", self.connector.clone()),
            ("__connect.errors.task.id", self.task.clone()),
            ("__connect.errors.stage", letter.stage.clone()),
            ("__connect.errors.class.name", letter.class.clone()),
            ("__connect.errors.exception.class.name", exception.clone()),
            ("__connect.errors.exception.message", letter.message.clone()),
            (
                "__connect.errors.exception.stacktrace",
                format!("{exception}: {}\n\tat {}", letter.message, letter.class),
            ),
        ]
    }
}
