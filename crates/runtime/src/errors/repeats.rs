//! What would be said again and again, summed up: the first time at once, then every [`INTERVAL`].
//!
//! A topic full of bad records would else fill the log with one thing.

use std::time::{Duration, Instant};

/// How long more of the same is only counted.
const INTERVAL: Duration = Duration::from_secs(10);

/// One thing that is said of records, at the latest when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    said_at: Option<Instant>,
    /// Records since then, and what is to be said of the first of them.
    held: Option<(u64, String)>,
}

impl Repeats {
    /// Warns of so many more records; `text` tells of the first.
    pub(crate) fn warn(&mut self, records: u64, text: impl FnOnce() -> String) {
        say(self.note(Instant::now(), records, text));
    }

    /// Says what was held back, if it is time to.
    pub(crate) fn warn_due(&mut self) {
        say(self.due(Instant::now()));
    }

    /// It happened to so many more records, and `text` tells of the first. Gives what to say now, and
    /// of how many records.
    fn note(
        &mut self,
        now: Instant,
        records: u64,
        text: impl FnOnce() -> String,
    ) -> Option<(u64, String)> {
        match &mut self.held {
            Some((held, _)) => *held += records,
            None => self.held = Some((records, text())),
        }
        self.due(now)
    }

    /// What was held back, if it is time to say it.
    fn due(&mut self, now: Instant) -> Option<(u64, String)> {
        let quiet = self.said_at.is_some_and(|at| now.saturating_duration_since(at) < INTERVAL);
        if quiet { None } else { self.rest(now) }
    }

    /// What was held back, whatever time it is.
    fn rest(&mut self, now: Instant) -> Option<(u64, String)> {
        let held = self.held.take()?;
        self.said_at = Some(now);
        Some(held)
    }
}

impl Drop for Repeats {
    fn drop(&mut self) {
        say(self.rest(Instant::now()));
    }
}

fn say(what: Option<(u64, String)>) {
    if let Some((records, text)) = what {
        tracing::warn!(records, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_said_at_once_and_more_are_summed_up() {
        let mut repeats = Repeats::default();
        let start = Instant::now();
        let mut note = |seconds: u64, records: u64| {
            let now = start + Duration::from_secs(seconds);
            repeats.note(now, records, || format!("at {seconds}"))
        };
        assert_eq!(note(0, 3), Some((3, "at 0".to_owned())));
        assert_eq!(note(1, 1), None);
        assert_eq!(note(9, 5), None);
        assert_eq!(note(10, 2), Some((8, "at 1".to_owned())));
        assert_eq!(note(11, 4), None);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(repeats.due(at(19)), None);
        assert_eq!(repeats.due(at(20)), Some((4, "at 11".to_owned())));
        assert_eq!(repeats.due(at(40)), None);
        repeats.note(at(41), 1, String::new);
        repeats.note(at(42), 1, || "last".to_owned());
        assert_eq!(repeats.rest(at(42)), Some((1, "last".to_owned())));
        assert_eq!(repeats.rest(at(42)), None);
    }
}
