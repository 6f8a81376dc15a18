//! Transactions under way, and what their answers mean.
//!
//! Place in the data path: between `start` and `settle`. Answers come in the order of the
//! transactions; an outcome that had to be read early (because something else was asked of the
//! connection) waits here for its `settle`.
//!
//! Invariant: a transaction is committed when every statement of its pipeline has succeeded and the
//! server has said that it is ready; a tag that says COMMIT proves nothing.

use super::advance;
use super::building::Step;
use super::catalog::PgTable;
use super::errors::server_error;
use super::wire::{Failure, Reply, TransactionStatus};
use crate::database::{DbError, DbErrorKind, DbResult, RowLocation};
use crate::write::Advance;
use std::sync::Arc;

/// What is remembered of a transaction that was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) steps: Vec<Step>,
    pub(super) advances: Vec<Advance>,
    /// Rows of each write.
    pub(super) rows: Vec<usize>,
    /// Statements that its pipeline prepares.
    pub(super) parsed: Vec<Arc<str>>,
}

impl Sent {
    /// The outcome of a pipeline without failure.
    pub(super) fn committed(&self, reply: &Reply) -> DbResult<()> {
        let complete = reply.statements.len() == self.steps.len();
        if !complete || reply.status != TransactionStatus::Idle {
            let text = "the server's answer to a transaction is not complete";
            return Err(DbError::new(DbErrorKind::Bug, text));
        }
        let first = self.steps.iter().position(|s| matches!(s, Step::Advance(_))).unwrap_or(0);
        advance::check(reply, first, &self.advances)
    }

    pub(super) fn step(&self, failure: &Failure) -> Option<Step> {
        failure.statement.and_then(|n| self.steps.get(n)).copied()
    }

    /// The error of a failed pipeline. `table` gives the table of a write's plan.
    pub(super) fn failed(&self, failure: &Failure, table: Option<&PgTable>) -> DbError {
        let error = &failure.error;
        let code = error.code.as_str();
        let step = self.step(failure);
        let mut converted = server_error(error);
        converted.write = match step {
            Some(
                Step::Guard { write, .. }
                | Step::Probe { write, .. }
                | Step::Copy { write, .. }
                | Step::Arrays { write, .. },
            ) => Some(write),
            _ => None,
        };
        match step {
            Some(Step::Advance(n)) if matches!(code, "22012" | "PK001") => {
                advance::stale(self.advances.get(n))
            }
            Some(Step::Advance(_) | Step::DeadLetters) => own_table(converted),
            Some(Step::Constraints) => {
                converted.at_commit = true;
                converted
            }
            Some(Step::Probe { .. }) if code == "22012" => append_hit(),
            Some(Step::Guard { .. }) if code == "22012" => {
                let text = "the table's columns have other types than they had";
                DbError::new(DbErrorKind::Drift, text)
            }
            Some(Step::Copy { append: true, .. }) if code == "23505" => append_hit(),
            Some(Step::Copy { .. }) if copy_is_refused(code) => {
                converted.kind = DbErrorKind::Concurrency;
                converted
            }
            Some(Step::Copy { write, .. }) => {
                if let Some(table) = table {
                    self.locate(&mut converted, failure, write, table);
                }
                converted
            }
            _ => converted,
        }
    }

    /// Row and column by what COPY says about its input.
    fn locate(&self, converted: &mut DbError, failure: &Failure, write: usize, table: &PgTable) {
        if converted.kind != DbErrorKind::Data {
            return;
        }
        let relation = &table.table.name.name;
        let columns = table.table.columns.iter().map(|c| c.name.as_str());
        if let Some(column) = failure.error.copy_column(relation, columns) {
            converted.column = Some(column.to_owned());
        }
        let row = failure.error.copy_line(relation).and_then(|line| line.checked_sub(1));
        let row = row.and_then(|row| usize::try_from(row).ok());
        let rows = self.rows.get(write).copied().unwrap_or(0);
        converted.location = row.filter(|r| *r < rows).map(|row| RowLocation { write, row });
    }
}

