//! Values that Debezium does not have: columns stored out of line that an update did not touch.
//!
//! Place in the data path: asked for every row while a transaction is bound. Such a value is no
//! value: the row goes through a plan without its column, so that an existing row keeps what it has
//! and a new one gets the column's default, or the database's error where it must have a value.
//!
//! Invariant: the placeholder is never stored. Key columns are not looked at: keys are always known.

use crate::group::record_cell;
use crate::plan::Planner;
use crate::write::{PlanColumn, WritePlan};
use data::{Batch, Cell, Rows};
use std::sync::Arc;

/// Debezium's default; other texts are not looked for.
const TEXT: &[u8] = b"__debezium_unavailable_value";
/// What becomes of it under `binary.handling.mode`.
const HEX: &[u8] = b"5f5f646562657a69756d5f756e617661696c61626c655f76616c7565";
const BASE64: &[u8] = b"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==";

fn is_placeholder(rows: &Rows, cell: Cell) -> bool {
    let (Cell::Text(span) | Cell::Bytes(span)) = cell else { return false };
    let expect = match span.len as usize {
        len if len == TEXT.len() => TEXT,
        len if len == BASE64.len() => BASE64,
        len if len == HEX.len() => HEX,
        _ => return false,
    };
    rows.bytes(span).eq_ignore_ascii_case(expect) && (expect == HEX || rows.bytes(span) == expect)
}

/// Whether any field of a row's value is a placeholder: a look at lengths, for most rows.
pub(crate) fn has_placeholder(batch: &Batch, row: usize) -> bool {
    let values = &batch.values;
    let cells = match values.root(row) {
        Cell::Map(span) => values.cells(span),
        root @ Cell::Struct(_) => values.fields(root),
        _ => return false,
    };
    cells.iter().any(|cell| is_placeholder(values, *cell))
}

/// The places of the plan's columns for which a record has only the placeholder.
pub(crate) fn unavailable(plan: &WritePlan, batch: &Batch, row: usize) -> Vec<usize> {
    let others = plan.columns.iter().enumerate().filter(|(n, _)| !plan.key.contains(n));
    let found = others.filter(|(_, column)| {
        let (cell, rows) = record_cell(batch, row, &column.source);
        is_placeholder(rows, cell)
    });
    found.map(|(n, _)| n).collect()
}

impl Planner {
    /// The plan without some of its columns, none of them of the key; made if there is none yet.
    pub(crate) fn without(&mut self, plan: &WritePlan, absent: &[usize]) -> Arc<WritePlan> {
        let left = plan.columns.iter().enumerate().filter(|(n, _)| !absent.contains(n));
        let columns: Vec<PlanColumn> = left.map(|(_, column)| column.clone()).collect();
        let same = |a: &PlanColumn, b: &PlanColumn| {
            a.target == b.target && a.source == b.source && a.schema == b.schema
        };
        let known = self.shared.iter().find(|known| {
            known.mode == plan.mode
                && Arc::ptr_eq(&known.table, &plan.table)
                && known.columns.len() == columns.len()
                && known.columns.iter().zip(&columns).all(|(a, b)| same(a, b))
        });
        if let Some(known) = known {
            return known.clone();
        }
        let before = |place: usize| absent.iter().filter(|n| **n < place).count();
        let plan = Arc::new(WritePlan {
            id: crate::plan::next_plan(),
            table: plan.table.clone(),
            mode: plan.mode,
            columns,
            key: plan.key.iter().map(|place| place - before(*place)).collect(),
            defaults: plan.defaults.clone(),
            skip_unchanged: plan.skip_unchanged,
            special: plan.special.clone(),
        });
        self.shared.push(plan.clone());
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_placeholder_is_known_in_each_of_its_forms() {
        let mut rows = Rows::default();
        let mut seen = |bytes: &[u8], text: bool| {
            let span = rows.heap.put(bytes);
            is_placeholder(&rows, if text { Cell::Text(span) } else { Cell::Bytes(span) })
        };
        for form in [TEXT, HEX, BASE64, &HEX.to_ascii_uppercase()] {
            assert!(seen(form, true));
        }
        assert!(seen(TEXT, false));
        for other in [&b"__debezium_unavailable_valuE"[..], b"", b"__debezium_unavailable_value "] {
            assert!(!seen(other, true));
        }
    }
}
