//! What a failure of PostgreSQL means to the exactly-once protocol.
//!
//! Place in the data path: the one way from [`PgError`] to [`DbError`]. Decisions follow the SQLSTATE
//! and our own knowledge of which statement failed, never the message, which servers translate.

use super::wire::{Class, PgError, ServerError};
use crate::database::{DbError, DbErrorKind};

/// An error outside a transaction's own statements.
pub(super) fn convert(error: &PgError) -> DbError {
    match error {
        PgError::Server(server) => server_error(server),
        _ => {
            let kind = kind(error.classify());
            let mut converted = DbError::new(kind, error.to_string());
            if let PgError::Unreachable(attempts) = error {
                let told = attempts.iter().rev().find_map(|(_, error)| error.server());
                converted.sqlstate = told.map(|server| server.code.clone());
                converted.hint = told.and_then(|server| server_error(server).hint);
            }
            match kind {
                DbErrorKind::Config if converted.hint.is_none() => {
                    converted.hint(settings_hint(error))
                }
                _ => converted,
            }
        }
    }
}

/// Which settings an error on our side of the connection is about.
fn settings_hint(error: &PgError) -> &'static str {
    match error {
        PgError::Unreachable(attempts) => {
            attempts.last().map_or("check host and port", |(_, error)| settings_hint(error))
        }
        PgError::Auth(_) => "set user and password: connection.user, connection.password",
        PgError::Tls(_) => {
            "sslmode in connection.url says whether there must be TLS, sslrootcert which \
             certificates are trusted"
        }
        _ => "check the connection settings",
    }
}

/// An error while connecting: a server that says nothing is as good as gone.
pub(super) fn convert_connect(error: &PgError) -> DbError {
    let mut converted = convert(error);
    if matches!(converted.kind, DbErrorKind::Resource) {
        converted.kind = DbErrorKind::Connection;
    }
    converted
}

/// An error that the server reported, with its SQLSTATE, column and advice.
pub(super) fn server_error(error: &ServerError) -> DbError {
    let class = error.classify();
    let mut message = error.message.clone();
    if let Some(detail) = &error.detail {
        message.push_str(": ");
        message.push_str(detail);
    }
    let mut converted = DbError::new(kind(class), message).sqlstate(error.code.clone());
    converted.column = error.column.clone();
    converted.constraint = error.constraint.clone();
    converted.table = error.table.clone();
    converted.hint = match class {
        Class::ReadOnly => error.hint.clone().or_else(|| {
            Some(
                "the server takes no writes; list all hosts in the URL with \
                 target_session_attrs=read-write"
                    .to_owned(),
            )
        }),
        Class::Auth => error.hint.clone().or_else(|| {
            let hint = match error.code.as_str() {
                "28P01" => "correct the user or the password: connection.user, connection.password",
                _ => "give the role what it lacks (GRANT), or change user or password",
            };
            Some(hint.to_owned())
        }),
        _ => error.hint.clone(),
    };
    converted
}

fn kind(class: Class) -> DbErrorKind {
    match class {
        Class::Connection | Class::ReadOnly => DbErrorKind::Connection,
        Class::Resource => DbErrorKind::Resource,
        Class::Concurrency => DbErrorKind::Concurrency,
        Class::SchemaDrift => DbErrorKind::Drift,
        Class::Data => DbErrorKind::Data,
        Class::Auth | Class::Config => DbErrorKind::Config,
        Class::Cancelled => DbErrorKind::Cancelled,
        Class::Bug => DbErrorKind::Bug,
    }
}

/// True where the session is of no use after the error: its answers cannot be matched any more.
pub(super) fn ends_session(error: &PgError) -> bool {
    match error {
        PgError::Server(server) => server.is_fatal(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> DbError {
        server_error(&ServerError { code: code.into(), ..ServerError::default() })
    }

    #[test]
    fn what_fails_on_our_side_names_its_settings() {
        let auth = || PgError::Auth("a".into());
        let tls = || PgError::Tls("t".into());
        let inside = |error| PgError::Unreachable(vec![("h:1".to_owned(), error)]);
        for (error, part) in [
            (auth(), "connection.password"),
            (inside(auth()), "connection.password"),
            (tls(), "sslmode"),
            (inside(tls()), "sslmode"),
        ] {
            let hint = convert(&error).hint.unwrap();
            assert!(hint.contains(part), "{hint}");
        }
    }

    #[test]
    fn each_class_of_states_has_its_kind() {
        for (code, kind) in [
            ("57P01", DbErrorKind::Connection),
            ("25006", DbErrorKind::Connection),
            ("53100", DbErrorKind::Resource),
            ("40P01", DbErrorKind::Concurrency),
            ("55P03", DbErrorKind::Concurrency),
            ("42P01", DbErrorKind::Drift),
            ("22003", DbErrorKind::Data),
            ("23505", DbErrorKind::Data),
            ("42501", DbErrorKind::Config),
            ("XX000", DbErrorKind::Bug),
        ] {
            let error = of(code);
            assert_eq!(error.kind, kind, "{code}");
            assert_eq!(error.sqlstate.as_deref(), Some(code));
        }
        assert!(of("25006").hint.unwrap().contains("read-write"));
    }

    #[test]
    fn silence_while_connecting_is_a_lost_connection() {
        let silent = PgError::Timeout("timed out".into());
        assert_eq!(convert_connect(&silent).kind, DbErrorKind::Connection);
        assert_eq!(convert(&silent).kind, DbErrorKind::Resource);
        assert!(ends_session(&silent));
    }
}
