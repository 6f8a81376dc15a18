//! A cluster in memory, without faults or time: what members write is read by all of them at once, in
//! one order. Each step is timed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use anyhow::{Result, ensure};
use config::{Given, Props};
use herder::Request;
use herder::distributed::{
    cluster::{Change, Claim, TaskKey, WorkerId},
    member::{Action, Commit, Event, Kind, Kinds, Member, Settings},
    membership::Seat,
};

use crate::bench::{process::thread_cpu, table::Series};

/// As many workers as there can be, where nothing else is set.
const PARTITIONS: i32 = 64;

/// A worker's part of the world.
struct Worker {
    member: Member,
    partitions: BTreeSet<i32>,
}

/// How long steps took.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) ms: Series,
    /// The event of the longest one.
    pub(super) longest: (f64, &'static str),
}

impl Steps {
    fn push(&mut self, ms: f64, kind: &'static str) {
        self.ms.push(ms);
        if ms > self.longest.0 {
            self.longest = (ms, kind);
        }
    }
}

pub(super) struct World {
    workers: BTreeMap<WorkerId, Worker>,
    /// Everything that was written to the config topic.
    log: Vec<Change>,
    claims: BTreeMap<WorkerId, Claim>,
    inbox: VecDeque<(WorkerId, Event)>,
    running: BTreeMap<TaskKey, WorkerId>,
    tasks: u32,
    generation: i32,
    runs: u64,
    asked: u64,
    answered: u64,
    pub(super) stopped: u64,
    steps: Steps,
}

impl World {
    /// Of connectors with so many tasks each.
    pub(super) fn new(tasks: u32) -> World {
        World {
            workers: BTreeMap::new(),
            log: Vec::new(),
            claims: BTreeMap::new(),
            inbox: VecDeque::new(),
            running: BTreeMap::new(),
            tasks,
            generation: 0,
            runs: 0,
            asked: 0,
            answered: 0,
            stopped: 0,
            steps: Steps::default(),
        }
    }

    /// Begins to count anew; gives what was counted.
    pub(super) fn take_steps(&mut self) -> Steps {
        std::mem::take(&mut self.steps)
    }

    /// A worker that has read what there is and comes into the group.
    pub(super) fn add(&mut self) -> Result<()> {
        self.runs += 1;
        let me = WorkerId { name: format!("10.0.0.{}:8083", self.runs).into(), run: self.runs };
        let settings = Settings {
            kinds: Kinds(Arc::new(|_| Kind::Source)),
            partitions: PARTITIONS,
            lost_wait_ms: 0,
            restart_wait_ms: 0,
        };
        let member = Member::new(me.clone(), settings);
        self.workers.insert(me.clone(), Worker { member, partitions: BTreeSet::new() });
        let history = Event::Config { changes: self.log.clone(), live: false };
        self.inbox.push_back((me.clone(), history));
        for (worker, claim) in self.claims.clone() {
            self.inbox.push_back((me.clone(), Event::Claim { worker, claim: Some(claim) }));
        }
        self.settle()?;
        self.seat()
    }

    /// One that is gone without a word.
    pub(super) fn kill(&mut self, leader: bool) -> Result<()> {
        let mut workers = self.workers.iter();
        let found = workers.find(|(_, worker)| worker.member.leads() == leader);
        let Some(name) = found.map(|(name, _)| name.clone()) else { return Ok(()) };
        self.workers.remove(&name);
        self.running.retain(|_, worker| *worker != name);
        self.seat()
    }

    /// The next generation of the group: the partitions evenly, each where it was if it may stay.
    fn seat(&mut self) -> Result<()> {
        self.generation += 1;
        let most = (PARTITIONS as usize).div_ceil(self.workers.len().max(1));
        let mut free: BTreeSet<i32> = (0..PARTITIONS).collect();
        for worker in self.workers.values_mut() {
            while worker.partitions.len() > most {
                worker.partitions.pop_first();
            }
            free.retain(|partition| !worker.partitions.contains(partition));
        }
        // The highest goes to one that has been there.
        while let Some(partition) = free.pop_last() {
            let owners = self.workers.values_mut();
            if let Some(least) = owners.min_by_key(|worker| {
                let new = partition == PARTITIONS - 1 && worker.partitions.is_empty();
                (new, worker.partitions.len())
            }) {
                least.partitions.insert(partition);
            }
        }
        for (name, worker) in &self.workers {
            let partitions = worker.partitions.clone();
            let seat = Seat { generation: self.generation, partitions };
            self.inbox.push_back((name.clone(), Event::Joined(seat)));
        }
        self.settle()
    }

