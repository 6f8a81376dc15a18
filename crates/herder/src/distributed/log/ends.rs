//! Asks the brokers how far there is to read, for whoever wants to read to the end.
//!
//! Questions that come while one is asked are answered together by the next.

use super::tail::Barrier;
use super::{Done, FIRST_PAUSE, LONGEST_PAUSE, LogSettings, Shared, wake};
use api::{Error, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use data::TopicPartition;
use kafka::{Admin, ClientSettings, ErrorKind, TopicId};
use runtime::{Backoff, kafka_error};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long one question may take.
pub(super) const ASK_TIMEOUT: Duration = Duration::from_secs(2);
/// Less is no time for an answer.
const ASK_TIMEOUT_MIN: Duration = Duration::from_millis(100);

/// Tell me when what is there now was read.
pub(super) struct Question {
    pub(super) deadline: Instant,
    pub(super) done: Done,
}

/// Where the partitions end.
pub(super) type PlaceEnds = Vec<(TopicPartition, i64)>;

/// Asks for the ends, transactions that are open included. Keeps its client while it works.
pub(super) struct Asker {
    places: Vec<TopicPartition>,
    settings: ClientSettings,
    admin: Option<Admin>,
    /// Of the topic, when it was first looked for.
    id: Option<TopicId>,
}

impl Asker {
    pub(super) fn new(settings: &LogSettings, places: Vec<TopicPartition>) -> Asker {
        let mut settings = settings.admin.clone();
        settings.insert("isolation.level".to_owned(), "read_uncommitted".to_owned());
        Asker { places, settings, admin: None, id: None }
    }

    /// Whether the topic is not what it was at first: deleted, and maybe made anew by a broker. None
    /// where nobody says.
    fn is_gone(&mut self) -> Option<bool> {
        let place = self.places.first()?;
        if self.admin.is_none() {
            self.admin = Admin::new(&self.settings).ok();
        }
        let found = self.admin.as_ref()?.describe_topics(&[&*place.topic], ASK_TIMEOUT).ok()?;
        match found.into_iter().next()? {
            Ok(topic) => {
                let id = topic.id?;
                Some(*self.id.get_or_insert(id) != id)
            }
            Err(error) if error.kind() == ErrorKind::UnknownTopic => Some(true),
            Err(_) => None,
        }
    }

    /// Waits at most `timeout`, and never longer than [`ASK_TIMEOUT`].
    pub(super) fn ask(&mut self, timeout: Duration) -> Result<PlaceEnds> {
        let admin = match self.admin.take() {
            Some(admin) => admin,
            None => Admin::new(&self.settings).map_err(kafka_error)?,
        };
        let ends = admin.ends(&self.places, timeout.min(ASK_TIMEOUT)).map_err(kafka_error)?;
        self.admin = Some(admin);
        // Where there is no end the partition is empty.
        let ends = ends.into_iter().map(Option::unwrap_or_default);
        Ok(self.places.iter().cloned().zip(ends).collect())
    }
}

/// How often it is looked whether the topic is there.
const LOOK: Duration = Duration::from_secs(5);

pub(super) struct Ends {
    asker: Asker,
    questions: Receiver<Question>,
    tail: Sender<Barrier>,
    shared: Arc<Shared>,
}

impl Ends {
    pub(super) fn new(
        settings: &LogSettings,
        places: Vec<TopicPartition>,
        questions: Receiver<Question>,
        tail: Sender<Barrier>,
        shared: Arc<Shared>,
    ) -> Ends {
        Ends { asker: Asker::new(settings, places), questions, tail, shared }
    }

    pub(super) fn run(mut self) {
        // Which topic it is has to be known before it is deleted.
        self.look();
        let mut next_look = Instant::now() + LOOK;
        loop {
            // On time, however many ask.
            if Instant::now() >= next_look {
                self.look();
                next_look = Instant::now() + LOOK;
            }
            let wait = next_look.saturating_duration_since(Instant::now());
            let first = match self.questions.recv_timeout(wait) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut asked = vec![first];
            asked.extend(self.questions.try_iter());
            self.answer(asked);
        }
        // The tail sees that nothing comes any more.
        let shared = self.shared.clone();
        drop(self);
        wake(&shared.reading);
    }

    /// Nobody tells of a topic that was deleted: it is looked for.
    fn look(&mut self) {
        if let Some(gone) = self.asker.is_gone()
            && self.shared.gone.swap(gone, Ordering::AcqRel) != gone
        {
            wake(&self.shared.reading);
        }
    }

    fn answer(&mut self, mut asked: Vec<Question>) {
        let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        while !asked.is_empty() {
            if self.shared.is_closed() {
                return refuse(asked, &Error::cancelled());
            }
            let next = asked.iter().map(|question| question.deadline).min();
            let left = next.map(|next| next.saturating_duration_since(Instant::now()));
            match self.asker.ask(left.unwrap_or_default().max(ASK_TIMEOUT_MIN)) {
                Ok(ends) => {
                    for Question { deadline, done } in asked {
                        let barrier = Barrier { ends: ends.clone(), deadline, done };
                        if let Err(refused) = self.tail.send(barrier) {
                            (refused.0.done)(Err(Error::cancelled()));
                        }
                    }
                    wake(&self.shared.reading);
                    return;
                }
                Err(error) if error.kind == api::ErrorKind::Retriable => {
                    let now = Instant::now();
                    let (late, rest) = asked.into_iter().partition(|q| q.deadline <= now);
                    asked = rest;
                    refuse(late, &error);
                    self.shared.pause(&mut pauses);
                }
                Err(error) => return refuse(asked, &error),
            }
        }
    }
}

fn refuse(asked: Vec<Question>, error: &Error) {
    for question in asked {
        (question.done)(Err(again(error)));
    }
}

/// The same error for one more.
pub(super) fn again(error: &Error) -> Error {
    let again = Error::new(error.kind, error.message.clone());
    match &error.hint {
        Some(hint) => again.hint(hint.clone()),
        None => again,
    }
}
