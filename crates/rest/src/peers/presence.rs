//! Whether the other workers of a cluster answer. That one is gone Kafka says when its session is over;
//! until then those who look at the states of tasks are told what nobody works on.
//!
//! Place: beside the routes that tell states. A worker is asked when somebody looks at what it runs, and by
//! [`watch`](super::watch) once in a while.
//!
//! Invariants: only one that has answered before can be lost, so that workers that do not reach each other
//! at all are taken at their word; who looks waits for a silent worker once, not each time.

use super::{SharedPeers, watch};
use herder::At;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Notify;

/// For so long an answer tells that a worker is there.
const FRESH: Duration = Duration::from_millis(500);
/// For so long it is known that one has answered which is no worker any more: it may come back.
const KEPT: Duration = Duration::from_secs(3_600);
/// A worker that has not answered for so long is lost. One whose machine is busy takes less.
const SILENT: Duration = Duration::from_millis(1_500);

/// What is amiss with a worker that has answered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It does not answer since then.
    Silent(SystemTime),
    /// Another start of it has answered, first seen then: what the one before ran it does not run.
    Anew(SystemTime),
    /// Its session with Kafka is over.
    Dead,
}

impl Lost {
    /// What is said of it where this is the worker.
    pub(crate) fn of(self, worker: &str) -> String {
        match self {
            Lost::Silent(_) => format!(
                "{worker} does not answer; if it is gone, its tasks go to others when its session with \
                 Kafka is over"
            ),
            Lost::Anew(_) => format!(
                "{worker} has started again; what ran there before waits until Kafka lets it in"
            ),
            Lost::Dead => format!(
                "{worker} is gone; its tasks wait for it as long as scheduled.rebalance.max.delay.ms says"
            ),
        }
    }
}

/// How the workers are that somebody has looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presences(BTreeMap<Arc<str>, (u64, Lost)>);

impl Presences {
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(seen: [(&str, u64, Lost); N]) -> Presences {
        Presences(seen.map(|(url, run, how)| (url.into(), (run, how))).into())
    }

    /// What is amiss with a start of a worker; none: nothing is known to be.
    pub(crate) fn lost(&self, at: &At) -> Option<Lost> {
        if at.dead {
            return Some(Lost::Dead);
        }
        let (answered, how) = self.0.get(&at.url)?;
        match how {
            Lost::Anew(_) => Some(*how).filter(|_| *answered > at.run),
            _ => Some(*how),
        }
    }
}

/// What is known of the other workers, by their URLs.
#[derive(Default)]
pub(super) struct Presence {
    workers: Mutex<BTreeMap<Arc<str>, Known>>,
    /// Another answer is there, or will not be.
    settled: Notify,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// Which start of it has answered last, and since when it is that one.
    reached: Option<(u64, SystemTime)>,
    /// When it was asked last, and whether that is still open.
    asked: Option<(Instant, bool)>,
    /// It does not answer since then.
    silent: Option<SystemTime>,
}

/// How the workers at these URLs are.
pub(crate) async fn of_workers(peers: &SharedPeers, urls: &BTreeSet<Arc<str>>) -> Presences {
    if urls.is_empty() {
        return Presences::default();
    }
    ask(peers, urls);
    peers.presence.wait(urls).await;
    peers.presence.of(urls)
}

/// Looks for all other workers, and forgets those that are none for long; whether one has never answered.
pub(super) async fn look(peers: &SharedPeers, urls: &BTreeSet<Arc<str>>) -> bool {
    peers.presence.forget_but(urls);
    ask(peers, urls);
    peers.presence.wait(urls).await;
    !urls.iter().all(|url| peers.presence.has_answered(url))
}

/// Asks those that have never answered; does not wait for them.
pub(super) fn meet(peers: &SharedPeers, urls: &BTreeSet<Arc<str>>) {
    let new = urls.iter().filter(|url| !peers.presence.has_answered(url));
    ask(peers, &new.cloned().collect());
}

/// Asks those that have not been asked just now; does not wait for them.
fn ask(peers: &SharedPeers, urls: &BTreeSet<Arc<str>>) {
    for url in peers.presence.due(urls) {
        let peers = peers.clone();
        tokio::spawn(async move {
            let answer = watch::ask(&peers, url.to_string(), None).await;
            let run = answer.ok().and_then(|response| peers.other(&response));
            peers.presence.with(|workers| {
                workers.get_mut(&url).into_iter().for_each(|known| known.settle(run));
            });
            peers.presence.settled.notify_waiters();
        });
    }
}

impl Known {
    fn is_due(&self, now: Instant) -> bool {
        self.asked.is_none_or(|(begun, open)| !open && now.duration_since(begun) >= FRESH)
    }

    /// Whether waiting would tell more.
    fn is_open(&self) -> bool {
        self.silent.is_none() && self.asked.is_some_and(|(_, open)| open)
    }

    /// The start of it that has answered, if one has.
    fn settle(&mut self, run: Option<u64>) {
        match run {
            Some(run) => {
                self.silent = None;
                let since = self.reached.filter(|(known, _)| *known == run);
                self.reached = since.or_else(|| Some((run, SystemTime::now())));
            }
            None => self.fall_silent(),
        }
        self.asked = self.asked.map(|(begun, _)| (begun, false));
    }

    /// It has been asked, and has not answered.
    fn fall_silent(&mut self) {
        if let (None, Some((begun, true))) = (self.silent, self.asked) {
            self.silent = Some(SystemTime::now() - begun.elapsed());
        }
    }
}

