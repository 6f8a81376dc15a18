//! The leader's transactions, on a thread of its own: they wait for brokers.

use super::Input;
use super::waits::Waits;
use crate::distributed::cluster::Change;
use crate::distributed::log::{LeaderError, LeaderWriter, Membership, rest};
use crate::distributed::member::{Commit, Event};
use crate::distributed::records;
use crate::distributed::topics::{ConfigRecord, Properties, Written};
use config::Props;
use crossbeam_channel::{Receiver, Sender};
use kafka::ClientSettings;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(15);

/// What is to be done.
pub(super) enum Order {
    /// Take the writer from whoever has it.
    Init {
        attempt: u64,
    },
    Commit {
        version: u64,
        changes: Vec<Change>,
        proof: Arc<Membership>,
    },
}

/// Carries orders out until nobody gives any more.
pub(super) struct Writer {
    /// With the cluster's `transactional.id`.
    pub(super) settings: ClientSettings,
    pub(super) topic: String,
    pub(super) group: String,
    pub(super) tell: Sender<Input>,
    pub(super) waits: Waits,
}

/// What waits where it cannot write.
const LEADING: &str = "this worker leads, and cannot write";
/// Before the same is tried again that people have to change something for.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(2);

impl Writer {
    pub(super) fn run(self, orders: &Receiver<Order>) {
        let mut writer: Option<LeaderWriter> = None;
        for order in orders {
            let event = match order {
                Order::Init { attempt } => {
                    // The one before must not be in the way.
                    drop(writer.take());
                    let claimed = LeaderWriter::claim(&self.settings, &self.topic, TIMEOUT);
                    let outcome = match claimed {
                        Ok(claimed) => {
                            writer = Some(claimed);
                            Ok(())
                        }
                        Err(error) => {
                            self.wait_for_people(&error);
                            Err(())
                        }
                    };
                    Event::WriterReady { attempt, outcome }
                }
                Order::Commit { version, changes, proof } => {
                    let outcome = match &mut writer {
                        None => Commit::Fenced,
                        Some(writer) => self.commit(writer, &changes, &proof),
                    };
                    if outcome == Commit::Fenced {
                        // It is of no use any more, or has to be taken anew.
                        drop(writer.take());
                    }
                    Event::Committed { version, outcome }
                }
            };
            if self.tell.send(Input::Event(event)).is_err() {
                return;
            }
        }
    }

    fn commit(&self, writer: &mut LeaderWriter, changes: &[Change], proof: &Membership) -> Commit {
        let records: Vec<Written> =
            changes.iter().flat_map(|change| written(change, &self.group)).collect();
        match writer.write(&records, proof, TIMEOUT) {
            Ok(()) => {
                self.waits.tell(LEADING, None);
                Commit::Done
            }
            Err(LeaderError::Deposed(_)) => Commit::Fenced,
            Err(LeaderError::NotMember(_)) => Commit::Stale,
            // A client that was refused may be broken for good: another one is taken.
            Err(error @ LeaderError::Forbidden(_)) => {
                self.wait_for_people(&error);
                Commit::Fenced
            }
            Err(error @ LeaderError::Unknown(_)) => {
                self.wait_for_people(&error);
                Commit::Unknown
            }
            Err(error) => {
                self.wait_for_people(&error);
                Commit::Stale
            }
        }
    }

    /// Says why it does not work, and leaves whoever can mend it some time.
    fn wait_for_people(&self, error: &LeaderError) {
        match error {
            LeaderError::Forbidden(error) => {
                self.waits.tell(LEADING, Some(error));
                rest(FORBIDDEN_PAUSE, &|| false);
            }
            other => {
                self.waits.tell(LEADING, Some(&api::Error::retriable(other.to_string())));
            }
        }
    }
}

/// The records of a change.
fn written(change: &Change, group: &str) -> Vec<Written> {
    let record = match change {
        Change::Connector { name, config } => ConfigRecord::Connector {
            name: name.to_string(),
            config: config.as_ref().map(properties),
        },
        Change::Target { name, target } => {
            ConfigRecord::TargetState { name: name.to_string(), target: *target }
        }
        Change::SessionKey(key) => ConfigRecord::SessionKey(key.clone()),
        Change::Tasks { name, tasks } => {
            let tasks: Vec<Properties> = tasks.iter().map(properties).collect();
            let records = ConfigRecord::tasks(name, &tasks);
            return records.iter().map(ConfigRecord::written).collect();
        }
        Change::Led { version, worker } => {
            return vec![records::write_led(*version, worker, group)];
        }
        Change::TaskCount { name, tasks } => {
            ConfigRecord::Fencing { name: name.to_string(), tasks: *tasks }
        }
        own => return records::write_change(own).into_iter().collect(),
    };
    vec![record.written()]
}

fn properties(props: &Props) -> Properties {
    Properties::new(props.iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned()))))
}
