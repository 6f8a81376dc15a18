//! The connection to the control schema: opened when needed and again after every failure.
//!
//! Place in the data path: one a worker, used by one thread. Nothing depends on its session: behind a
//! transaction pooler notifications do not arrive, and the poll finds what has changed.

use super::definitions::Definitions;
use super::error::{Error, ErrorKind};
use super::report::Worker;
use super::{CHANNEL, identity, read};
use sql::postgres::wire::{ConnectConfig, Connection, PgError, SessionSettings, Wait};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often everything is read where notifications arrive.
const POLL: Duration = Duration::from_secs(5);
/// And behind a pooler, where they do not.
const POLL_POOLED: Duration = Duration::from_secs(1);
const CONNECT_MAX: Duration = Duration::from_secs(30);
const STATEMENT_MAX: Duration = Duration::from_secs(30);
const LOCK_MAX: Duration = Duration::from_secs(10);

/// How to connect, and as whom to report.
#[derive(Clone)]
pub struct ControlOptions {
    /// `postgres://…` or `jdbc:postgresql://…`.
    pub database_url: String,
    /// A transaction pooler is in between: nothing is kept in the session.
    pub pooler: bool,
    /// Take a copied database for the original; see `Control::connect`.
    pub accept_database: bool,
    /// True when the worker is to stop: waits then end with `ErrorKind::Cancelled`.
    pub stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// What may have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Consumers, clusters or replays: read the definitions again and compare their version.
    pub definitions: bool,
    /// There may be messages to send.
    pub outbox: bool,
    /// There may be dead letters to try again.
    pub errors: bool,
}

impl Change {
    const ALL: Change = Change { definitions: true, outbox: true, errors: true };

    fn note(&mut self, payload: &str) {
        match payload {
            "outbox" => self.outbox = true,
            "errors" => self.errors = true,
            _ => self.definitions = true,
        }
    }
}

/// A worker's connection to the control schema.
pub struct Control {
    config: ConnectConfig,
    options: ControlOptions,
    connection: Option<Connection>,
    pub(super) worker: Option<Worker>,
    polled: Option<Instant>,
}

impl Control {
    /// Connects and checks the schema and the database.
    ///
    /// # Errors
    /// `Refused`: the URL or the credentials; `Schema`; `Copied` unless `accept_database`;
    /// `Unreachable`, after which the caller tries again.
    pub fn connect(options: ControlOptions) -> Result<Control, Error> {
        let mut config = ConnectConfig::parse(&options.database_url)?;
        if config.application_name.is_none() {
            config.application_name = Some("copycat pg".to_owned());
        }
        for notice in &config.notices {
            tracing::warn!("{notice}");
        }
        let mut control = Control { config, options, connection: None, worker: None, polled: None };
        control.with(|_, _| Ok(()))?;
        control.options.accept_database = false;
        Ok(control)
    }

    /// Everything that is to be done.
    pub fn definitions(&mut self) -> Result<Definitions, Error> {
        self.with(read::definitions)
    }

    /// Waits until something may have changed, at most for `timeout`. Every few seconds everything
    /// counts as changed, and so does it after the connection was opened again.
    pub fn wait_for_change(&mut self, timeout: Duration) -> Result<Change, Error> {
        let poll = if self.options.pooler { POLL_POOLED } else { POLL };
        let due = self.polled.and_then(|at| at.checked_add(poll));
        let left = due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            self.polled = Some(Instant::now());
            return Ok(Change::ALL);
        }
        self.with(|connection, wait| {
            let mut change = Change::default();
            let mut wait = wait.within(timeout.min(left));
            loop {
                match connection.notification(wait) {
                    Ok(notification) if notification.channel == CHANNEL => {
                        change.note(&notification.payload);
                        // What has arrived together is told together.
                        wait = wait.within(Duration::ZERO);
                    }
                    Ok(_) => {}
                    Err(PgError::Timeout(_)) => return Ok(change),
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }

    /// Runs `work` on a connection that works; it is dropped after an error that leaves it unusable.
    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Connection, Wait<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let stop = self.options.stop.clone();
        let stop = || stop();
        if !self.connection.as_mut().is_some_and(Connection::is_alive) {
            self.connection = None;
            self.polled = None;
            let wait = Wait::at_most(CONNECT_MAX).or_cancelled(&stop);
            self.connection = Some(self.open(wait)?);
        }
        let Some(connection) = self.connection.as_mut() else {
            return Err(Error::new(ErrorKind::Bug, "the connection that was opened is gone"));
        };
        let wait = Wait::at_most(STATEMENT_MAX.saturating_mul(2)).or_cancelled(&stop);
        let result = work(connection, wait);
        if connection.is_broken() || connection.in_flight() > 0 {
            self.connection = None;
        }
        result
    }

    /// Whether a transaction pooler is in between, by what was said or by what was seen.
    pub fn is_pooled(&self) -> bool {
        self.options.pooler
    }

    fn open(&mut self, wait: Wait<'_>) -> Result<Connection, Error> {
        let mut connection = Connection::connect(&self.config, wait)?;
        if !self.options.pooler && is_pooled(&mut connection, wait)? {
            tracing::info!("a connection pooler is in between: nothing is kept in its sessions");
            self.options.pooler = true;
        }
        if !self.options.pooler {
            let settings = SessionSettings {
                statement_timeout: Some(STATEMENT_MAX),
                lock_timeout: Some(LOCK_MAX),
                ..SessionSettings::default()
            };
            connection.configure(&settings, wait)?;
        }
        match identity::check(&mut connection, wait) {
            Err(error) if error.kind == ErrorKind::Copied && self.options.accept_database => {
                identity::accept(&mut connection, wait)?;
            }
            other => other?,
        }
        if !self.options.pooler {
            connection.execute(&format!("LISTEN {CHANNEL}"), wait)?;
        }
        Ok(connection)
    }
}

/// A pooler gives its clients keys of its own, because they have no session of their own to cancel.
fn is_pooled(connection: &mut Connection, wait: Wait<'_>) -> Result<bool, Error> {
    let rows = connection.query_text("SELECT pg_backend_pid()", wait)?;
    Ok(rows.parsed::<i32>(0, 0).is_some_and(|pid| pid != connection.backend_pid()))
}
