//! The only way to wait in a test: for a condition, with a deadline.

use std::{
    fmt::Debug,
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

/// Looks until `look` is `Ok` and returns that, however long it takes, as long as something moves: for
/// work whose amount, unlike a single event, takes a slow machine long.
///
/// # Panics
///
/// When what `look` gives as `Err`, how far it has come, has been the same for `patience`; the message
/// names `what` was waited for and where it stands.
#[track_caller]
pub fn progress<T, P: PartialEq + Debug>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> Result<T, P>,
) -> T {
    let mut moved = Instant::now();
    let mut last = None;
    let mut pause = LOOK_FIRST;
    loop {
        let now = match look() {
            Ok(seen) => return seen,
            Err(now) => Some(now),
        };
        if now != last {
            (moved, last) = (Instant::now(), now);
        } else if let Some(last) = &last {
            let still = moved.elapsed();
            assert!(still < patience, "{what}: nothing has moved for {patience:?} at {last:?}");
        }
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
    fn what_moves_is_waited_for_and_what_stands_still_is_told() {
        let mut steps = 0;
        let patience = Duration::from_millis(200);
        let seen = progress(patience, "ten steps", || {
            steps += 1;
            if steps == 10 { Ok(steps) } else { Err(steps) }
        });
        assert_eq!(seen, 10);
        let missed = std::panic::catch_unwind(|| {
            progress(Duration::from_millis(5), "the moon", || Err::<(), _>("on its way"));
        });
        let message = missed.expect_err("it stood still");
        let message = message.downcast_ref::<String>().expect("a formatted message");
        assert_eq!(message, "the moon: nothing has moved for 5ms at \"on its way\"");
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
