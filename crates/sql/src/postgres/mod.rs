//! PostgreSQL: the first-class destination.

pub mod wire;
