//! Carries a transaction's rows out, one prepared statement per plan.
//!
//! Place in the data path: between `BEGIN IMMEDIATE` and `COMMIT`, after the positions have moved.
//! Each row is one execution, so an error belongs to a row that is known exactly.

use super::catalogue::quote_table;
use super::error::{Doing, classify};
use super::statement;
use super::value::{Encoder, Fault, Form, Target, target};
use crate::database::{DbError, DbErrorKind, DbResult, RowLocation};
use crate::write::{TableWrite, Transaction, WritePlan};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};
use std::collections::HashMap;
use std::sync::Arc;

/// Plans beyond this number are forgotten all at once; they are cheap to make again.
const PLANS_MAX: usize = 512;

/// What a plan comes to in SQLite.
#[derive(Debug)]
struct Compiled {
    /// `None`: there is nothing to do.
    sql: Option<String>,
    /// One a plan column.
    targets: Vec<Target>,
}

/// The plans seen so far, by their ids.
#[derive(Debug, Default)]
pub(super) struct Plans {
    compiled: HashMap<u64, Arc<Compiled>, foldhash::fast::RandomState>,
}

impl Plans {
    pub(super) fn clear(&mut self) {
        self.compiled.clear();
    }

    fn get(&mut self, plan: &WritePlan) -> DbResult<Arc<Compiled>> {
        if let Some(found) = self.compiled.get(&plan.id) {
            return Ok(found.clone());
        }
        let sql = statement::sql(plan)?;
        let targets = plan.columns.iter().filter_map(|c| plan.target(c)).map(target).collect();
        let made = Arc::new(Compiled { sql, targets });
        if self.compiled.len() >= PLANS_MAX {
            self.compiled.clear();
        }
        self.compiled.insert(plan.id, made.clone());
        Ok(made)
    }
}

/// Empties tables and writes every row; the transaction is already open.
/// # Errors
/// `Data` with the row's location; what was written so far is the caller's to roll back.
pub(super) fn write_rows(
    connection: &Connection,
    plans: &mut Plans,
    encoder: &mut Encoder,
    transaction: &Transaction<'_>,
) -> DbResult<()> {
    for table in transaction.truncates {
        let sql = format!("DELETE FROM {}", quote_table(table));
        connection.execute(&sql, []).map_err(|e| classify(&e, Doing::Statement))?;
    }
    for (number, write) in transaction.writes.iter().enumerate() {
        let compiled = plans.get(&write.plan)?;
        let Some(sql) = &compiled.sql else { continue };
        let mut statement =
            connection.prepare(sql).map_err(|e| about(&write.plan, &e, Doing::Statement))?;
        for row in 0..write.rows.len() {
            let at = RowLocation { write: number, row };
            bind(&mut statement, &compiled.targets, encoder, transaction, write, at)?;
            statement.raw_execute().map_err(|e| about(&write.plan, &e, Doing::Row(at)))?;
        }
    }
    Ok(())
}

fn bind(
    statement: &mut Statement<'_>,
    targets: &[Target],
    encoder: &mut Encoder,
    transaction: &Transaction<'_>,
    write: &TableWrite,
    at: RowLocation,
) -> DbResult<()> {
    for (index, (column, target)) in write.plan.columns.iter().zip(targets).enumerate() {
        let (cell, rows) = write.cell(transaction.batches, at.row, column);
        let form = encoder
            .encode(*target, column.schema.as_deref(), cell, rows)
            .map_err(|fault| refused(&write.plan, index, fault, at))?;
        let value = match form {
            Form::Null => ValueRef::Null,
            Form::Integer(v) => ValueRef::Integer(v),
            Form::Real(v) => ValueRef::Real(v),
            Form::Text(bytes) => ValueRef::Text(bytes),
            Form::Blob(bytes) => ValueRef::Blob(bytes),
            Form::Buffer => ValueRef::Text(&encoder.buffer),
        };
        statement
            .raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))
            .map_err(|e| about(&write.plan, &e, Doing::Row(at)))?;
    }
    Ok(())
}

fn refused(plan: &WritePlan, index: usize, fault: Fault, at: RowLocation) -> DbError {
    let column = plan.columns.get(index).and_then(|c| plan.target(c));
    let (name, declared) = column.map_or(("", ""), |c| (c.name.as_str(), c.type_name.as_str()));
    let message = format!("column {name} ({declared}) of {}: {}", plan.table.name, fault.message);
    let mut error = DbError::new(DbErrorKind::Data, message).sqlstate(fault.sqlstate).at(at);
    error.column = Some(name.to_owned());
    error.hint = fault.hint.map(str::to_owned);
    error
}

fn about(plan: &WritePlan, error: &rusqlite::Error, doing: Doing) -> DbError {
    let mut error = classify(error, doing);
    let about_plan =
        matches!(error.kind, DbErrorKind::Data | DbErrorKind::Drift | DbErrorKind::Config);
    if about_plan {
        error.message = format!("table {}: {}", plan.table.name, error.message);
    }
    error
}