/// An error of a table that is ours: no row is to blame.
fn own_table(mut error: DbError) -> DbError {
    match error.kind {
        // The next connect makes it again.
        DbErrorKind::Drift if error.sqlstate.as_deref() == Some("42P01") => {
            error.kind = DbErrorKind::Connection;
            error.message = format!("a table of ours is gone: {}", error.message);
            error
        }
        DbErrorKind::Drift | DbErrorKind::Data => {
            error.kind = DbErrorKind::Config;
            error.message = format!(
                "the table of positions or of dead letters is not as made: {}",
                error.message
            );
            error.hint(
                "rename the table; it is made again, or set offsets.table, dead.letters.table",
            )
        }
        _ => error,
    }
}

/// COPY is refused by row-level security (0A000) and on views (42809).
pub(super) fn copy_is_refused(code: &str) -> bool {
    matches!(code, "0A000" | "42809")
}

/// An append that met an existing key is no trouble, only a wrong guess.
fn append_hit() -> DbError {
    let text = "some keys exist already; the rows are merged instead of appended";
    DbError::new(DbErrorKind::Concurrency, text)
}

#[cfg(test)]
mod tests {
    use super::super::wire::ServerError;
    use super::*;
    use crate::table::{Column, Table, TableName};
    use data::TopicPartition;

    fn failure(statement: Option<usize>, code: &str, context: &str) -> Failure {
        let error = ServerError {
            code: code.into(),
            context: Some(context.into()),
            ..ServerError::default()
        };
        Failure { statement, error }
    }

    fn sent() -> Sent {
        let advance =
            Advance { batch: 0, tp: TopicPartition::new("t", 0), epoch: 3, from: 5, to: 9 };
        Sent {
            steps: vec![
                Step::Advance(0),
                Step::Guard { write: 0, plan: 1 },
                Step::Copy { write: 0, plan: 1, append: false },
            ],
            advances: vec![advance],
            rows: vec![10],
            parsed: Vec::new(),
        }
    }

    fn table() -> PgTable {
        let column = Column {
            name: "amount".into(),
            type_name: "integer".into(),
            nullable: true,
            has_default: false,
            generated: false,
            json: false,
        };
        let table = Table {
            name: TableName { schema: None, name: "orders".into() },
            columns: vec![column],
            unique_keys: Vec::new(),
            has_primary_key: false,
            is_view: false,
        };
        PgTable {
            table: Arc::new(table),
            columns: Vec::new(),
            row_security: false,
            readable: true,
            deferrable: false,
            triggers: false,
        }
    }

    #[test]
    fn a_division_by_zero_is_a_moved_position_only_in_the_advance() {
        let error = sent().failed(&failure(Some(0), "22012", ""), None);
        assert_eq!(error.kind, DbErrorKind::Stale);
        assert!(error.message.contains("t-0 is not 5 under epoch 3"));
        let error = sent().failed(&failure(Some(2), "22012", ""), Some(&table()));
        assert_eq!(error.kind, DbErrorKind::Data);
    }

    #[test]
    fn a_table_of_ours_blames_no_row() {
        for (code, kind) in [
            ("42P01", DbErrorKind::Connection),
            ("42703", DbErrorKind::Config),
            ("23514", DbErrorKind::Config),
            ("55P03", DbErrorKind::Concurrency),
        ] {
            assert_eq!(sent().failed(&failure(Some(0), code, ""), None).kind, kind, "{code}");
        }
    }

    #[test]
    fn copys_line_is_the_row() {
        let context = "COPY orders, line 4, column amount: \"x\"";
        let error = sent().failed(&failure(Some(2), "22P02", context), Some(&table()));
        assert_eq!(error.location, Some(RowLocation { write: 0, row: 3 }));
        assert_eq!(error.column.as_deref(), Some("amount"));
        let beyond = "COPY orders, line 11";
        let error = sent().failed(&failure(Some(2), "23514", beyond), Some(&table()));
        assert_eq!(error.location, None, "a line that was not sent is not believed");
        let error = sent().failed(&failure(None, "23503", context), Some(&table()));
        assert_eq!(error.location, None, "the commit has no row");
    }

    #[test]
    fn wrong_guesses_are_tried_again() {
        let mut sent = sent();
        sent.steps =
            vec![Step::Probe { write: 0, plan: 1 }, Step::Copy { write: 0, plan: 1, append: true }];
        for (statement, code) in [(0, "22012"), (1, "23505"), (1, "0A000")] {
            let error = sent.failed(&failure(Some(statement), code, ""), Some(&table()));
            assert_eq!(error.kind, DbErrorKind::Concurrency, "{code}");
        }
    }
}
