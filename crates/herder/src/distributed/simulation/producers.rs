//! What tasks write whose records are given exactly once: transactional ids with epochs on the
//! coordinator, offsets in the same transactions.
//!
//! A connector has a few source partitions, which a task set divides among its tasks. Each transaction moves
//! some of their offsets on by one: from where they stand, or a record was given twice, or left out.

use super::world::{Happening, World};
use crate::distributed::cluster::{Change, TaskKey};
use crate::distributed::member::{Confirmed, Event};
use crate::state::OffsetsRefused;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Source partitions of a connector.
const PARTITIONS: u32 = 6;

/// What a run of such a task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Takes its transactional id over.
    Init,
    /// Asks whether it is the rightful one; then takes the id over, if it has none, or goes on.
    Ask { has_id: bool },
    /// Reads where its partitions stand.
    Read,
    /// Sends a transaction.
    Send,
}

/// A run of a task.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) process: u64,
    pub(super) task: TaskKey,
    pub(super) token: u64,
    /// How many tasks its set has.
    count: u32,
    epoch: u64,
    position: BTreeMap<u32, u64>,
    /// It writes, as far as it knows.
    writes: bool,
}

/// A transaction on its way to the coordinator.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    run: u64,
    task: TaskKey,
    token: u64,
    epoch: u64,
    from: BTreeMap<u32, u64>,
}

#[derive(Debug, Default)]
pub(super) struct Producers {
    epochs: BTreeMap<TaskKey, u64>,
    offsets: BTreeMap<(Arc<str>, u32), u64>,
    runs: BTreeMap<u64, Run>,
    count: u64,
    /// The versions that wrote task sets of a connector.
    sets: BTreeMap<Arc<str>, Vec<u64>>,
    /// What was committed last: of a connector the set, of a task the token.
    newest: BTreeMap<Arc<str>, usize>,
    tokens: BTreeMap<TaskKey, u64>,
}

impl Producers {
    /// Which set of its connector a token belongs to.
    fn set_of(&self, name: &str, token: u64) -> usize {
        let sets = self.sets.get(name);
        sets.map_or(0, |sets| sets.iter().filter(|version| **version <= token).count())
    }

    pub(super) fn committed(&mut self, version: u64, changes: &[Change]) {
        for change in changes {
            if let Change::Tasks { name, .. } = change {
                self.sets.entry(name.clone()).or_default().push(version);
            }
        }
    }

    /// Whoever had the id has it no more.
    fn take_over(&mut self, task: &TaskKey) -> u64 {
        let epoch = self.epochs.entry(task.clone()).or_default();
        *epoch += 1;
        *epoch
    }

    pub(super) fn end(&mut self, process: u64, task: &TaskKey, token: u64) {
        self.runs.retain(|_, run| (run.process, &run.task, run.token) != (process, task, token));
    }

    /// A process is gone; what it has sent is not.
    pub(super) fn kill(&mut self, process: u64) {
        self.runs.retain(|_, run| run.process != process);
    }

    /// Whether a task that runs there writes.
    pub(super) fn writes(&self, process: u64, task: &TaskKey) -> bool {
        let current = self.epochs.get(task).copied();
        let mut own = self.runs.values().filter(|run| run.process == process && run.task == *task);
        own.any(|run| run.writes && Some(run.epoch) == current)
    }
}

impl World {
    /// A task of a set of so many begins to run.
    pub(super) fn producer_begins(&mut self, process: u64, task: TaskKey, token: u64, count: u32) {
        self.producers.count += 1;
        let id = self.producers.count;
        let position = BTreeMap::new();
        let run = Run { process, task, token, count, epoch: 0, position, writes: false };
        self.producers.runs.insert(id, run);
        let delay = self.delay();
        self.after(delay, Happening::Producer { process, run: id, step: Step::Init });
    }

    fn next_step(&mut self, id: u64, wait: u64, step: Step) {
        let delay = wait + self.delay();
        if let Some(run) = self.producers.runs.get(&id) {
            let process = run.process;
            self.after(delay, Happening::Producer { process, run: id, step });
        }
    }

    pub(super) fn producer_step(&mut self, id: u64, step: Step) {
        let Some(run) = self.producers.runs.get(&id).cloned() else { return };
        match step {
            Step::Init => {
                let epoch = self.producers.take_over(&run.task);
                if let Some(run) = self.producers.runs.get_mut(&id) {
                    run.epoch = epoch;
                }
                self.tell(|| format!("{:?} t{} has epoch {epoch}", run.task, run.token));
                self.next_step(id, 0, Step::Ask { has_id: true });
            }
            Step::Ask { has_id } => {
                let end = self.kafka.log.len();
                if let Some(process) = self.processes.get_mut(&run.process) {
                    process.asks.push((Asked::Run { id, has_id }, end));
                }
                self.after(0, Happening::ReadConfig { process: run.process });
            }
            Step::Read => {
                let own = (0..PARTITIONS).filter(|p| p % run.count == run.task.1);
                let name = &run.task.0;
                let stored = |p: u32| self.producers.offsets.get(&(name.clone(), p)).copied();
                let position = own.map(|p| (p, stored(p).unwrap_or(0))).collect();
                if let Some(run) = self.producers.runs.get_mut(&id) {
                    run.position = position;
                    run.writes = true;
                }
                self.next_step(id, 0, Step::Send);
            }
            Step::Send => {
                let mut from = BTreeMap::new();
                for (partition, offset) in &run.position {
                    if self.random.one_in(2) {
                        from.insert(*partition, *offset);
                    }
                }
                let Run { task, token, epoch, .. } = run;
                let sent = Sent { run: id, task, token, epoch, from };
                let delay = self.delay();
                self.after(delay, Happening::Transaction { sent });
            }
        }
    }

