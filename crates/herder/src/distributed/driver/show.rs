//! What readers see of a cluster: every connector, with tasks wherever they run.

use super::Driver;
use crate::distributed::cluster::{Entry, Slot};
use crate::distributed::topics::{ConnectorStatuses, Reported, Status};
use crate::view::{ConnectorView, Leader, TaskView};
use config::Props;
use runtime::{ActiveTopics, State, StatusCell};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

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

impl Driver {
    /// Publishes what is known now.
    pub(super) fn show(&mut self) {
        self.stale = false;
        let connectors = &self.member.cluster().connectors;
        let there = connectors.iter().filter(|(_, entry)| entry.config.is_some());
        let names: Vec<Arc<str>> = there.map(|(name, _)| name.clone()).collect();
        let mut shown = BTreeMap::new();
        for name in names {
            let topics = self.topics(&name);
            if let Some(entry) = self.member.cluster().connectors.get(&name) {
                let view = self.connector_view(&name, entry, topics);
                shown.insert(name.to_string(), Arc::new(view));
            }
        }
        let leader = match &self.member.cluster().led_by {
            _ if self.member.leads() => Leader::Here,
            Some(other) if *other != self.me => {
                self.urls.get(other).map_or(Leader::Nobody, |url| Leader::At(url.clone()))
            }
            _ => Leader::Nobody,
        };
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        view.connectors = shown;
        view.version = self.member.cluster().version;
        view.keys = self.keys.clone();
        view.leader = leader;
        view.ready |= self.member.is_seated();
        view.joining = !view.ready;
        view.waits = self.waits.text();
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
        let task =
            |(number, config): (u32, &Props)| self.task_view(name, entry, number, config, known);
        let tasks = (0..).zip(&entry.tasks).map(task).collect();
        let worker = self.hands.worker();
        ConnectorView {
            direction: worker.direction(&config),
            version: worker.version(&config),
            config,
            elsewhere,
            target: entry.target(),
            failure,
            tasks,
            topics,
        }
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
        let (elsewhere, (restarting, status)) = match (slot, worker) {
            (Some(Slot::Held { token, .. }), Some(worker)) if *worker == self.me => {
                (None, (false, self.hands.status(&(name.to_owned(), *token, number))))
            }
            (_, Some(worker)) => {
                // What another worker said of it before is no news of this one.
                let status = known.and_then(|known| known.tasks.get(&number));
                let status = status.filter(|s| s.worker_id.as_deref() == Some(&*worker.name));
                (Some(worker.name.clone()), told(status))
            }
            _ => (None, told(None)),
        };
        TaskView { config: config.clone(), elsewhere, restarting, status }
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
