//! What Kafka tells of the topics that are consumed: whether they are there, their ids, their ends.
//!
//! Place in the data path: beside it, one thread and one client a cluster. It finds topics that appear
//! and vanish, topics that were created anew under the same name, and the figures for lag.

use crate::control::Observed;
use data::TopicPartition;
use kafka::{Admin, ErrorKind as K, TopicInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// While something is missing.
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(5);
/// Looking at many partitions is spread over time.
const PER_PARTITION: Duration = Duration::from_millis(50);

/// A topic as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    There {
        partitions: usize,
        id: Option<String>,
    },
    /// Why it cannot be consumed.
    Missing(String),
}

/// Why Kafka cannot be asked.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    pub(super) reason: String,
    pub(super) needs_change: bool,
}

/// What was seen.
#[derive(Default)]
pub(super) struct View {
    pub(super) topics: BTreeMap<String, Topic>,
    pub(super) silence: Option<Silence>,
    /// When Kafka answered last.
    pub(super) answered: Option<Instant>,
    /// Figures that have not been taken yet.
    partitions: Vec<Observed>,
    /// The id that each topic had last.
    ids: BTreeMap<String, String>,
    /// Topics whose id has changed and that have not been taken yet.
    recreated: BTreeSet<String>,
}

#[derive(Default)]
struct Wish {
    topics: BTreeSet<String>,
    partitions: Vec<TopicPartition>,
    /// Look at once.
    now: bool,
    stop: bool,
}

/// The observer of one cluster.
pub(super) struct Observer {
    pub(super) admin: Arc<Admin>,
    cluster: String,
    view: Mutex<View>,
    wish: Mutex<Wish>,
    wished: Condvar,
}

