//! The settings of a PostgreSQL destination: what `DatabaseSettings` say, in the wire's words.
//!
//! Place in the data path: made once when a task starts; read at every connect and for every plan.

use super::errors::convert;
use super::wire::{ConnectConfig, Secret, SessionSettings};
use crate::config::DatabaseSettings;
use crate::database::DbResult;
use std::time::Duration;

/// A session that is silent inside a transaction for longer has lost its worker.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(30);
/// How often the server looks whether the worker is still there, while a statement runs.
const CLIENT_CHECK: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct PgSettings {
    pub(super) common: DatabaseSettings,
    pub(super) connect: ConnectConfig,
    pub(super) session: SessionSettings,
}

impl PgSettings {
    /// # Errors
    /// `Config`: the URL cannot be used.
    pub(super) fn new(common: DatabaseSettings) -> DbResult<PgSettings> {
        let mut connect = ConnectConfig::parse(common.url.expose()).map_err(|e| convert(&e))?;
        for notice in &connect.notices {
            tracing::warn!(connector = common.connector, "{notice}");
        }
        if let Some(user) = &common.user {
            connect.user = Some(user.clone());
        }
        if let Some(password) = &common.password {
            connect.password = Some(Secret::new(password.expose()));
        }
        if connect.application_name.is_none() {
            connect.application_name =
                Some(format!("copycat {}-{}", common.connector, common.task));
        }
        if !common.connect_timeout.is_zero() {
            let limit = connect.connect_timeout;
            let shorter = limit.is_zero() || common.connect_timeout < limit;
            connect.connect_timeout = if shorter { common.connect_timeout } else { limit };
        }
        let session = SessionSettings {
            statement_timeout: Some(common.statement_timeout),
            lock_timeout: Some(common.lock_timeout),
            idle_in_transaction_session_timeout: Some(IDLE_IN_TRANSACTION),
            client_connection_check_interval: Some(CLIENT_CHECK),
            synchronous_commit: None,
        };
        Ok(PgSettings { common, connect, session })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::DbErrorKind;
    use config::Password;

    #[test]
    fn user_and_password_are_laid_over_the_url() {
        let mut common = DatabaseSettings::new("jdbc:postgresql://h/d?user=a&password=b", "c/g");
        common.user = Some("me".to_owned());
        common.password = Some(Password::new("secret"));
        common.connect_timeout = Duration::from_secs(3);
        let settings = PgSettings::new(common).unwrap();
        assert_eq!(settings.connect.user.as_deref(), Some("me"));
        assert_eq!(settings.connect.password.as_ref().unwrap().reveal(), "secret");
        assert_eq!(settings.connect.connect_timeout, Duration::from_secs(3));
        assert!(!format!("{settings:?}").contains("secret"));
    }

    #[test]
    fn a_url_of_another_database_is_a_matter_of_configuration() {
        let error = PgSettings::new(DatabaseSettings::new("jdbc:mysql://h/d", "o")).unwrap_err();
        assert_eq!(error.kind, DbErrorKind::Config);
    }
}
