//! The transforms of Jeremy Custenborder's collection that configurations name most, under their class
//! names.
//!
//! Source: the collection's public documentation. Their classes could not be run here.

pub(crate) mod change_case;
pub(crate) mod pattern_rename;
mod renamed;
