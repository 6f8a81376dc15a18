//! The manager: one loop that reads definitions, carries changes out and reports.
//!
//! It waits for the database's notifications and otherwise looks round a few times a second, which is
//! how soon a change of state is told. Only changes are told.

use super::group::Group;
use super::lanes::Workshop;
use super::observer::Observer;
use super::properties::{Clients, outbox_clients};
use super::reconcile::as_defined;
use super::replays::Replays;
use super::standing::{Standing, called, standing};
use super::{Farewell, Options, Stop};
use crate::control::{Consumer, Control, Definitions, Error, ErrorKind, Questions};
use crate::outbox::{self, Outbox};
use runtime::Budget;
use sql::postgres::{PoolSettings, SessionPool};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(200);
const HEARTBEAT: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(500);
/// How long an orderly end may take.
const LEAVE: Duration = Duration::from_secs(8);

/// A cluster that is consumed from.
pub(super) struct Cluster {
    pub(super) definition: crate::control::Cluster,
    /// Why it cannot be used: the detail of its consumers.
    pub(super) usable: Result<(Clients, Arc<Observer>), String>,
}

/// A consumer whose lanes run, or several that are committed together.
pub(super) struct Running {
    pub(super) consumers: Vec<Consumer>,
    pub(super) group: GroupKey,
    pub(super) numbers: Vec<u64>,
}

/// Cluster and group id.
pub(super) type GroupKey = (String, String);

pub(super) struct Manager<'a> {
    pub(super) options: &'a Options,
    control: Control,
    sessions: usize,
    pub(super) workshop: Arc<Workshop>,
    pub(super) definitions: Definitions,
    pub(super) clusters: BTreeMap<String, Cluster>,
    pub(super) groups: BTreeMap<GroupKey, Group>,
    pub(super) leaving: Vec<Group>,
    /// By the least id.
    pub(super) running: BTreeMap<i32, Running>,
    /// Consumers that do not run, and why.
    pub(super) refused: BTreeMap<i32, Standing>,
    told: BTreeMap<i32, (i64, Option<Standing>)>,
    heartbeat_due: Instant,
    away: bool,
    /// `None` when leaving.
    outbox: Option<Outbox>,
    replays: Replays,
}

