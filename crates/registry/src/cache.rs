//! What is known, for the whole process: each thing is asked for once, however many want it.
//!
//! Invariants: while one caller asks, the others wait for its answer, errors included; no lock is held
//! while something is asked; entries have limits in number and, where they may change, in time.

use crate::bounds::Bounds;
use api::{Error, ErrorKind, Result, SCHEMA_LOOKUPS};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All entries of a cache, whatever groups they belong to.
const ENTRIES_MAX: usize = 20_000;

/// How often one who waits looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    ForGood,
    For(Duration),
}

/// Answers by key. `G` groups keys: a group has a limit of its own.
pub(crate) struct Cache<K, V> {
    entries: Mutex<Entries<K, V>>,
    group_max: usize,
    same_group: fn(&K, &K) -> bool,
}

struct Entries<K, V> {
    map: HashMap<K, Entry<V>>,
    /// Counts uses, to tell which entry was used longest ago.
    uses: u64,
}

enum Entry<V> {
    Known { value: V, until: Option<Instant>, used: u64 },
    Asked(Arc<Flight<V>>),
}

/// A question that is on its way.
struct Flight<V> {
    answer: Mutex<Option<Result<V, Failure>>>,
    arrived: Condvar,
}

/// An error that several callers get.
#[derive(Clone)]
struct Failure {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        Failure { kind: error.kind, message: error.message.clone(), hint: error.hint.clone() }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let mut error = Error::new(failure.kind, failure.message);
        error.hint = failure.hint;
        error
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// Keeps so many entries of a group.
    pub(crate) fn new(group_max: usize, same_group: fn(&K, &K) -> bool) -> Cache<K, V> {
        let entries = Mutex::new(Entries { map: HashMap::new(), uses: 0 });
        Cache { entries, group_max: group_max.max(1), same_group }
    }

    /// What is known now.
    pub(crate) fn peek(&self, key: &K) -> Option<V> {
        lock(&self.entries).known(key)
    }

    /// What is known, or what `ask` answers; it is asked once for all who want it meanwhile.
    /// Whoever waits for another's answer ends when its own bounds say so, and asks itself where the
    /// other was stopped.
    pub(crate) fn get_or(
        &self,
        key: &K,
        bounds: &Bounds,
        ask: impl FnOnce() -> Result<(V, Holds)>,
    ) -> Result<V> {
        let flight = loop {
            let mut entries = lock(&self.entries);
            if let Some(value) = entries.known(key) {
                SCHEMA_LOOKUPS.known();
                return Ok(value);
            }
            let Some(Entry::Asked(flight)) = entries.map.get(key) else {
                let flight = Arc::new(Flight { answer: Mutex::new(None), arrived: Condvar::new() });
                entries.map.insert(key.clone(), Entry::Asked(flight.clone()));
                break flight;
            };
            let flight = flight.clone();
            drop(entries);
            match flight.wait(bounds)? {
                Err(failure) if failure.kind == ErrorKind::Cancelled => {}
                answer => return answer.map_err(Error::from),
            }
        };
        let landing = Landing { cache: self, key, flight };
        match ask() {
            Ok((value, holds)) => {
                landing.keep(value.clone(), holds);
                Ok(value)
            }
            Err(error) => {
                landing.fail(&error);
                Err(error)
            }
        }
    }

    /// Puts an answer in that came otherwise.
    pub(crate) fn put(&self, key: K, value: V) {
        self.insert(&mut lock(&self.entries), key, value, Holds::ForGood);
    }

