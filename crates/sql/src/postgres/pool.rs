//! A few sessions that many sinks share.
//!
//! Place in the data path: a sink borrows a session when it has something to write or to ask, and
//! gives it back when nothing of its own is in flight. Whoever waits is served in the order of asking,
//! except that nobody has more sessions than its limit: one destination that hangs until its time
//! limits end it holds no more than that of the pool.
//!
//! Invariants: a session in the pool is idle, with no answer due and in no transaction; there are
//! never more than `sessions_max`; nothing is opened or closed under the lock.

use super::consumer;
use super::session::{Cancel, Session};
use super::settings::PgSettings;
use crate::config::{DatabaseSettings, Pooler};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::recover::api_error;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A wait for a session looks so often whether the task is to stop.
const TICK: Duration = Duration::from_millis(100);
/// After a failure to connect others are told of it for so long, instead of trying one by one.
const FAILURE_KEPT: Duration = Duration::from_secs(1);

/// Settings of a pool.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The database and the time limits of sessions. Tables of positions and of dead letters, and
    /// the owner, are not looked at.
    pub database: DatabaseSettings,
    /// Sessions at most; at least 1.
    pub sessions_max: usize,
    /// How long a session nobody uses stays open; see [`SessionPool::close_idle`].
    pub idle_timeout: Duration,
    /// The worker's id, a UUID, noted with the positions that are claimed.
    pub worker: Option<String>,
}

impl PoolSettings {
    pub const SESSIONS_MAX: usize = 8;
    pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

    /// Every default, for the database of this URL.
    pub fn new(url: &str) -> PoolSettings {
        PoolSettings {
            database: DatabaseSettings::new(url, ""),
            sessions_max: Self::SESSIONS_MAX,
            idle_timeout: Self::IDLE_TIMEOUT,
            worker: None,
        }
    }
}

/// Sessions with one database, shared by the sinks that [`super::consumer_sink`] makes.
pub struct SessionPool {
    shared: Arc<Shared>,
}

struct Shared {
    settings: PgSettings,
    sessions_max: usize,
    idle_timeout: Duration,
    worker: Option<String>,
    statements: consumer::PoolStatements,
    state: Mutex<State>,
    returned: Condvar,
}

struct State {
    idle: Vec<Idle>,
    /// Sessions that are open or being opened, idle ones included.
    open: usize,
    queue: VecDeque<Waiter>,
    /// Sessions in use, by whom they are counted against.
    in_use: HashMap<i32, usize>,
    tenants: usize,
    next: u64,
    named: bool,
    failed: Option<(Instant, DbError)>,
}

struct Idle {
    session: Session,
    since: Instant,
    /// Whose statements it knows.
    tenant: u64,
}

#[derive(Clone, Copy)]
struct Waiter {
    ticket: u64,
    key: i32,
    limit: usize,
}

impl std::fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionPool")
            .field("server", &self.shared.settings.connect.to_string())
            .finish_non_exhaustive()
    }
}

impl SessionPool {
    /// Does not connect yet.
    ///
    /// # Errors
    /// `Config`: the URL cannot be used.
    pub fn new(settings: PoolSettings) -> api::Result<Arc<SessionPool>> {
        let named = settings.database.pooler == Pooler::None;
        let shared = Shared {
            settings: PgSettings::new(settings.database).map_err(api_error)?,
            sessions_max: settings.sessions_max.max(1),
            idle_timeout: settings.idle_timeout,
            worker: settings.worker,
            statements: consumer::PoolStatements::default(),
            state: Mutex::new(State {
                idle: Vec::new(),
                open: 0,
                queue: VecDeque::new(),
                in_use: HashMap::new(),
                tenants: 0,
                next: 0,
                named,
                failed: None,
            }),
            returned: Condvar::new(),
        };
        Ok(Arc::new(SessionPool { shared: Arc::new(shared) }))
    }

