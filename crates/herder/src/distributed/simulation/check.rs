//! What must hold, at every moment and when everything has come to rest.

use super::clients::Wish;
use super::kafka::Outcome;
use super::process::Flight;
use super::tasks::Execution;
use super::world::World;
use crate::distributed::cluster::{Change, Cluster, TaskKey, WorkerId};
use crate::state::Target;
use config::Props;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Check {
    /// The first thing that was wrong.
    pub(super) fault: Option<String>,
    /// Up to where readers were told of the log.
    pub(super) spread: usize,
    leaders: BTreeMap<i32, WorkerId>,
    versions: u64,
    positions: BTreeMap<TaskKey, u64>,
}

impl Check {
    pub(super) fn fail(&mut self, text: String) {
        self.fault.get_or_insert(text);
    }
}

impl World {
    /// Its process is in the group, and has been since it began: nobody may start what it runs.
    fn is_sound(&self, execution: &Execution) -> bool {
        let process = self.processes.get(&execution.process);
        let known = |mate: &u64| self.kafka.mates.contains_key(mate);
        let mate = process.and_then(|process| process.mate);
        mate.as_ref().is_some_and(known) && mate == execution.mate
    }

    pub(super) fn check_start(&mut self, process: u64, task: &TaskKey, config: &Props) {
        let same = |e: &Execution| e.process == process;
        let again = self.tasks.running.get(task).is_some_and(|running| running.iter().any(same));
        if again {
            self.check.fail(format!("{task:?} starts twice in process {process}"));
        }
        let text = config.get("task").unwrap_or_default().to_owned();
        if text != task.1.to_string() {
            self.check.fail(format!("{task:?} starts with the configuration of task {text}"));
        }
    }

    /// A task starts to run: nowhere else does it, nor does a task of another set of its connector,
    /// but in processes that the group has given up.
    pub(super) fn check_begin(&mut self, process: u64, task: &TaskKey, begins: &Execution) {
        let from = (task.0.clone(), 0);
        let to = (task.0.clone(), u32::MAX);
        let mut faults = Vec::new();
        for (other, running) in self.tasks.running.range(from..=to) {
            for execution in running {
                let elsewhere = execution.process != process;
                let clash = other == task || execution.of != begins.of;
                if clash && self.is_sound(execution) && self.is_sound(begins) {
                    let place = if elsewhere { "elsewhere" } else { "in the same process" };
                    faults.push(format!(
                        "{task:?} {begins:?} begins, {other:?} {execution:?} runs {place}"
                    ));
                }
            }
        }
        faults.into_iter().for_each(|fault| self.check.fail(fault));
        let position = self.tasks.stores.get(task).map_or(0, |store| store.position);
        let known = self.check.positions.entry(task.clone()).or_default();
        if position < *known {
            let known = *known;
            self.check.fail(format!("{task:?} goes back from {known} to {position}"));
        } else {
            *known = position;
        }
    }

    pub(super) fn check_altering(&mut self, name: &str) {
        let mut faults = Vec::new();
        for (task, running) in &self.tasks.running {
            for execution in running.iter().filter(|_| *task.0 == *name) {
                if self.is_sound(execution) {
                    faults.push(format!(
                        "offsets of {name} change while {task:?} runs: {execution:?}"
                    ));
                }
            }
        }
        faults.into_iter().for_each(|fault| self.check.fail(fault));
    }

    pub(super) fn check_committed(&mut self, leader: &WorkerId, commit: &Flight) {
        let entry = self.kafka.log.iter().rev().find(|entry| entry.outcome == Outcome::Committed);
        let Some(generation) = entry.map(|entry| entry.generation) else { return };
        let known = self.check.leaders.entry(generation).or_insert_with(|| leader.clone());
        if known != leader {
            let known = known.clone();
            self.check.fail(format!("{known:?} and {leader:?} both wrote in {generation}"));
        }
        if commit.version <= self.check.versions {
            let before = self.check.versions;
            self.check.fail(format!("version {} after {before}", commit.version));
        }
        self.check.versions = commit.version;
        if !matches!(commit.changes.last(), Some(Change::Led { .. })) {
            self.check.fail("a transaction without its last record".to_owned());
        }
    }

    pub(super) fn check_exit(&mut self, process: u64) {
        let mut running = self.tasks.running.values().flatten();
        if running.any(|execution| execution.process == process) {
            self.check.fail(format!("process {process} exits with tasks"));
        }
    }

    pub(super) fn check_rest(&mut self) {
        if self.check.fault.is_none() {
            let faults = self.faults_at_rest();
            faults.into_iter().for_each(|fault| self.check.fail(fault));
        }
    }

    /// Everything that should run does, once, with what was asked last, and evenly; or what does not.
    pub(super) fn faults_at_rest(&self) -> Vec<String> {
        let mut cluster = Cluster::default();
        for entry in self.kafka.log.iter().filter(|entry| entry.outcome == Outcome::Committed) {
            entry.changes.iter().for_each(|change| cluster.read(change.clone()));
        }
        let mut faults = Vec::new();
        for (name, possible) in &self.clients.possible {
            let entry = cluster.connectors.get(name);
            let is: Wish = entry.and_then(|entry| {
                let v = entry.config.as_ref()?.get("v").unwrap_or_default().to_owned();
                Some((v, entry.target()))
            });
            if !possible.contains(&is) {
                faults.push(format!("{name} is {is:?}, should be one of {possible:?}"));
            }
            faults.extend(self.check_tasks(name, &is, entry.and_then(|e| e.config.as_ref())));
        }
        faults.extend(self.check_balance());
        faults
    }

    fn check_tasks(&self, name: &str, is: &Wish, config: Option<&Props>) -> Vec<String> {
        let started = matches!(is, Some((_, Target::Started)));
        let wanted = config.filter(|_| started).map_or(0, |c| super::clients::tasks_of(c).len());
        let v = is.as_ref().map(|(v, _)| v.as_str());
        let mut runs = BTreeSet::new();
        let mut faults = Vec::new();
        for (task, running) in self.tasks.running.iter().filter(|(task, _)| *task.0 == *name) {
            for execution in running {
                if !runs.insert(task.1) {
                    faults.push(format!("{task:?} runs twice: {running:?}"));
                }
                if !self.is_sound(execution) {
                    faults.push(format!("{task:?} outlives its membership: {execution:?}"));
                }
                let once = config.is_some_and(|config| config.contains("once"));
                if once && !self.producers.writes(execution.process, task) {
                    faults.push(format!("{task:?} runs and does not write: {execution:?}"));
                }
                if Some(execution.of.as_str()) != v {
                    faults.push(format!("{task:?} runs with an old configuration, {is:?}"));
                }
            }
        }
        if runs.len() != wanted {
            faults.push(format!("{name} {is:?}: {wanted} tasks should run, {runs:?} do"));
        }
        faults
    }

    fn check_balance(&self) -> Option<String> {
        let mut loads: BTreeMap<u64, usize> = self.processes.keys().map(|id| (*id, 0)).collect();
        for execution in self.tasks.running.values().flatten() {
            *loads.entry(execution.process).or_default() += 1;
        }
        let paused = self.clients.possible.values().flatten().flatten();
        if paused.into_iter().any(|(_, target)| *target == Target::Paused) {
            // Tasks that do nothing count where they are.
            return None;
        }
        let (least, most) = (loads.values().min()?, loads.values().max()?);
        (most - least > 1).then(|| format!("uneven: {loads:?}"))
    }
}