    fn insert(&self, entries: &mut Entries<K, V>, key: K, value: V, holds: Holds) {
        let until = match holds {
            Holds::ForGood => None,
            Holds::For(Duration::ZERO) => {
                entries.map.remove(&key);
                return;
            }
            Holds::For(time) => Instant::now().checked_add(time),
        };
        entries.map.remove(&key);
        let in_group = entries.map.keys().filter(|other| (self.same_group)(other, &key)).count();
        if in_group >= self.group_max {
            entries.drop_oldest(|other| (self.same_group)(other, &key));
        } else if entries.map.len() >= ENTRIES_MAX {
            entries.drop_oldest(|_| true);
        }
        entries.uses += 1;
        let used = entries.uses;
        entries.map.insert(key, Entry::Known { value, until, used });
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Entries<K, V> {
    fn known(&mut self, key: &K) -> Option<V> {
        self.uses += 1;
        let uses = self.uses;
        let Some(Entry::Known { value, until, used }) = self.map.get_mut(key) else { return None };
        if until.is_some_and(|until| until <= Instant::now()) {
            self.map.remove(key);
            return None;
        }
        *used = uses;
        Some(value.clone())
    }

    fn drop_oldest(&mut self, of: impl Fn(&K) -> bool) {
        let known = self.map.iter().filter_map(|(key, entry)| match entry {
            Entry::Known { used, .. } if of(key) => Some((*used, key)),
            _ => None,
        });
        let oldest = known.min_by_key(|(used, _)| *used).map(|(_, key)| key.clone());
        if let Some(key) = oldest {
            self.map.remove(&key);
        }
    }
}

impl<V: Clone> Flight<V> {
    /// Ends when the one who asks has an answer, whose requests have time limits.
    fn wait(&self, bounds: &Bounds) -> Result<Result<V, Failure>> {
        let mut answer = lock(&self.answer);
        loop {
            if let Some(answer) = &*answer {
                return Ok(answer.clone());
            }
            bounds.check()?;
            let waited = self.arrived.wait_timeout(answer, LOOK_EVERY);
            answer = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn land(&self, answer: Result<V, Failure>) {
        *lock(&self.answer) = Some(answer);
        self.arrived.notify_all();
    }
}

/// Ends a flight in any case, also when the one who asks panics.
struct Landing<'a, K: Eq + Hash + Clone, V: Clone> {
    cache: &'a Cache<K, V>,
    key: &'a K,
    flight: Arc<Flight<V>>,
}

impl<K: Eq + Hash + Clone, V: Clone> Landing<'_, K, V> {
    fn keep(&self, value: V, holds: Holds) {
        self.cache.insert(&mut lock(&self.cache.entries), self.key.clone(), value.clone(), holds);
        self.flight.land(Ok(value));
    }

    fn fail(&self, error: &Error) {
        lock(&self.cache.entries).map.remove(self.key);
        self.flight.land(Err(error.into()));
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Drop for Landing<'_, K, V> {
    fn drop(&mut self) {
        if lock(&self.flight.answer).is_none() {
            self.fail(&Error::bug("a look-up in the Schema Registry broke off"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};

    const DEADLINE: Duration = Duration::from_secs(30);

    fn ungrouped() -> Cache<u32, u32> {
        Cache::new(3, |_, _| true)
    }

    #[test]
    fn all_who_want_it_meanwhile_get_one_answer() {
        for fails in [false, true] {
            let (cache, asked) = (ungrouped(), AtomicU32::new(0));
            let begun = Barrier::new(8);
            let answers: Vec<_> = std::thread::scope(|scope| {
                let ask = || {
                    begun.wait();
                    cache.get_or(&1, &Bounds::default(), || {
                        asked.fetch_add(1, Ordering::SeqCst);
                        // Until the others wait for this answer.
                        testkit::eventually(DEADLINE, "seven waiters", || {
                            let entries = lock(&cache.entries);
                            let Some(Entry::Asked(flight)) = entries.map.get(&1) else {
                                return None;
                            };
                            (Arc::strong_count(flight) == 9).then_some(())
                        });
                        if fails {
                            Err(Error::retriable("away").hint("wait"))
                        } else {
                            Ok((7, Holds::ForGood))
                        }
                    })
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(asked.load(Ordering::SeqCst), 1);
            for answer in answers {
                match answer {
                    Ok(value) => assert_eq!((value, fails), (7, false)),
                    Err(error) => {
                        assert_eq!(error.kind, ErrorKind::Retriable);
                        assert_eq!((error.hint.as_deref(), fails), (Some("wait"), true));
                    }
                }
            }
            assert_eq!(cache.peek(&1), (!fails).then_some(7), "errors are not kept");
        }
    }

    #[test]
    fn one_who_breaks_off_leaves_nobody_waiting() {
        let cache = ungrouped();
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            cache.get_or(&1, &Bounds::default(), || panic!("on purpose"))
        }));
        assert!(broken.is_err());
        assert_eq!(cache.get_or(&1, &Bounds::default(), || Ok((1, Holds::ForGood))).unwrap(), 1);
    }

    #[test]
    fn one_that_is_stopped_stops_nobody_else() {
        let cache = ungrouped();
        let (stop, both) = (std::sync::atomic::AtomicBool::new(false), Barrier::new(2));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                cache.get_or(&1, &Bounds::default(), || {
                    both.wait();
                    testkit::eventually(DEADLINE, "a stop", || {
                        stop.load(Ordering::SeqCst).then_some(())
                    });
                    Err(Error::cancelled())
                })
            });
            both.wait();
            let bounds = Bounds { deadline: Some(Instant::now()), ..Bounds::default() };
            let late = cache.get_or(&1, &bounds, || Ok((1, Holds::ForGood)));
            assert_eq!(late.unwrap_err().kind, ErrorKind::Cancelled, "its own time is over");
            let second =
                scope.spawn(|| cache.get_or(&1, &Bounds::default(), || Ok((2, Holds::ForGood))));
            stop.store(true, Ordering::SeqCst);
            assert_eq!(first.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
            assert_eq!(second.join().unwrap().unwrap(), 2);
        });
    }

    #[test]
    fn the_entry_used_longest_ago_makes_room_in_its_group() {
        let cache: Cache<(u8, u32), u32> = Cache::new(2, |a, b| a.0 == b.0);
        for key in [(0, 0), (0, 1), (1, 0)] {
            cache.put(key, key.1);
        }
        assert!(cache.peek(&(0, 0)).is_some());
        cache.put((0, 2), 2);
        let known = [(0, 0), (0, 1), (0, 2), (1, 0)].map(|key| cache.peek(&key).is_some());
        assert_eq!(known, [true, false, true, true]);
    }

    #[test]
    fn what_holds_for_a_time_is_asked_for_again_after_it() {
        let cache = ungrouped();
        let long = Holds::For(Duration::from_secs(3600));
        cache.get_or(&1, &Bounds::default(), || Ok((1, long))).unwrap();
        assert_eq!(cache.get_or(&1, &Bounds::default(), || Ok((2, long))).unwrap(), 1);
        cache.get_or(&2, &Bounds::default(), || Ok((1, Holds::For(Duration::ZERO)))).unwrap();
        assert_eq!(cache.get_or(&2, &Bounds::default(), || Ok((2, long))).unwrap(), 2);
        cache
            .get_or(&3, &Bounds::default(), || Ok((1, Holds::For(Duration::from_millis(1)))))
            .unwrap();
        testkit::eventually(DEADLINE, "an answer that has run out", || {
            cache.peek(&3).is_none().then_some(())
        });
    }
}
