//! What is asked of this worker itself, and not of the leader: records that any worker may write, and
//! what it says of itself.

use super::{Driver, Input};
use crate::command::OfCluster;
use crate::distributed::cluster::Claim;
use crate::distributed::records::Said;
use crate::distributed::topics::{ConfigRecord, ReadRecord, StatusKey, Written};
use crate::error::{Answer, HerderError};
use crate::state::Done;
use std::sync::PoisonError;
use tokio::sync::oneshot;

/// What this worker said of itself last.
#[derive(Default)]
pub(super) struct OwnWord {
    claim: Option<Claim>,
    /// What keeps it from working with the others, for people.
    troubles: Vec<String>,
}

impl Driver {
    pub(super) fn of_cluster(&mut self, what: OfCluster, reply: oneshot::Sender<Answer>) {
        match what {
            OfCluster::LogLevel { logger, level } => self.write_log_level(logger, level, reply),
            OfCluster::ResetTopics { connector } => self.reset_topics(&connector, reply),
            OfCluster::Troubles(troubles) => {
                let _gone = reply.send(Ok(Done::Done));
                if self.word.troubles != troubles {
                    self.word.troubles = troubles;
                    self.say_again();
                }
            }
        }
    }

    fn write_log_level(&self, logger: String, level: String, reply: oneshot::Sender<Answer>) {
        let Some(log) = &self.config else { return };
        let record = ConfigRecord::LogLevel { logger, level };
        log.write(vec![record.written()], Box::new(move |outcome| answer(reply, outcome)));
    }

    /// Takes back what is known of the topics of a connector, on every worker: tasks tell of those again
    /// that they use from now on.
    fn reset_topics(&mut self, connector: &str, reply: oneshot::Sender<Answer>) {
        let topics = self.hands.topics(connector);
        let mut known = topics.list();
        let told = self.statuses();
        known.extend(told.get(connector).into_iter().flat_map(|told| told.topics.keys().cloned()));
        drop(told);
        known.sort();
        known.dedup();
        let key = |topic: String| StatusKey::Topic { topic, connector: connector.to_owned() };
        let keys: Vec<StatusKey> = known.into_iter().map(key).collect();
        for key in &keys {
            self.topic_gone(key);
        }
        let Some(log) = self.status.as_ref().filter(|_| !keys.is_empty()) else {
            let _gone = reply.send(Ok(Done::Done));
            return;
        };
        let records: Vec<Written> = keys.iter().map(StatusKey::tombstone).collect();
        self.forget_told(&records);
        log.write(records, Box::new(move |outcome| answer(reply, outcome)));
    }

    /// A use of a topic does not stand any more.
    pub(super) fn topic_gone(&mut self, key: &StatusKey) {
        if let StatusKey::Topic { topic, connector } = key {
            self.hands.topics(connector).remove(topic);
            self.reports.unsaid(key);
            self.stale.connector(&connector.as_str().into());
        }
    }

    /// What is being taken back is gone for readers of this worker at once.
    fn forget_told(&self, tombstones: &[Written]) {
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, _) in tombstones {
            // A key that was written here can be read.
            let _known = statuses.apply(&ReadRecord {
                partition: 0,
                offset: 0,
                key: Some(key),
                value: None,
            });
        }
    }

    /// Writes what this worker says of itself; the member is told how that went.
    pub(super) fn write_claim(&mut self, claim: Claim) {
        self.word.claim = Some(claim);
        let tell = self.tell.clone();
        self.say_word(move |written| {
            use crate::distributed::member::Event;
            let event = if written { Event::Claimed } else { Event::NotClaimed };
            let _gone = tell.send(Input::Event(event));
        });
    }

    /// The same once more, with other troubles.
    fn say_again(&self) {
        self.say_word(|_| {});
    }

    fn say_word(&self, done: impl FnOnce(bool) + Send + 'static) {
        let Some(claim) = self.word.claim.clone() else { return };
        let said = Said {
            claim,
            url: self.settings.url.as_str().into(),
            version: self.settings.version.as_str().into(),
            troubles: self.word.troubles.clone(),
            group: self.settings.group.as_str().into(),
            settings: self.settings.alike.iter().cloned().collect(),
            joined: self.joins.first,
        };
        self.say(vec![said.written()], done);
    }
}

fn answer(reply: oneshot::Sender<Answer>, outcome: api::Result<()>) {
    let outcome = outcome.map(|()| Done::Done);
    // Whoever asked may have stopped waiting.
    let _gone = reply.send(outcome.map_err(|error| HerderError::Failed(error.report())));
}
