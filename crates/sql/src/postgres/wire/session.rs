//! Session settings that keep a lost worker from holding locks, and a stuck server from holding us.
//!
//! Place in the data path: run once after each connect. Behind a transaction pooler settings would
//! reach other people's sessions; there [`SessionSettings::sql`] with `local` goes into each transaction.

use super::connection::Connection;
use super::error::PgError;
use super::wait::Wait;
use std::fmt::Write;
use std::time::Duration;

/// Time limits that the server keeps for us. `None` leaves the server's own setting; zero is "off".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSettings {
    /// Longest run of one statement.
    pub statement_timeout: Option<Duration>,
    /// Longest wait for one lock.
    pub lock_timeout: Option<Duration>,
    /// Longest silence inside a transaction.
    pub idle_in_transaction_session_timeout: Option<Duration>,
    /// How often a running statement looks whether its client is still there (servers ≥ 14).
    pub client_connection_check_interval: Option<Duration>,
    /// `on`, `off`, `local`, `remote_write` or `remote_apply`.
    pub synchronous_commit: Option<&'static str>,
}

impl SessionSettings {
    /// The `SET` statements for a server of `version` (as [`Connection::server_version`] gives it);
    /// with `local`, for the current transaction only. Empty if nothing is to be set.
    pub fn sql(&self, version: u32, local: bool) -> String {
        let interval = self.client_connection_check_interval.filter(|_| version >= 140_000);
        let times = [
            ("statement_timeout", self.statement_timeout),
            ("lock_timeout", self.lock_timeout),
            ("idle_in_transaction_session_timeout", self.idle_in_transaction_session_timeout),
            ("client_connection_check_interval", interval),
        ];
        let set = if local { "SET LOCAL" } else { "SET" };
        let mut sql = String::new();
        for (name, value) in times {
            if let Some(value) = value {
                let ms = value.as_millis().min(i32::MAX as u128);
                // Writing to a String cannot fail.
                let _ = write!(sql, "{set} {name} = {ms};");
            }
        }
        if let Some(value) = self.synchronous_commit {
            let _ = write!(sql, "{set} synchronous_commit = {value};");
        }
        sql
    }
}

impl Connection {
    /// Applies `settings` to the session.
    pub fn configure(&mut self, settings: &SessionSettings, wait: Wait<'_>) -> Result<(), PgError> {
        let sql = settings.sql(self.server_version(), false);
        if sql.is_empty() {
            return Ok(());
        }
        match self.execute(&sql, wait) {
            // The server's system cannot watch the client (not Linux, macOS or BSD): not worth failing.
            Err(error) if error.code() == Some("22023") => {
                let fewer =
                    SessionSettings { client_connection_check_interval: None, ..settings.clone() };
                let sql = fewer.sql(self.server_version(), false);
                self.execute(&sql, wait).map(drop)
            }
            other => other.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_set_and_known_to_the_server_is_sent() {
        let settings = SessionSettings {
            statement_timeout: Some(Duration::from_secs(30)),
            lock_timeout: Some(Duration::ZERO),
            client_connection_check_interval: Some(Duration::from_secs(10)),
            ..SessionSettings::default()
        };
        assert_eq!(
            settings.sql(130_000, false),
            "SET statement_timeout = 30000;SET lock_timeout = 0;"
        );
        assert!(
            settings
                .sql(150_000, true)
                .ends_with("SET LOCAL client_connection_check_interval = 10000;")
        );
        assert_eq!(SessionSettings::default().sql(150_000, false), "");
    }
}
