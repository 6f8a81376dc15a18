//! What this worker writes about its tasks, and the leader about connectors, in Connect's records of
//! the status topic.
//!
//! Invariant: a status is written when it differs from what was written last, and again where the
//! write failed.

use super::{Driver, Input};
use crate::distributed::cluster::Entry;
use crate::distributed::topics::{Reported, Status, StatusKey, StatusRecord, Statuses, TopicUse};
use crate::hands::TaskKey;
use crate::state::Target;
use runtime::{State, StatusCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How something is, and why it FAILED.
type Word = (Reported, Option<String>);

/// What was written last.
pub(super) struct Reports {
    worker_id: String,
    said: BTreeMap<StatusKey, Word>,
    topics: BTreeSet<StatusKey>,
}

impl Reports {
    pub(super) fn new(worker_id: String) -> Reports {
        Reports { worker_id, said: BTreeMap::new(), topics: BTreeSet::new() }
    }

    /// What was written does not stand any more: the next one is written whatever it says.
    pub(super) fn unsaid(&mut self, key: &StatusKey) {
        self.said.remove(key);
        self.topics.remove(key);
    }

    fn status(&self, (state, trace): Word, generation: i32) -> Status {
        let worker_id = Some(self.worker_id.clone());
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        Status { state, trace, worker_id, generation, version }
    }
}

impl Driver {
    /// Writes what has changed since it was last written.
    pub(super) fn report(&mut self) {
        if self.generation < 0 {
            return;
        }
        let mut words = self.tasks();
        // Only tasks change by themselves.
        let changed = self.stale.take_unsaid();
        if changed {
            words.extend(self.paused());
        }
        if changed && self.member.leads() {
            words.extend(self.connectors());
        }
        words.into_iter().for_each(|(key, word)| self.put(key, word));
        let alive: Vec<(String, u32)> =
            self.hands.alive().map(|((name, _, task), _)| (name.clone(), *task)).collect();
        alive.into_iter().for_each(|(name, task)| self.topic_uses(&name, task));
        if changed && self.member.leads() {
            self.strays();
        }
    }

    /// Tasks that run here or have failed here. One that has not begun says nothing yet.
    fn tasks(&self) -> Vec<(StatusKey, Word)> {
        let word = |cell: &StatusCell| {
            let status = cell.get();
            match status.state {
                State::Running => Some((Reported::Running, status.trace)),
                State::Failed => Some((Reported::Failed, status.trace)),
                State::Unassigned | State::Destroyed => None,
            }
        };
        let alive = self.hands.alive();
        let told = alive.filter_map(|((name, _, task), cell)| {
            Some((StatusKey::Task(name.clone(), *task), word(cell)?))
        });
        told.collect()
    }

    /// Tasks that this worker holds and that do nothing, for their connector is paused.
    fn paused(&self) -> Vec<(StatusKey, Word)> {
        let mut words = Vec::new();
        for (name, entry) in &self.member.cluster().connectors {
            if entry.target() != Target::Paused {
                continue;
            }
            let tasks = 0..entry.tasks.len() as u32;
            for task in tasks.filter(|task| entry.held_by(&self.me, *task).is_some()) {
                words.push((StatusKey::Task(name.to_string(), task), (Reported::Paused, None)));
            }
        }
        words
    }

    fn connectors(&self) -> Vec<(StatusKey, Word)> {
        let connectors = self.member.cluster().connectors.iter();
        let there = connectors.filter(|(_, entry)| entry.config.is_some());
        let word = |(name, entry): (&Arc<str>, &Entry)| {
            let failure = self.member.failure(name);
            let state = match (failure, entry.target()) {
                (Some(_), _) => Reported::Failed,
                (None, Target::Started) => Reported::Running,
                (None, Target::Paused) => Reported::Paused,
                (None, Target::Stopped) => Reported::Stopped,
            };
            (StatusKey::Connector(name.to_string()), (state, failure.map(str::to_owned)))
        };
        there.map(word).collect()
    }

    /// A task has ended here.
    pub(super) fn report_ended(&mut self, (name, _, task): &TaskKey) {
        // One that is still held here starts again.
        let entry = self.member.cluster().connectors.get(name.as_str());
        let held = entry.is_some_and(|entry| {
            entry.target() == Target::Started && entry.held_by(&self.me, *task).is_some()
        });
        let state = if held { Reported::Restarting } else { Reported::Unassigned };
        let status = self.reports.status((state, None), self.generation);
        let key = StatusKey::Task(name.clone(), *task);
        if self.statuses().may_say(&key, &status) {
            self.put(key, (state, None));
        } else {
            // Another one has it: should it come back, what was said of it here is no news of it.
            self.reports.unsaid(&key);
        }
    }

    /// Somebody has said something: what this worker said before does not stand any more, and where it
    /// knows better it says it again, now or when it is its turn once more. A worker that lost a task
    /// may say so late, and with a later generation than the one that has it now.
    pub(super) fn status_read(&mut self, key: &StatusKey) {
        let own = |status: Option<&Status>| {
            status.is_some_and(|s| s.worker_id.as_ref() == Some(&self.reports.worker_id))
        };
        let told = self.statuses();
        let of = |name: &String| told.get(name);
        let (stands, may_say) = match key {
            StatusKey::Connector(name) => {
                let known = of(name).and_then(|told| told.own.as_ref());
                let (stands, gone) = (own(known), known.is_none());
                drop(told);
                if !stands {
                    self.reports.unsaid(key);
                }
                if gone {
                    self.tasks_of_gone(name);
                }
                return;
            }
            StatusKey::Task(name, task) => {
                let entry = self.member.cluster().connectors.get(name.as_str());
                let held = || entry.is_some_and(|entry| entry.held_by(&self.me, *task).is_some());
                // One that runs on here, though it is another's by now, is not told of again.
                let mut alive = self.hands.alive();
                let runs = alive.any(|((of, _, number), _)| of == name && number == task);
                (own(of(name).and_then(|told| told.tasks.get(task))), !runs || held())
            }
            StatusKey::Topic { topic, connector } => {
                let used = of(connector).is_some_and(|told| told.topics.contains_key(topic));
                drop(told);
                if !used {
                    self.topic_gone(key);
                }
                return;
            }
        };
        drop(told);
        if may_say && !stands {
            self.reports.unsaid(key);
        }
    }

    /// What was taken away of a connector may have been of its tasks, too: those of the next one of its name.
    fn tasks_of_gone(&mut self, name: &str) {
        let entry = self.member.cluster().connectors.get(name);
        for task in 0..entry.map_or(0, Entry::task_count) {
            self.status_read(&StatusKey::Task(name.to_owned(), task));
        }
    }

    pub(super) fn statuses(&self) -> std::sync::MutexGuard<'_, Statuses> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a word where it is another one than before; the generation alone is no news.
    fn put(&mut self, key: StatusKey, word: Word) {
        if self.reports.said.get(&key) == Some(&word) {
            return;
        }
        let status = self.reports.status(word.clone(), self.generation);
        let record = match &key {
            StatusKey::Connector(name) => StatusRecord::Connector(name.clone(), status),
            StatusKey::Task(name, task) => StatusRecord::Task(name.clone(), *task, status),
            StatusKey::Topic { .. } => return,
        };
        self.reports.said.insert(key.clone(), word);
        self.write(key, &record);
    }

    fn write(&self, key: StatusKey, record: &StatusRecord) {
        let tell = self.tell.clone();
        self.say(vec![record.written()], move |written| {
            if !written {
                let _gone = tell.send(Input::Unsaid(key));
            }
        });
    }

    /// Topics that a task here was the first of its connector to use.
    pub(super) fn topic_uses(&mut self, connector: &str, task: u32) {
        for topic in self.hands.topics(connector).list() {
            let key = StatusKey::Topic { topic: topic.clone(), connector: connector.to_owned() };
            let told = self.statuses().get(connector).is_some_and(|told| {
                // Another one was the first.
                told.topics.contains_key(&topic)
            });
            if !self.reports.topics.insert(key.clone()) || told {
                continue;
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let discovered_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
            let connector = connector.to_owned();
            let used = TopicUse { topic, connector, task, discovered_ms };
            self.write(key, &StatusRecord::Topic(used));
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
            self.reports.unsaid(&key);
            self.say(vec![key.tombstone()], |_| {});
        }
    }
}
