//! Those who ask: one request after the other for each connector, to any worker, and again elsewhere
//! where nobody led.
//!
//! They remember what they were told, so that it can be compared with what is there in the end.

use super::random::Random;
use super::world::{FAULTS_MS, Happening, World};
use crate::distributed::member::{Answered, Event, Kind, Kinds};
use crate::state::{Done, Request, Target};
use config::{Given, Props};
use runtime::OffsetsChange;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a request is asked again before its client gives up.
const TRIES_MAX: u32 = 60;

/// What a connector may be: its configuration and what it should do.
pub(super) type Wish = Option<(String, Target)>;

/// A request on its way.
#[derive(Clone, Debug)]
struct Request_ {
    name: Arc<str>,
    request: Request,
    process: u64,
    tries: u32,
}

#[derive(Debug)]
pub(super) struct Clients {
    pub(super) lost_wait_ms: u64,
    pub(super) kinds: Kinds,
    /// Of each connector, what it may be, for all that was answered.
    pub(super) possible: BTreeMap<Arc<str>, Vec<Wish>>,
    asked: BTreeMap<u64, Request_>,
    ids: u64,
    versions: u64,
}

/// Its records are to be given exactly once.
fn is_once(config: &Props) -> bool {
    config.contains("once")
}

/// The tasks of a configuration.
pub(super) fn tasks_of(config: &Props) -> Vec<Props> {
    let count: u32 = config.get("n").and_then(|n| n.parse().ok()).unwrap_or(1);
    let task = |number: u32| {
        let mut task = Props::new();
        task.insert("v", config.get("v").unwrap_or_default());
        task.insert("task", number.to_string());
        if is_once(config) {
            task.insert("once", count.to_string());
        }
        task
    };
    (0..count).map(task).collect()
}

impl Clients {
    pub(super) fn new(random: &mut Random) -> Clients {
        let names = random.between(1, 5);
        let lost_wait_ms = if random.one_in(4) { 3_000 } else { 0 };
        let possible = (0..names).map(|n| (Arc::from(format!("c{n}")), vec![None])).collect();
        let kind = |config: &Props| if is_once(config) { Kind::OnceSource } else { Kind::Source };
        let kinds = Kinds(Arc::new(kind));
        Clients { lost_wait_ms, kinds, possible, asked: BTreeMap::new(), ids: 0, versions: 0 }
    }

    /// Nobody waits for an answer.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.possible.keys().cloned().collect()
    }

    /// Every second connector gives its records exactly once, and seldom does not.
    fn config(&mut self, name: &str, random: &mut Random) -> Given {
        self.versions += 1;
        let mut given = Given::default();
        given.insert("v".to_owned(), Some(self.versions.to_string()));
        given.insert("n".to_owned(), Some(random.between(1, 6).to_string()));
        let even = name.ends_with(['0', '2', '4']);
        if even != random.one_in(8) {
            given.insert("once".to_owned(), Some("1".to_owned()));
        }
        given
    }
}

impl World {
    /// Asks something about a connector.
    pub(super) fn ask(&mut self, name: &Arc<str>) {
        let text = name.to_string();
        let request = match self.random.between(0, 12) {
            0..=3 => {
                let config = self.clients.config(name, &mut self.random);
                Request::Put { name: text, config }
            }
            4 => {
                let config = self.clients.config(name, &mut self.random);
                let target = if self.random.one_in(3) { Target::Stopped } else { Target::Started };
                Request::Create { name: text, config, target }
            }
            5 => Request::Delete { name: text, offsets: self.random.one_in(2) },
            6 => Request::Retarget { name: text, target: Target::Paused },
            7 => Request::Retarget { name: text, target: Target::Stopped },
            8 | 9 => Request::Retarget { name: text, target: Target::Started },
            10 => {
                let tasks = BTreeSet::from([0, 2]);
                let connector = self.random.one_in(2);
                Request::Restart { name: text, connector, tasks, at_once: true }
            }
            _ => Request::Offsets { name: text, change: OffsetsChange::Reset },
        };
        self.clients.ids += 1;
        let id = self.clients.ids;
        let asked = Request_ { name: name.clone(), request, process: 0, tries: 0 };
        self.clients.asked.insert(id, asked);
        self.ask_again(id);
    }

    pub(super) fn ask_again(&mut self, id: u64) {
        let ids: Vec<u64> = self.processes.keys().copied().collect();
        let process = self.random.pick(&ids).copied();
        let Some(asked) = self.clients.asked.get_mut(&id) else { return };
        asked.tries += 1;
        if asked.tries > TRIES_MAX {
            return self.settled(id, false, false);
        }
        let Some(process) = process else { return self.after(300, Happening::Retry { id }) };
        asked.process = process;
        let request = asked.request.clone();
        let delay = self.random.between(1, 30);
        self.after(delay, Happening::To { process, event: Event::Asked { id, request } });
    }

    pub(super) fn answered(&mut self, id: u64, outcome: Result<Done, Answered>) {
        if !self.clients.asked.contains_key(&id) {
            return self.check.fail(format!("request {id} was answered twice, or after its end"));
        }
        match outcome {
            Ok(_) => self.settled(id, true, false),
            Err(Answered::Refused(_)) => self.settled(id, false, false),
            Err(Answered::Unknown) => self.settled(id, false, true),
            Err(Answered::NotLeader) => {
                let delay = self.random.between(100, 400);
                self.after(delay, Happening::Retry { id });
            }
        }
    }

    /// A process is gone: nobody knows what became of what it was asked.
    pub(super) fn drop_requests(&mut self, process: u64) {
        let asked = self.clients.asked.iter();
        let own: Vec<u64> =
            asked.filter(|(_, asked)| asked.process == process).map(|(id, _)| *id).collect();
        own.into_iter().for_each(|id| self.settled(id, false, true));
    }

    /// A request has come to its end: done, not done, or nobody knows.
    fn settled(&mut self, id: u64, done: bool, unknown: bool) {
        let Some(Request_ { name, request, .. }) = self.clients.asked.remove(&id) else { return };
        if self.now < FAULTS_MS {
            let delay = self.random.between(50, 4_000);
            self.after(delay, Happening::Client { name: name.clone() });
        }
        let Some(possible) = self.clients.possible.get_mut(&name) else { return };
        let mut after: Vec<Wish> = possible.iter().map(|wish| wished(wish, &request)).collect();
        // One that was to be deleted with its offsets is stopped first, and may stay so.
        let halfway = matches!(request, Request::Delete { offsets: true, .. }) && !done;
        if unknown || halfway {
            let stopped = possible.iter().flatten().filter(|_| halfway);
            let stopped: Vec<Wish> =
                stopped.map(|(v, _)| Some((v.clone(), Target::Stopped))).collect();
            if unknown {
                possible.append(&mut after);
            }
            possible.extend(stopped);
            possible.sort_by_key(|wish| format!("{wish:?}"));
            possible.dedup();
        } else if done {
            after.dedup();
            *possible = after;
        }
    }
}

/// What a connector is after a request.
fn wished(before: &Wish, request: &Request) -> Wish {
    let v = |config: &Given| config.props.get("v").unwrap_or_default().to_owned();
    let target = before.as_ref().map(|(_, target)| *target);
    match request {
        Request::Create { config, target, .. } => Some((v(config), *target)),
        Request::Put { config, .. } => Some((v(config), target.unwrap_or(Target::Started))),
        Request::Delete { .. } => None,
        Request::Retarget { target, .. } => before.clone().map(|(v, _)| (v, *target)),
        _ => before.clone(),
    }
}
