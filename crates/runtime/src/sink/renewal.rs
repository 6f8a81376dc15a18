//! Secrets that change under a task: one whose login was refused starts again with the new ones.
//!
//! Place in the data path: none; a task that has failed waits here for what would help it, on the thread
//! that it had anyway.
//!
//! Invariant: what a secret was is kept as a hash alone.

use super::StopSignal;
use api::Error;
use config::Props;
use config::providers::{Providers, has_references};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// How often the secrets are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How SQLSTATEs of refused logins begin.
const LOGIN_REFUSED: &str = "28";

/// What the status of such a task says.
pub(super) const NOTICE: &str = "the login was refused: the task starts again by itself once what a \
    reference of its configuration (${provider:path:key}) stands for has changed";

/// Has whoever started the task start it once more.
pub type Again = Arc<dyn Fn() + Send + Sync>;

/// The secrets that a task was started with.
#[derive(Clone)]
pub struct Renewal {
    providers: Arc<Providers>,
    raw: Props,
    used: u64,
    again: Again,
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal").finish_non_exhaustive()
    }
}

impl Renewal {
    /// None where the configuration refers to nothing that could change.
    pub(crate) fn new(
        providers: Arc<Providers>,
        raw: &Props,
        resolved: &Props,
        again: Again,
    ) -> Option<Renewal> {
        has_references(raw).then(|| Renewal {
            providers,
            raw: raw.clone(),
            used: hash(resolved),
            again,
        })
    }

    /// Whether other secrets could help against this.
    pub(super) fn helps(error: &Error) -> bool {
        error.sqlstate.as_ref().is_some_and(|state| state.starts_with(LOGIN_REFUSED))
    }

    /// Waits for other secrets until the task is told to stop, and has it started again.
    pub(super) fn watch(&self, stop: &StopSignal) {
        while stop.mode().is_none() {
            stop.wait(LOOK);
            // A file that is being written may be half there: it is looked at again.
            let Ok(resolved) = self.providers.resolve(&self.raw) else { continue };
            if stop.mode().is_none() && hash(&resolved.props) != self.used {
                tracing::info!("the secrets are others now: the task starts again with them");
                return (self.again)();
            }
        }
    }
}

fn hash(props: &Props) -> u64 {
    let mut hasher = DefaultHasher::new();
    props.iter().for_each(|pair| pair.hash(&mut hasher));
    hasher.finish()
}
