//! Forwards dead letters from the destination's table to a Kafka topic: at least once, in order.
//!
//! A topic cannot be part of the rows' transaction, so the table is its outbox: letters are read from
//! it after the commit, produced, and marked as forwarded once Kafka has acknowledged them. Letters
//! left over by a crash are forwarded at the next start. The header names are Connect's.
//!
//! A letter that the broker refuses for its size stays in the table alone, so that it does not hold up
//! those behind it. Waits end when the task is told to stop.

use crate::errors::{ErrorLog, Repeats};
use crate::metrics::TaskMetrics;
use crate::sink::DeadLetterSettings;
use crate::sink::{StopSignal, kafka_error};
use api::{DeadLetter, Error, SinkTask};
use kafka::{Admin, ErrorKind, NewTopic, Producer, ProducerRecord};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Letters read and forwarded at once.
const LETTERS_MAX: usize = 500;
/// Short enough to stop in time; what takes longer is tried again.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);
const CREATE_TIMEOUT: Duration = Duration::from_secs(10);
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a wait looks whether the task has been told to stop.
const STOP_LOOK: Duration = Duration::from_millis(100);
/// The broker's error for more replicas than there are brokers.
const INVALID_REPLICATION_FACTOR: i32 = 38;

pub(crate) struct DeadLetterTopic {
    settings: DeadLetterSettings,
    admin: kafka::ClientSettings,
    connector: String,
    task: String,
    producer: Option<Producer>,
    stop: StopSignal,
    metrics: Arc<TaskMetrics>,
    too_large: Repeats,
}

impl DeadLetterTopic {
    pub(crate) fn new(
        settings: DeadLetterSettings,
        admin: kafka::ClientSettings,
        log: &ErrorLog,
        stop: StopSignal,
        metrics: Arc<TaskMetrics>,
    ) -> Self {
        let (connector, task) = (log.connector.clone(), log.task.to_string());
        DeadLetterTopic {
            settings,
            admin,
            connector,
            task,
            producer: None,
            stop,
            metrics,
            too_large: Repeats::default(),
        }
    }

    /// Forwards up to [`LETTERS_MAX`] letters. True: there may be more.
    pub(crate) fn forward(&mut self, task: &mut dyn SinkTask) -> Result<bool, Error> {
        if self.stop.mode().is_some() {
            // The next start goes on.
            return Ok(false);
        }
        let letters = task.outbox(LETTERS_MAX)?;
        if letters.is_empty() {
            return Ok(false);
        }
        let producer = match self.producer.take() {
            Some(producer) => producer,
            None => self.connect()?,
        };
        let all: Vec<&DeadLetter> = letters.iter().collect();
        // A batch is refused as a whole for one letter in it: those are sent again, each alone.
        for letter in self.send(&producer, &all)? {
            if !self.send(&producer, &[letter])?.is_empty() {
                self.too_large(&producer, letter, task.keeps_letters())?;
            }
        }
        self.producer = Some(producer);
        let ids: Vec<i64> = letters.iter().map(|letter| letter.id).collect();
        task.forwarded(&ids)?;
        Ok(letters.len() == LETTERS_MAX)
    }

    /// What is done with a letter that the topic does not take: where no table has it, the topic gets
    /// it without its value.
    fn too_large(
        &mut self,
        producer: &Producer,
        letter: &DeadLetter,
        in_table: bool,
    ) -> Result<(), Error> {
        let DeadLetter { id, topic, partition, offset, .. } = letter;
        let what = if in_table {
            format!("it stays in the table of dead letters alone, as number {id}")
        } else {
            let short = DeadLetter { value: None, ..letter.clone() };
            self.send(producer, &[&short])?;
            "it is there without its value".to_owned()
        };
        let letters = &self.settings.topic;
        self.too_large.warn(1, || {
            format!(
                "the dead letter of {topic}-{partition} at offset {offset} is too large for topic \
                 {letters}: {what}"
            )
        });
        Ok(())
    }

