//! The rows of one plan while a transaction is bound, and how groups become writes.

use crate::header::header_text;
use crate::key::push_key;
use crate::reduce::{GroupForm, Reducer};
use crate::wanted::Extra;
use crate::write::{PlanColumn, RowRef, Source, TableWrite, WritePlan, field, member};
use data::{Batch, Cell, Rows, Schema, Width, write_json_string, write_plain_json};
use std::sync::Arc;

/// Rows of one plan.
#[derive(Debug)]
pub(crate) struct Group {
    pub plan: Arc<WritePlan>,
    /// The table's number.
    pub table: u32,
    pub rows: Vec<RowRef>,
    forms: Vec<Extra>,
    extras: Vec<Cell>,
    extra_rows: Rows,
    /// The topic's text, kept while the topic is the same.
    topic: Option<(Arc<str>, Cell)>,
}

impl Group {
    pub(crate) fn new(plan: Arc<WritePlan>, table: u32, forms: Vec<Extra>) -> Group {
        let (rows, extras) = (Vec::new(), Vec::new());
        Group { plan, table, rows, forms, extras, extra_rows: Rows::default(), topic: None }
    }

    /// Adds a row and its extra values.
    pub(crate) fn push(&mut self, batch: &Batch, place: RowRef) {
        self.rows.push(place);
        let row = place.row as usize;
        for form in &self.forms {
            let cell = match form {
                Extra::Topic => match &self.topic {
                    Some((known, cell)) if Arc::ptr_eq(known, batch.topic(row)) => *cell,
                    _ => {
                        let topic = batch.topic(row);
                        let cell = Cell::Text(self.extra_rows.heap.put(topic.as_bytes()));
                        self.topic = Some((topic.clone(), cell));
                        cell
                    }
                },
                Extra::Partition => Cell::Int(i64::from(batch.tp().partition), Width::W32),
                Extra::Offset => {
                    batch.raw.records().get(row).map_or(Cell::Null, |r| Cell::int(r.offset))
                }
                Extra::Rest(known) => {
                    Cell::Json(self.extra_rows.heap.put_with(|out| rest(batch, row, known, out)))
                }
                Extra::Header(name) => match header_text(batch, row, name) {
                    Some(text) => Cell::Text(self.extra_rows.heap.put(text.as_bytes())),
                    None => Cell::Null,
                },
            };
            self.extras.push(cell);
        }
    }

    /// Takes the row added last out again.
    pub(crate) fn pop(&mut self) {
        self.rows.pop();
        self.extras.truncate(self.rows.len() * self.forms.len());
    }

    /// Takes every row out again.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.extras.clear();
    }

    /// The value of a key column of the row added last.
    fn last_cell<'a>(
        &'a self,
        batch: &'a Batch,
        row: usize,
        column: &'a PlanColumn,
    ) -> (Cell, &'a Rows) {
        let (cell, rows) = match &column.source {
            Source::Extra(index) => {
                let start = (self.rows.len().saturating_sub(1)) * self.forms.len();
                let cell = self.extras.get(start + index).copied();
                (cell.unwrap_or(Cell::Null), &self.extra_rows)
            }
            other => record_cell(batch, row, other),
        };
        match column.null_default {
            Some(default) if cell.is_null() => (default, &self.plan.defaults),
            _ => (cell, rows),
        }
    }

    fn key_columns(&self) -> impl Iterator<Item = &PlanColumn> {
        self.plan.key.iter().filter_map(|index| self.plan.columns.get(*index))
    }

    fn form<'a>(&self, targets: &'a [usize]) -> GroupForm<'a> {
        let writable = self.plan.table.columns.iter().enumerate().filter(|(_, c)| !c.generated);
        let whole_row =
            writable.map(|(index, _)| index).all(|index| targets.binary_search(&index).is_ok());
        let versioned = self.plan.special.as_ref().is_some_and(|s| s.version.is_some());
        GroupForm { mode: self.plan.mode, targets, whole_row, versioned }
    }

    /// The write of chosen rows, in that order.
    fn choose(&self, rows: &[u32]) -> TableWrite {
        let width = self.forms.len();
        let mut extras = Vec::with_capacity(rows.len() * width);
        if width > 0 {
            for row in rows {
                let start = *row as usize * width;
                extras.extend(self.extras.get(start..start + width).unwrap_or_default());
            }
        }
        let chosen = rows.iter().filter_map(|row| self.rows.get(*row as usize).copied());
        TableWrite {
            plan: self.plan.clone(),
            rows: chosen.collect(),
            extras,
            extras_per_row: width,
            extra_rows: self.extra_rows.clone(),
        }
    }

    fn all(self) -> TableWrite {
        TableWrite {
            plan: self.plan,
            rows: self.rows,
            extras: self.extras,
            extras_per_row: self.forms.len(),
            extra_rows: self.extra_rows,
        }
    }
}

