//! What readers see of a cluster: every connector, with tasks wherever they run.
//!
//! Invariants: only what may look different is made anew, for there may be a thousand connectors; a
//! task of a configuration that was changed since is not shown as running.

use super::Driver;
use crate::distributed::cluster::{Change, Entry, Slot, TaskKey, WorkerId};
use crate::distributed::membership::has_left;
use crate::distributed::topics::{ConnectorStatuses, Reported, Status, StatusKey};
use crate::state::Target;
use crate::view::{At, ConnectorView, Leader, Standing, TaskView};
use config::Props;
use runtime::{ActiveTopics, State, StatusCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long a task elsewhere may take until it says that it starts again.
const RESTART_HEARD: Duration = Duration::from_secs(2);

/// What may look different to readers than it did when it was last published.
#[derive(Default)]
pub(super) struct Stale {
    any: bool,
    connectors: BTreeSet<Arc<str>>,
    /// Whether this worker led then: leaders know more of every connector.
    led: bool,
    /// The workers that were known to be dead then.
    dead: BTreeSet<WorkerId>,
    /// Something has changed since statuses were last written.
    unsaid: bool,
}

impl Stale {
    pub(super) fn connector(&mut self, name: &Arc<str>) {
        self.rest();
        self.connectors.insert(name.clone());
    }

    /// Whatever is not of one connector.
    pub(super) fn rest(&mut self) {
        (self.any, self.unsaid) = (true, true);
    }

    pub(super) fn is_any(&self) -> bool {
        self.any
    }

    pub(super) fn take_unsaid(&mut self) -> bool {
        std::mem::take(&mut self.unsaid)
    }
}

/// How this worker has come to generations of the group.
#[derive(Default)]
pub(super) struct Joins {
    pub(super) first: Option<i32>,
    count: u64,
    last: Option<Instant>,
}

impl Joins {
    /// It has a place in another one.
    pub(super) fn again(&mut self, generation: i32) {
        self.first.get_or_insert(generation);
        self.count += 1;
        self.last = Some(Instant::now());
    }
}

/// Tasks that were asked to start again and have not said yet that they do.
#[derive(Default)]
pub(super) struct Restarts(BTreeMap<TaskKey, Instant>);

impl Restarts {
    /// Takes a change that was just read in.
    pub(super) fn asked(&mut self, change: &Change) {
        if let Change::Restart { name, tasks } = change {
            let until = Instant::now() + RESTART_HEARD;
            self.0.extend(tasks.iter().map(|task| ((name.clone(), *task), until)));
        }
    }

    /// Somebody has said how something is.
    pub(super) fn said(&mut self, key: &StatusKey) {
        if let StatusKey::Task(name, task) = key {
            self.0.remove(&(name.as_str().into(), *task));
        }
    }

    /// Forgets those of which nothing was heard, and tells their connectors.
    pub(super) fn expire(&mut self, mut tell: impl FnMut(&Arc<str>)) {
        let now = Instant::now();
        self.0.retain(|(name, _), until| {
            let stays = *until > now;
            if !stays {
                tell(name);
            }
            stays
        });
    }

    fn is_on(&self, name: &str, task: u32) -> bool {
        !self.0.is_empty() && self.0.contains_key(&(name.into(), task))
    }
}

/// Statuses as they were read, to be shown as if the task were here.
fn told(status: Option<&Status>) -> (bool, StatusCell) {
    let Some(status) = status else { return (false, StatusCell::default()) };
    let state = match status.state {
        Reported::Running => State::Running,
        Reported::Failed => State::Failed,
        Reported::Destroyed => State::Destroyed,
        Reported::Unassigned | Reported::Paused | Reported::Restarting | Reported::Stopped => {
            State::Unassigned
        }
    };
    let restarting = status.state == Reported::Restarting;
    (restarting, StatusCell::told(state, status.trace.clone()))
}

/// Whether this start of a worker, which first had a place in the group in generation `joined`, has said
/// it: what another worker said, or an earlier start of this one, is no news of what it has.
fn is_word_of(status: &Status, worker: &WorkerId, joined: Option<i32>) -> bool {
    status.worker_id.as_deref() == Some(&*worker.name)
        && joined.is_none_or(|joined| status.generation >= joined)
}

/// Whether a later start of a worker is known: this one, or another that has said where it is reached.
fn has_started_again(
    worker: &WorkerId,
    me: &WorkerId,
    others: &BTreeMap<WorkerId, Arc<str>>,
) -> bool {
    let later = others.range((Bound::Excluded(worker), Bound::Unbounded)).next();
    let later = later.map(|(other, _)| other).into_iter().chain([me]);
    later.into_iter().any(|other| other.name == worker.name && other.run > worker.run)
}

impl Driver {
    /// Publishes what is known now.
    pub(super) fn show(&mut self) {
        let leads = self.member.leads();
        let mut names = std::mem::take(&mut self.stale.connectors);
        let dead_differ = self.bury();
        let led = std::mem::replace(&mut self.stale.led, leads);
        if led != leads {
            tracing::info!(
                "this worker {}",
                if leads { "leads" } else { "does not lead any more" }
            );
        }
        if led != leads || dead_differ {
            names.extend(self.member.cluster().connectors.keys().cloned());
        }
        self.stale.any = false;
        let views: Vec<(Arc<str>, Option<Arc<ConnectorView>>)> =
            names.into_iter().map(|name| (name.clone(), self.connector(&name))).collect();
        let leader = match &self.member.cluster().led_by {
            _ if leads => Leader::Here,
            Some(other) if *other != self.me => {
                self.urls.get(other).map_or(Leader::Nobody, |url| Leader::At(url.clone()))
            }
            _ => Leader::Nobody,
        };
        let standing = self.standing();
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        for (name, shown) in views {
            match shown {
                Some(shown) => view.connectors.insert(name.to_string(), shown),
                None => view.connectors.remove(&*name),
            };
        }
        view.version = self.member.cluster().version;
        view.keys = self.keys.clone();
        view.standing = Some(standing);
        view.leader = leader;
        view.ready |= self.member.is_seated();
        view.joining = !view.ready;
        view.waits = self.waits.text();
    }

    fn standing(&self) -> Standing {
        let group = self.member.view();
        Standing {
            generation: Some(self.generation).filter(|generation| *generation >= 0),
            joins: self.joins.count,
            joined: self.joins.last,
            seated: self.member.is_seated(),
            workers: group.is_whole().then(|| group.alive().len()),
        }
    }

    /// Notes which workers are dead; true where they are others than before. While not everybody has said
    /// under the group's present generation who is there, those stay dead that were.
    fn bury(&mut self) -> bool {
        let (cluster, view) = (self.member.cluster(), self.member.view());
        let mut dead: BTreeSet<WorkerId> = cluster.claims.keys().cloned().collect();
        match view.is_whole() {
            true => dead.retain(|worker| view.is_dead(worker)),
            false => dead.retain(|worker| self.stale.dead.contains(worker)),
        }
        for worker in dead.difference(&self.stale.dead) {
            let claim = cluster.claims.get(worker);
            if !claim.is_some_and(|claim| has_left(claim.stance)) {
                tracing::info!("worker {} is gone: its session with Kafka is over", worker.name);
            }
        }
        let differ = dead != self.stale.dead;
        self.stale.dead = dead;
        differ
    }

    /// A connector as it looks now; none where it is no more.
    fn connector(&mut self, name: &str) -> Option<Arc<ConnectorView>> {
        let there = |entry: &&Entry| entry.config.is_some();
        self.member.cluster().connectors.get(name).filter(there)?;
        let topics = self.topics(name);
        let entry = self.member.cluster().connectors.get(name)?;
        Some(Arc::new(self.connector_view(name, entry, topics)))
    }

    fn connector_view(
        &self,
        name: &str,
        entry: &Entry,
        topics: Arc<ActiveTopics>,
    ) -> ConnectorView {
        let statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let known = statuses.get(name);
        let config = entry.config.clone().unwrap_or_default();
        let own = known.and_then(|known| known.own.as_ref());
        let elsewhere = own.and_then(|status| status.worker_id.as_deref()).map(Arc::from);
        let failure = match self.member.failure(name) {
            Some(failure) => Some(failure.to_owned()),
            None => own
                .filter(|status| status.state == Reported::Failed && !self.member.leads())
                .map(|status| status.trace.clone().unwrap_or_default()),
        };
        let made_of = entry.placement.as_ref().and_then(|placement| placement.made_of);
        let replaced =
            entry.target() == Target::Started && failure.is_none() && made_of != Some(entry.of());
        let task = |(number, config): (u32, &Props)| {
            let known = known.filter(|_| !replaced);
            let view = self.task_view(name, entry, number, config, known);
            if replaced { TaskView { status: StatusCell::default(), ..view } } else { view }
        };
        let tasks = (0..).zip(&entry.tasks).map(task).collect();
        let worker = self.hands.worker();
        ConnectorView {
            direction: worker.direction(&config),
            version: worker.version(&config),
            config,
            at: elsewhere.as_deref().and_then(|name| self.latest_start(name)),
            elsewhere,
            target: entry.target(),
            failure,
            tasks,
            topics,
        }
    }

    /// The last start of the worker with this address.
    fn latest_start(&self, name: &str) -> Option<At> {
        let of_name = self.urls.iter().filter(|(worker, _)| *worker.name == *name);
        let (worker, url) = of_name.max_by_key(|(worker, _)| worker.run)?;
        Some(self.at(worker, url))
    }

    fn at(&self, worker: &WorkerId, url: &Arc<str>) -> At {
        At { url: url.clone(), run: worker.run, dead: self.stale.dead.contains(worker) }
    }

    fn task_view(
        &self,
        name: &str,
        entry: &Entry,
        number: u32,
        config: &Props,
        known: Option<&ConnectorStatuses>,
    ) -> TaskView {
        let slot = entry.placement.as_ref().and_then(|p| p.slots.get(number as usize));
        let worker = slot.and_then(Slot::worker);
        let (elsewhere, (mut restarting, status)) = match (slot, worker) {
            (Some(Slot::Held { token, .. }), Some(worker)) if *worker == self.me => {
                let key = (name.to_owned(), *token, number);
                // One that is paused ends and does not begin again.
                let again = entry.target() == Target::Started && self.hands.is_ending(&key);
                (None, (again, self.hands.status(&key)))
            }
            (_, Some(worker)) => {
                let status = known.and_then(|known| known.task(number));
                let joined = self.workers.joined(worker);
                let status = status.filter(|status| is_word_of(status, worker, joined));
                // What an earlier start of a worker had it does not run any more, whoever gets it.
                let status = status.filter(|_| !has_started_again(worker, &self.me, &self.urls));
                (Some(worker.name.clone()), told(status))
            }
            _ => (None, told(None)),
        };
        let unplaced = worker.is_none();
        restarting |= elsewhere.is_some() && self.restarts.is_on(name, number);
        let other = worker.filter(|_| elsewhere.is_some());
        let at = other.and_then(|worker| Some(self.at(worker, self.urls.get(worker)?)));
        TaskView { config: config.clone(), elsewhere, at, unplaced, restarting, status }
    }

    /// The topics that tasks here have used, and those that others have told of.
    fn topics(&mut self, name: &str) -> Arc<ActiveTopics> {
        let topics = self.hands.topics(name);
        let statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        for topic in statuses.get(name).into_iter().flat_map(|known| known.topics.keys()) {
            topics.add(topic);
        }
        topics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_start_of_a_worker_runs_nothing() {
        let start = |name: &str, run| WorkerId { name: name.into(), run };
        let known = [start("a:1", 3), start("b:1", 2), start("b:1", 5), start("c:1", 9)];
        let others = known.map(|worker| (worker, "http://h".into())).into();
        let me = start("d:1", 7);
        for (worker, again) in [
            (start("a:1", 3), false),
            (start("b:1", 2), true),
            (start("b:1", 5), false),
            (start("c:1", 8), true),
            (start("d:1", 6), true),
            (start("d:1", 7), false),
        ] {
            assert_eq!(has_started_again(&worker, &me, &others), again, "{worker:?}");
        }
    }

    #[test]
    fn the_word_of_an_earlier_start_is_no_news() {
        let status = |generation| Status {
            state: Reported::Running,
            trace: None,
            worker_id: Some("w:1".to_owned()),
            generation,
            version: None,
        };
        let [one, other] = ["w:1", "w:2"].map(|name| WorkerId { name: name.into(), run: 2 });
        assert!(is_word_of(&status(4), &one, Some(4)) && is_word_of(&status(9), &one, Some(4)));
        assert!(!is_word_of(&status(3), &one, Some(4)), "it was said before this start came");
        assert!(is_word_of(&status(3), &one, None), "a version that does not say when it came");
        assert!(!is_word_of(&status(9), &other, Some(4)) && !is_word_of(&status(9), &other, None));
    }
}
