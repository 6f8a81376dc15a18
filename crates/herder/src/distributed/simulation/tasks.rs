//! What tasks do: they hold a position in a store that takes writes only of the highest token.

use crate::distributed::cluster::TaskKey;
use std::collections::BTreeMap;

/// A run of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Execution {
    pub(super) process: u64,
    /// Its process's id in the group when it was ordered to begin.
    pub(super) mate: Option<u64>,
    pub(super) token: u64,
    /// The configuration that its task set was made of.
    pub(super) of: String,
}

/// The destination of one task.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) fence: u64,
    pub(super) position: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) running: BTreeMap<TaskKey, Vec<Execution>>,
    /// Starts on their way, by process, task and token, with the process's id in the group when they were
    /// ordered: an end waits for its start.
    pub(super) starting: BTreeMap<(u64, TaskKey, u64), Option<u64>>,
    pub(super) stores: BTreeMap<TaskKey, Store>,
}

impl Tasks {
    /// A task opens its destination: whoever has a lower token is fenced from now on. False: it is
    /// itself.
    pub(super) fn begin(&mut self, task: &TaskKey, execution: Execution) -> bool {
        let store = self.stores.entry(task.clone()).or_default();
        let good = execution.token >= store.fence;
        store.fence = store.fence.max(execution.token);
        self.running.entry(task.clone()).or_default().push(execution);
        good
    }

    pub(super) fn end(&mut self, task: &TaskKey, process: u64, token: u64) -> bool {
        let Some(running) = self.running.get_mut(task) else { return false };
        let before = running.len();
        running.retain(|own| (own.process, own.token) != (process, token));
        before != running.len()
    }

    /// A process is gone with everything that it ran.
    pub(super) fn kill(&mut self, process: u64) {
        self.starting.retain(|(own, ..), _| *own != process);
        for running in self.running.values_mut() {
            running.retain(|own| own.process != process);
        }
    }

    /// Writes one record, if its token is still good.
    pub(super) fn write(&mut self, task: &TaskKey, token: u64) {
        if let Some(store) = self.stores.get_mut(task)
            && store.fence == token
        {
            store.position += 1;
        }
    }
}
