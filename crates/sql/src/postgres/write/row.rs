//! The values of one row, its parts looked up once.
//!
//! Place in the data path: COPY goes through rows, so the row's place in its batch, and the fields of
//! its value and key, are found once and not for every column.

use crate::write::{PlanColumn, Source, TableWrite};
use data::{Batch, Cell, Rows};

pub(super) struct Row<'a> {
    write: &'a TableWrite,
    batches: &'a [Batch],
    index: usize,
    /// Fields of the value and of the key; empty where they are no structs.
    values: &'a [Cell],
    keys: &'a [Cell],
    batch: Option<&'a Batch>,
}

impl<'a> Row<'a> {
    /// Row number `index` of a write.
    #[inline]
    pub(super) fn new(write: &'a TableWrite, batches: &'a [Batch], index: usize) -> Row<'a> {
        let place = write.rows.get(index);
        let batch = place.and_then(|place| batches.get(place.batch as usize));
        let row = place.map_or(0, |place| place.row as usize);
        let fields = |rows: &'a Rows| rows.fields(rows.root(row));
        Row {
            write,
            batches,
            index,
            values: batch.map_or(&[], |b| fields(&b.values)),
            keys: batch.map_or(&[], |b| fields(&b.keys)),
            batch,
        }
    }

    /// A column's field where it lies, if it is one of the value's or key's fields.
    #[inline]
    pub(super) fn field(&self, column: &PlanColumn) -> Option<(&'a Cell, &'a Rows)> {
        let batch = self.batch?;
        match &column.source {
            Source::ValueField(n) => Some((self.values.get(*n)?, &batch.values)),
            Source::KeyField(n) => Some((self.keys.get(*n)?, &batch.keys)),
            _ => None,
        }
    }

    /// The value of a column and the row set that owns its text, as [`TableWrite::cell`] gives them.
    #[inline]
    pub(super) fn cell(&self, column: &'a PlanColumn) -> (Cell, &'a Rows) {
        if let Some(batch) = self.batch {
            let found = match &column.source {
                Source::ValueField(n) => self.values.get(*n).map(|cell| (*cell, &batch.values)),
                Source::KeyField(n) => self.keys.get(*n).map(|cell| (*cell, &batch.keys)),
                _ => None,
            };
            match found {
                Some((cell, rows)) if !cell.is_null() => return (cell, rows),
                _ => {}
            }
        }
        self.write.cell(self.batches, self.index, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Table, TableName};
    use crate::write::{RowRef, WriteMode, WritePlan};
    use data::{RawBatchBuilder, Schema, SchemaBuilder, TopicPartition, Type, Value};
    use std::sync::Arc;

    /// Rows with a key and a value of two fields, one null, and a column of each source.
    fn write() -> (TableWrite, Vec<Batch>) {
        let of = |kind| Arc::new(Schema::new(kind));
        let schema = SchemaBuilder::structure().field("a", of(Type::Int64));
        let schema = Arc::new(schema.field("b", of(Type::String)).build().unwrap());
        let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for offset in 0..3 {
            raw.push(offset, 0, data::TimestampType::None, None, Some(b"x"));
        }
        let mut batch = Batch::new(Arc::new(raw.finish(3)));
        for n in 0..3 {
            let text = if n == 1 { Value::Null } else { Value::Text(format!("v{n}")) };
            let value = batch.values.put_value(None, &Value::fields(vec![Value::int(n), text]));
            batch.values.push(Some(&schema), value);
            let key = batch.keys.put_value(None, &Value::fields(vec![Value::int(-n)]));
            batch.keys.push(Some(&schema), key);
        }
        let mut defaults = Rows::default();
        let default = Some(defaults.put_value(None, &Value::Text("default".to_owned())));
        let column =
            |source, null_default| PlanColumn { target: 0, source, schema: None, null_default };
        let columns = vec![
            column(Source::ValueField(0), None),
            column(Source::ValueField(1), default),
            column(Source::ValueField(9), None),
            column(Source::KeyField(0), None),
            column(Source::ValueRoot, None),
            column(Source::Extra(0), None),
        ];
        let table = Table {
            name: TableName { schema: None, name: "t".to_owned() },
            columns: Vec::new(),
            unique_keys: Vec::new(),
            has_primary_key: false,
            is_view: false,
        };
        let plan = WritePlan {
            id: 1,
            table: Arc::new(table),
            mode: WriteMode::Insert,
            columns,
            key: Vec::new(),
            defaults,
            skip_unchanged: false,
            special: None,
        };
        let write = TableWrite {
            plan: Arc::new(plan),
            rows: [2, 0, 1].map(|row| RowRef { batch: 0, row }).to_vec(),
            extras: [7, 8, 9].map(Cell::int).to_vec(),
            extras_per_row: 1,
            extra_rows: Rows::default(),
        };
        (write, vec![batch])
    }

    #[test]
    fn a_row_has_the_cells_of_its_write() {
        let (write, batches) = write();
        for index in 0..4 {
            let row = Row::new(&write, &batches, index);
            for column in &write.plan.columns {
                let (cell, rows) = row.cell(column);
                let (expect, owner) = write.cell(&batches, index, column);
                assert_eq!(cell, expect, "row {index}");
                assert!(std::ptr::eq(rows, owner), "row {index}");
            }
        }
    }
}