impl Presence {
    fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<Arc<str>, Known>) -> T) -> T {
        look(&mut self.workers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those of these that shall be asked now; they count as asked.
    fn due(&self, urls: &BTreeSet<Arc<str>>) -> Vec<Arc<str>> {
        let now = Instant::now();
        self.with(|workers| {
            let due = |url: &&Arc<str>| {
                let known = workers.entry((*url).clone()).or_default();
                let due = known.is_due(now);
                if due {
                    known.asked = Some((now, true));
                }
                due
            };
            urls.iter().filter(due).cloned().collect()
        })
    }

    fn forget_but(&self, urls: &BTreeSet<Arc<str>>) {
        let asked = |known: &Known| known.asked.is_some_and(|(begun, _)| begun.elapsed() < KEPT);
        self.with(|workers| workers.retain(|url, known| urls.contains(url) || asked(known)));
    }

    /// Whether a worker has answered there, now or before.
    pub(super) fn has_answered(&self, url: &str) -> bool {
        self.with(|workers| workers.get(url).is_some_and(|known| known.reached.is_some()))
    }

    /// Waits until each of these has answered, or is known not to.
    async fn wait(&self, urls: &BTreeSet<Arc<str>>) {
        let end = tokio::time::Instant::now() + SILENT;
        loop {
            let settled = self.settled.notified();
            let is_open = |workers: &mut BTreeMap<Arc<str>, Known>| {
                urls.iter().any(|url| workers.get(url).is_some_and(Known::is_open))
            };
            if !self.with(is_open) {
                return;
            }
            if tokio::time::timeout_at(end, settled).await.is_err() {
                break;
            }
        }
        self.with(|workers| {
            for url in urls {
                workers.get_mut(url).into_iter().for_each(Known::fall_silent);
            }
        });
    }

    fn of(&self, urls: &BTreeSet<Arc<str>>) -> Presences {
        self.with(|workers| {
            let how = |url: &Arc<str>| {
                let known = workers.get(url)?;
                let (run, since) = known.reached?;
                let how = known.silent.map_or(Lost::Anew(since), Lost::Silent);
                Some((url.clone(), (run, how)))
            };
            Presences(urls.iter().filter_map(how).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(names: &[&str]) -> BTreeSet<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    fn at(url: &str, run: u64) -> At {
        At { url: url.into(), run, dead: false }
    }

    /// As when an answer is there, or none will be.
    fn settle(presence: &Presence, url: &str, run: Option<u64>) {
        presence.with(|workers| workers.get_mut(url).unwrap().settle(run));
        presence.settled.notify_waiters();
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_is_lost_only_after_it_has_answered_once() {
        let presence = Presence::default();
        let both = urls(&["a", "b"]);
        assert_eq!(presence.due(&both).len(), 2);
        assert!(presence.due(&both).is_empty(), "they have been asked just now");
        settle(&presence, "a", Some(7));
        settle(&presence, "b", None);
        presence.wait(&both).await;
        let seen = presence.of(&both);
        assert_eq!((seen.lost(&at("a", 7)), seen.lost(&at("b", 7))), (None, None));
        assert!(matches!(seen.lost(&at("a", 6)), Some(Lost::Anew(_))), "the start before");
        assert_eq!(seen.lost(&at("a", 8)), None, "this one has not been asked yet");
        presence.with(|workers| workers.get_mut("a").unwrap().asked = Some((Instant::now(), true)));
        settle(&presence, "a", None);
        assert!(matches!(presence.of(&both).lost(&at("a", 8)), Some(Lost::Silent(_))));
        settle(&presence, "a", Some(7));
        assert_eq!(presence.of(&both).lost(&at("a", 7)), None);
    }

    #[test]
    fn a_worker_that_was_away_has_answered_before() {
        let presence = Presence::default();
        let both = urls(&["a", "b"]);
        presence.due(&both);
        settle(&presence, "a", Some(7));
        let long_ago = Instant::now().checked_sub(KEPT).unwrap();
        presence.with(|workers| workers.get_mut("b").unwrap().asked = Some((long_ago, false)));
        presence.forget_but(&urls(&[]));
        assert!(presence.has_answered("a"));
        presence.with(|workers| assert_eq!(workers.len(), 1, "b is none for too long"));
    }

    #[tokio::test(start_paused = true)]
    async fn who_looks_waits_once_for_a_worker_that_is_silent() {
        let presence = Presence::default();
        let one = urls(&["a"]);
        presence.due(&one);
        settle(&presence, "a", Some(7));
        presence.with(|workers| workers.get_mut("a").unwrap().asked = None);
        presence.due(&one);
        let begin = tokio::time::Instant::now();
        presence.wait(&one).await;
        assert_eq!(begin.elapsed().as_millis(), SILENT.as_millis());
        assert!(matches!(presence.of(&one).lost(&at("a", 7)), Some(Lost::Silent(_))));
        presence.wait(&one).await;
        assert_eq!(begin.elapsed().as_millis(), SILENT.as_millis(), "it is known now");
    }

    #[tokio::test]
    async fn who_waits_is_told_of_an_answer() {
        let presence = Arc::new(Presence::default());
        let one = urls(&["a"]);
        presence.due(&one);
        let (other, looked_for) = (presence.clone(), one.clone());
        let waiting = tokio::spawn(async move { other.wait(&looked_for).await });
        tokio::task::yield_now().await;
        settle(&presence, "a", Some(7));
        waiting.await.unwrap();
        assert_eq!(presence.of(&one).lost(&at("a", 7)), None);
    }
}
