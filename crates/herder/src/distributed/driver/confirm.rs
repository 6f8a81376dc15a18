//! What a task whose records are given exactly once asks before it writes: is its slot still its own?
//!
//! It asks after it has taken its transactional id over. The config topic is then read to its end, so that
//! one that was paused for a while, and starts what is another's by now, hears of it and writes nothing.

use super::open::READ_TIMEOUT;
use super::{Driver, Input};
use crate::distributed::cluster::TaskKey;
use crate::distributed::member::{Confirmed, Kind, Kinds};
use api::{Error, Result};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use runtime::{Confirm, Direction, Worker};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(100);

enum What {
    Task(TaskKey, u64),
    /// The leader is about to change a connector's offsets.
    Altering(Arc<str>),
}

/// Asked by a task or for one, answered once.
pub(crate) struct Question {
    what: What,
    /// The config topic has been read since it was asked.
    read: bool,
    answer: Sender<Result<Confirmed>>,
}

/// What the worker knows of a connector by its configuration.
pub(super) fn kinds(worker: Arc<Worker>) -> Kinds {
    Kinds(Arc::new(move |config| match worker.direction(config) {
        Some(Direction::Sink) => Kind::Sink,
        _ if worker.counts_producers(config) => Kind::OnceSource,
        _ => Kind::Source,
    }))
}

/// By which a task asks; it waits for the answer on its own thread.
pub(super) fn hook(task: TaskKey, token: u64, tell: Sender<Input>) -> Confirm {
    asks(move || What::Task(task.clone(), token), tell)
}

/// By which whoever changes offsets asks whether it still may.
pub(super) fn altering(name: Arc<str>, tell: Sender<Input>) -> Confirm {
    asks(move || What::Altering(name.clone()), tell)
}

fn asks(what: impl Fn() -> What + Send + Sync + 'static, tell: Sender<Input>) -> Confirm {
    Arc::new(move |stopped| {
        let (answer, answered) = bounded(1);
        let question = Question { what: what(), read: false, answer };
        if tell.send(Input::Confirm(question)).is_err() {
            return Err(Error::cancelled());
        }
        let confirmed = loop {
            match answered.recv_timeout(LOOK) {
                Ok(outcome) => break outcome?,
                Err(RecvTimeoutError::Timeout) if !stopped() => {}
                Err(_) => return Err(Error::cancelled()),
            }
        };
        match confirmed {
            Confirmed::Yes => Ok(true),
            Confirmed::No => Ok(false),
            Confirmed::NotCounted => Err(Error::retriable(
                "the leader has not recorded yet that this task has a transactional producer",
            )
            .hint(
                "if it stays so, another worker leads that has exactly.once.source.support=disabled: \
                 set it to preparing on all workers, then to enabled",
            )),
        }
    })
}

impl Driver {
    /// Answers when everything has been read; what was read before it came is known by then.
    pub(super) fn confirm(&mut self, mut question: Question) {
        if question.read {
            let confirmed = match &question.what {
                What::Task(task, token) => self.member.confirm(task, *token),
                What::Altering(name) if self.member.confirm_altering(name) => Confirmed::Yes,
                What::Altering(_) => Confirmed::No,
            };
            // The task may have been stopped.
            let _gone = question.answer.send(Ok(confirmed));
            return;
        }
        let Some(log) = &self.config else { return };
        let tell = self.tell.clone();
        let done = move |outcome: Result<()>| match outcome {
            Ok(()) => {
                question.read = true;
                let _gone = tell.send(Input::Confirm(question));
            }
            Err(error) => {
                let _gone = question.answer.send(Err(error));
            }
        };
        log.at_end(Instant::now() + READ_TIMEOUT, Box::new(done));
    }
}
