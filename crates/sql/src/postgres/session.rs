//! One connection, its settings and its prepared statements.
//!
//! Place in the data path: under everything that talks to the server. Waits end with `Cancelled`
//! soon after the task was told to stop, and with `Connection` where the server says nothing for
//! longer than its own time limits allow.

use super::errors::{convert, convert_connect, ends_session};
use super::pool::Permit;
use super::settings::PgSettings;
use super::statements::Statements;
use super::wire::{
    Connection, Format, Param, PgError, Pipeline, Reply, Rows, SessionSettings, TransactionStatus,
    Wait,
};
use crate::database::{DbError, DbErrorKind, DbResult};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// True when the task is to stop.
pub(super) type Cancel = Arc<dyn Fn() -> bool + Send + Sync>;

/// Connecting takes no longer than this, whatever the URL says about a single address.
const CONNECT_MAX: Duration = Duration::from_secs(120);

pub(super) struct Session {
    connection: Connection,
    pub(super) statements: Statements,
    pub(super) cancel: Cancel,
    /// Longest silence of a server that is still believed to work. `None`: for ever.
    patience: Option<Duration>,
    /// Sets the time limits for one transaction; behind a pooler only.
    local: Option<Arc<str>>,
    /// The buffer of whoever uses a session of a pool.
    pub(super) spare: Pipeline,
    /// Its place among the sessions of a pool.
    pub(super) permit: Option<Permit>,
}

impl Session {
    /// Connects and sets the time limits.
    pub(super) fn open(settings: &PgSettings, named: bool, cancel: &Cancel) -> DbResult<Session> {
        let stop = || cancel();
        let wait = Wait::at_most(CONNECT_MAX).or_cancelled(&stop);
        let connection = Connection::connect(&settings.connect, wait)
            .map_err(|e| named_database(convert_connect(&e), settings))?;
        Session::set_up(connection, settings, named, cancel)
    }

    /// Takes a new connection over and sets the time limits.
    pub(super) fn set_up(
        mut connection: Connection,
        settings: &PgSettings,
        named: bool,
        cancel: &Cancel,
    ) -> DbResult<Session> {
        let stop = || cancel();
        let wait = Wait::at_most(CONNECT_MAX).or_cancelled(&stop);
        let local = if named {
            let limit = wait.within(limit_of(settings.connect.connect_timeout));
            connection.configure(&settings.session, limit).map_err(|e| convert_connect(&e))?;
            None
        } else {
            Some(local_settings(&settings.session, connection.server_version()))
        };
        tracing::debug!(server = connection.peer(), version = connection.server_version(), "open");
        Ok(Session {
            connection,
            statements: Statements::new(named),
            cancel: cancel.clone(),
            patience: patience(&settings.session),
            local: local.filter(|sql| !sql.is_empty()).map(Arc::from),
            spare: Pipeline::new(),
            permit: None,
        })
    }

    /// The statement that sets the time limits of this transaction, where the session has none.
    pub(super) fn local_settings(&self) -> Option<Arc<str>> {
        self.local.clone()
    }

    /// Sends a pipeline; its answer is fetched with [`Session::finish`].
    pub(super) fn start(&mut self, pipeline: &mut Pipeline) -> DbResult<()> {
        let cancel = self.cancel.clone();
        let stop = || cancel();
        let wait = limited(self.patience).or_cancelled(&stop);
        self.connection.start(pipeline, wait).map_err(|e| silent(&e))
    }

    /// The answer to the oldest pipeline. After `Cancelled` it can be asked for again.
    pub(super) fn finish(&mut self) -> Result<Reply, DbError> {
        let cancel = self.cancel.clone();
        let stop = || cancel();
        let wait = limited(self.patience).or_cancelled(&stop);
        self.connection.finish(wait).map_err(|e| silent(&e))
    }

    /// The answer to the oldest pipeline, whatever the task was told, within `limit`.
    pub(super) fn finish_within(&mut self, limit: Duration) -> Result<Reply, PgError> {
        self.connection.finish(Wait::at_most(limit))
    }

    /// Asks the server to cancel what it is doing, so that leftover answers come soon.
    pub(super) fn interrupt(&self, limit: Duration) {
        if let Err(error) = self.connection.cancel_token().cancel(Wait::at_most(limit)) {
            tracing::debug!("cancel request: {error}");
        }
    }

    /// Runs a pipeline to its end. Statement errors are in the reply.
    pub(super) fn run(&mut self, pipeline: &mut Pipeline) -> DbResult<Reply> {
        self.start(pipeline)?;
        self.finish()
    }

    /// Runs one statement and gives its rows as text.
    pub(super) fn query(&mut self, sql: &str, params: &[Option<&str>]) -> DbResult<Rows> {
        self.query_as(None, sql, params)
    }

