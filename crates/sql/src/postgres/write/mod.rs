//! Rows into tables: one write of a transaction becomes one to three statements of its pipeline.
//!
//! Place in the data path: the encoders append to the pipeline's buffer, so a value is copied once on
//! its way from the decoded batch to the socket. A value without a form in its column is found here,
//! before anything is sent, and located.

mod append;
mod arrays;
mod copy;
mod plan;
mod row;
mod sql;
mod transform;

pub(super) use plan::PlanState;

use super::building::{Building, Step};
use super::value::Fault;
use super::wire::Format;
use crate::database::{DbError, DbErrorKind, DbResult, RowLocation};
use crate::write::{TableWrite, WriteMode};
use data::Batch;
use plan::{COPY_ROWS_MIN, Way};

/// Adds the statements that write the rows of number `index` among the transaction's writes.
pub(super) fn push(
    building: &mut Building<'_>,
    state: &mut PlanState,
    index: usize,
    write: &TableWrite,
    batches: &[Batch],
) -> DbResult<()> {
    if write.rows.is_empty() {
        return Ok(());
    }
    let plan = state.plan.id;
    let way = state.way(write.rows.len(), building.statements.named());
    let merges = matches!(state.plan.mode, WriteMode::Upsert | WriteMode::InsertIgnore);
    if merges && way == Way::Arrays && write.rows.len() >= COPY_ROWS_MIN {
        state.append.passed();
    }
    state.wrote();
    match way {
        Way::Nothing => Ok(()),
        Way::Arrays => {
            let Some(sql) = &state.arrays_sql else { return Ok(()) };
            if state.transforms() {
                transform::push(building, state, sql, index, write, batches)?;
                building.steps.push(Step::Arrays { write: index, plan });
                return Ok(());
            }
            let columns: Vec<usize> = (0..state.encoders.len()).collect();
            arrays::push(building, state, sql, &columns, index, write, batches)?;
            building.steps.push(Step::Arrays { write: index, plan });
            Ok(())
        }
        Way::CopyText => copy::push_text(building, state, index, write, batches),
        Way::CopyBinary => {
            guard(building, state, index);
            copy::push_binary(building, state, index, write, batches, false)
        }
        Way::Append => {
            guard(building, state, index);
            if let Some(sql) = &state.probe_sql {
                arrays::push(building, state, sql, &state.plan.key, index, write, batches)?;
                building.steps.push(Step::Probe { write: index, plan });
            }
            copy::push_binary(building, state, index, write, batches, true)
        }
    }
}

/// Holds the table's types still, and the first time a session guards them looks what they are: the
/// plan may be older than the session's statement, or than the last change.
fn guard(building: &mut Building<'_>, state: &PlanState, write: usize) {
    let plan = state.plan.id;
    let known = building.parsed.len();
    building.plain(&state.guard_sql, Step::Guard { write, plan });
    if building.parsed.len() > known {
        let pipeline = &mut *building.pipeline;
        pipeline.parse("", &state.types_sql, &[]).bind("", &[], Format::Binary).execute(0);
        building.steps.push(Step::Guard { write, plan });
    }
}

/// A record that has no form as JSON, as the error of its row.
fn not_jsonb(state: &PlanState, fault: Fault, write: usize, row: usize) -> DbError {
    let text = format!("the record, as {} is given it: {}", state.function(), fault.message);
    let mut error = DbError::new(DbErrorKind::Data, text).at(RowLocation { write, row });
    error.hint = fault.hint.map(str::to_owned);
    error.sqlstate = Some(fault.sqlstate.to_owned());
    error
}

/// A value that has no form in its column, as the error of its row.
fn refused(state: &PlanState, column: usize, fault: Fault, write: usize, row: usize) -> DbError {
    let target = state.plan.columns.get(column).and_then(|c| state.plan.target(c));
    let (name, kind) = target.map_or(("?", "?"), |t| (t.name.as_str(), t.type_name.as_str()));
    let text = format!("column {name} ({kind}) of {}: {}", state.plan.table.name, fault.message);
    let mut error = DbError::new(DbErrorKind::Data, text).at(RowLocation { write, row });
    error.column = Some(name.to_owned());
    error.hint = fault.hint.map(str::to_owned);
    error.sqlstate = Some(fault.sqlstate.to_owned());
    error
}
