//! What one transaction does: positions to move, rows to write by table, rejects to keep.
//!
//! A [`WritePlan`] is made once for a schema and a table and shared; dialects cache statements and
//! encoders by its `id`. Rows are never copied: a plan's columns say where in the decoded batch a
//! value lies.

use crate::table::{Table, TableName};
use data::{Batch, Cell, Reject, Rows, Schema, TopicPartition};
use std::sync::Arc;

/// Where a column's value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The whole value, or key.
    ValueRoot,
    KeyRoot,
    /// A field of a value, or key, that is a struct.
    ValueField(usize),
    KeyField(usize),
    /// A member of a schemaless value, or key, that is a map.
    ValueMember(Arc<str>),
    KeyMember(Arc<str>),
    /// Number `i` of the row's extra cells (topic, partition, offset, headers).
    Extra(usize),
}

/// A destination column and its source.
#[derive(Clone, Debug)]
pub struct PlanColumn {
    /// Index into [`Table::columns`] of the plan's table.
    pub target: usize,
    pub source: Source,
    /// The Connect schema of the value; `None` for schemaless data.
    pub schema: Option<Arc<Schema>>,
    /// A null is replaced by the schema's default (a cell of [`WritePlan::defaults`]).
    pub null_default: Option<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteMode {
    Insert,
    /// A row whose key exists already is left alone.
    InsertIgnore,
    Upsert,
    /// A key that does not exist changes nothing.
    Update,
    /// The plan's columns are the key.
    Delete,
}

/// How rows of one shape go into one table.
#[derive(Debug)]
pub struct WritePlan {
    /// Unique in the process; never used again.
    pub id: u64,
    pub table: Arc<Table>,
    pub mode: WriteMode,
    pub columns: Vec<PlanColumn>,
    /// Indexes into `columns` that make the key; empty for plain inserts without a key.
    pub key: Vec<usize>,
    /// Holds the cells of `null_default`.
    pub defaults: Rows,
    /// Upserts leave rows alone that would not change (`IS DISTINCT FROM`).
    pub skip_unchanged: bool,
    /// What plain rows do not have.
    pub special: Option<Arc<Special>>,
}

/// What the database does with the rows of a plan beside storing them. Columns are indexes into
/// [`Table::columns`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Special {
    /// An upsert changes a row only if its value here is less than the new one, or null. Rows are
    /// then reduced to one a key by the database, which knows the order of the type.
    pub version: Option<usize>,
    /// Columns and the SQL expressions over the table's other columns that fill them.
    pub computed: Vec<(usize, Arc<str>)>,
    /// The records go to a function, whose rows are stored: its quoted name. The plan has no columns.
    pub transform: Option<Transform>,
}

/// A function that makes rows of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    pub function: Arc<str>,
    /// The columns of the rows that are stored.
    pub columns: Vec<usize>,
    /// Those that rows are told apart by.
    pub key: Vec<usize>,
}

impl WritePlan {
    /// The destination column of a plan column. Plans are made with valid indexes.
    pub fn target(&self, column: &PlanColumn) -> Option<&crate::table::Column> {
        self.table.columns.get(column.target)
    }
}

impl WritePlan {
    /// Names of columns that must have a value, have no default and are not filled. An upsert can
    /// only change rows that are there.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let special = self.special.as_deref();
        let computed = special.map(|s| s.computed.as_slice()).unwrap_or_default();
        let filled = move |index: usize| {
            self.columns.iter().any(|column| column.target == index)
                || computed.iter().any(|(target, _)| *target == index)
        };
        let lacking = self.table.columns.iter().enumerate().filter(move |(index, c)| {
            !c.nullable && !c.has_default && !c.generated && !filled(*index)
        });
        lacking.map(|(_, column)| column.name.as_str())
    }
}

/// A row of a transaction: the batch's place in [`Transaction::batches`] and the row in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowRef {
    pub batch: u32,
    pub row: u32,
}

