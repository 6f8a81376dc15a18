//! How a driver begins: the topics are looked at and read, then its threads start.

use super::alike::{self, Strangers, until_answered};
use super::show::{Joins, Restarts, Stale};
use super::waits::Waits;
use super::{
    ClusterSettings, Driver, Input, asked, confirm, readers, seats, spawn, workers, writer,
};
use super::{Differences, KeyMaker, Reports, SessionKeys};
use crate::distributed::cluster::WorkerId;
use crate::distributed::log::KafkaLog;
use crate::distributed::member::{Member, Settings};
use crate::distributed::topics::{ConfigState, Statuses};
use crate::hands::Hands;
use crate::view::View;
use api::Result;
use crossbeam_channel::{Receiver, Sender, bounded};
use runtime::Worker;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long one try to read a topic to its end may take.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What the parts of a driver share.
struct Shared {
    statuses: Arc<Mutex<Statuses>>,
    waits: Waits,
    tell: Sender<Input>,
    partitions: i32,
}

/// Both topics, read to their ends.
struct Logs {
    config: KafkaLog,
    status: KafkaLog,
}

impl Logs {
    /// # Errors
    /// A topic cannot be used, or belongs to another cluster; cancelled.
    fn open(
        settings: &ClusterSettings,
        shared: &Shared,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Logs> {
        let strangers = Strangers::default();
        let reader = readers::StatusReader {
            topic: settings.status.topic.name.clone(),
            waits: shared.waits.clone(),
            strangers: strangers.clone(),
            early: Some(BTreeMap::new()),
            statuses: shared.statuses.clone(),
            tell: shared.tell.clone(),
        };
        let status = KafkaLog::open(settings.status.clone(), Box::new(reader), stopped)?;
        let reader = readers::ConfigReader {
            topic: settings.config.topic.name.clone(),
            waits: shared.waits.clone(),
            strangers: strangers.clone(),
            state: ConfigState::default(),
            tell: shared.tell.clone(),
            log_levels: settings.log_levels.clone(),
        };
        let config = KafkaLog::open(settings.config.clone(), Box::new(reader), stopped)?;
        until_answered(stopped, || status.read_to_end(READ_TIMEOUT))?;
        until_answered(stopped, || config.read_to_end(READ_TIMEOUT))?;
        until_answered(stopped, || strangers.are_gone(settings))?;
        Ok(Logs { config, status })
    }
}

/// The threads that keep the membership and write what the leader decides.
struct Threads {
    orders: Sender<writer::Order>,
    leaving: Arc<AtomicBool>,
    /// Ends when the group has been left.
    left: Receiver<()>,
}

impl Threads {
    fn start(settings: &ClusterSettings, topic: &str, shared: &Shared) -> Result<Threads> {
        let leaving = Arc::new(AtomicBool::new(false));
        let (leaves, left) = bounded(0);
        let (orders, taken) = bounded(16);
        let writer = writer::Writer {
            settings: settings.writer.clone(),
            topic: topic.to_owned(),
            group: settings.group.clone(),
            tell: shared.tell.clone(),
            waits: shared.waits.clone(),
        };
        spawn("leader", move || writer.run(&taken))?;
        let seats = seats::Seats {
            settings: settings.members_consumer.clone(),
            topic: settings.members.name.clone(),
            partitions: shared.partitions,
            mark: alike::mark(settings),
            tell: shared.tell.clone(),
            ended: leaving.clone(),
            waits: shared.waits.clone(),
        };
        spawn("members", move || {
            seats.run();
            drop(leaves);
        })?;
        Ok(Threads { orders, leaving, left })
    }
}

impl Driver {
    pub(super) fn open(
        worker: Arc<Worker>,
        settings: ClusterSettings,
        view: Arc<RwLock<View>>,
        tell: Sender<Input>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Driver> {
        let me = WorkerId { name: settings.worker_id.as_str().into(), run: settings.run };
        let partitions = seats::ensure_members(&settings, stopped)?;
        let (statuses, waits) = (Arc::default(), Waits::default());
        let shared = Shared { statuses, waits, tell, partitions };
        let Logs { config, status } = Logs::open(&settings, &shared, stopped)?;
        let Threads { orders, leaving, left } = Threads::start(&settings, config.topic(), &shared)?;
        let Shared { statuses, waits, tell, partitions } = shared;
        let told = tell.clone();
        let kinds = confirm::kinds(worker.clone());
        let hands = Hands::new(
            worker,
            Arc::new(move |what| {
                let _gone = told.send(Input::Told(what));
            }),
        );
        let member = Member::new(
            me.clone(),
            Settings {
                kinds,
                partitions,
                lost_wait_ms: settings.lost_wait_ms,
                restart_wait_ms: settings.restart_wait_ms,
            },
        );
        Ok(Driver {
            hands,
            member,
            reports: Reports::new(settings.worker_id.clone()),
            word: asked::OwnWord::default(),
            keys: SessionKeys::default(),
            key_maker: KeyMaker::default(),
            me,
            settings,
            view,
            replies: BTreeMap::new(),
            tell,
            config: Some(config),
            status: Some(Arc::new(status)),
            statuses,
            urls: BTreeMap::new(),
            waits,
            differences: Differences::default(),
            workers: workers::Workers::default(),
            proof: None,
            generation: -1,
            joins: Joins::default(),
            orders,
            leaving,
            left,
            started: Instant::now(),
            stale: Stale::default(),
            restarts: Restarts::default(),
        })
    }
}

/// Another one at every start, and higher: the time, in which no two starts of one address are the same.
pub fn run_number() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