    /// Closes sessions that nobody has used for the idle timeout. To be called now and then: an idle
    /// pool does nothing by itself.
    pub fn close_idle(&self) {
        let limit = self.shared.idle_timeout;
        let old: Vec<Idle> = {
            let mut state = self.shared.lock();
            state.idle.extract_if(.., |idle| idle.since.elapsed() >= limit).collect()
        };
        // Closing may wait for the socket: not under the lock.
        drop(old);
    }

    /// Sessions that are open, idle ones included.
    pub fn sessions_open(&self) -> usize {
        self.shared.lock().open
    }

    pub(super) fn settings(&self) -> &PgSettings {
        &self.shared.settings
    }

    pub(super) fn worker(&self) -> Option<&str> {
        self.shared.worker.as_deref()
    }

    pub(super) fn statements(&self) -> &consumer::PoolStatements {
        &self.shared.statements
    }

    /// Statements may have names: no transaction pooler has shown itself.
    pub(super) fn named(&self) -> bool {
        self.shared.lock().named
    }

    /// A user of the pool, whose sessions are counted against `key` and at most `limit` at once.
    pub(super) fn tenant(&self, key: i32, limit: usize) -> Tenant {
        let mut state = self.shared.lock();
        state.tenants += 1;
        let id = state.ticket();
        Tenant { shared: self.shared.clone(), id, key, limit: limit.max(1) }
    }
}

