//! The worker behind `copycat pg run`: carries out what the control schema defines.
//!
//! Place in the data path: all of it. A manager, on the caller's thread, follows the definitions and
//! tells how consumers fare; each consumer group has a fetch thread and a router, each lane of a
//! consumer a thread that decodes and writes. See `router` for how one fetch feeds many.
//!
//! Invariants: nothing outside ends a worker; positions live in the database, next to the rows, and a
//! worker that was replaced, paused or given another definition is fenced there; a consumer that cannot
//! go on holds up nobody else.

mod decoded;
mod fetch;
pub(crate) mod format;
mod group;
pub(crate) mod lanes;
mod manager;
mod observer;
pub(crate) mod properties;
mod readers;
mod reconcile;
mod replays;
mod router;
pub(crate) mod schemas;
mod standing;
pub(crate) mod starts;
mod together;
pub(crate) mod words;
pub(crate) mod writes;

use crate::control::{Control, ControlOptions, Error, ErrorKind};
use manager::Manager;
pub use properties::admin_settings;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections beside those that write rows: for the definitions; for questions and the outbox.
const CONNECTIONS_BESIDE: usize = 2;
const RETRY_MAX: Duration = Duration::from_secs(5);
const RETRY_FIRST: Duration = Duration::from_millis(200);

/// How a worker runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// `postgres://…`, of the database with the control schema.
    pub database_url: String,
    /// A transaction pooler is in between, also where that cannot be seen.
    pub pooler: bool,
    /// Take a copied database for the original.
    pub accept_database: bool,
    /// Group of the consumers that name none.
    pub group: String,
    /// A name that stays the same when the worker is started again: its place in the groups is kept.
    pub worker_name: Option<String>,
    /// Connections to the database at most, at least 4.
    pub connections_max: usize,
    /// Bytes of records that wait in memory, over all consumers.
    pub queue_bytes_max: usize,
    /// Of this program.
    pub version: String,
}

/// Tells a worker to end; cheap to clone, usable from signal handling.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Told by setting this flag.
    pub fn by(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }

    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Waits so long, or until told.
    fn wait(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < until {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

/// While a stopped worker says so to the database, which may take a moment and no longer.
#[derive(Clone, Default)]
struct Farewell(Arc<Mutex<Option<Instant>>>);

impl Farewell {
    const MAX: Duration = Duration::from_secs(2);

    fn begin(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn goes_on(&self) -> bool {
        let begun = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        begun.is_some_and(|begun| begun.elapsed() < Farewell::MAX)
    }
}

/// Runs a worker until it is told to stop.
///
/// # Errors
/// At the start only: a URL, credentials, a schema or a database that cannot be used.
pub fn run(options: &Options, stop: &Stop) -> Result<(), Error> {
    let farewell = Farewell::default();
    let (stopped, saying) = (stop.clone(), farewell.clone());
    let control_options = ControlOptions {
        database_url: options.database_url.clone(),
        pooler: options.pooler,
        accept_database: options.accept_database,
        stop: Arc::new(move || stopped.is_stopped() && !saying.goes_on()),
    };
    let mut wait = RETRY_FIRST;
    while !stop.is_stopped() {
        let error = match start(options, &control_options, stop) {
            Ok(manager) => {
                manager.run(stop, &farewell);
                return Ok(());
            }
            Err(error) => error,
        };
        match error.kind {
            ErrorKind::Unreachable | ErrorKind::Bug => {
                tracing::warn!("waiting for the database: {error}");
                stop.wait(wait);
                wait = RETRY_MAX.min(wait * 2);
            }
            ErrorKind::Cancelled => {}
            _ => return Err(error),
        }
    }
    Ok(())
}

fn start<'a>(
    options: &'a Options,
    control: &ControlOptions,
    stop: &Stop,
) -> Result<Manager<'a>, Error> {
    let mut control = Control::connect(control.clone())?;
    let sessions = options.connections_max.saturating_sub(CONNECTIONS_BESIDE).max(1);
    let host = host();
    let lanes = u32::try_from(sessions).unwrap_or(u32::MAX);
    let me = control.register(&host, &options.version, &options.group, lanes)?;
    tracing::info!(worker = %me.id, group = %options.group, "worker registered");
    Manager::new(options, control, &me.id, sessions, stop)
}

/// The name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}
