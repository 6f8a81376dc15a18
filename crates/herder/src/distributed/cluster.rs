//! What every worker of a cluster knows: connectors and where their tasks run, as the config topic says,
//! and what each worker says of itself, as the status topic says.
//!
//! Place in the control plane: below [`Member`](super::Member), which decides; nothing here does.
//!
//! Invariants: the same records in the same order give the same state; the records of one leader's
//! transaction take effect together, when its last one ([`Change::Led`]) is read.

use super::topics::SessionKey;
use crate::state::Target;
use config::Props;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A worker process: where it is reached, and which start of it this is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId {
    /// `host:port` as it is advertised: Connect's worker id.
    pub name: Arc<str>,
    /// Another one at every start.
    pub run: u64,
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A task: connector and number.
pub type TaskKey = (Arc<str>, u32);

/// What a worker is up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stance {
    #[default]
    Active,
    /// Gives its tasks away and takes no new ones.
    Draining,
    /// Stops everything, for the process ends; takes nothing.
    Ending,
    /// Has stopped everything and ends; expected back.
    Restarting,
    /// Has stopped everything and ends for good.
    Left,
}

/// What a worker says of itself. The last one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub worker: WorkerId,
    /// Of the membership group, with the partitions that it owns there.
    pub generation: i32,
    pub partitions: BTreeSet<i32>,
    /// The version up to which it has done what placements ask of it.
    pub applied: u64,
    /// Tasks that it was told to stop and that have not ended.
    pub lingering: BTreeSet<TaskKey>,
    pub stance: Stance,
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    Free,
    /// A worker runs it, as long as the connector's target is STARTED. `token` grows with every
    /// assignment: what holds the lower one is fenced.
    Held {
        worker: WorkerId,
        token: u64,
    },
    /// Its worker has been told, by this version, to stop it and to say so.
    Leaving {
        worker: WorkerId,
        token: u64,
        since: u64,
    },
}

impl Slot {
    /// The worker that runs it or may run it still.
    pub fn worker(&self) -> Option<&WorkerId> {
        match self {
            Slot::Free => None,
            Slot::Held { worker, .. } | Slot::Leaving { worker, .. } => Some(worker),
        }
    }
}

/// Where the tasks of a connector run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The version that created the connector: one that was deleted and created again is another.
    pub incarnation: u64,
    /// The fingerprint of the configuration that the task set was made of; none before the first.
    pub made_of: Option<u64>,
    /// One a task; those of the former task set while they leave.
    pub slots: Vec<Slot>,
}

impl Placement {
    /// The last version that tells this worker to stop a task.
    pub fn told(&self, me: &WorkerId) -> u64 {
        let told = self.slots.iter().filter_map(|slot| match slot {
            Slot::Leaving { worker, since, .. } if worker == me => Some(*since),
            _ => None,
        });
        told.max().unwrap_or(0)
    }

    /// Whether it has a place for each task of the set that the topic has: somebody else may have written
    /// another one, or one that is not whole.
    pub fn is_for(&self, entry: &Entry) -> bool {
        self.slots.len() == entry.tasks.len()
    }

    /// Nothing runs or may run.
    pub fn is_free(&self) -> bool {
        self.slots.iter().all(|slot| *slot == Slot::Free)
    }
}

/// One thing that the config topic says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// None: deleted.
    Connector {
        name: Arc<str>,
        config: Option<Props>,
    },
    Target {
        name: Arc<str>,
        target: Option<Target>,
    },
    /// A whole task set.
    Tasks {
        name: Arc<str>,
        tasks: Vec<Props>,
    },
    Placement {
        name: Arc<str>,
        placement: Option<Placement>,
    },
    /// So many transactional producers of a connector may exist; those of a task set that is over are
    /// fenced before it is written.
    TaskCount {
        name: Arc<str>,
        tasks: u32,
    },
    /// Tasks are to start again, wherever they run. Means nothing once it is history.
    Restart {
        name: Arc<str>,
        tasks: BTreeSet<u32>,
    },
    /// Another key for what workers ask of each other. No decision depends on it.
    SessionKey(SessionKey),
    /// The last record of a leader's transaction.
    Led {
        version: u64,
        worker: WorkerId,
    },
}

