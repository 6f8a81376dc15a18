//! How the leader writes: in transactions that fail unless it still is a member.
//!
//! Two fences. A new leader takes the `transactional.id` over, which ends what the old one left open.
//! And since the last to take it over wins, rightful or not, each transaction proves that its writer
//! is of the group's current generation, by an offset of the group that it writes along. That proves
//! membership, not leadership: the proof has to be taken when the writer saw itself lead.

use crate::distributed::topics::Written;
use kafka::{
    ClientSettings, ErrorKind, GroupMetadata, Position, ProducerRecord, TransactionalProducer,
};
use std::time::{Duration, Instant};

const PART: Duration = Duration::from_secs(1);
const ABORT_TIMEOUT: Duration = Duration::from_secs(5);
/// A second is longer than any wait for an outcome; what comes wakes the poll.
const DRAIN: Duration = Duration::from_millis(50);

/// Proof of membership, as of when it was taken; a position is written to the group with it.
pub struct Membership {
    /// Of the consumer that is the member, right after the poll by which it saw itself lead.
    pub group: GroupMetadata,
    /// Any partition of the group's topic; its offset means nothing.
    pub seat: Position,
}

/// Why nothing was written, or nobody knows.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// Another process has taken over. Not to be claimed again because of this alone.
    #[error("another worker leads: {0}")]
    Deposed(kafka::Error),
    /// The group has moved on: nothing was written. Look who leads, decide again.
    #[error("the group of workers has moved on: {0}")]
    NotMember(kafka::Error),
    /// Nothing was written, and nothing will be until somebody changes rights or settings; the hint
    /// says which.
    #[error("{}", .0.message)]
    Forbidden(api::Error),
    /// Nothing was written; the same can be tried again.
    #[error("nothing was written: {0}")]
    Failed(kafka::Error),
    /// Whether it was written is open. If still leading: claim anew, read to the end, look.
    #[error("it is not known whether this was written: {0}")]
    Unknown(kafka::Error),
}

impl LeaderError {
    /// Whether the writer is of no use any more.
    pub fn is_final(&self) -> bool {
        matches!(self, LeaderError::Deposed(_) | LeaderError::Unknown(_))
    }
}

/// Why a writer is of no use any more.
#[derive(Clone)]
enum Over {
    Deposed(kafka::Error),
    Unknown(kafka::Error),
}

/// The leader's writer. Its calls wait for brokers: they belong on a thread of their own.
pub struct LeaderWriter {
    producer: TransactionalProducer,
    topic: String,
    /// Why it can be used no more.
    over: Option<Over>,
}

impl LeaderWriter {
    /// Takes over as the writer of a topic; `settings` has the cluster's `transactional.id`. Whoever had
    /// it is fenced, and what it left open is aborted. Takes 60 ms, at times 0.5–1 s.
    ///
    /// # Errors
    /// [`LeaderError::Failed`] where it can be tried again, [`LeaderError::Forbidden`] where the settings
    /// or rights are wrong.
    pub fn claim(
        settings: &ClientSettings,
        topic: &str,
        timeout: Duration,
    ) -> Result<LeaderWriter, LeaderError> {
        let id = settings.get("transactional.id").map_or("", String::as_str);
        let right = format!("Write and Describe on TransactionalId {id}");
        let producer =
            TransactionalProducer::new(settings).map_err(|error| failed(error, &right))?;
        let deadline = Instant::now() + timeout;
        until(deadline, |part| producer.init(part)).map_err(|error| match error.kind() {
            ErrorKind::Fenced => LeaderError::Deposed(error),
            _ => failed(error, &right),
        })?;
        Ok(LeaderWriter { producer, topic: topic.to_owned(), over: None })
    }

    /// Writes records so that readers see all or none.
    ///
    /// # Errors
    /// See [`LeaderError`]; after a final one every call has it.
    pub fn write(
        &mut self,
        records: &[Written],
        membership: &Membership,
        timeout: Duration,
    ) -> Result<(), LeaderError> {
        match self.over.clone() {
            Some(Over::Deposed(error)) => return Err(LeaderError::Deposed(error)),
            Some(Over::Unknown(error)) => return Err(LeaderError::Unknown(error)),
            None => {}
        }
        let written = self.transact(records, membership, Instant::now() + timeout);
        self.over = match &written {
            Err(LeaderError::Deposed(error)) => Some(Over::Deposed(error.clone())),
            Err(LeaderError::Unknown(error)) => Some(Over::Unknown(error.clone())),
            _ => self.producer.fatal_error().map(Over::Unknown),
        };
        written
    }

    fn transact(
        &self,
        records: &[Written],
        membership: &Membership,
        deadline: Instant,
    ) -> Result<(), LeaderError> {
        self.producer.begin().map_err(|error| self.gone_or(error, LeaderError::Failed))?;
        let Membership { group, seat } = membership;
        let seat = std::slice::from_ref(seat);
        let prove = || until(deadline, |part| self.producer.send_offsets(seat, group, part));
        if let Err(error) = self.send(records, deadline) {
            let right = format!("Write on Topic {}", self.topic);
            // Of a record it is said that it was dropped; of the transaction, why.
            let error = prove().err().filter(is_forbidden).unwrap_or(error);
            return Err(self.undone(error, |error| failed(error, &right)));
        }
        if let Err(error) = prove() {
            // Said of a generation that is over, or of a member that has left.
            return Err(self.undone(error, |error| match error.kind() {
                _ if is_forbidden(&error) => failed(error, "Read on the Group of the workers"),
                ErrorKind::Abortable | ErrorKind::GroupNotEmpty => LeaderError::NotMember(error),
                _ => failed(error, "Read on the Group of the workers"),
            }));
        }
        match until(deadline, |part| self.producer.commit(part)) {
            Ok(()) => Ok(()),
            Err(error) if error.is_retriable() => Err(LeaderError::Unknown(error)),
            Err(error) => Err(self.undone(error, LeaderError::Failed)),
        }
    }

