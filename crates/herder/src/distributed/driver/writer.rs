//! The leader's transactions, on a thread of its own: they wait for brokers.

use super::Input;
use crate::distributed::cluster::Change;
use crate::distributed::log::{LeaderError, LeaderWriter, Membership};
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
pub(super) fn run(
    settings: &ClientSettings,
    topic: &str,
    orders: &Receiver<Order>,
    tell: &Sender<Input>,
) {
    let mut writer: Option<LeaderWriter> = None;
    for order in orders {
        let event = match order {
            Order::Init { attempt } => {
                // The one before must not be in the way.
                writer = None;
                let outcome = match LeaderWriter::claim(settings, topic, TIMEOUT) {
                    Ok(claimed) => {
                        writer = Some(claimed);
                        Ok(())
                    }
                    Err(error) => {
                        tracing::warn!("this worker leads, and cannot write: {error}");
                        Err(())
                    }
                };
                Event::WriterReady { attempt, outcome }
            }
            Order::Commit { version, changes, proof } => {
                let outcome = match &mut writer {
                    None => Commit::Fenced,
                    Some(writer) => commit(writer, &changes, &proof),
                };
                Event::Committed { version, outcome }
            }
        };
        if tell.send(Input::Event(event)).is_err() {
            return;
        }
    }
}

fn commit(writer: &mut LeaderWriter, changes: &[Change], proof: &Membership) -> Commit {
    let records: Vec<Written> = changes.iter().flat_map(written).collect();
    match writer.write(&records, proof, TIMEOUT) {
        Ok(()) => Commit::Done,
        Err(LeaderError::Deposed(_)) => Commit::Fenced,
        Err(LeaderError::NotMember(_)) => Commit::Stale,
        Err(LeaderError::Forbidden(error)) => {
            tracing::error!("this worker leads, and may not write: {}", error.report());
            Commit::Stale
        }
        Err(LeaderError::Failed(error)) => {
            tracing::warn!("a change of the cluster was not written: {error}; tried again");
            Commit::Stale
        }
        Err(LeaderError::Unknown(error)) => {
            tracing::warn!("whether a change of the cluster was written is open: {error}");
            Commit::Unknown
        }
    }
}

/// The records of a change.
fn written(change: &Change) -> Vec<Written> {
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
        own => return records::write_change(own).into_iter().collect(),
    };
    vec![record.written()]
}

fn properties(props: &Props) -> Properties {
    Properties::new(props.iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned()))))
}