impl Change {
    /// The connector it is about.
    pub fn name(&self) -> Option<&Arc<str>> {
        match self {
            Change::Connector { name, .. }
            | Change::Target { name, .. }
            | Change::Tasks { name, .. }
            | Change::Placement { name, .. }
            | Change::TaskCount { name, .. }
            | Change::Restart { name, .. } => Some(name),
            Change::SessionKey(_) | Change::Led { .. } => None,
        }
    }
}

/// A connector, or what is left of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// None: deleted, or not read yet.
    pub config: Option<Props>,
    /// Its [`fingerprint`], which is asked for often.
    of: u64,
    /// None: STARTED.
    pub target: Option<Target>,
    pub tasks: Vec<Props>,
    pub placement: Option<Placement>,
    /// How many transactional producers may exist, outliving the connector; none: nobody knows, for it
    /// never had any.
    pub producers: Option<u32>,
}

impl Entry {
    /// What tells its configuration from others.
    pub fn of(&self) -> u64 {
        self.of
    }

    pub fn target(&self) -> Target {
        self.target.unwrap_or(Target::Started)
    }

    fn is_empty(&self) -> bool {
        let fenced = self.producers.is_none_or(|producers| producers == 0);
        self.config.is_none() && self.target.is_none() && self.placement.is_none() && fenced
    }

    /// Somebody holds a slot: what runs there may write.
    pub fn is_held(&self) -> bool {
        let mut slots = self.placement.iter().flat_map(|placement| &placement.slots);
        slots.any(|slot| matches!(slot, Slot::Held { .. }))
    }

    /// The number of its tasks.
    pub fn task_count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// The token under which a worker holds a task.
    pub fn held_by(&self, worker: &WorkerId, task: u32) -> Option<u64> {
        match self.placement.as_ref()?.slots.get(task as usize)? {
            Slot::Held { worker: holder, token } if holder == worker => Some(*token),
            _ => None,
        }
    }
}

/// Everything that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    pub connectors: BTreeMap<Arc<str>, Entry>,
    /// Of the last transaction that was read whole.
    pub version: u64,
    /// Who wrote it.
    pub led_by: Option<WorkerId>,
    pub claims: BTreeMap<WorkerId, Claim>,
}

impl Cluster {
    /// Takes one record of the config topic in.
    pub fn read(&mut self, change: Change) {
        if let Change::Led { version, worker } = change {
            self.version = self.version.max(version);
            self.led_by = Some(worker);
            return;
        }
        let Some(name) = change.name().cloned() else { return };
        let entry = self.connectors.entry(name.clone()).or_default();
        match change {
            Change::Connector { config, .. } => {
                if config.is_none() {
                    entry.tasks.clear();
                }
                entry.of = config.as_ref().map_or(0, fingerprint);
                entry.config = config;
            }
            Change::Target { target, .. } => entry.target = target,
            Change::Tasks { tasks, .. } => entry.tasks = tasks,
            Change::Placement { placement, .. } => entry.placement = placement,
            Change::TaskCount { tasks, .. } => entry.producers = Some(tasks),
            Change::Restart { .. } | Change::SessionKey(_) | Change::Led { .. } => {}
        }
        if entry.is_empty() {
            self.connectors.remove(&name);
        }
    }

    /// Takes what a worker says of itself in; none where it is forgotten.
    pub fn claim(&mut self, worker: WorkerId, claim: Option<Claim>) {
        match claim {
            Some(claim) => self.claims.insert(worker, claim),
            None => self.claims.remove(&worker),
        };
    }
}

/// What tells one configuration from another, on every worker and in every version the same (FNV-1a).
fn fingerprint(config: &Props) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (key, value) in config.iter() {
        add(key.as_bytes());
        add(&[0]);
        add(value.as_bytes());
        add(&[0]);
    }
    hash
}
