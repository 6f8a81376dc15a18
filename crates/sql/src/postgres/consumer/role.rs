//! Writing rows as another role than the one that logged in.
//!
//! Place in the data path: around the rows of a transaction, within its one round trip. Grants and
//! row-level security are then those of the role. Deferred constraints are checked before the role is
//! given back, because what they run would else run as ours.

use crate::database::{DbError, DbErrorKind};
use crate::postgres::errors::server_error;
use crate::postgres::names;
use crate::postgres::wire::Failure;
use crate::table::TableName;
use std::sync::Arc;

/// A role to write as.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct Role {
    pub(in crate::postgres) name: Arc<str>,
    /// Takes the role on until the transaction ends. Not `SET LOCAL`, which warns of a missing
    /// transaction block each time.
    pub(in crate::postgres) set: Arc<str>,
    /// Gives it back.
    pub(in crate::postgres) reset: Arc<str>,
}

impl Role {
    pub(in crate::postgres) fn new(name: &str) -> Role {
        Role {
            name: name.into(),
            set: format!("SELECT set_config('role', {}, true)", names::literal(name)).into(),
            reset: "RESET ROLE".into(),
        }
    }

    /// The error of asking the catalogue as this role, which is taken on by the first statement.
    pub(in crate::postgres) fn blind(
        &self,
        failure: &Failure,
        relation: &TableName,
        login: &str,
    ) -> DbError {
        let mut error = server_error(&failure.error);
        if failure.statement == Some(0) {
            return self.refused(error, login);
        }
        let (Some("42501"), Some(schema)) = (error.sqlstate.as_deref(), &relation.schema) else {
            return error;
        };
        let role = &self.name;
        error.message =
            format!("the role {role} needs USAGE on schema {schema}: {}", error.message);
        error.hint(format!(
            "GRANT USAGE ON SCHEMA {} TO {}",
            names::ident(schema),
            names::ident(role)
        ))
    }

    /// The error of adding columns as this role.
    pub(in crate::postgres) fn may_not_alter(
        &self,
        mut error: DbError,
        relation: &TableName,
        ddl: &str,
    ) -> DbError {
        if error.sqlstate.as_deref() != Some("42501") {
            return error;
        }
        error.kind = DbErrorKind::Config;
        error.message = format!(
            "a record has a field without a column, and {} may not alter {relation}: {}",
            self.name, error.message
        );
        error.hint(format!(
            "run it as the owner of the relation: {ddl}; or set the option auto_evolve to false"
        ))
    }

    /// The error of taking it on.
    pub(in crate::postgres) fn refused(&self, mut error: DbError, login: &str) -> DbError {
        let (role, login) = (&self.name, names::ident(login));
        match error.sqlstate.as_deref() {
            Some("42501") => {
                error.kind = DbErrorKind::Config;
                error.message = format!("the worker's role {login} may not act as {role}");
                error.hint(format!(
                    "make {login} a member of {role}; where that is a superuser, define the \
                     consumer again as the role that owns the relation"
                ))
            }
            Some("22023" | "42704") => {
                error.kind = DbErrorKind::Config;
                error.message = format!("the role {role}, which owns the consumer, does not exist");
                error.hint("create the role, or drop the consumer and define it as another role")
            }
            _ => error,
        }
    }
}