/// Rows for one plan. `Upsert`, `Update` and `Delete` rows are reduced (one a key, the last; with a
/// version all since the last delete) and sorted by key; inserts are in offset order.
#[derive(Debug)]
pub struct TableWrite {
    pub plan: Arc<WritePlan>,
    pub rows: Vec<RowRef>,
    /// `extras_per_row` cells for each row, in row order; their text is in `extra_rows`.
    pub extras: Vec<Cell>,
    pub extras_per_row: usize,
    pub extra_rows: Rows,
}

impl TableWrite {
    /// The value of a column for row number `index` of this write, and the row set that owns its
    /// text and nested cells.
    pub fn cell<'a>(
        &'a self,
        batches: &'a [Batch],
        index: usize,
        column: &'a PlanColumn,
    ) -> (Cell, &'a Rows) {
        let Some((batch, row)) = self
            .rows
            .get(index)
            .and_then(|r| batches.get(r.batch as usize).map(|b| (b, r.row as usize)))
        else {
            return (Cell::Null, &self.extra_rows);
        };
        let (cell, rows) = match &column.source {
            Source::ValueRoot => (batch.values.root(row), &batch.values),
            Source::KeyRoot => (batch.keys.root(row), &batch.keys),
            Source::ValueField(i) => (field(&batch.values, row, *i), &batch.values),
            Source::KeyField(i) => (field(&batch.keys, row, *i), &batch.keys),
            Source::ValueMember(name) => (member(&batch.values, row, name), &batch.values),
            Source::KeyMember(name) => (member(&batch.keys, row, name), &batch.keys),
            Source::Extra(i) => {
                let cell = self.extras.get(index * self.extras_per_row + i);
                (cell.copied().unwrap_or(Cell::Null), &self.extra_rows)
            }
        };
        match column.null_default {
            Some(default) if cell.is_null() => (default, &self.plan.defaults),
            _ => (cell, rows),
        }
    }
}

pub(crate) fn field(rows: &Rows, row: usize, index: usize) -> Cell {
    rows.fields(rows.root(row)).get(index).copied().unwrap_or(Cell::Null)
}

/// The value of a map's member; the last one where a name is repeated.
pub(crate) fn member(rows: &Rows, row: usize, name: &str) -> Cell {
    let Cell::Map(span) = rows.root(row) else { return Cell::Null };
    let entries = rows.cells(span).chunks_exact(2).rev();
    let mut found = entries.filter_map(|entry| match entry {
        [Cell::Text(key), value] if rows.bytes(*key) == name.as_bytes() => Some(*value),
        _ => None,
    });
    found.next().unwrap_or(Cell::Null)
}

/// A partition's position moves from `from` to `to`, if it is still at `from` under `epoch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// The place of its records in [`Transaction::batches`].
    pub batch: u32,
    pub tp: TopicPartition,
    pub epoch: i64,
    pub from: i64,
    pub to: i64,
}

/// What has refused a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBy {
    /// A converter or transform, before it came here.
    Decoding,
    /// The search for columns, or for a table.
    Binding,
    /// The form of a value, or the database.
    Writing,
    /// A constraint that is checked at the end of the transaction.
    Committing,
}

/// A record that goes into the dead-letter table.
#[derive(Clone, Debug)]
pub struct RejectRow {
    pub batch: u32,
    pub reject: Reject,
    pub by: RefusedBy,
    /// The table it was meant for, where that is known.
    pub table: Option<TableName>,
}

/// One transaction, in the order it is carried out: positions, tables to empty, rows, rejects.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub batches: &'a [Batch],
    /// Sorted by topic and partition, so that transactions lock rows in one order.
    pub advances: &'a [Advance],
    /// Tables that lose all their rows before anything is written.
    pub truncates: &'a [TableName],
    /// Deletes first, then the others.
    pub writes: &'a [TableWrite],
    pub rejects: &'a [RejectRow],
}

impl Transaction<'_> {
    /// Whether anything is written but positions and rejects.
    pub fn has_rows(&self) -> bool {
        !self.truncates.is_empty() || !self.writes.is_empty()
    }
}
