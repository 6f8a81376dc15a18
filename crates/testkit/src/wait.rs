//! The only way to wait in a test: for a condition, with a deadline.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The pause between two looks at a condition grows from this…
const LOOK_FIRST: Duration = Duration::from_millis(2);
/// …to this.
const LOOK_LAST: Duration = Duration::from_millis(50);

/// Looks until `look` returns something and returns that.
///
/// The condition is a state, not an event: it must still be seen when looked at late.
///
/// # Panics
///
/// When `deadline` has passed without it; the message names `what` was waited for.
#[track_caller]
pub fn eventually<T>(deadline: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = LOOK_FIRST;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < deadline, "{what}: not within {deadline:?}");
        nap(pause);
        pause = (pause * 2).min(LOOK_LAST);
    }
}

/// Looks until `look` is true; false if it is not within `deadline`. It is looked once at least.
pub(crate) fn look_for(deadline: Duration, mut look: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    let mut pause = LOOK_FIRST;
    loop {
        if look() {
            return true;
        }
        if start.elapsed() >= deadline {
            return false;
        }
        nap(pause);
        pause = (pause * 2).min(LOOK_LAST);
    }
}

/// Looks for the whole of `period` and panics as soon as `holds` is false: for what must *not*
/// happen, such as a record that must not be stored twice.
///
/// # Panics
///
/// When `holds` returns false; the message names `what` should have held.
#[track_caller]
pub fn holds_for(period: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < period {
        assert!(holds(), "{what}: no longer so after {:?}", start.elapsed());
        nap(LOOK_LAST);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where tests pause between looks")]
fn nap(pause: Duration) {
    thread::sleep(pause);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_what_was_seen_at_last() {
        let mut looks = 0;
        let seen = eventually(Duration::from_secs(5), "three looks", || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(seen, 3);
    }

    #[test]
    fn a_missed_deadline_names_what_was_awaited() {
        let missed = std::panic::catch_unwind(|| {
            eventually(Duration::from_millis(5), "the moon", || None::<()>);
        });
        let message = missed.expect_err("nothing was ever seen");
        let message = message.downcast_ref::<String>().expect("a formatted message");
        assert_eq!(message, "the moon: not within 5ms");
    }

    #[test]
    fn what_stops_holding_is_noticed() {
        let mut looks = 0;
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            holds_for(Duration::from_secs(5), "two looks at most", || {
                looks += 1;
                looks < 3
            });
        }));
        assert!(broken.is_err());
    }
}
