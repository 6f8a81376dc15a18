//! What this worker writes about its tasks, and the leader about connectors, in Connect's records of
//! the status topic.
//!
//! Invariant: a status is written when it differs from what was written last, and again where the
//! write failed.

use super::{Driver, Input};
use crate::distributed::topics::{Reported, Status, StatusKey, StatusRecord, Statuses, TopicUse};
use crate::hands::TaskKey;
use crate::state::Target;
use runtime::{State, TaskStatus};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

/// What was written, by the record's key.
pub(super) struct Reports {
    worker_id: String,
    said: BTreeMap<Vec<u8>, Option<Status>>,
    topics: BTreeMap<Vec<u8>, ()>,
}

impl Reports {
    pub(super) fn new(worker_id: String) -> Reports {
        Reports { worker_id, said: BTreeMap::new(), topics: BTreeMap::new() }
    }

    /// A write failed: it is done again.
    pub(super) fn unsaid(&mut self, key: &[u8]) {
        self.said.remove(key);
        self.topics.remove(key);
    }

    fn status(&self, state: Reported, trace: Option<String>, generation: i32) -> Status {
        let worker_id = Some(self.worker_id.clone());
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        Status { state, trace, worker_id, generation, version }
    }
}

/// Connect's word for how a task is.
fn reported(status: &TaskStatus, target: Target) -> Reported {
    match (status.state, target) {
        (State::Failed, _) => Reported::Failed,
        (State::Running, _) => Reported::Running,
        (_, Target::Paused) => Reported::Paused,
        _ => Reported::Unassigned,
    }
}

impl Driver {
    /// Writes what has changed since it was last written.
    pub(super) fn report(&mut self) {
        if self.generation < 0 {
            return;
        }
        let mut records = Vec::new();
        let tasks: Vec<(TaskKey, TaskStatus)> =
            self.hands.alive().map(|(key, cell)| (key.clone(), cell.get())).collect();
        for ((name, _, task), status) in tasks {
            // One that has not begun says nothing yet.
            if matches!(status.state, State::Running | State::Failed) {
                let state = reported(&status, Target::Started);
                let status = self.reports.status(state, status.trace, self.generation);
                records.push(StatusRecord::Task(name, task, status));
            }
        }
        self.paused(&mut records);
        if self.member.leads() {
            self.connectors(&mut records);
        }
        records.into_iter().for_each(|record| self.put(record));
        self.topic_uses();
        if self.member.leads() {
            self.strays();
        }
    }

    /// Tasks that this worker holds and that do nothing, for their connector is paused.
    fn paused(&self, records: &mut Vec<StatusRecord>) {
        for (name, entry) in &self.member.cluster().connectors {
            if entry.target() != Target::Paused {
                continue;
            }
            for task in 0..entry.tasks.len() as u32 {
                if entry.held_by(&self.me, task).is_some() {
                    let status = self.reports.status(Reported::Paused, None, self.generation);
                    records.push(StatusRecord::Task(name.to_string(), task, status));
                }
            }
        }
    }

    fn connectors(&self, records: &mut Vec<StatusRecord>) {
        for (name, entry) in &self.member.cluster().connectors {
            if entry.config.is_none() {
                continue;
            }
            let failure = self.member.failure(name);
            let state = match (failure, entry.target()) {
                (Some(_), _) => Reported::Failed,
                (None, Target::Started) => Reported::Running,
                (None, Target::Paused) => Reported::Paused,
                (None, Target::Stopped) => Reported::Stopped,
            };
            let status = self.reports.status(state, failure.map(str::to_owned), self.generation);
            records.push(StatusRecord::Connector(name.to_string(), status));
        }
    }

    /// A task has ended here.
    pub(super) fn report_ended(&mut self, (name, _, task): &TaskKey) {
        // One that is still held here starts again.
        let entry = self.member.cluster().connectors.get(name.as_str());
        let held = entry.is_some_and(|entry| {
            entry.target() == Target::Started && entry.held_by(&self.me, *task).is_some()
        });
        let state = if held { Reported::Restarting } else { Reported::Unassigned };
        let status = self.reports.status(state, None, self.generation);
        let key = StatusKey::Task(name.clone(), *task);
        if self.statuses().may_say(&key, &status) {
            self.put(StatusRecord::Task(name.clone(), *task, status));
        }
    }

    fn statuses(&self) -> std::sync::MutexGuard<'_, Statuses> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&mut self, record: StatusRecord) {
        let (key, status) = match &record {
            StatusRecord::Connector(name, status) => (StatusKey::Connector(name.clone()), status),
            StatusRecord::Task(name, task, status) => {
                (StatusKey::Task(name.clone(), *task), status)
            }
            StatusRecord::Topic(_) | StatusRecord::Gone(_) => return,
        };
        let key = key.text().into_bytes();
        let same = |known: &Option<Status>| {
            // The generation alone is no news.
            known
                .as_ref()
                .is_some_and(|known| (known.state, &known.trace) == (status.state, &status.trace))
        };
        if self.reports.said.get(&key).is_some_and(same) {
            return;
        }
        self.reports.said.insert(key.clone(), Some(status.clone()));
        let tell = self.tell.clone();
        self.say(vec![record.written()], move |written| {
            if !written {
                let _gone = tell.send(Input::Unsaid(key));
            }
        });
    }

    /// Topics that tasks here were the first of their connector to use.
    fn topic_uses(&mut self) {
        let used: Vec<(String, u32)> =
            self.hands.alive().map(|((name, _, task), _)| (name.clone(), *task)).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for (connector, task) in used {
            for topic in self.hands.topics(&connector).list() {
                let used = TopicUse {
                    topic,
                    connector: connector.clone(),
                    task,
                    discovered_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
                };
                let record = StatusRecord::Topic(used);
                let (key, value) = record.written();
                if self.reports.topics.insert(key.clone(), ()).is_none() {
                    let tell = self.tell.clone();
                    let again = key.clone();
                    self.say(vec![(key, value)], move |written| {
                        if !written {
                            let _gone = tell.send(Input::Unsaid(again));
                        }
                    });
                }
            }
        }
    }

    /// Takes away what is told of connectors and tasks that are no more.
    fn strays(&mut self) {
        let connectors = &self.member.cluster().connectors;
        let strays = self.statuses().strays(|name| {
            let entry = connectors.get(name).filter(|entry| entry.config.is_some());
            entry.map(|entry| entry.tasks.len() as u32)
        });
        for key in strays {
            let record = key.tombstone();
            self.reports.said.remove(&record.0);
            self.reports.topics.remove(&record.0);
            self.say(vec![record], |_| {});
        }
    }
}
