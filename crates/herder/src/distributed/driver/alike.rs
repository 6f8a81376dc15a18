//! Whether the workers that share topics belong together: one cluster has one `group.id` and one set of
//! topics, and its workers have the settings alike that they decide by.
//!
//! Who comes second is refused, while the first is there: by the words of workers in the status topic, the
//! leader's records in the config topic, and the position that leaders write to the group.

use super::super::log::too_many;
use super::super::records::Said;
use super::ClusterSettings;
use api::{Error, ErrorKind, Result};
use kafka::{Admin, Position};
use runtime::{CompactedTopic, kafka_error};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// At which attempt it is said what is waited for: brokers that start take a moment.
const TOLD_AT: u64 = 3;

/// By group: the topic, and a worker.
type Seen = BTreeMap<Arc<str>, (String, Arc<str>)>;

/// Other clusters whose records were seen: the group, the topic, and one of their workers.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers(Arc<Mutex<Seen>>);

impl Strangers {
    pub(super) fn saw(&self, group: &Arc<str>, topic: &str, worker: &Arc<str>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(group.clone()).or_insert_with(|| (topic.to_owned(), worker.clone()));
    }

    /// Nobody else uses these topics now.
    ///
    /// # Errors
    /// Somebody does, with what to do about it.
    pub(super) fn are_gone(&self, settings: &ClusterSettings) -> Result<()> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let others = seen.into_iter().filter(|(group, _)| **group != *settings.group);
        for (group, (topic, worker)) in others {
            if !has_members(settings, &group)? {
                continue;
            }
            let own = &settings.group;
            return Err(Error::config(format!(
                "topic {topic} is used by the cluster group.id={group} (its worker {worker} runs), \
                 and this worker is of group.id={own}"
            ))
            .hint(format!(
                "give this cluster topics of its own in config.storage.topic, offset.storage.topic \
                 and status.storage.topic; or group.id={group}, if this worker is to join that one"
            )));
        }
        Ok(())
    }
}

fn has_members(settings: &ClusterSettings, group: &str) -> Result<bool> {
    let admin = Admin::new(&settings.config.admin).map_err(kafka_error)?;
    let found = admin.group(group, ASK_TIMEOUT);
    // Whoever may not ask about another group is not the one to refuse.
    let found = match found {
        Err(error) if error.kind() == kafka::ErrorKind::Authorization => return Ok(false),
        found => found.map_err(kafka_error)?,
    };
    Ok(found.is_some_and(|group| group.members > 0))
}

/// The topics of the cluster, as they stand beside the group's position.
fn topics(settings: &ClusterSettings) -> [(&'static str, &str); 3] {
    [
        ("config.storage.topic", &settings.config.topic.name),
        ("offset.storage.topic", &settings.offsets_topic),
        ("status.storage.topic", &settings.status.topic.name),
    ]
}

/// What leaders write to the group, so that workers with other topics are told.
pub(super) fn mark(settings: &ClusterSettings) -> String {
    let topics = topics(settings).map(|(key, topic)| (key.to_owned(), json!(topic)));
    Value::Object(topics.into_iter().collect()).to_string()
}

/// Looks at all topics of a cluster that are there, before any that is not there is made: a worker that
/// is refused leaves nothing behind.
///
/// # Errors
/// One cannot be used, or the group has others, with what to do about it.
pub(super) fn look(settings: &ClusterSettings, offsets: &CompactedTopic) -> Result<()> {
    let admin = Admin::new(&settings.config.admin).map_err(kafka_error)?;
    let config = &settings.config.topic;
    for topic in [offsets, &settings.status.topic] {
        topic.look(&admin)?;
    }
    if let Some(partitions @ 2..) = config.look(&admin)? {
        return Err(too_many(config, partitions));
    }
    match settings.members.look(&admin)? {
        Some(partitions) => has_these_topics(settings, &admin, partitions),
        None => Ok(()),
    }
}

/// The group is one of this worker's topics, or nobody is in it.
///
/// # Errors
/// It has others, with what to do about it.
fn has_these_topics(settings: &ClusterSettings, admin: &Admin, partitions: usize) -> Result<()> {
    let found = match admin.group_offsets(&settings.group, ASK_TIMEOUT) {
        Ok(found) => found,
        Err(error) if error.is_retriable() => return Err(kafka_error(error)),
        // A group that there is not, or that may not be asked about: joining will tell.
        Err(_) => return Ok(()),
    };
    let last = i32::try_from(partitions).unwrap_or(i32::MAX) - 1;
    let topic = settings.members.name.as_str();
    let own = |position: &&Position| *position.tp.topic == *topic && position.tp.partition == last;
    let written = found.iter().find(own).map(|position| position.metadata.as_str());
    let written: Option<Value> = written.and_then(|text| serde_json::from_str(text).ok());
    let differing = topics(settings).into_iter().find_map(|(key, here)| {
        let there = written.as_ref()?.get(key)?.as_str()?;
        (there != here).then(|| (key, there.to_owned(), here))
    });
    let Some((key, there, here)) = differing else { return Ok(()) };
    if !has_members(settings, &settings.group)? {
        return Ok(());
    }
    let group = &settings.group;
    Err(Error::config(format!(
        "the workers of group.id={group} that run have {key}={there}, and this one has {key}={here}"
    ))
    .hint(
        "all workers of a cluster have the same topics: correct this one's, or give it a group.id of \
         its own; to change them for a cluster, stop all its workers first",
    ))
}

/// Asks again until it is answered.
pub(super) fn until_answered(
    stopped: &dyn Fn() -> bool,
    mut ask: impl FnMut() -> Result<()>,
) -> Result<()> {
    for attempt in 1_u64.. {
        match ask() {
            Err(_) if stopped() => return Err(Error::cancelled()),
            Err(error) if error.kind == ErrorKind::Retriable => {
                if attempt == TOLD_AT {
                    tracing::warn!("the topics of the cluster: {}; tried again", error.report());
                }
                super::super::log::rest(Duration::from_millis(500), stopped);
            }
            outcome => return outcome,
        }
    }
    Err(Error::cancelled())
}

/// Tells of settings that another worker has otherwise, each once.
#[derive(Debug, Default)]
pub(super) struct Differences(BTreeSet<(Arc<str>, String, String)>);

impl Differences {
    pub(super) fn look(&mut self, settings: &ClusterSettings, said: &Said) {
        let other = &said.claim.worker.name;
        if **other == *settings.worker_id {
            return;
        }
        for (key, here) in &settings.alike {
            let Some(there) = said.settings.get(key).filter(|there| *there != here) else {
                continue;
            };
            if self.0.insert((other.clone(), key.clone(), there.clone())) {
                let own = &settings.worker_id;
                tracing::warn!(
                    "worker {other} has {key}={there}, and this one ({own}) has {key}={here}: which \
                     counts depends on which of them leads; give all workers of a cluster the same"
                );
            }
        }
    }
}
