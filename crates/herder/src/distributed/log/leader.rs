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
#[derive(Clone, Debug, thiserror::Error)]
pub enum LeaderError {
    /// Another process has taken over. Not to be claimed again because of this alone.
    #[error("another worker leads: {0}")]
    Deposed(kafka::Error),
    /// The group has moved on: nothing was written. Look who leads, decide again.
    #[error("the group of workers has moved on: {0}")]
    NotMember(kafka::Error),
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

/// The leader's writer. Its calls wait for brokers: they belong on a thread of their own.
pub struct LeaderWriter {
    producer: TransactionalProducer,
    topic: String,
    /// Why it can be used no more.
    over: Option<LeaderError>,
}

impl LeaderWriter {
    /// Takes over as the writer of a topic; `settings` has the cluster's `transactional.id`. Whoever had
    /// it is fenced, and what it left open is aborted. Takes 60 ms, at times 0.5–1 s.
    ///
    /// # Errors
    /// [`LeaderError::Failed`] where it can be tried again or the settings or rights are wrong.
    pub fn claim(
        settings: &ClientSettings,
        topic: &str,
        timeout: Duration,
    ) -> Result<LeaderWriter, LeaderError> {
        let producer = TransactionalProducer::new(settings).map_err(LeaderError::Failed)?;
        let deadline = Instant::now() + timeout;
        until(deadline, |part| producer.init(part)).map_err(|error| match error.kind() {
            ErrorKind::Fenced => LeaderError::Deposed(error),
            _ => LeaderError::Failed(error),
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
        if let Some(over) = &self.over {
            return Err(over.clone());
        }
        let written = self.transact(records, membership, Instant::now() + timeout);
        if let Err(error) = &written
            && error.is_final()
        {
            self.over = Some(error.clone());
        }
        written
    }

    fn transact(
        &self,
        records: &[Written],
        membership: &Membership,
        deadline: Instant,
    ) -> Result<(), LeaderError> {
        self.producer.begin().map_err(|error| self.gone_or(error, LeaderError::Failed))?;
        if let Err(error) = self.send(records, deadline) {
            return Err(self.undone(error, LeaderError::Failed));
        }
        let Membership { group, seat } = membership;
        let seat = std::slice::from_ref(seat);
        let proved = until(deadline, |part| self.producer.send_offsets(seat, group, part));
        if let Err(error) = proved {
            // Said of a generation that is over, or of a member that has left.
            let is_stale = matches!(error.kind(), ErrorKind::Abortable | ErrorKind::GroupNotEmpty);
            let why = if is_stale { LeaderError::NotMember } else { LeaderError::Failed };
            return Err(self.undone(error, why));
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
