//! Somebody who makes, alters, pauses, stops, restarts and deletes connectors through any worker, whatever
//! happens to it, and remembers what was acknowledged: each connector has to be what it was made.

use crate::distributed_truth::{Asked, Moment, now};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testkit::Rng;
use testkit::process::{Answer, request};

/// How many connectors there may be.
const NAMES: usize = 5;
/// A request whose outcome nobody knows may still be on its way for so long.
const LATE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(100);

/// What a connector is known to be; none: there is no such connector.
type Known = Option<Connector>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connector {
    /// Another one with every configuration.
    pub(crate) seed: u64,
    pub(crate) tasks: usize,
    /// STARTED's word is RUNNING.
    pub(crate) state: &'static str,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
enum Wish {
    Create { seed: u64, tasks: usize },
    Put { seed: u64, tasks: usize },
    Target { verb: &'static str, state: &'static str },
    Restart,
    Delete,
}

/// One name, and everything that its connector may be by now.
#[derive(Debug)]
struct Name {
    name: String,
    may_be: Vec<Known>,
    /// Nothing is asked before this.
    rests_until: Instant,
    /// What was asked and answered, for people.
    story: Vec<String>,
    /// When something was asked that may have changed it.
    asked: Vec<Asked>,
}

/// How many requests there were, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    pub(crate) unknown: u64,
}

/// What each connector may be in the end, by name, with its story.
pub(crate) type Outcomes = BTreeMap<String, (Vec<Known>, Vec<String>)>;

/// What has become of everything that was asked.
pub(crate) struct Ended {
    pub(crate) outcomes: Outcomes,
    pub(crate) tally: Tally,
    pub(crate) asked: Vec<Asked>,
}

/// The one who asks, on a thread of its own.
pub(crate) struct Churn {
    over: Arc<AtomicBool>,
    tally: Arc<Mutex<Tally>>,
    thread: Option<JoinHandle<Vec<Name>>>,
}

