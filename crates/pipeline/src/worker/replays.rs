//! Replays that this worker runs: a thread each, a few at a time.
//!
//! Place in the data path: beside the consumers; see [`crate::replay`]. Every worker tries every
//! replay; the lease in the database lets one of them in.

use super::lanes::Workshop;
use crate::control::Definitions;
use crate::replay::{Definition, End, Run};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Replays that one worker runs at a time.
const REPLAYS_MAX: usize = 2;
/// Until a replay that another process runs, or that cannot go on, is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// The replays of a worker.
pub(super) struct Replays {
    worker: String,
    running: BTreeMap<i64, Running>,
    /// When to try again those that did not get on.
    waiting: BTreeMap<i64, (i64, Instant)>,
}

struct Running {
    version: i64,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<bool>,
}

impl Replays {
    pub(super) fn new(worker: &str) -> Replays {
        Replays { worker: worker.to_owned(), running: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    /// Starts and ends replays as the definitions say.
    pub(super) fn follow(&mut self, definitions: &Definitions, workshop: &Arc<Workshop>) {
        let now = Instant::now();
        let current = |id: i64| {
            definitions.replays.iter().find(|replay| replay.id == id).map(|r| r.config_version)
        };
        for (id, running) in &self.running {
            if current(*id) != Some(running.version) {
                running.stop.store(true, Ordering::Release);
            }
        }
        for (id, ended) in self.running.extract_if(.., |_, running| running.thread.is_finished()) {
            // A panic counts as one that did not get on.
            if ended.thread.join().unwrap_or(true) {
                self.waiting.insert(id, (ended.version, now + AGAIN));
            }
        }
        self.waiting.retain(|id, (version, due)| current(*id) == Some(*version) && *due > now);
        for replay in definitions.replays.iter().filter(|replay| !replay.in_client) {
            if self.running.len() >= REPLAYS_MAX {
                break;
            }
            let known =
                self.running.contains_key(&replay.id) || self.waiting.contains_key(&replay.id);
            let definition = Definition::find(definitions, replay).filter(|_| !known);
            let Some(definition) = definition else { continue };
            match start(definition, self.worker.clone(), workshop.clone()) {
                Ok(running) => {
                    self.running.insert(replay.id, running);
                }
                Err(error) => tracing::warn!("no replay could be started: {error}"),
            }
        }
    }

    /// Has all of them stop.
    pub(super) fn stop(&self) {
        self.running.values().for_each(|running| running.stop.store(true, Ordering::Release));
    }

    /// Waits for their end.
    pub(super) fn join(self, deadline: Instant) {
        for (id, running) in self.running {
            while !running.thread.is_finished() && Instant::now() < deadline {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            if running.thread.is_finished() && running.thread.join().is_err() {
                tracing::error!("the thread of replay {id} panicked; please report this");
            }
        }
    }
}

/// The thread gives whether the replay is to be tried again.
fn start(
    definition: Definition,
    owner: String,
    workshop: Arc<Workshop>,
) -> std::io::Result<Running> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let version = definition.replay.config_version;
    let id = definition.replay.id;
    let span = tracing::info_span!("replay", id, topic = %definition.consumer.topic);
    let body = move || {
        let _entered = span.entered();
        let run = Run {
            definition: &definition,
            owner: &owner,
            questions: &workshop.questions,
            pool: &workshop.pool,
            budget: &workshop.budget,
            stop: &|| told.load(Ordering::Acquire),
        };
        match run.run(&mut |_| {}) {
            End::Done => tracing::info!("done"),
            End::Over | End::Stopped => tracing::info!("stopped"),
            End::Taken => return true,
            End::Blocked(error) | End::Away(error) => {
                tracing::warn!("it does not get on: {}", error.report());
                return true;
            }
        }
        false
    };
    let thread = std::thread::Builder::new().name(format!("replay-{id}")).spawn(body)?;
    Ok(Running { version, stop, thread })
}