    /// What was asked is known: the config topic was read.
    pub(super) fn producer_asked(&mut self, process: u64, asked: Asked) {
        let (id, has_id) = match asked {
            Asked::Run { id, has_id } => (id, has_id),
            Asked::Altering { name, epoch } => {
                let Some(own) = self.processes.get(&process) else { return };
                let confirmed = own.member.confirm_altering(&name);
                let delay = self.delay();
                let epoch = epoch.filter(|_| confirmed);
                return self.after(delay, Happening::Reset { process, name, epoch });
            }
        };
        let Some(run) = self.producers.runs.get(&id) else { return };
        let Some(process) = self.processes.get(&run.process) else { return };
        match process.member.confirm(&run.task, run.token) {
            Confirmed::Yes if has_id => self.next_step(id, 0, Step::Read),
            Confirmed::Yes => self.next_step(id, 100, Step::Init),
            Confirmed::NotCounted => self.next_step(id, 500, Step::Ask { has_id }),
            Confirmed::No => {
                let (task, token) = (run.task.clone(), run.token);
                self.tell(|| format!("{task:?} t{token} is not the rightful one"));
                self.producers.runs.remove(&id);
            }
        }
    }

    /// A transaction has come to the coordinator.
    pub(super) fn transaction(&mut self, sent: Sent) {
        let Sent { run: id, task, token, epoch, from } = sent;
        let lost = self.faulty() && self.random.one_in(50);
        let fenced = self.producers.epochs.get(&task) != Some(&epoch);
        if !fenced {
            self.check_transaction(&task, token, &from);
            for (partition, offset) in &from {
                let place = (task.0.clone(), *partition);
                self.producers.offsets.insert(place, offset + 1);
            }
        }
        let Some(run) = self.producers.runs.get_mut(&id).filter(|run| run.epoch == epoch) else {
            return;
        };
        if fenced || lost {
            run.writes = false;
            return self.next_step(id, 0, Step::Ask { has_id: false });
        }
        for (partition, offset) in from {
            run.position.insert(partition, offset + 1);
        }
        let wait = self.random.between(200, 3_000);
        self.next_step(id, wait, Step::Send);
    }

    fn check_transaction(&mut self, task: &TaskKey, token: u64, from: &BTreeMap<u32, u64>) {
        let set = self.producers.set_of(&task.0, token);
        let newest = self.producers.newest.entry(task.0.clone()).or_default();
        let before = *newest;
        *newest = before.max(set);
        if set < before {
            self.check.fail(format!("{task:?} t{token} of set {set} commits after set {before}"));
        }
        let last = self.producers.tokens.entry(task.clone()).or_default();
        let before = *last;
        *last = before.max(token);
        if token < before {
            self.check.fail(format!("{task:?} t{token} commits after t{before}"));
        }
        for (partition, offset) in from {
            let stored = self.producers.offsets.get(&(task.0.clone(), *partition));
            let stored = stored.copied().unwrap_or(0);
            if stored != *offset {
                self.check.fail(format!(
                    "{task:?} t{token} gives partition {partition} from {offset}, not {stored}"
                ));
            }
        }
    }

    /// The leader takes over one id after the other.
    pub(super) fn fence(&mut self, round: Round) {
        let Round { process, ref name, attempt, producers, next } = round;
        if next < producers {
            let epoch = self.producers.take_over(&(name.clone(), next));
            self.tell(|| format!("fence of {name}-{next}: epoch {epoch}"));
            let delay = self.delay();
            let round = Round { next: next + 1, ..round };
            return self.after(delay, Happening::Fence { round });
        }
        let lost = self.faulty() && self.random.one_in(12);
        let outcome = if lost { Err("no answer".to_owned()) } else { Ok(()) };
        let delay = self.delay();
        let event = Event::Fenced { name: name.clone(), attempt, outcome };
        self.after(delay, Happening::To { process, event });
    }

    /// The leader is about to change offsets: it takes all ids over, and asks.
    pub(super) fn alter(&mut self, process: u64, name: Arc<str>, producers: u32) {
        let mut first = None;
        for task in 0..producers.max(1) {
            let epoch = self.producers.take_over(&(name.clone(), task));
            first.get_or_insert(epoch);
        }
        let end = self.kafka.log.len();
        if let Some(process) = self.processes.get_mut(&process) {
            process.asks.push((Asked::Altering { name, epoch: first }, end));
        }
        self.after(0, Happening::ReadConfig { process });
    }

    /// The offsets of a connector are forgotten, if its first producer has not been fenced since.
    pub(super) fn reset_offsets(&mut self, process: u64, name: Arc<str>, epoch: Option<u64>) {
        let current = self.producers.epochs.get(&(name.clone(), 0)).copied();
        let good = epoch.is_some() && epoch == current;
        for partition in (0..PARTITIONS).filter(|_| good) {
            self.producers.offsets.remove(&(name.clone(), partition));
        }
        let failed = || Err(OffsetsRefused::Failed("fenced".to_owned()));
        let outcome = if good { Ok("done".to_owned()) } else { failed() };
        let delay = self.delay();
        let event = Event::OffsetsAltered { name, outcome };
        self.after(delay, Happening::To { process, event });
    }
}

/// What is asked after an id was taken over.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    Run { id: u64, has_id: bool },
    Altering { name: Arc<str>, epoch: Option<u64> },
}

/// A round of fencing on its way.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) process: u64,
    pub(super) name: Arc<str>,
    pub(super) attempt: u64,
    pub(super) producers: u32,
    pub(super) next: u32,
}
