//! COPY, binary and text: rows in order, one line of input each.
//!
//! Place in the data path: the fastest way for plain inserts. An error's line number is the row.

use super::row::{Members, Row};
use super::{PlanState, refused};
use crate::database::DbResult;
use crate::postgres::building::{Building, Step};
use crate::postgres::value::Fault;
use crate::postgres::wire::Format;
use crate::write::TableWrite;
use data::Batch;

/// Signature, flags and length of the header extension.
const BINARY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const BINARY_END: [u8; 2] = (-1i16).to_be_bytes();

/// The guard has been added before.
pub(super) fn push_binary(
    building: &mut Building<'_>,
    state: &PlanState,
    index: usize,
    write: &TableWrite,
    batches: &[Batch],
    append: bool,
) -> DbResult<()> {
    let name = building.prepare(&state.copy_binary_sql);
    building.pipeline.bind(&name, &[], Format::Binary).execute(0);
    building.steps.push(Step::Copy { write: index, plan: state.plan.id, append });
    building.pipeline.copy_data(BINARY_HEAD);
    let count = i16::try_from(state.encoders.len()).unwrap_or(i16::MAX).to_be_bytes();
    let mut members = Members::of(&state.plan);
    for row in 0..write.rows.len() {
        members.look(write, batches, row);
        let cells = Row::new(write, batches, row, &members);
        let written = building.pipeline.copy_row(|buf| {
            buf.extend(count);
            for (n, (column, encoder)) in state.plan.columns.iter().zip(&state.encoders).enumerate()
            {
                if let Some((cell, rows)) = cells.field(n, column)
                    && encoder.encoder.copy_usual(cell, rows, buf)
                {
                    continue;
                }
                let (cell, rows) = cells.cell(n, column);
                encoder.encoder.copy_binary(cell, rows, buf).map_err(|fault| (n, fault))?;
            }
            Ok::<(), (usize, Fault)>(())
        });
        written.map_err(|(column, fault)| refused(state, column, fault, index, row))?;
    }
    building.pipeline.copy_data(&BINARY_END).copy_done();
    Ok(())
}

pub(super) fn push_text(
    building: &mut Building<'_>,
    state: &PlanState,
    index: usize,
    write: &TableWrite,
    batches: &[Batch],
) -> DbResult<()> {
    let name = building.prepare(&state.copy_text_sql);
    building.pipeline.bind(&name, &[], Format::Binary).execute(0);
    building.steps.push(Step::Copy { write: index, plan: state.plan.id, append: false });
    let mut members = Members::of(&state.plan);
    for row in 0..write.rows.len() {
        members.look(write, batches, row);
        let cells = Row::new(write, batches, row, &members);
        let written = building.pipeline.copy_row(|buf| {
            for (n, (column, encoder)) in state.plan.columns.iter().zip(&state.encoders).enumerate()
            {
                if n > 0 {
                    buf.push(b'\t');
                }
                let (cell, rows) = cells.cell(n, column);
                encoder.encoder.copy_text(cell, rows, buf).map_err(|fault| (n, fault))?;
            }
            buf.push(b'\n');
            Ok::<(), (usize, Fault)>(())
        });
        written.map_err(|(column, fault)| refused(state, column, fault, index, row))?;
    }
    building.pipeline.copy_done();
    Ok(())
}
