//! What a worker waits for: told in its log when it begins, becomes another, and is over; and by its health
//! while it has not begun.

use api::Error;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What something waits for, by what waits. Shared by the driver's threads; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waits: Mutex<BTreeMap<&'static str, String>>,
    changed: AtomicBool,
}

impl Waits {
    /// Says why something does not work, or that it does.
    pub(super) fn tell(&self, what: &'static str, why: Option<&Error>) {
        let why = why.map(|error| steady(&error.report()));
        if !self.note(what, why.clone()) {
            return;
        }
        match why {
            Some(why) => tracing::warn!("{what}: {why}"),
            None => tracing::info!("{what}: works again"),
        }
    }

    /// The same for what is told by somebody else; whether it is news.
    pub(super) fn note(&self, what: &'static str, why: Option<String>) -> bool {
        let mut waits = self.0.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = match why {
            None => waits.remove(what).is_some(),
            Some(why) => waits.insert(what, why.clone()) != Some(why),
        };
        self.0.changed.fetch_or(is_news, Ordering::AcqRel);
        is_news
    }

    /// Whether there was news since this was last asked.
    pub(super) fn take_changed(&self) -> bool {
        self.0.changed.swap(false, Ordering::AcqRel)
    }

    /// Everything that is waited for, in one text.
    pub(super) fn text(&self) -> Option<String> {
        let waits = self.0.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let texts: Vec<String> = waits.iter().map(|(what, why)| format!("{what}: {why}")).collect();
        Some(texts.join("; ")).filter(|text| !text.is_empty())
    }
}

/// A text without how long something took, by which the same would be another one each time.
fn steady(text: &str) -> String {
    const AFTER: &str = " (after ";
    let mut pieces = text.split(AFTER);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |told, piece| match piece.split_once(')') {
        Some((_, rest)) => told + rest,
        None => told + AFTER + piece,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_it_took_is_no_news() {
        assert_eq!(steady("no (after 7 ms) (NO): x (after 79 ms)"), "no (NO): x");
        assert_eq!(steady("no (after all"), "no (after all");
    }

    #[test]
    fn only_what_changes_is_news() {
        let waits = Waits::default();
        assert!(!waits.note("a", None));
        assert!(waits.note("a", Some("slow".to_owned())));
        assert!(!waits.note("a", Some("slow".to_owned())));
        assert!(waits.note("a", Some("gone".to_owned())));
        waits.note("b", Some("no".to_owned()));
        assert_eq!(waits.text().as_deref(), Some("a: gone; b: no"));
        assert!(waits.note("a", None) && waits.note("b", None));
        assert_eq!(waits.text(), None);
        assert!(waits.take_changed() && !waits.take_changed());
    }
}
