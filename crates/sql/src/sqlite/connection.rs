//! Opening a database file, and waiting for other writers.
//!
//! Place in the data path: once per task, and again after a failure that cost the connection.
//! Several tasks and processes may write one file. SQLite lets one write at a time; the others wait
//! in [`Waiting`], in short ticks, so that a stop request ends the wait.
//!
//! Double-quoted names that match no column are errors on our connections, not string literals:
//! otherwise an UPDATE by a column that was dropped would quietly match nothing.

use super::error::{Doing, classify};
use super::url::{Location, OpenMode, Synchronous};
use crate::database::{DbError, DbErrorKind, DbResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Cancelled = Arc<dyn Fn() -> bool + Send + Sync>;

/// The pause between two looks at a lock grows from this…
const TICK_FIRST: Duration = Duration::from_micros(200);
/// …to this: short enough that neither a stop nor a free lock is noticed late.
const TICK_LAST: Duration = Duration::from_millis(10);

/// Decides how long a connection waits for the file's lock.
pub(super) struct Waiting {
    cancelled: Mutex<Option<Cancelled>>,
    limit: Duration,
}

impl Waiting {
    pub(super) fn new(limit_ms: u64) -> Waiting {
        Waiting { cancelled: Mutex::new(None), limit: Duration::from_millis(limit_ms) }
    }

    pub(super) fn set_cancel(&self, cancelled: Cancelled) {
        *self.cancelled.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancelled);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).clone();
        cancelled.is_some_and(|f| f())
    }

    /// Pauses before look number `looks`; false: stop waiting.
    fn pause(&self, looks: u32, since: Instant) -> bool {
        if self.is_cancelled() || since.elapsed() >= self.limit {
            return false;
        }
        std::thread::park_timeout((TICK_FIRST * (looks + 1)).min(TICK_LAST));
        true
    }

    /// Repeats what SQLite does not wait for by itself (a change of the journal mode).
    fn retry<T>(&self, mut action: impl FnMut() -> DbResult<T>) -> DbResult<T> {
        let since = Instant::now();
        let mut looks = 0;
        loop {
            match action() {
                Err(error) if error.kind == DbErrorKind::Concurrency => {
                    if !self.pause(looks, since) {
                        return Err(self.explain(error));
                    }
                }
                done => return done,
            }
            looks += 1;
        }
    }

    /// A wait that was cut short by a stop request is `Cancelled`, not a busy file.
    pub(super) fn explain(&self, error: DbError) -> DbError {
        if error.kind == DbErrorKind::Concurrency && self.is_cancelled() {
            return DbError::new(
                DbErrorKind::Cancelled,
                "stopped while waiting for the file's lock",
            );
        }
        error
    }
}

/// Opens the file and sets the connection up.
pub(super) fn open(location: &Location, waiting: &Arc<Waiting>) -> DbResult<Connection> {
    look(&location.path, location.mode)?;
    let mut connection = Connection::open_with_flags(&location.path, flags(location.mode))
        .map_err(|e| named(location, classify(&e, Doing::Statement)))?;
    let waiter = waiting.clone();
    let mut since = Instant::now();
    let handler = move |looks: i32| {
        if looks == 0 {
            since = Instant::now();
        }
        waiter.pause(looks.unsigned_abs(), since)
    };
    connection.busy_handler(Some(handler)).map_err(|e| classify(&e, Doing::Statement))?;
    set_up(&connection, location, waiting).map_err(|e| named(location, waiting.explain(e)))?;
    Ok(connection)
}

/// Opens a file that is there, to read its catalogue. It stays as it is.
pub(super) fn open_to_read(path: &Path) -> DbResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(path, flags);
    let connection = connection.map_err(|e| classify(&e, Doing::Statement))?;
    // The first look at the file: one that is no database is found here.
    let looked = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    looked.map_err(|e| classify(&e, Doing::Statement))?;
    Ok(connection)
}

fn flags(mode: OpenMode) -> OpenFlags {
    // A connection is used by one thread at a time, so SQLite needs no mutex of its own.
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match mode {
        OpenMode::ReadOnly => common | OpenFlags::SQLITE_OPEN_READ_ONLY,
        OpenMode::ReadWrite => common | OpenFlags::SQLITE_OPEN_READ_WRITE,
        OpenMode::Create => {
            common | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
        }
    }
}

