//! The values of one row, its parts looked up once.
//!
//! Place in the data path: COPY goes through rows, so the row's place in its batch, and the fields of
//! its value and key, are found once and not for every column. Members of maps, whose names come in
//! the same order in most records, are taken in one walk along each map.

use crate::write::{PlanColumn, Source, TableWrite, WritePlan};
use data::{Batch, Cell, Rows};

/// What a write's columns find in the map of one row's value.
pub(super) struct Members<'a> {
    /// By column of the plan: the name it looks for.
    names: Vec<Option<&'a [u8]>>,
    /// By place in the map: the column that found its value there last.
    guesses: Vec<Option<usize>>,
    /// By column of the plan.
    cells: Vec<Cell>,
    used: bool,
}

impl<'a> Members<'a> {
    pub(super) fn of(plan: &'a WritePlan) -> Members<'a> {
        let mut names: Vec<Option<&[u8]>> = Vec::with_capacity(plan.columns.len());
        for column in &plan.columns {
            let name = match &column.source {
                Source::ValueMember(name) => Some(name.as_bytes()),
                _ => None,
            };
            // A second column of the same member looks for itself.
            names.push(name.filter(|name| !names.contains(&Some(*name))));
        }
        let used = names.iter().any(Option::is_some);
        Members { cells: vec![Cell::Null; names.len()], names, guesses: Vec::new(), used }
    }

    /// Looks at row number `index` of the write; the last of several members of one name counts.
    pub(super) fn look(&mut self, write: &TableWrite, batches: &[Batch], index: usize) {
        if !self.used {
            return;
        }
        self.cells.fill(Cell::Null);
        let Some(place) = write.rows.get(index) else { return };
        let Some(batch) = batches.get(place.batch as usize) else { return };
        let rows = &batch.values;
        let Cell::Map(span) = rows.root(place.row as usize) else { return };
        for (n, entry) in rows.cells(span).chunks_exact(2).enumerate() {
            let [Cell::Text(key), value] = entry else { continue };
            if let Some(column) = self.column(n, rows.bytes(*key))
                && let Some(cell) = self.cells.get_mut(column)
            {
                *cell = *value;
            }
        }
    }

    /// The column that looks for a name, which stands at this place of the map.
    fn column(&mut self, place: usize, name: &[u8]) -> Option<usize> {
        let guess = self.guesses.get(place).copied().flatten();
        if let Some(column) = guess
            && self.names.get(column).is_some_and(|own| *own == Some(name))
        {
            return guess;
        }
        let found = self.names.iter().position(|own| *own == Some(name));
        if found.is_some() && place < PLACES_MAX {
            if place >= self.guesses.len() {
                self.guesses.resize(place + 1, None);
            }
            if let Some(guess) = self.guesses.get_mut(place) {
                *guess = found;
            }
        }
        found
    }

    fn get(&self, column: usize) -> Option<&Cell> {
        self.names.get(column)?.and(self.cells.get(column))
    }
}

/// Places of a map that are remembered.
const PLACES_MAX: usize = 1024;

pub(super) struct Row<'a> {
    write: &'a TableWrite,
    batches: &'a [Batch],
    index: usize,
    /// Fields of the value and of the key; empty where they are no structs.
    values: &'a [Cell],
    keys: &'a [Cell],
    batch: Option<&'a Batch>,
    members: &'a Members<'a>,
}

impl<'a> Row<'a> {
    /// Row number `index` of a write, which the members have looked at.
    #[inline]
    pub(super) fn new(
        write: &'a TableWrite,
        batches: &'a [Batch],
        index: usize,
        members: &'a Members<'a>,
    ) -> Row<'a> {
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
            members,
        }
    }

    /// The field of column number `place` where it lies, if it is one of the value's or key's fields.
    #[inline]
    pub(super) fn field(&self, place: usize, column: &PlanColumn) -> Option<(&'a Cell, &'a Rows)> {
        let batch = self.batch?;
        match &column.source {
            Source::ValueField(n) => Some((self.values.get(*n)?, &batch.values)),
            Source::KeyField(n) => Some((self.keys.get(*n)?, &batch.keys)),
            Source::ValueMember(_) => Some((self.members.get(place)?, &batch.values)),
            _ => None,
        }
    }

    /// The value of column number `place` and the row set that owns its text, as
    /// [`TableWrite::cell`] gives them.
    #[inline]
    pub(super) fn cell(&self, place: usize, column: &'a PlanColumn) -> (Cell, &'a Rows) {
        match self.field(place, column) {
            Some((cell, rows)) if !cell.is_null() || column.null_default.is_none() => (*cell, rows),
            _ => self.write.cell(self.batches, self.index, column),
        }
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
        let mut members = Members::of(&write.plan);
        for index in 0..4 {
            members.look(&write, &batches, index);
            let row = Row::new(&write, &batches, index, &members);
            for (n, column) in write.plan.columns.iter().enumerate() {
                let (cell, rows) = row.cell(n, column);
                let (expect, owner) = write.cell(&batches, index, column);
                assert_eq!(cell, expect, "row {index}");
                assert!(std::ptr::eq(rows, owner), "row {index}");
            }
        }
    }

    #[test]
    fn members_are_found_in_any_order_and_the_last_of_a_name_counts() {
        let (mut write, _) = write();
        let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
        (0..5).for_each(|o| raw.push(o, 0, data::TimestampType::None, None, Some(b"x")));
        let mut batch = Batch::new(Arc::new(raw.finish(5)));
        let map = |entries: &[(&str, i64)]| {
            let entry = |(name, n): &(&str, i64)| (Value::Text((*name).to_owned()), Value::int(*n));
            Value::Map(entries.iter().map(entry).collect())
        };
        let maps = [
            map(&[("a", 1), ("b", 2)]),
            map(&[("b", 3), ("a", 4)]),
            map(&[("a", 5), ("c", 6), ("a", 7)]),
            Value::Null,
            map(&[("c", 8), ("b", 9)]),
        ];
        for value in maps {
            let cell = batch.values.put_value(None, &value);
            batch.values.push(None, cell);
            batch.keys.push(None, Cell::Null);
        }
        let plan = Arc::get_mut(&mut write.plan).unwrap();
        let member = |name: &str, null_default| PlanColumn {
            target: 0,
            source: Source::ValueMember(name.into()),
            schema: None,
            null_default,
        };
        let default = plan.columns.iter().find_map(|column| column.null_default);
        plan.columns = vec![member("a", None), member("b", default), member("b", None)];
        write.rows = (0..5).map(|row| RowRef { batch: 0, row }).collect();
        let (write, batches) = (write, vec![batch]);
        let mut members = Members::of(&write.plan);
        for index in 0..5 {
            members.look(&write, &batches, index);
            let row = Row::new(&write, &batches, index, &members);
            for (n, column) in write.plan.columns.iter().enumerate() {
                let (cell, rows) = row.cell(n, column);
                let (expect, owner) = write.cell(&batches, index, column);
                assert_eq!(cell, expect, "row {index}, column {n}");
                assert!(std::ptr::eq(rows, owner) || !matches!(cell, Cell::Text(_)), "row {index}");
            }
        }
        assert_eq!(write.cell(&batches, 2, &write.plan.columns[0]).0, Cell::int(7));
    }
}
