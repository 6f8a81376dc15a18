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

pub(super) use plan::PlanState;

use super::building::{Building, Step};
use super::value::Fault;
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
            let columns: Vec<usize> = (0..state.encoders.len()).collect();
            arrays::push(building, state, sql, &columns, index, write, batches)?;
            building.steps.push(Step::Arrays { write: index, plan });
            Ok(())
        }
        Way::CopyText => copy::push_text(building, state, index, write, batches),
        Way::CopyBinary => {
            building.plain(&state.guard_sql, Step::Guard { write: index, plan });
            copy::push_binary(building, state, index, write, batches, false)
        }
        Way::Append => {
            building.plain(&state.guard_sql, Step::Guard { write: index, plan });
            if let Some(sql) = &state.probe_sql {
                arrays::push(building, state, sql, &state.plan.key, index, write, batches)?;
                building.steps.push(Step::Probe { write: index, plan });
            }
            copy::push_binary(building, state, index, write, batches, true)
        }
    }
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
