//! The distributed driver: one thread that steps the [`Member`] and carries its actions out.
//!
//! Around it: two logs that read and write the topics, a thread that keeps the membership, one that
//! writes the leader's transactions, and threads for whatever connector code may block. All of them
//! tell the driver what happened by [`Input`]s; the driver waits for nothing else.

mod alike;
mod asked;
mod carry_out;
mod confirm;
mod open;
mod readers;
mod report;
mod seats;
mod show;
mod waits;
mod workers;
mod writer;

use super::cluster::WorkerId;
use super::keys::{KeyMaker, KeySettings, SessionKeys};
use super::log::{KafkaLog, LogSettings, Membership};
use super::member::{Action, Event, Member};
use super::membership::Seat;
use super::records::Said;
use super::topics::{SessionKey, StatusKey, Statuses};
use crate::command::{Command, EVENTS_MAX, Herder};
use crate::error::Answer;
use crate::hands::{Hands, TaskKey, Told};
use crate::view::{Leader, View};
use alike::Differences;
use api::Result;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use kafka::ClientSettings;
pub use open::run_number;
use report::Reports;
use runtime::{CompactedTopic, StopMode, TaskHandle, Worker};
use show::{Joins, Restarts, Stale};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;
use waits::Waits;

/// How often time itself is an event, and statuses are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How long the end of the process waits until the group has been left.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);

/// What a worker of a cluster is made of. Client settings have librdkafka's names.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// `host:port` as it is advertised: Connect's worker id.
    pub worker_id: String,
    /// Under which other workers reach this one.
    pub url: String,
    /// Which start of the worker it is, of [`run_number`].
    pub run: u64,
    /// Of the program.
    pub version: String,
    /// `group.id`.
    pub group: String,
    /// What all workers of a cluster should have alike, beside their topics: told where they do not.
    pub alike: Vec<(String, String)>,
    pub config: LogSettings,
    pub status: LogSettings,
    /// `offset.storage.topic`, which the worker reads and writes by itself.
    pub offsets_topic: String,
    /// The topic of the membership group: as many workers as it has partitions.
    pub members: CompactedTopic,
    /// Of the membership group's consumer, `group.id` and session included.
    pub members_consumer: ClientSettings,
    /// With the cluster's `transactional.id`.
    pub writer: ClientSettings,
    /// `scheduled.rebalance.max.delay.ms` where it is set, else 0.
    pub lost_wait_ms: u64,
    /// How long the tasks of a worker that was stopped wait for it.
    pub restart_wait_ms: u64,
    /// What keys are made like, where this worker leads.
    pub keys: KeySettings,
    pub log_levels: LogLevels,
}

/// Is called with a logger and a level, which may be none.
type SetLevel = dyn Fn(&str, &str) + Send + Sync;

/// Takes log levels that somebody has set for the whole cluster.
#[derive(Clone)]
pub struct LogLevels(pub Arc<SetLevel>);

impl fmt::Debug for LogLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogLevels")
    }
}

/// Something that the driver is told.
pub(crate) enum Input {
    Event(Event),
    Command(Command),
    Told(Told),
    Joined {
        seat: Seat,
        proof: Arc<Membership>,
    },
    /// `live`: it was said after this worker had read to the end.
    Said {
        worker: WorkerId,
        said: Option<Said>,
        live: bool,
        /// When it was written; milliseconds since 1970.
        at_ms: i64,
    },
    /// Statuses of these have changed in the topic.
    StatusesRead(Vec<StatusKey>),
    KeyRead(SessionKey),
    /// What was said could not be written, or does not stand any more: it is said again.
    Unsaid(StatusKey),
    /// A task asks whether it may write.
    Confirm(confirm::Question),
}

impl ClusterSettings {
    /// Looks whether the cluster's topics can be used, those that are there, and makes none. `offsets`
    /// is the one of sources. Waits for brokers until `stopped` says otherwise.
    ///
    /// # Errors
    /// One cannot be used, or the workers of the group have others, with what to do about it; cancelled.
    pub fn look(&self, offsets: &CompactedTopic, stopped: &dyn Fn() -> bool) -> Result<()> {
        alike::until_answered(stopped, || alike::look(self, offsets))
    }
}

