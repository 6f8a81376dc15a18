//! The session key, with which the workers of a cluster sign what they ask of each other: when the
//! leader makes another one, and which ones are good.
//!
//! Source: KIP-507. The record is Kafka Connect's, `session-key` of the config topic.

pub use super::topics::SessionKey;
use api::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a key that was replaced is good for: those that have not read of it sign with it still.
const REPLACED_FOR: Duration = Duration::from_secs(60);
/// Before another one is made where the last one does not come to be read.
const AGAIN: Duration = Duration::from_secs(5);

/// What keys are made like: the settings `inter.worker.key.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySettings {
    /// Java's name, `HmacSHA256`.
    pub algorithm: String,
    pub bytes: usize,
    /// None: a key is not replaced for its age.
    pub ttl: Option<Duration>,
}

impl KeySettings {
    /// Whether there is to be another key than this one. `now_ms`: since the epoch.
    fn wants_another(&self, known: Option<&SessionKey>, now_ms: i64) -> bool {
        let Some(known) = known else { return true };
        let end_ms = self.ttl.map(|ttl| {
            let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
            known.created_ms.saturating_add(ttl_ms)
        });
        let is_old = end_ms.is_some_and(|end_ms| now_ms >= end_ms);
        is_old || known.algorithm != self.algorithm || known.key.len() != self.bytes
    }

    fn make(&self, now_ms: i64) -> Result<SessionKey> {
        let mut key = vec![0; self.bytes];
        aws_lc_rs::rand::fill(&mut key)
            .map_err(|_| Error::retriable("the system has no random numbers for a key"))?;
        Ok(SessionKey { key, algorithm: self.algorithm.clone(), created_ms: now_ms })
    }
}

/// The keys that are good at the moment.
#[derive(Clone, Debug, Default)]
pub struct SessionKeys {
    current: Option<Arc<SessionKey>>,
    /// The one before, and when it was replaced.
    former: Option<(Arc<SessionKey>, Instant)>,
}

impl SessionKeys {
    /// The one to sign with; none: none was read yet.
    pub fn current(&self) -> Option<&SessionKey> {
        self.current.as_deref()
    }

    /// Those by which what others signed may be checked.
    pub fn good(&self, now: Instant) -> impl Iterator<Item = &SessionKey> {
        let former = self.former.as_ref();
        let former =
            former.filter(|(_, since)| now.saturating_duration_since(*since) < REPLACED_FOR);
        self.current.as_deref().into_iter().chain(former.map(|(key, _)| &**key))
    }

    /// Takes in a key that was read.
    pub fn read(&mut self, key: SessionKey, now: Instant) {
        if self.current() != Some(&key) {
            let former = self.current.replace(Arc::new(key));
            self.former = former.map(|key| (key, now));
        }
    }
}

/// The leader's part: keys are made when they are due, and not all at once.
#[derive(Debug, Default)]
pub(super) struct KeyMaker {
    tried: Option<Instant>,
}

impl KeyMaker {
    /// A key that is to be written, where it is time for one. `now_ms`: since the epoch.
    pub(super) fn due(
        &mut self,
        settings: &KeySettings,
        keys: &SessionKeys,
        (now, now_ms): (Instant, i64),
    ) -> Option<SessionKey> {
        let waits = |tried: Instant| now.saturating_duration_since(tried) < AGAIN;
        if self.tried.is_some_and(waits) || !settings.wants_another(keys.current(), now_ms) {
            return None;
        }
        self.tried = Some(now);
        settings.make(now_ms).map_err(|error| tracing::error!("{}", error.report())).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> KeySettings {
        let ttl = Some(Duration::from_secs(3600));
        KeySettings { algorithm: "HmacSHA256".to_owned(), bytes: 32, ttl }
    }

    #[test]
    fn a_key_is_replaced_for_its_age_its_algorithm_and_its_length() {
        let settings = settings();
        let key = settings.make(1_000).unwrap();
        assert_ne!(key, settings.make(1_000).unwrap());
        let other = |algorithm: &str, bytes: usize, ttl: Option<u64>| {
            let ttl = ttl.map(Duration::from_secs);
            KeySettings { algorithm: algorithm.to_owned(), bytes, ttl }
        };
        assert!(settings.wants_another(None, 0));
        assert!(!settings.wants_another(Some(&key), 3_600_999));
        assert!(settings.wants_another(Some(&key), 3_601_000));
        assert!(!other("HmacSHA256", 32, None).wants_another(Some(&key), i64::MAX));
        assert!(other("HmacSHA256", 31, None).wants_another(Some(&key), 1_000));
        assert!(other("HmacSHA1", 32, None).wants_another(Some(&key), 1_000));
    }

    #[test]
    fn a_replaced_key_is_good_for_a_while_and_the_next_is_not_made_at_once() {
        let (settings, start) = (settings(), Instant::now());
        let (mut keys, mut maker) = (SessionKeys::default(), KeyMaker::default());
        let first = maker.due(&settings, &keys, (start, 0)).unwrap();
        assert_eq!(maker.due(&settings, &keys, (start, 0)), None, "it is being written");
        assert!(maker.due(&settings, &keys, (start + AGAIN, 0)).is_some(), "it was not");
        keys.read(first.clone(), start);
        assert_eq!(maker.due(&settings, &keys, (start + 2 * AGAIN, 0)), None);
        let second = settings.make(9).unwrap();
        keys.read(second.clone(), start);
        keys.read(second.clone(), start + AGAIN);
        let good = |after: Duration| keys.good(start + after).cloned().collect::<Vec<_>>();
        assert_eq!(good(Duration::ZERO), [second.clone(), first]);
        assert_eq!(good(REPLACED_FOR), [second]);
    }
}