    /// Writes one letter that no table holds, and waits until Kafka has it. False: it is too large.
    pub(crate) fn write(&mut self, letter: &DeadLetter) -> Result<bool, Error> {
        let producer = match self.producer.take() {
            Some(producer) => producer,
            None => self.connect()?,
        };
        let too_large = self.send(&producer, &[letter])?;
        self.producer = Some(producer);
        Ok(too_large.is_empty())
    }

    /// Sends letters and waits for the outcomes; gives back those that were too large, alone or for
    /// the batch they were in.
    fn send<'a>(
        &self,
        producer: &Producer,
        letters: &[&'a DeadLetter],
    ) -> Result<Vec<&'a DeadLetter>, Error> {
        let sent = self.try_send(producer, letters);
        self.metrics.letters(letters.len() as u64, sent.is_err());
        sent
    }

    fn try_send<'a>(
        &self,
        producer: &Producer,
        letters: &[&'a DeadLetter],
    ) -> Result<Vec<&'a DeadLetter>, Error> {
        let mut too_large = Vec::new();
        let mut accepted = 0;
        for (id, letter) in letters.iter().enumerate() {
            match self.hand_over(producer, letter, id) {
                Ok(()) => accepted += 1,
                Err(error) if error.kind() == ErrorKind::TooLarge => too_large.push(*letter),
                Err(error) => return Err(self.not_sent(error)),
            }
        }
        self.wait(producer)?;
        let outcomes = producer.poll(Duration::ZERO);
        if outcomes.len() < accepted {
            return Err(Error::retriable("the dead-letter topic has not acknowledged all records"));
        }
        for outcome in outcomes {
            match (outcome.result, letters.get(outcome.id)) {
                (Ok(_), _) => {}
                (Err(error), Some(letter)) if error.kind() == ErrorKind::TooLarge => {
                    too_large.push(letter);
                }
                (Err(error), _) => return Err(self.not_sent(error)),
            }
        }
        Ok(too_large)
    }

    /// Gives a letter to the producer.
    fn hand_over(
        &self,
        producer: &Producer,
        letter: &DeadLetter,
        id: usize,
    ) -> Result<(), kafka::Error> {
        let context = self.context_headers(letter);
        let original = letter.headers.iter().map(|(n, v)| (n.as_str(), v.as_deref()));
        let added = context.iter().map(|(n, v)| (*n, Some(v.as_bytes())));
        let headers: Vec<_> = original.chain(added).collect();
        producer.send(&ProducerRecord {
            topic: &self.settings.topic,
            partition: None,
            key: letter.key.as_deref(),
            value: letter.value.as_deref(),
            headers: &headers,
            timestamp: (letter.timestamp >= 0).then_some(letter.timestamp),
            id,
        })
    }

    /// Waits until everything has its outcome, unless the task is told to stop.
    fn wait(&self, producer: &Producer) -> Result<(), Error> {
        let started = Instant::now();
        while let Err(error) = producer.flush(STOP_LOOK) {
            if self.stop.mode().is_some() {
                return Err(Error::cancelled());
            }
            if producer.in_flight() == 0 || started.elapsed() >= SEND_TIMEOUT {
                return Err(self.not_sent(error));
            }
        }
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
        match admin.topic(topic, LOOK_TIMEOUT) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {
                self.create(&admin, replication_factor.unwrap_or(-1))?;
            }
            Err(error) => return Err(self.not_sent(error)),
        }
        Producer::new(producer).map_err(kafka_error)
    }

    fn create(&self, admin: &Admin, replication: i32) -> Result<(), Error> {
        let topic = &self.settings.topic;
        let mut new = NewTopic::new(topic.as_str(), 1);
        new.replication = replication;
        let created = admin.create_topics(&[new], CREATE_TIMEOUT).map_err(|e| self.not_sent(e))?;
        for outcome in created {
            match outcome {
                Err(error) if error.kind() == ErrorKind::TopicExists => {}
                Err(error) if error.code() == INVALID_REPLICATION_FACTOR && replication > 0 => {
                    tracing::warn!(
                        "dead-letter topic {topic}: {error} ({replication}); it is created with the \
                         broker's default"
                    );
                    return self.create(admin, -1);
                }
                Err(error) => return Err(self.not_created(&error)),
                Ok(()) => tracing::info!("dead-letter topic {topic} created"),
            }
        }
        Ok(())
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
