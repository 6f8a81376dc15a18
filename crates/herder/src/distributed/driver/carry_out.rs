//! Carries out what the member has decided; nothing here waits.

use super::open::READ_TIMEOUT;
use super::{Driver, Input, confirm, writer};
use crate::distributed::member::{Action, Answered, Event};
use crate::distributed::records::Said;
use crate::distributed::topics::Written;
use crate::error::HerderError;
use crate::state::Done;
use api::Result;
use runtime::StopMode;
use std::time::Instant;

impl Driver {
    pub(super) fn carry_out(&mut self, action: Action) {
        match action {
            Action::ReadToEnd { attempt } => self.read_to_end(attempt),
            Action::InitWriter { attempt } => self.order(writer::Order::Init { attempt }),
            Action::Commit { version, changes } => match self.proof.clone() {
                Some(proof) => self.order(writer::Order::Commit { version, changes, proof }),
                None => tracing::error!("a worker without a seat decides; nothing is written"),
            },
            Action::WriteClaim(claim) => self.write_claim(claim),
            Action::Forget(worker) => self.say(vec![Said::forgotten(&worker)], |_| {}),
            Action::Validate { id, name, config } => {
                self.hands.validate(id, name.to_string(), config);
            }
            Action::MakeTasks { name, attempt, config } => {
                self.hands.make_tasks(name.to_string(), attempt, config);
            }
            Action::AlterOffsets { name, config, change, producers } => {
                let confirm = confirm::altering(name.clone(), self.tell.clone());
                let former = (producers, confirm);
                self.hands.alter_offsets(name.to_string(), config, change, Some(former));
            }
            Action::Fence { name, attempt, config, producers } => {
                self.hands.fence(name.to_string(), attempt, config, producers);
            }
            Action::StartTask { task: (name, task), token, config } => {
                self.stale.connector(&name);
                let confirm = confirm::hook((name.clone(), task), token, self.tell.clone());
                self.hands.start_task((name.to_string(), token, task), config, Some(confirm));
            }
            Action::StopTask { task: (name, task), token, .. } => {
                self.stale.connector(&name);
                self.hands.stop_task((name.to_string(), token, task), StopMode::Leave);
            }
            Action::Answer { .. } | Action::Exit => {}
        }
    }

    fn order(&self, order: writer::Order) {
        if self.orders.try_send(order).is_err() {
            tracing::error!("the leader's writer does not take orders");
        }
    }

    /// Asks for the end of the config topic until it was reached.
    fn read_to_end(&self, attempt: u64) {
        let Some(log) = &self.config else { return };
        let tell = self.tell.clone();
        let done = move |outcome: Result<()>| {
            let event = match outcome {
                Ok(()) => Event::CaughtUp { attempt },
                Err(_) => Event::NotCaughtUp { attempt },
            };
            let _gone = tell.send(Input::Event(event));
        };
        log.at_end(Instant::now() + READ_TIMEOUT, Box::new(done));
    }

    /// Writes records to the status topic.
    pub(super) fn say(&self, records: Vec<Written>, done: impl FnOnce(bool) + Send + 'static) {
        if let Some(log) = &self.status {
            let waits = self.waits.clone();
            let tell = move |outcome: Result<()>| {
                waits.tell("the topic of statuses cannot be written", outcome.as_ref().err());
                done(outcome.is_ok());
            };
            log.write(records, Box::new(tell));
        }
    }

    pub(super) fn answer(&mut self, id: u64, outcome: std::result::Result<Done, Answered>) {
        let Some((_, reply)) = self.replies.remove(&id) else { return };
        let outcome = outcome.map_err(|answered| match answered {
            Answered::Refused(refusal) => refusal.into(),
            Answered::NotLeader => HerderError::Elsewhere,
            Answered::Unknown => HerderError::Failed(
                "the leader lost its place while it wrote this: look whether it was done, and ask \
                 again if not"
                    .to_owned(),
            ),
        });
        // Whoever asked may have stopped waiting.
        let _gone = reply.send(outcome);
    }
}