impl Churn {
    /// Asks the workers at these addresses for connectors that write to a topic each.
    pub(crate) fn start(mut rng: Rng, prefix: &str, addresses: Vec<String>) -> Churn {
        let (over, tally) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Tally>>::default());
        let (ended, counts) = (over.clone(), Arc::clone(&tally));
        let mut names: Vec<Name> = (0..NAMES)
            .map(|n| Name {
                name: format!("{prefix}-{n}"),
                may_be: vec![None],
                rests_until: Instant::now(),
                story: Vec::new(),
                asked: Vec::new(),
            })
            .collect();
        let thread = std::thread::spawn(move || {
            let mut seed = 0;
            while !ended.load(Ordering::Acquire) {
                let name = &mut names[usize::try_from(rng.below(NAMES as u64)).expect("small")];
                if name.rests_until <= Instant::now() {
                    seed += 1;
                    let wish = wish(&mut rng, name, seed);
                    let address = rng.pick(&addresses).clone();
                    let outcome = name.ask(&address, wish);
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    match outcome {
                        Some(true) => counts.acknowledged += 1,
                        Some(false) => counts.refused += 1,
                        None => counts.unknown += 1,
                    }
                }
                std::thread::park_timeout(PAUSE);
            }
            names
        });
        Churn { over, tally, thread: Some(thread) }
    }

    /// Ends it.
    pub(crate) fn finish(mut self) -> Ended {
        self.over.store(true, Ordering::Release);
        let thread = self.thread.take().expect("it is finished once");
        let mut names = match thread.join() {
            Ok(names) => names,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let asked = names.iter_mut().flat_map(|name| std::mem::take(&mut name.asked)).collect();
        let outcomes = names.into_iter().map(|name| (name.name, (name.may_be, name.story)));
        let tally = *self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        Ended { outcomes: outcomes.collect(), tally, asked }
    }

    /// Whether it has found something wrong.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

fn wish(rng: &mut Rng, name: &Name, seed: u64) -> Wish {
    let tasks = usize::try_from(rng.range(1, 4)).expect("small");
    let there = name.may_be.iter().any(Option::is_some);
    match rng.below(if there { 12 } else { 3 }) {
        0 => Wish::Create { seed, tasks },
        1..=4 => Wish::Put { seed, tasks },
        5 => Wish::Target { verb: "pause", state: "PAUSED" },
        6 | 7 => Wish::Target { verb: "resume", state: "RUNNING" },
        8 => Wish::Target { verb: "stop", state: "STOPPED" },
        9 | 10 => Wish::Restart,
        _ => Wish::Delete,
    }
}

fn config(name: &str, seed: u64, tasks: usize) -> Value {
    json!({
        "connector.class": "datagen", "topic": name, "shape": "orders", "rate": "5",
        "seed": seed.to_string(), "tasks.max": tasks.to_string(),
    })
}

impl Name {
    /// Asks, and takes in what is known then: whether it was acknowledged or refused.
    fn ask(&mut self, address: &str, wish: Wish) -> Option<bool> {
        let path = format!("/connectors/{}", self.name);
        let name = self.name.as_str();
        let (method, path, body) = match wish {
            Wish::Create { seed, tasks } => {
                let body = json!({ "name": name, "config": config(name, seed, tasks) });
                ("POST", "/connectors".to_owned(), Some(body))
            }
            Wish::Put { seed, tasks } => {
                ("PUT", format!("{path}/config"), Some(config(name, seed, tasks)))
            }
            Wish::Target { verb, .. } => ("PUT", format!("{path}/{verb}"), None),
            Wish::Restart => ("POST", format!("{path}/restart?includeTasks=true"), None),
            Wish::Delete => ("DELETE", path, None),
        };
        let body = body.map(|body| body.to_string());
        let from = now();
        let answer = request(address, method, &path, body.as_deref());
        let told = match &answer {
            Ok(answer) => format!("{} {}", answer.status, answer.body),
            Err(error) => error.to_string(),
        };
        self.story.push(format!("{:?} {address} {wish:?}: {told}", Instant::now()));
        let outcome = self.learn(wish, answer.ok().as_ref());
        if outcome != Some(false) {
            // Nobody knows when it is done, or whether, where there was no answer.
            let late = if outcome.is_none() { LATE.as_micros() as Moment } else { 0 };
            let connector = self.name.clone();
            self.asked.push(Asked { connector, from, until: now() + late });
        }
        outcome
    }

    fn learn(&mut self, wish: Wish, answer: Option<&Answer>) -> Option<bool> {
        let before = std::mem::take(&mut self.may_be);
        let after = || before.iter().filter_map(|known| done(known, wish));
        let status = answer.map_or(0, |answer| answer.status);
        let (known, outcome): (Vec<Known>, _) = match status {
            // Which of the two it was tells what there was before.
            201 => {
                let fresh = before.iter().filter(|known| known.is_none());
                (fresh.filter_map(|known| done(known, wish)).collect(), Some(true))
            }
            200 => {
                let there = before.iter().filter(|known| known.is_some());
                (there.filter_map(|known| done(known, wish)).collect(), Some(true))
            }
            202 | 204 => (after().collect(), Some(true)),
            404 => (before.iter().filter(|known| known.is_none()).cloned().collect(), Some(false)),
            // Nobody is told to come back later because something moves.
            409 if matches!(wish, Wish::Create { .. }) => {
                (before.iter().filter(|known| known.is_some()).cloned().collect(), Some(false))
            }
            0 | 500.. => {
                self.rests_until = Instant::now() + LATE;
                (before.iter().cloned().chain(after()).collect(), None)
            }
            _ => (Vec::new(), None),
        };
        assert!(
            !known.is_empty(),
            "{} was not what it was made; it could be {before:?}; {:#?}",
            self.name,
            self.story
        );
        for one in known {
            if !self.may_be.contains(&one) {
                self.may_be.push(one);
            }
        }
        outcome
    }
}

/// What a wish makes of a connector, if it can be done.
fn done(known: &Known, wish: Wish) -> Option<Known> {
    Some(match (wish, known) {
        (Wish::Create { .. }, Some(_)) => return None,
        (Wish::Create { seed, tasks } | Wish::Put { seed, tasks }, known) => {
            let state = known.as_ref().map_or("RUNNING", |known| known.state);
            Some(Connector { seed, tasks, state })
        }
        (_, None) => return None,
        (Wish::Target { state, .. }, Some(known)) => Some(Connector { state, ..known.clone() }),
        (Wish::Restart, known) => known.clone(),
        (Wish::Delete, _) => None,
    })
}