impl<'a> Manager<'a> {
    pub(super) fn new(
        options: &'a Options,
        control: Control,
        worker: &str,
        sessions: usize,
        stop: &Stop,
    ) -> Result<Manager<'a>, Error> {
        let mut pool = PoolSettings::new(&options.database_url);
        pool.sessions_max = sessions;
        pool.worker = Some(worker.to_owned());
        if control.is_pooled() {
            pool.database.pooler = sql::config::Pooler::Transaction;
        }
        let wrong = |error: api::Error| Error {
            kind: ErrorKind::Refused,
            message: error.message,
            hint: error.hint,
            sqlstate: None,
        };
        let pool = SessionPool::new(pool).map_err(wrong)?;
        let stopped = stop.clone();
        let stopped: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(move || stopped.is_stopped());
        let questions = Questions::new(&options.database_url)?.until(stopped.clone());
        let questions = Arc::new(questions);
        let outbox = Outbox::start(outbox::Options {
            questions: questions.clone(),
            worker: worker.to_owned(),
            clients: Box::new(outbox_clients),
            stop: stopped,
        })?;
        Ok(Manager {
            options,
            control,
            sessions,
            workshop: Arc::new(Workshop::new(pool, questions, Arc::new(Budget::default()))),
            definitions: Definitions::default(),
            clusters: BTreeMap::new(),
            groups: BTreeMap::new(),
            leaving: Vec::new(),
            running: BTreeMap::new(),
            refused: BTreeMap::new(),
            told: BTreeMap::new(),
            heartbeat_due: Instant::now(),
            away: false,
            outbox: Some(outbox),
            replays: Replays::new(worker),
        })
    }

    /// Works until told to stop.
    pub(super) fn run(mut self, stop: &Stop, farewell: &Farewell) {
        while !stop.is_stopped() {
            match self.turn() {
                Ok(()) if self.away => {
                    self.away = false;
                    tracing::info!("the control schema can be reached again");
                }
                Ok(()) => {}
                Err(error) if error.kind == ErrorKind::Cancelled => {}
                Err(error) => {
                    if !self.away {
                        tracing::warn!("the control schema cannot be used: {error}");
                    }
                    self.away = true;
                    // What was told may be lost.
                    self.told.clear();
                    self.heartbeat_due = Instant::now();
                    self.look_round();
                    stop.wait(RETRY);
                }
            }
        }
        self.leave(farewell);
    }

    fn turn(&mut self) -> Result<(), Error> {
        let change = self.control.wait_for_change(LOOK)?;
        if change.definitions {
            let definitions = self.control.definitions()?;
            if definitions.version != self.definitions.version {
                self.definitions = definitions;
            }
        }
        if change.errors {
            self.control.begin_retries()?;
        }
        self.look_round();
        // Before anything is told: the row of this worker may be gone, after a fail-over for instance.
        self.heartbeat()?;
        if change.outbox {
            self.empty_outbox()?;
        }
        self.tell_states()?;
        self.tell_partitions()
    }

    fn heartbeat(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if now >= self.heartbeat_due {
            let lanes = u32::try_from(self.sessions).unwrap_or(u32::MAX);
            self.control.heartbeat(lanes)?;
            self.heartbeat_due = now + HEARTBEAT;
            self.workshop.pool.close_idle();
            self.workshop.questions.close_idle();
        }
        Ok(())
    }

    /// Wakes the outbox where a cluster has messages waiting.
    fn empty_outbox(&mut self) -> Result<(), Error> {
        let waiting = self.control.outboxes()?;
        let mut clusters = self.definitions.clusters.clone();
        clusters.retain(|cluster| waiting.contains(&cluster.name));
        if let Some(outbox) = self.outbox.as_ref().filter(|_| !clusters.is_empty()) {
            outbox.wake(clusters);
        }
        Ok(())
    }

    /// Everything that needs no database of the manager's own.
    fn look_round(&mut self) {
        self.end_broken_groups();
        self.reconcile();
        self.replays.follow(&self.definitions, &self.workshop);
        for ((cluster, _), group) in &mut self.groups {
            group.start_readers();
            let answered = self.clusters.get(cluster).and_then(|cluster| {
                let (_, observer) = cluster.usable.as_ref().ok()?;
                observer.view().answered
            });
            if let Some(answered) = answered {
                group.shared.clear_trouble(answered);
            }
        }
        let ended = |group: &mut Group| group.has_ended();
        for group in self.leaving.extract_if(.., ended) {
            group.join(Instant::now() + RETRY);
        }
    }

    /// A group whose thread has ended by itself begins anew.
    fn end_broken_groups(&mut self) {
        let ended = |(_, group): &(&GroupKey, &Group)| group.has_ended();
        let broken: Vec<GroupKey> =
            self.groups.iter().filter(ended).map(|(key, _)| key.clone()).collect();
        for key in broken {
            tracing::error!(group = %key.1, "a group ended by itself and is started again");
            self.end_group(&key);
            self.running.retain(|_, running| running.group != key);
        }
    }

    /// How every consumer fares by now; `None`: this worker has nothing to do with it.
    fn standings(&self) -> BTreeMap<i32, (i64, Option<Standing>)> {
        let mut standings = BTreeMap::new();
        let version = |id: i32| {
            let found = self.definitions.consumers.iter().find(|consumer| consumer.id == id);
            found.map(|consumer| consumer.settings.config_version)
        };
        for (id, standing) in &self.refused {
            if let Some(version) = version(*id) {
                standings.insert(*id, (version, Some(standing.clone())));
            }
        }
        for (key, group) in &self.groups {
            let reports = group.router.reports();
            let trouble = group.shared.trouble();
            let cluster = self.clusters.get(&key.0);
            let observer = cluster.and_then(|cluster| cluster.usable.as_ref().ok());
            let silence = observer.and_then(|(_, observer)| observer.view().silence.clone());
            for (id, report) in reports {
                let mut sets = self.running.values().map(|running| &running.consumers);
                let place = |set: &&Vec<Consumer>| set.iter().any(|consumer| consumer.id == id);
                let Some(set) = sets.find(place) else { continue };
                let Some(consumer) = set.iter().find(|consumer| consumer.id == id) else {
                    continue;
                };
                // One that another one stopped is told so: a call for it would leave out a record that
                // it could store.
                let stopper = report.failure.as_ref().and_then(|failure| failure.consumer);
                let stopper = set.iter().find(|other| Some(other.id) == stopper && other.id != id);
                let relation = relation(stopper.unwrap_or(consumer));
                let names = (consumer.topic.as_str(), relation.as_deref());
                let standing = standing(&report, trouble.as_ref(), silence.as_ref(), names);
                let standing = match stopper {
                    Some(_) => standing.map(|own| own.because_of(relation.as_deref())),
                    None => standing,
                };
                standings.entry(id).or_insert((consumer.settings.config_version, standing));
            }
        }
        standings
    }

    fn tell_states(&mut self) -> Result<(), Error> {
        let now = self.standings();
        let gone: Vec<i32> = self.told.keys().filter(|id| !now.contains_key(id)).copied().collect();
        for id in gone {
            self.control.clear_state(id)?;
            self.told.remove(&id);
        }
        for (id, standing) in now {
            if self.told.get(&id) == Some(&standing) {
                continue;
            }
            let (version, current) = &standing;
            match current {
                Some(s) => {
                    let detail = s.detail.as_deref();
                    self.control.set_state(id, *version, s.state, detail, s.record)?;
                }
                None => self.control.clear_state(id)?,
            }
            self.told.insert(id, standing);
        }
        Ok(())
    }

    fn tell_partitions(&mut self) -> Result<(), Error> {
        for cluster in self.clusters.values() {
            let Ok((_, observer)) = &cluster.usable else { continue };
            let seen = observer.view().take_partitions();
            self.control.observe(&seen)?;
        }
        Ok(())
    }

    /// Gives everything back and says so.
    fn leave(mut self, farewell: &Farewell) {
        let deadline = Instant::now() + LEAVE;
        let groups: Vec<Group> =
            std::mem::take(&mut self.groups).into_values().chain(self.leaving.drain(..)).collect();
        self.replays.stop();
        for group in &groups {
            group.stop();
        }
        for cluster in self.clusters.values() {
            if let Ok((_, observer)) = &cluster.usable {
                observer.stop();
            }
        }
        for group in groups {
            group.join(deadline);
        }
        self.replays.join(deadline);
        // Its lease goes with the row of this worker.
        self.outbox = None;
        farewell.begin();
        if let Err(error) = self.control.leave() {
            tracing::debug!("the row of this worker stays: {error}");
        }
    }
}

impl Running {
    /// Whether a consumer is among them, by this very definition.
    pub(super) fn has(&self, consumer: &Consumer) -> bool {
        self.consumers.iter().any(|own| own.id == consumer.id && *own == as_defined(consumer))
    }
}

/// The relation as it is written in a call.
fn relation(consumer: &Consumer) -> Option<String> {
    match &consumer.target {
        crate::control::Target::Relation(relation) => Some(called(&relation.table)),
        _ => None,
    }
}