/// The members of a value but those that have a column, as a JSON object.
fn rest(batch: &Batch, row: usize, known: &[Arc<str>], out: &mut Vec<u8>) {
    let values = &batch.values;
    let schema = values.schema(row).map(|schema| &**schema);
    let is_known = |name: &str| known.iter().any(|k| **k == *name);
    out.push(b'{');
    let first = out.len();
    let mut member = |name: &str, schema: Option<&Schema>, cell: Cell| {
        if is_known(name) {
            return;
        }
        if out.len() > first {
            out.push(b',');
        }
        write_json_string(name, out);
        out.push(b':');
        write_plain_json(values, schema, cell, out);
    };
    match values.root(row) {
        Cell::Map(span) => {
            let inner = schema.and_then(Schema::value_schema).map(|schema| &**schema);
            for entry in values.cells(span).chunks_exact(2) {
                if let [Cell::Text(name), value] = entry {
                    member(values.text(*name), inner, *value);
                }
            }
        }
        root @ Cell::Struct(_) => {
            let fields = schema.map(Schema::fields).unwrap_or_default();
            for (field, cell) in fields.iter().zip(values.fields(root)) {
                member(&field.name, Some(&field.schema), *cell);
            }
        }
        _ => {}
    }
    out.push(b'}');
}

pub(crate) fn record_cell<'a>(batch: &'a Batch, row: usize, source: &Source) -> (Cell, &'a Rows) {
    let (keys, values) = (&batch.keys, &batch.values);
    match source {
        Source::ValueRoot => (values.root(row), values),
        Source::KeyRoot => (keys.root(row), keys),
        Source::ValueField(index) => (field(values, row, *index), values),
        Source::KeyField(index) => (field(keys, row, *index), keys),
        Source::ValueMember(name) => (member(values, row, name), values),
        Source::KeyMember(name) => (member(keys, row, name), keys),
        Source::Extra(_) => (Cell::Null, values),
    }
}

/// Whether a record's delete marker is set: `true`, `"true"` or `"d"`.
pub(crate) fn delete_asked(batch: &Batch, row: usize, marker: &Source) -> bool {
    match record_cell(batch, row, marker) {
        (Cell::Bool(value), _) => value,
        (Cell::Text(span), rows) => matches!(rows.text(span), "true" | "d"),
        _ => false,
    }
}

/// The first key column of the row added last that has no value.
pub(crate) fn key_lacks(group: &Group, batch: &Batch, row: usize) -> Option<String> {
    let column = group.key_columns().find(|c| group.last_cell(batch, row, c).0.is_null())?;
    let name = group.plan.target(column).map(|c| c.name.clone());
    Some(name.unwrap_or_default())
}

/// Appends the key of the row added last.
pub(crate) fn push_key_of(group: &Group, batch: &Batch, row: usize, out: &mut Vec<u8>) {
    for column in group.key_columns() {
        let (cell, rows) = group.last_cell(batch, row, column);
        push_key(rows, cell, out);
    }
}

/// The writes of a transaction, in the order in which they must happen: deletes first, then by
/// phase and table. With a reducer the operations on each key are reduced first.
pub(crate) fn writes_of(groups: Vec<Group>, reducer: Option<&mut Reducer>) -> Vec<TableWrite> {
    let mut writes = Vec::new();
    match reducer {
        None => writes.extend(groups.into_iter().map(|group| (1, group.all()))),
        Some(reducer) => {
            let targets: Vec<Vec<usize>> = groups
                .iter()
                .map(|group| group.plan.columns.iter().map(|c| c.target).collect())
                .collect();
            let forms: Vec<_> =
                groups.iter().zip(&targets).map(|(group, targets)| group.form(targets)).collect();
            for kept in reducer.reduce(&forms) {
                if let Some(group) = groups.get(kept.group as usize) {
                    writes.push((kept.phase, group.choose(&kept.rows)));
                }
            }
            // Plans without a key cannot be reduced.
            let keyless = groups.into_iter().filter(|group| group.plan.key.is_empty());
            writes.extend(keyless.map(|group| (1, group.all())));
        }
    }
    writes.retain(|(_, write)| !write.rows.is_empty());
    // Every worker goes through tables in the same order.
    writes.sort_by(|(a, x), (b, y)| {
        (a, &x.plan.table.name, x.plan.id).cmp(&(b, &y.plan.table.name, y.plan.id))
    });
    writes.into_iter().map(|(_, write)| write).collect()
}
