//! Single-message transforms and predicates, each a vectorised pass over a batch.

use data::{Batch, Mask};

/// Changes a decoded batch in place. Rows may be filtered (mask) or rejected (mask and reason).
pub trait Transform: Send {
    /// The Connect class name, for error reports.
    fn class(&self) -> &'static str;

    /// Applies the transform to the rows of `selected` that are alive.
    fn apply(&mut self, batch: &mut Batch, selected: &Mask);
}

/// Chooses the rows a transform is applied to.
pub trait Predicate: Send {
    /// Clears the bits of rows that do not match.
    fn select(&mut self, batch: &Batch, mask: &mut Mask);
}