impl State {
    fn ticket(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whether a waiter is the first that may have a session.
    fn is_next(&self, ticket: u64) -> bool {
        let may = |w: &&Waiter| self.in_use.get(&w.key).is_none_or(|used| *used < w.limit);
        self.queue.iter().find(may).is_some_and(|first| first.ticket == ticket)
    }

    fn leave(&mut self, ticket: u64) {
        self.queue.retain(|w| w.ticket != ticket);
    }

    fn release(&mut self, key: i32) {
        if let Some(used) = self.in_use.get_mut(&key) {
            *used = used.saturating_sub(1);
            if *used == 0 {
                self.in_use.remove(&key);
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What a panic left is still counted right: nothing in here panics midway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One user of a pool.
pub(super) struct Tenant {
    shared: Arc<Shared>,
    id: u64,
    key: i32,
    limit: usize,
}

impl Drop for Tenant {
    fn drop(&mut self) {
        self.shared.lock().tenants -= 1;
    }
}

/// What a waiter is given: a session, or the right to open one.
struct Turn {
    idle: Option<Session>,
    named: bool,
}

impl Tenant {
    /// Others may want the session: nothing is to stay in flight between two calls.
    pub(super) fn shares(&self) -> bool {
        let state = self.shared.lock();
        state.tenants > self.shared.sessions_max || !state.queue.is_empty()
    }

    /// A session, when it is our turn.
    ///
    /// # Errors
    /// `Cancelled`; those of connecting.
    pub(super) fn borrow(&self, cancel: &Cancel) -> DbResult<Session> {
        loop {
            let turn = self.turn(cancel)?;
            let Some(mut session) = turn.idle else { return self.open(turn.named, cancel) };
            if session.is_alive() {
                session.cancel = cancel.clone();
                return Ok(session);
            }
            // Dropped: its permit lets the next one in.
        }
    }

    fn turn(&self, cancel: &Cancel) -> DbResult<Turn> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        let ticket = state.ticket();
        state.queue.push_back(Waiter { ticket, key: self.key, limit: self.limit });
        loop {
            if cancel() {
                state.leave(ticket);
                shared.returned.notify_all();
                return Err(DbError::new(DbErrorKind::Cancelled, "stopped while waiting"));
            }
            let room = !state.idle.is_empty() || state.open < shared.sessions_max;
            if room && state.is_next(ticket) {
                state.leave(ticket);
                shared.returned.notify_all();
                return self.serve(&mut state);
            }
            let waited = shared.returned.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn serve(&self, state: &mut State) -> DbResult<Turn> {
        // The one that knows our statements, else the one used last: the others may grow old.
        let ours = state.idle.iter().rposition(|idle| idle.tenant == self.id);
        let at = ours.or(state.idle.len().checked_sub(1));
        if let Some(at) = at {
            *state.in_use.entry(self.key).or_default() += 1;
            let mut session = state.idle.remove(at).session;
            if let Some(permit) = &mut session.permit {
                permit.key = Some(self.key);
            }
            return Ok(Turn { idle: Some(session), named: state.named });
        }
        if let Some((when, error)) = &state.failed
            && when.elapsed() < FAILURE_KEPT
        {
            return Err(error.clone());
        }
        state.open += 1;
        *state.in_use.entry(self.key).or_default() += 1;
        Ok(Turn { idle: None, named: state.named })
    }

    fn open(&self, named: bool, cancel: &Cancel) -> DbResult<Session> {
        let permit = Permit { shared: Arc::downgrade(&self.shared), key: Some(self.key) };
        let opened = Session::open(&self.shared.settings, named, cancel).and_then(|mut session| {
            consumer::ensure(&mut session)?;
            Ok(session)
        });
        let mut state = self.shared.lock();
        match opened {
            Ok(mut session) => {
                state.failed = None;
                drop(state);
                session.permit = Some(permit);
                Ok(session)
            }
            Err(error) => {
                if error.kind != DbErrorKind::Cancelled {
                    state.failed = Some((Instant::now(), error.clone()));
                }
                drop(state);
                drop(permit);
                Err(error)
            }
        }
    }

    /// Gives a session back; one that is in the middle of something is closed.
    pub(super) fn give_back(&self, mut session: Session) {
        if !session.is_usable() {
            return;
        }
        session.cancel = Arc::new(|| false);
        let mut state = self.shared.lock();
        if session.statements.named() && !state.named {
            // A pooler has shown itself since it was opened.
            drop(state);
            return;
        }
        // What a session in the pool counts for is its place alone.
        if let Some(permit) = &mut session.permit
            && let Some(key) = permit.key.take()
        {
            state.release(key);
        }
        state.idle.push(Idle { session, since: Instant::now(), tenant: self.id });
        drop(state);
        self.shared.returned.notify_all();
    }

    /// A pooler has shown itself: no statement has a name from now on.
    pub(super) fn unname(&self) {
        let old = {
            let mut state = self.shared.lock();
            state.named = false;
            std::mem::take(&mut state.idle)
        };
        drop(old);
    }
}

/// The right to a session; whoever drops the session makes room for another.
pub(super) struct Permit {
    shared: Weak<Shared>,
    /// Whom it is counted against, while it is in use.
    key: Option<i32>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut state = shared.lock();
        state.open = state.open.saturating_sub(1);
        if let Some(key) = self.key {
            state.release(key);
        }
        drop(state);
        shared.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(in_use: &[(i32, usize)], queue: &[(u64, i32, usize)]) -> State {
        let waiter = |(ticket, key, limit): &(u64, i32, usize)| Waiter {
            ticket: *ticket,
            key: *key,
            limit: *limit,
        };
        State {
            idle: Vec::new(),
            open: 0,
            queue: queue.iter().map(waiter).collect(),
            in_use: in_use.iter().copied().collect(),
            tenants: 0,
            next: 0,
            named: true,
            failed: None,
        }
    }

    #[test]
    fn who_waits_longest_is_next_unless_its_limit_is_reached() {
        let mut state = state(&[(1, 2)], &[(10, 1, 2), (11, 2, 1), (12, 1, 3)]);
        let next = |state: &State| [10, 11, 12].map(|ticket| state.is_next(ticket));
        assert_eq!(next(&state), [false, true, false]);
        state.leave(11);
        assert_eq!(next(&state), [false, false, true], "another limit of the same key");
        state.release(1);
        assert_eq!(next(&state), [true, false, false]);
        state.release(1);
        assert!(state.in_use.is_empty(), "nothing is kept of those that use nothing");
    }
}