/// Plain values that are replaced in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer {
    /// Starts the thread; it ends after [`Observer::stop`].
    pub(super) fn start(cluster: &str, admin: Arc<Admin>) -> std::io::Result<Arc<Observer>> {
        let observer = Arc::new(Observer {
            admin,
            cluster: cluster.to_owned(),
            view: Mutex::default(),
            wish: Mutex::default(),
            wished: Condvar::new(),
        });
        let body = observer.clone();
        std::thread::Builder::new().name("observer".to_owned()).spawn(move || body.run())?;
        Ok(observer)
    }

    pub(super) fn stop(&self) {
        lock(&self.wish).stop = true;
        self.wished.notify_all();
    }

    pub(super) fn view(&self) -> MutexGuard<'_, View> {
        lock(&self.view)
    }

    /// The topics to look for; new ones are looked for at once.
    pub(super) fn look_for(&self, topics: BTreeSet<String>) {
        let mut wish = lock(&self.wish);
        if wish.topics != topics {
            wish.now |= topics.iter().any(|topic| !wish.topics.contains(topic));
            wish.topics = topics;
            drop(wish);
            self.wished.notify_all();
        }
    }

    /// The partitions to look at.
    pub(super) fn look_at(&self, partitions: Vec<TopicPartition>) {
        lock(&self.wish).partitions = partitions;
    }

    fn run(&self) {
        let mut figures_due = Instant::now();
        let mut wait = Duration::ZERO;
        loop {
            let (topics, partitions) = {
                let idle = |wish: &mut Wish| !wish.stop && !wish.now;
                let waited = self.wished.wait_timeout_while(lock(&self.wish), wait, idle);
                let mut wish = waited.unwrap_or_else(PoisonError::into_inner).0;
                if wish.stop {
                    return;
                }
                wish.now = false;
                (wish.topics.clone(), wish.partitions.clone())
            };
            let found = self.look_for_topics(&topics);
            // A topic that is missing keeps nobody from hearing of the others.
            if found.is_some() && Instant::now() >= figures_due && !partitions.is_empty() {
                self.look_at_partitions(&partitions);
                let spread = PER_PARTITION * u32::try_from(partitions.len()).unwrap_or(u32::MAX);
                figures_due = Instant::now() + spread.clamp(LATER, LATER * 12);
            }
            let calm = found == Some(true) && (topics.is_empty() || !partitions.is_empty());
            wait = if calm { LATER } else { SOON };
        }
    }

    /// True: every topic is there. `None`: Kafka does not answer.
    fn look_for_topics(&self, topics: &BTreeSet<String>) -> Option<bool> {
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        let found = match self.describe(&names) {
            Ok(found) => found,
            Err(error) => {
                let needs_change =
                    matches!(error.kind(), K::Authentication | K::Configuration | K::Authorization);
                let reason = runtime::kafka_error(error).report();
                let mut view = self.view();
                if view.silence.as_ref().is_none_or(|before| before.reason != reason) {
                    tracing::warn!(cluster = %self.cluster, "kafka does not answer: {reason}");
                }
                view.silence = Some(Silence { reason, needs_change });
                return None;
            }
        };
        let all_there = found.values().all(|topic| matches!(topic, Topic::There { .. }));
        let mut view = self.view();
        for (name, topic) in &found {
            // The id of a topic that is gone for a while is remembered, to know it again.
            let Topic::There { id: Some(id), .. } = topic else { continue };
            let before = view.ids.insert(name.clone(), id.clone());
            if before.is_some_and(|before| before != *id) {
                view.recreated.insert(name.clone());
            }
        }
        view.topics.retain(|name, _| topics.contains(name));
        view.ids.retain(|name, _| topics.contains(name));
        view.topics.extend(found);
        view.silence = None;
        view.answered = Some(Instant::now());
        Some(all_there)
    }

    fn describe(&self, names: &[&str]) -> kafka::Result<BTreeMap<String, Topic>> {
        let described = match self.admin.describe_topics(names, ASK_TIMEOUT) {
            Err(error) if error.kind() == K::Unsupported => names
                .iter()
                .map(|name| {
                    let topic = self.admin.topic(name, ASK_TIMEOUT);
                    topic.map(|t| TopicInfo { name: t.name, partitions: t.partitions, id: None })
                })
                .collect(),
            other => other?,
        };
        let mut existing: Option<Vec<String>> = None;
        let mut out = BTreeMap::new();
        for (name, topic) in names.iter().zip(described) {
            let topic = match topic {
                Ok(topic) => {
                    let id = topic.id.map(|id| id.to_string());
                    Topic::There { partitions: topic.partitions, id }
                }
                Err(error) if error.kind() == K::UnknownTopic => {
                    if existing.is_none() {
                        let all = self.admin.list_topics(ASK_TIMEOUT)?;
                        existing = Some(all.into_iter().map(|topic| topic.name).collect());
                    }
                    Topic::Missing(unknown(name, existing.as_deref().unwrap_or_default()))
                }
                Err(error) if error.kind() == K::Authorization => Topic::Missing(error.to_string()),
                Err(error) => return Err(error),
            };
            out.insert((*name).to_owned(), topic);
        }
        Ok(out)
    }

    fn look_at_partitions(&self, partitions: &[TopicPartition]) {
        let mut seen = Vec::with_capacity(partitions.len());
        for tp in partitions {
            let ends = match self.admin.watermarks(tp, ASK_TIMEOUT) {
                Ok(ends) => ends,
                // It has just been deleted.
                Err(error) if error.kind() == K::UnknownTopic => continue,
                Err(_) => break,
            };
            seen.push(Observed {
                cluster: self.cluster.clone(),
                topic: tp.topic.to_string(),
                partition: tp.partition,
                low: Some(ends.low),
                // What a reader of committed records may see.
                high: Some(ends.high),
                last_stable: Some(ends.high),
                leader: None,
            });
        }
        self.view().partitions = seen;
    }
}

impl View {
    pub(super) fn take_partitions(&mut self) -> Vec<Observed> {
        std::mem::take(&mut self.partitions)
    }

    pub(super) fn take_recreated(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.recreated)
    }
}

/// The text for a topic that is not there.
fn unknown(name: &str, existing: &[String]) -> String {
    let visible = existing.iter().map(String::as_str).filter(|name| !name.starts_with("__"));
    match config::suggest::nearest(name, visible) {
        Some(near) => format!("unknown topic {name}; did you mean {near}?"),
        None => format!("unknown topic {name}; it is consumed as soon as it is created"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_topic_is_told_with_the_nearest_name() {
        let there = ["orders".to_owned(), "__consumer_offsets".to_owned()];
        assert_eq!(unknown("oders", &there), "unknown topic oders; did you mean orders?");
        assert!(unknown("payments", &there).contains("as soon as it is created"));
    }
}
