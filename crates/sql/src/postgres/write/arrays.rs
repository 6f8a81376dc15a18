//! Rows as one array per column, the parameters of a statement.
//!
//! Place in the data path: every mode but large plain inserts. Nothing tells which row an error of
//! such a statement belongs to.

use super::{PlanState, refused};
use crate::database::DbResult;
use crate::postgres::array;
use crate::postgres::building::Building;
use crate::postgres::value::{Fault, Form};
use crate::postgres::wire::Format;
use crate::write::TableWrite;
use data::Batch;
use std::sync::Arc;

/// A statement whose parameters are the arrays of `columns` (places among the plan's columns).
pub(super) fn push(
    building: &mut Building<'_>,
    state: &PlanState,
    sql: &Arc<str>,
    columns: &[usize],
    index: usize,
    write: &TableWrite,
    batches: &[Batch],
) -> DbResult<()> {
    let name = building.prepare(sql);
    let formats = vec![Format::Binary; columns.len()];
    let mut fault: Option<(usize, usize, Fault)> = None;
    building.pipeline.bind_with(&name, &formats, Format::Binary, |w| {
        for place in columns {
            w.value(|buf| {
                if fault.is_none()
                    && let Err((row, found)) = column(buf, state, *place, write, batches)
                {
                    fault = Some((*place, row, found));
                }
            });
        }
    });
    building.pipeline.execute(0);
    match fault {
        Some((column, row, fault)) => Err(refused(state, column, fault, index, row)),
        None => Ok(()),
    }
}

/// One column's array; the error has the row.
fn column(
    buf: &mut Vec<u8>,
    state: &PlanState,
    place: usize,
    write: &TableWrite,
    batches: &[Batch],
) -> Result<(), (usize, Fault)> {
    const TEXT_OID: u32 = 25;
    let parts = state.plan.columns.get(place).zip(state.encoders.get(place));
    let Some((column, encoder)) = parts else { return Ok(()) };
    array::begin(buf, if encoder.binary { encoder.oid } else { TEXT_OID }, write.rows.len());
    for row in 0..write.rows.len() {
        let (cell, rows) = write.cell(batches, row, column);
        if encoder.binary {
            encoder.encoder.copy_binary(cell, rows, buf).map_err(|fault| (row, fault))?;
            continue;
        }
        let start = array::open(buf);
        match encoder.encoder.text(cell, rows, buf).map_err(|fault| (row, fault))? {
            Form::Value => array::close(buf, start),
            Form::Null => {}
        }
    }
    Ok(())
}
