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
    roots: Vec<Cell>,
}

impl Roots {
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    pub fn reserve(&mut self, rows: usize) {
        self.roots.reserve(rows);
    }

    /// The runs in row order; together they cover every row.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Every row's value, in order.
    pub fn cells(&self) -> &[Cell] {
        &self.roots
    }

    /// The value of a row; null for a row that is not there.
    pub fn get(&self, row: usize) -> Cell {
        self.roots.get(row).copied().unwrap_or(Cell::Null)
    }

    pub fn schema(&self, row: usize) -> Option<&Arc<Schema>> {
        let at = self.runs.partition_point(|run| run.range().end <= row);
        self.runs.get(at).and_then(|run| run.schema.as_ref())
    }

    /// Appends a row. Schemas are compared by address: a converter gives one `Arc` per schema.
    pub fn push(&mut self, schema: Option<&Arc<Schema>>, root: Cell) {
        let row = self.roots.len() as u32;
        self.roots.push(root);
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
        self.runs.push(Run { schema: schema.cloned(), start: row, rows: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;
    use crate::rows::Rows;
    use crate::schema::Type;

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
