//! What is said of a role that lacks a right.
//!
//! Place in the data path: after a statement was refused (42501). The message names the role and what
//! it needs, the hint is the statement that gives it.

use super::names;
use crate::database::DbError;
use crate::write::{WriteMode, WritePlan};

/// What the rows of a plan need.
fn privileges(mode: WriteMode) -> &'static str {
    match mode {
        WriteMode::Insert => "INSERT",
        WriteMode::InsertIgnore => "INSERT, SELECT",
        WriteMode::Upsert => "INSERT, UPDATE, SELECT",
        WriteMode::Update => "UPDATE, SELECT",
        WriteMode::Delete => "DELETE, SELECT",
    }
}

/// The error with the role, the privilege and the GRANT. `plan`: of the rows that were refused.
pub(super) fn lacking(mut error: DbError, role: &str, plan: Option<&WritePlan>) -> DbError {
    if error.sqlstate.as_deref() != Some("42501") {
        return error;
    }
    let Some(plan) = plan else { return error };
    let (table, quoted) = (names::table(&plan.table.name), names::ident(role));
    let need = privileges(plan.mode);
    error.message =
        format!("the role {role} needs {need} on {}: {}", plan.table.name, error.message);
    error.hint(format!("as the owner of the table: GRANT {need} ON {table} TO {quoted}"))
}