    /// The same as another role, which the statement `role` takes on for this transaction.
    pub(super) fn query_as(
        &mut self,
        role: Option<&str>,
        sql: &str,
        params: &[Option<&str>],
    ) -> DbResult<Rows> {
        let params: Vec<Param<'_>> =
            params.iter().map(|p| p.map_or(Param::Null, |t| Param::Text(t.as_bytes()))).collect();
        let mut pipeline = Pipeline::new();
        if let Some(role) = role {
            pipeline.parse("", role, &[]).bind("", &[], Format::Text).execute(0);
        }
        pipeline.parse("", sql, &[]).bind("", &params, Format::Text).execute(0).sync();
        let mut reply = checked(self.run(&mut pipeline)?)?;
        Ok(reply.statements.pop().unwrap_or_default().rows)
    }

    /// Runs statements without parameters; several are one transaction.
    pub(super) fn execute(&mut self, sql: &str) -> DbResult<()> {
        let mut pipeline = Pipeline::new();
        pipeline.query(sql);
        checked(self.run(&mut pipeline)?).map(drop)
    }

    /// The role that statements run as.
    pub(super) fn role(&mut self) -> DbResult<String> {
        let rows = self.query("SELECT current_user", &[])?;
        Ok(rows.text(0, 0).unwrap_or_default().to_owned())
    }

    /// False after an error that leaves the connection closed, with answers due, or in a transaction.
    pub(super) fn is_usable(&self) -> bool {
        !self.connection.is_broken()
            && self.connection.in_flight() == 0
            && self.connection.transaction_status() == TransactionStatus::Idle
    }

    pub(super) fn is_broken(&self) -> bool {
        self.connection.is_broken()
    }

    /// Looks whether the server has closed a connection that was idle.
    pub(super) fn is_alive(&mut self) -> bool {
        self.connection.is_alive()
    }
}

/// A database that does not exist is named with the statement that makes it.
pub(super) fn named_database(error: DbError, settings: &PgSettings) -> DbError {
    let connect = &settings.connect;
    match connect.database.as_ref().or(connect.user.as_ref()) {
        Some(name) if error.sqlstate.as_deref() == Some("3D000") => {
            let name = super::names::ident(name);
            error.hint(format!("name another database in the URL, or run: CREATE DATABASE {name};"))
        }
        _ => error,
    }
}

/// The reply, or its error.
pub(super) fn checked(reply: Reply) -> DbResult<Reply> {
    reply.check().map_err(|e| convert(&e))
}

/// A server that is silent for longer than it promised is as good as gone.
fn silent(error: &PgError) -> DbError {
    match error {
        PgError::Timeout(_) => DbError::new(
            DbErrorKind::Connection,
            "the server does not answer, not even within its own time limits",
        ),
        other if ends_session(other) => convert_connect(other),
        other => convert(other),
    }
}

fn limited(patience: Option<Duration>) -> Wait<'static> {
    patience.map_or_else(Wait::forever, Wait::at_most)
}

fn limit_of(timeout: Duration) -> Duration {
    if timeout.is_zero() { CONNECT_MAX } else { timeout }
}

/// Several statements of one pipeline may each take their time, and are answered together.
fn patience(settings: &SessionSettings) -> Option<Duration> {
    let limit = settings.statement_timeout.filter(|t| !t.is_zero())?;
    Some(limit.saturating_mul(2).saturating_add(Duration::from_secs(5)))
}

/// `set_config` for the current transaction: unlike `SET LOCAL` it can be a step of a pipeline
/// without a warning each time.
fn local_settings(settings: &SessionSettings, version: u32) -> String {
    let interval = settings.client_connection_check_interval.filter(|_| version >= 140_000);
    let times = [
        ("statement_timeout", settings.statement_timeout),
        ("lock_timeout", settings.lock_timeout),
        ("idle_in_transaction_session_timeout", settings.idle_in_transaction_session_timeout),
        ("client_connection_check_interval", interval),
    ];
    let mut sql = String::new();
    for (name, value) in times {
        if let Some(value) = value {
            let ms = value.as_millis().min(i32::MAX as u128);
            let begin = if sql.is_empty() { "SELECT" } else { "," };
            // Writing to a string cannot fail.
            let _ok = write!(sql, "{begin} set_config('{name}', '{ms}', true)");
        }
    }
    if let Some(value) = settings.synchronous_commit {
        let begin = if sql.is_empty() { "SELECT" } else { "," };
        let _ok = write!(sql, "{begin} set_config('synchronous_commit', '{value}', true)");
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_one_transaction_are_one_statement() {
        let settings = SessionSettings {
            statement_timeout: Some(Duration::from_secs(30)),
            client_connection_check_interval: Some(Duration::from_secs(5)),
            synchronous_commit: Some("off"),
            ..SessionSettings::default()
        };
        assert_eq!(
            local_settings(&settings, 130_000),
            "SELECT set_config('statement_timeout', '30000', true), \
             set_config('synchronous_commit', 'off', true)"
        );
        assert_eq!(local_settings(&SessionSettings::default(), 150_000), "");
        assert_eq!(patience(&settings), Some(Duration::from_secs(65)));
        assert_eq!(patience(&SessionSettings::default()), None);
    }
}