impl Herder {
    /// Starts a driver that shares the connectors of a cluster. Waits until the topics are there and
    /// were read, or `stopped` says otherwise.
    ///
    /// # Errors
    /// A topic cannot be used, with what to do about it; cancelled.
    pub fn start_distributed(
        worker: Arc<Worker>,
        settings: ClusterSettings,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Herder> {
        let (tell, inbox) = bounded(EVENTS_MAX);
        let commands = tell.clone();
        let give = move |command| commands.send(Input::Command(command)).is_ok();
        let (herder, ending) = Herder::new(worker.clone(), Arc::new(give));
        let view = herder.shared_view();
        {
            let mut view = view.write().unwrap_or_else(PoisonError::into_inner);
            (view.joining, view.leader) = (true, Leader::Nobody);
        }
        let driver = Driver::open(worker, settings, view, tell, stopped)?;
        let body = move || {
            driver.run(&inbox);
            drop(ending);
        };
        spawn("herder", body)?;
        Ok(herder)
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    let failed = |error| api::Error::retriable("a thread cannot be started").source(error);
    thread.map(drop).map_err(failed)
}

struct Driver {
    hands: Hands,
    member: Member,
    me: WorkerId,
    settings: ClusterSettings,
    view: Arc<RwLock<View>>,
    /// Who waits for an answer, and about which connector.
    replies: BTreeMap<u64, (Arc<str>, oneshot::Sender<Answer>)>,
    tell: Sender<Input>,
    config: Option<KafkaLog>,
    status: Option<Arc<KafkaLog>>,
    statuses: Arc<Mutex<Statuses>>,
    reports: Reports,
    word: asked::OwnWord,
    keys: SessionKeys,
    key_maker: KeyMaker,
    /// Where others are reached, by their names.
    urls: BTreeMap<WorkerId, Arc<str>>,
    waits: Waits,
    differences: Differences,
    workers: workers::Workers,
    proof: Option<Arc<Membership>>,
    generation: i32,
    joins: Joins,
    orders: Sender<writer::Order>,
    leaving: Arc<AtomicBool>,
    /// Ends when the group has been left.
    left: Receiver<()>,
    started: Instant,
    stale: Stale,
    restarts: Restarts,
}

impl Driver {
    fn run(mut self, inbox: &Receiver<Input>) {
        let mut next_tick = Instant::now() + TICK;
        let mut exit = false;
        while !exit {
            let wait = next_tick.saturating_duration_since(Instant::now());
            match inbox.recv_timeout(wait) {
                Ok(input) => exit = self.take(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Time passes as well where there is always something to be taken.
            if !exit && Instant::now() >= next_tick {
                next_tick = Instant::now() + TICK;
                exit = self.tick();
            }
            if self.stale.is_any() && inbox.is_empty() {
                self.show();
            }
        }
        self.view.write().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.leaving.store(true, Ordering::Release);
        // The logs end before the driver does: what was said is written.
        (self.config, self.status) = (None, None);
        // Else the broker would take the worker for alive until its session is over.
        let _nothing = self.left.recv_timeout(LEAVE_WITHIN);
    }

    /// True once everything has ended.
    fn tick(&mut self) -> bool {
        let exit = self.step(Event::Tick);
        self.renew_key();
        self.report();
        if self.waits.take_changed() {
            self.stale.rest();
        }
        let stale = &mut self.stale;
        self.restarts.expire(|name| stale.connector(name));
        exit
    }

    /// True once everything has ended.
    fn take(&mut self, input: Input) -> bool {
        let event = match input {
            Input::Event(event) => event,
            Input::Command(Command::Ask { id, request, reply }) => {
                let name: Arc<str> = request.name().into();
                self.replies.insert(id, (name, reply));
                Event::Asked { id, request }
            }
            Input::Command(Command::OfCluster { what, reply }) => {
                self.of_cluster(what, reply);
                return false;
            }
            Input::Command(Command::Workers(asked)) => {
                return self.workers_asked(asked);
            }
            Input::Command(Command::Shutdown) => Event::Shutdown { returns: true },
            Input::Told(told) => match self.told(told) {
                Some(event) => event,
                None => return false,
            },
            Input::Joined { seat, proof } => {
                if self.generation != seat.generation {
                    self.generation = seat.generation;
                    self.joins.again(seat.generation);
                }
                self.proof = Some(proof);
                Event::Joined(seat)
            }
            Input::Said { worker, said, live, at_ms } => {
                return self.said(worker, said, live, at_ms);
            }
            Input::KeyRead(key) => {
                self.keys.read(key, Instant::now());
                self.stale.rest();
                return false;
            }
            Input::StatusesRead(keys) => {
                for key in &keys {
                    self.status_read(key);
                    self.restarts.said(key);
                    self.stale.connector(&key.connector().into());
                }
                return false;
            }
            Input::Unsaid(key) => {
                self.reports.unsaid(&key);
                self.stale.rest();
                return false;
            }
            Input::Confirm(question) => {
                self.confirm(question);
                return false;
            }
        };
        self.note(&event);
        self.step(event)
    }

    /// What an event makes look different.
    fn note(&mut self, event: &Event) {
        self.stale.rest();
        match event {
            Event::Config { changes, live } => {
                for change in changes {
                    change.name().into_iter().for_each(|name| self.stale.connector(name));
                    if *live {
                        self.restarts.asked(change);
                    }
                }
            }
            Event::TasksMade { name, .. }
            | Event::OffsetsAltered { name, .. }
            | Event::Fenced { name, .. }
            | Event::TaskEnded { task: (name, _), .. } => self.stale.connector(name),
            _ => {}
        }
    }

    fn told(&mut self, told: Told) -> Option<Event> {
        Some(match told {
            Told::Validated { id, name, outcome } => {
                Event::Validated { id, name: name.into(), outcome }
            }
            Told::TasksMade { name, attempt, outcome } => {
                Event::TasksMade { name: name.into(), attempt, outcome }
            }
            Told::OffsetsAltered { name, outcome } => {
                Event::OffsetsAltered { name: name.into(), outcome }
            }
            Told::Fenced { name, attempt, outcome } => {
                Event::Fenced { name: name.into(), attempt, outcome }
            }
            Told::Started { key, handle } => {
                self.task_started(key, handle);
                return None;
            }
            Told::Again(key) => {
                // It is still this worker's, and starts again when it has ended.
                self.hands.stop_task(key, StopMode::Stay);
                return None;
            }
            Told::Ended(key) => {
                // One that ran for less than a tick has used topics too.
                self.topic_uses(&key.0, key.2);
                self.hands.ended(&key);
                self.report_ended(&key);
                let (name, token, task) = key;
                self.tidy(&name);
                Event::TaskEnded { task: (name.into(), task), token }
            }
        })
    }

    /// Forgets the ended tasks of a connector but those that it still has here, whose statuses are read.
    fn tidy(&mut self, name: &str) {
        match self.member.cluster().connectors.get(name) {
            None => self.hands.forget(name),
            Some(entry) => {
                self.hands.retain(name, |token, task| entry.held_by(&self.me, task) == Some(token));
            }
        }
    }

    fn task_started(&mut self, key: TaskKey, handle: TaskHandle) {
        self.stale.connector(&key.0.as_str().into());
        self.hands.started(key, handle);
    }

    /// Where this worker leads, workers have a key that is good.
    fn renew_key(&mut self) {
        if !self.member.leads() {
            return;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let now = (Instant::now(), now_ms);
        if let Some(key) = self.key_maker.due(&self.settings.keys, &self.keys, now) {
            self.step(Event::KeyMade(key));
        }
    }

    fn step(&mut self, event: Event) -> bool {
        let now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        // What is decided is to be found in the log when somebody asks why.
        let quiet = event == Event::Tick;
        let told = (!quiet && tracing::enabled!(tracing::Level::DEBUG)).then(|| event.kind());
        let actions = self.member.step(now_ms, event);
        if let Some(told) = told {
            let kinds: Vec<&str> = actions.iter().map(Action::kind).collect();
            tracing::debug!("{told} -> {kinds:?}");
        }
        let (answers, others): (Vec<_>, Vec<_>) =
            actions.into_iter().partition(|action| matches!(action, Action::Answer { .. }));
        let exit = others.contains(&Action::Exit);
        others.into_iter().for_each(|action| self.carry_out(action));
        if !answers.is_empty() {
            // Whoever is answered finds what was asked for.
            for action in &answers {
                if let Action::Answer { id, .. } = action
                    && let Some((name, _)) = self.replies.get(id)
                {
                    self.stale.connector(name);
                }
            }
            self.show();
        }
        for action in answers {
            if let Action::Answer { id, outcome } = action {
                self.answer(id, outcome);
            }
        }
        exit
    }
}