    /// Sends all of them and waits until each is acknowledged, so that the proof comes last.
    fn send(&self, records: &[Written], deadline: Instant) -> kafka::Result<()> {
        for (id, (key, value)) in records.iter().enumerate() {
            let record = ProducerRecord {
                topic: &self.topic,
                key: Some(key),
                value: value.as_deref(),
                id,
                ..ProducerRecord::default()
            };
            while let Err(error) = self.producer.send(&record) {
                if error.kind() != ErrorKind::QueueFull || Instant::now() > deadline {
                    return Err(error);
                }
                self.outcomes()?;
            }
        }
        while self.producer.in_flight() > 0 {
            self.outcomes()?;
            if Instant::now() > deadline {
                let message = format!("topic {}: records are not acknowledged in time", self.topic);
                return Err(kafka::Error::new(ErrorKind::TimedOut, message));
            }
        }
        self.outcomes_now()
    }

    fn outcomes(&self) -> kafka::Result<()> {
        refused(self.producer.poll(DRAIN))
    }

    fn outcomes_now(&self) -> kafka::Result<()> {
        refused(self.producer.poll(Duration::ZERO))
    }

    /// Takes the transaction back after a failure.
    fn undone(
        &self,
        error: kafka::Error,
        why: impl Fn(kafka::Error) -> LeaderError,
    ) -> LeaderError {
        if let Some(deposed) = self.deposed(&error) {
            return deposed;
        }
        let aborted = until(Instant::now() + ABORT_TIMEOUT, |part| self.producer.abort(part));
        // Outcomes of what was dropped must not be taken for the next one's.
        drop(self.producer.poll(Duration::ZERO));
        match aborted {
            Ok(()) => why(error),
            // Brokers take nothing of a transaction that may not be begun, so there is nothing to abort.
            Err(_) if is_forbidden(&error) => why(error),
            Err(failed) => self.gone_or(failed, LeaderError::Unknown),
        }
    }

    fn gone_or(
        &self,
        error: kafka::Error,
        why: impl Fn(kafka::Error) -> LeaderError,
    ) -> LeaderError {
        self.deposed(&error).unwrap_or_else(|| why(error))
    }

    fn deposed(&self, error: &kafka::Error) -> Option<LeaderError> {
        match (error.kind(), self.producer.fatal_error()) {
            (_, Some(fatal)) if fatal.kind() == ErrorKind::Fenced => {
                Some(LeaderError::Deposed(fatal))
            }
            (ErrorKind::Fenced, _) => Some(LeaderError::Deposed(error.clone())),
            (_, Some(fatal)) => Some(LeaderError::Unknown(fatal)),
            _ => None,
        }
    }
}

/// A right lacks, also where the library says that the transaction is to be aborted for it.
fn is_forbidden(error: &kafka::Error) -> bool {
    /// Topic, group, cluster and transactional id: Kafka's codes.
    const CODES: [i32; 4] = [29, 30, 31, 53];
    error.kind() == ErrorKind::Authorization || CODES.contains(&error.code())
}

/// Whoever may do something about it: we again, or people.
fn failed(error: kafka::Error, right: &str) -> LeaderError {
    let hint = match error.kind() {
        _ if is_forbidden(&error) => format!("grant the worker's principal {right}"),
        ErrorKind::Authentication | ErrorKind::Configuration | ErrorKind::Unsupported => {
            error.hint().unwrap_or("correct the worker's client settings").to_owned()
        }
        _ => return LeaderError::Failed(error),
    };
    LeaderError::Forbidden(api::Error::config(error.to_string()).hint(hint))
}

fn refused(outcomes: Vec<kafka::Delivery>) -> kafka::Result<()> {
    outcomes.into_iter().find_map(|outcome| outcome.result.err()).map_or(Ok(()), Err)
}

/// Does a step again until its outcome is known or its time is over.
fn until(
    deadline: Instant,
    mut step: impl FnMut(Duration) -> kafka::Result<()>,
) -> kafka::Result<()> {
    loop {
        match step(PART) {
            Err(error) if error.is_retriable() && Instant::now() < deadline => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lacking_rights_name_what_to_grant_and_the_rest_can_be_tried_again() {
        let refused = kafka::Error::new(ErrorKind::Authorization, "no");
        let LeaderError::Forbidden(error) = failed(refused, "Write on Topic t") else {
            panic!("people have to act")
        };
        assert_eq!(error.hint.as_deref(), Some("grant the worker's principal Write on Topic t"));
        let slow = kafka::Error::new(ErrorKind::TimedOut, "slow");
        assert!(matches!(failed(slow, ""), LeaderError::Failed(_)));
        let none = LeaderWriter::claim(&ClientSettings::new(), "t", Duration::ZERO);
        assert!(matches!(none, Err(LeaderError::Forbidden(_))), "no transactional.id");
    }
}