    /// Asks the leader for a configuration, and for nothing else before that has come to an end
    /// unless there is more to ask.
    pub(super) fn put(&mut self, name: &str, config: Props) -> Result<()> {
        let mut workers = self.workers.iter();
        let Some((leader, _)) = workers.find(|(_, worker)| worker.member.leads()) else {
            anyhow::bail!("nobody leads");
        };
        self.asked += 1;
        let config = Given { props: config, nulls: BTreeSet::new() };
        let request = Request::Put { name: name.to_owned(), config };
        self.inbox.push_back((leader.clone(), Event::Asked { id: self.asked, request }));
        Ok(())
    }

    /// What every worker does while nothing happens, so many times.
    pub(super) fn tick(&mut self, times: usize) -> Result<()> {
        for _time in 0..times {
            let names: Vec<WorkerId> = self.workers.keys().cloned().collect();
            for name in names {
                self.inbox.push_back((name, Event::Tick));
            }
            self.settle()?;
        }
        Ok(())
    }

    /// Until nothing happens any more.
    pub(super) fn settle(&mut self) -> Result<()> {
        // All that can happen is in the inbox, but for what only time brings.
        while let Some((name, event)) = self.inbox.pop_front() {
            let Some(worker) = self.workers.get_mut(&name) else { continue };
            let kind = event.kind();
            let start = thread_cpu();
            let actions = worker.member.step(0, event);
            let took = thread_cpu().saturating_sub(start);
            self.steps.push(took.as_secs_f64() * 1e3, kind);
            for action in actions {
                self.carry_out(&name, action);
            }
        }
        ensure!(self.answered == self.asked, "{} of {} answered", self.answered, self.asked);
        Ok(())
    }

    /// Every task runs, and no worker has more than one more than another.
    pub(super) fn check(&self, connectors: u32) -> Result<()> {
        let wanted = (connectors * self.tasks) as usize;
        ensure!(self.running.len() == wanted, "{} of {wanted} tasks run", self.running.len());
        let mut loads: BTreeMap<&WorkerId, usize> =
            self.workers.keys().map(|name| (name, 0)).collect();
        for worker in self.running.values() {
            *loads.entry(worker).or_default() += 1;
        }
        let (least, most) = (loads.values().min(), loads.values().max());
        let even = least.zip(most).is_some_and(|(least, most)| most - least <= 1);
        ensure!(even, "tasks of workers: {loads:?}");
        Ok(())
    }

    fn tell(&mut self, name: &WorkerId, event: Event) {
        self.inbox.push_back((name.clone(), event));
    }

    fn tell_all(&mut self, event: &Event) {
        self.inbox.extend(self.workers.keys().map(|name| (name.clone(), event.clone())));
    }

    fn carry_out(&mut self, by: &WorkerId, action: Action) {
        match action {
            Action::ReadToEnd { attempt } => self.tell(by, Event::CaughtUp { attempt }),
            Action::InitWriter { attempt } => {
                self.tell(by, Event::WriterReady { attempt, outcome: Ok(()) });
            }
            Action::Commit { version, changes } => {
                self.log.extend(changes.iter().cloned());
                self.tell_all(&Event::Config { changes, live: true });
                self.tell(by, Event::Committed { version, outcome: Commit::Done });
            }
            Action::WriteClaim(claim) => {
                self.claims.insert(claim.worker.clone(), claim.clone());
                self.tell_all(&Event::Claim { worker: claim.worker.clone(), claim: Some(claim) });
                self.tell(by, Event::Claimed);
            }
            Action::Forget(worker) => {
                self.claims.remove(&worker);
                self.tell_all(&Event::Claim { worker, claim: None });
            }
            Action::Validate { id, name, .. } => {
                self.tell(by, Event::Validated { id, name, outcome: Ok(()) });
            }
            Action::MakeTasks { name, attempt, config } => {
                let outcome = Ok(self.task_set(&config));
                self.tell(by, Event::TasksMade { name, attempt, outcome });
            }
            Action::AlterOffsets { name, .. } => {
                self.tell(by, Event::OffsetsAltered { name, outcome: Ok(String::new()) });
            }
            Action::Fence { name, attempt, .. } => {
                self.tell(by, Event::Fenced { name, attempt, outcome: Ok(()) });
            }
            Action::StartTask { task, .. } => {
                self.running.insert(task, by.clone());
            }
            Action::StopTask { task, token, .. } => {
                self.stopped += 1;
                self.running.remove(&task);
                self.tell(by, Event::TaskEnded { task, token });
            }
            Action::Answer { outcome, .. } => self.answered += u64::from(outcome.is_ok()),
            Action::Exit => {
                self.workers.remove(by);
            }
        }
    }

    fn task_set(&self, config: &Props) -> Vec<Props> {
        let task = |number: u32| {
            let mut task = config.clone();
            task.insert("task.number", number.to_string());
            task
        };
        (0..self.tasks).map(task).collect()
    }
}