/// SQLite says "unable to open database file" whatever is wrong; this says what it is.
pub(super) fn look(path: &Path, mode: OpenMode) -> DbResult<()> {
    let shown = path.display();
    let refuse = |message: String, hint: &str| {
        Err(DbError::new(DbErrorKind::Config, message).sqlstate("58P01").hint(hint))
    };
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            return refuse(format!("{shown} is a directory"), "name a file in it");
        }
        Ok(_) => {
            return match std::fs::File::open(path) {
                Err(e) if e.kind() == ErrorKind::PermissionDenied => refuse(
                    format!("{shown} may not be read: {e}"),
                    "give the user of this process access to the file",
                ),
                _ => Ok(()),
            };
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => {
            let hint = "check the path and the permissions of its directories";
            return refuse(format!("{shown} cannot be looked at: {e}"), hint);
        }
    }
    if mode != OpenMode::Create {
        return refuse(
            format!("{shown} does not exist"),
            "create it, or leave mode out of the URL so that it is created",
        );
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let Some(parent) = parent else { return Ok(()) };
    match std::fs::metadata(parent) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => refuse(format!("{} is no directory", parent.display()), "correct the path"),
        Err(e) => refuse(
            format!("the directory {} of the database file: {e}", parent.display()),
            "create the directory, or correct the path in connection.url",
        ),
    }
}

fn set_up(connection: &Connection, location: &Location, waiting: &Waiting) -> DbResult<()> {
    let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
    for config in [DbConfig::SQLITE_DBCONFIG_DQS_DML, DbConfig::SQLITE_DBCONFIG_DQS_DDL] {
        connection.set_db_config(config, false).map_err(fail)?;
    }
    // Known since the file was opened; the looks below may already need to write beside it.
    if connection.is_readonly("main").map_err(fail)? {
        return Err(DbError::new(DbErrorKind::Config, "the database may only be read")
            .sqlstate("25006")
            .hint("give the user of this process write access to the file and its directory"));
    }
    // The first look at the file: a file that is no database, or damaged, is found here.
    let mode = waiting.retry(|| {
        connection.pragma_query_value(None, "journal_mode", |r| r.get::<_, String>(0)).map_err(fail)
    })?;
    if mode != "wal" {
        // Where the file system cannot do it, SQLite stays in the old mode and says so; that works
        // too, only slower. The change needs the file alone and does not wait by itself.
        waiting.retry(|| {
            let change = |r: &rusqlite::Row<'_>| r.get::<_, String>(0);
            connection
                .pragma_update_and_check(None, "journal_mode", "WAL", change)
                .map_err(fail)
                .map(|mode| tracing::debug!(mode, "journal mode"))
        })?;
    }
    let synchronous = match location.synchronous {
        Synchronous::Off => "OFF",
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous).map_err(fail)?;
    connection.pragma_update(None, "foreign_keys", location.foreign_keys).map_err(fail)?;
    if let Some(pages) = location.pages_max {
        let granted = |r: &rusqlite::Row<'_>| r.get::<_, i64>(0);
        connection.pragma_update_and_check(None, "max_page_count", pages, granted).map_err(fail)?;
    }
    Ok(())
}

/// Puts the file's name in front of a message about the file as a whole.
fn named(location: &Location, mut error: DbError) -> DbError {
    error.message = format!("{}: {}", location.path.display(), error.message);
    error
}

/// Begins a write transaction, waiting for other writers.
pub(super) fn begin(connection: &Connection, waiting: &Waiting) -> DbResult<()> {
    run(connection, "BEGIN IMMEDIATE").map_err(|e| waiting.explain(e))
}

/// Commits; a failed commit is rolled back, so `Err` means that nothing was stored, unless the kind is
/// `Connection`.
pub(super) fn commit(connection: &Connection, waiting: &Waiting) -> DbResult<()> {
    let done = connection.execute_batch("COMMIT");
    done.map_err(|e| waiting.explain(classify(&e, Doing::Commit)))
}

/// Ends a transaction without a trace; SQLite has done so itself after some errors.
pub(super) fn roll_back(connection: &Connection) -> DbResult<()> {
    if connection.is_autocommit() { Ok(()) } else { run(connection, "ROLLBACK") }
}

pub(super) fn run(connection: &Connection, sql: &str) -> DbResult<()> {
    connection.execute_batch(sql).map_err(|e| classify(&e, Doing::Statement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_request_ends_a_wait_as_cancelled() {
        let waiting = Waiting::new(60_000);
        waiting.set_cancel(Arc::new(|| true));
        let busy = || Err::<(), _>(DbError::new(DbErrorKind::Concurrency, "busy"));
        assert_eq!(waiting.retry(busy).unwrap_err().kind, DbErrorKind::Cancelled);
        let patient = Waiting::new(0);
        assert_eq!(patient.retry(busy).unwrap_err().kind, DbErrorKind::Concurrency);
    }
}
