//! What each row of a row set is: its schema and its root cell.
//!
//! Apart from the cells and bytes that roots point into, so that a value's inner part can take the
//! place of the whole, and the whole be kept, without a copy of either.
//!
//! Invariant: the runs cover the rows in order and without gaps.

use crate::cell::Cell;
use crate::rows::Run;
use crate::schema::Schema;
use std::sync::Arc;

/// Schemas and root cells of consecutive rows. They mean nothing without the row set whose cells
/// they point into; see [`Rows::swap_roots`](crate::Rows::swap_roots).
#[derive(Clone, Debug, Default)]
pub struct Roots {
    runs: Vec<Run>,
    cells: Vec<Cell>,
    /// Rows there are; behind them lie old ones that have not been given anew yet, see
    /// [`Roots::give_anew`].
    filled: usize,
}

impl Roots {
    pub fn len(&self) -> usize {
        self.filled
    }

    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    pub fn reserve(&mut self, rows: usize) {
        self.cells.reserve(rows);
    }

    /// The runs in row order; together they cover every row.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Every row's value, in order.
    pub fn cells(&self) -> &[Cell] {
        self.cells.get(..self.filled).unwrap_or_default()
    }

    /// The value of a row; null for a row that is not there.
    #[inline]
    pub fn get(&self, row: usize) -> Cell {
        *self.cells().get(row).unwrap_or(&Cell::Null)
    }

    pub fn schema(&self, row: usize) -> Option<&Arc<Schema>> {
        let at = self.runs.partition_point(|run| run.range().end <= row);
        self.runs.get(at).and_then(|run| run.schema.as_ref())
    }

    /// Appends a row. Schemas are compared by address: a converter gives one `Arc` per schema.
    #[inline]
    pub fn push(&mut self, schema: Option<&Arc<Schema>>, root: Cell) {
        match self.cells.get_mut(self.filled) {
            Some(old) => *old = root,
            None => self.cells.push(root),
        }
        self.filled += 1;
        if let Some(run) = self.runs.last_mut() {
            let same = match (&run.schema, schema) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            };
            if same {
                run.rows += 1;
                return;
            }
        }
        self.begin_run(schema);
    }

    #[cold]
    fn begin_run(&mut self, schema: Option<&Arc<Schema>>) {
        let start = self.filled as u32 - 1;
        self.runs.push(Run { schema: schema.cloned(), start, rows: 1 });
    }

    /// Takes the runs out and leaves no rows, to be pushed anew in the place of the old: no memory is
    /// asked for. A row's old value is given by [`Roots::old`] until its new one is pushed.
    pub fn give_anew(&mut self) -> Vec<Run> {
        self.filled = 0;
        std::mem::take(&mut self.runs)
    }

    /// What the next row to be pushed was before [`Roots::give_anew`]; null if there was none.
    #[inline]
    pub fn old(&self) -> Cell {
        *self.cells.get(self.filled).unwrap_or(&Cell::Null)
    }

    /// Whether no two rows' structs, maps and lists have a cell in common.
    pub(crate) fn are_apart(&self) -> bool {
        let span = |cell: &Cell| match cell {
            Cell::Struct(span) | Cell::Map(span) | Cell::List(span) => Some(span.range()),
            _ => None,
        };
        let mut spans = Vec::with_capacity(self.filled);
        spans.extend(self.cells().iter().filter_map(span).filter(|span| !span.is_empty()));
        spans.sort_unstable_by_key(|span| span.start);
        spans.iter().zip(spans.iter().skip(1)).all(|(one, next)| one.end <= next.start)
    }

    /// Forgets old rows that were not given anew.
    pub(crate) fn settle(&mut self) {
        self.cells.truncate(self.filled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;
    use crate::rows::Rows;
    use crate::schema::Type;

    #[test]
    fn rows_are_given_anew_in_their_places() {
        let schema = Arc::new(Schema::new(Type::Int64));
        let mut roots = Roots::default();
        for value in 0..3 {
            roots.push(Some(&schema), Cell::int(value));
        }
        let runs = roots.give_anew();
        assert_eq!((runs.len(), roots.len(), roots.get(0)), (1, 0, Cell::Null));
        for value in 0..2 {
            assert_eq!(roots.old(), Cell::int(value));
            roots.push(None, Cell::int(value + 10));
        }
        assert_eq!(roots.cells(), [Cell::int(10), Cell::int(11)]);
        assert_eq!((roots.runs().len(), roots.get(2)), (1, Cell::Null));
        let mut rows = Rows::default();
        rows.set_roots(roots);
        rows.push(None, Cell::int(12));
        assert_eq!(rows.roots(), [10, 11, 12].map(Cell::int), "old rows are forgotten");
    }

    #[test]
    fn a_part_takes_the_place_of_the_whole_and_back() {
        let inner = Arc::new(Schema::new(Type::String));
        let outer = SchemaBuilder::structure().field("a", inner.clone()).build().unwrap();
        let outer = Arc::new(outer);
        let mut rows = Rows::default();
        let text = Cell::Text(rows.heap.put(b"x"));
        let root = Cell::Struct(rows.alloc_from(&[text]));
        rows.push(Some(&outer), root);
        rows.push(Some(&outer), root);
        let mut parts = Roots::default();
        parts.push(Some(&inner), text);
        parts.push(None, Cell::Null);
        let whole = rows.swap_roots(parts).unwrap();
        assert_eq!((rows.root(0), rows.root(1), rows.runs().len()), (text, Cell::Null, 2));
        assert_eq!(rows.schema(0), Some(&inner));
        assert_eq!((whole.get(1), whole.schema(1), whole.get(2)), (root, Some(&outer), Cell::Null));
        let short = rows.swap_roots(Roots::default()).unwrap_err();
        assert!(short.is_empty() && rows.len() == 2, "every row keeps a root");
        rows.swap_roots(whole).unwrap();
        assert_eq!((rows.root(1), rows.runs().len()), (root, 1));
    }
}
