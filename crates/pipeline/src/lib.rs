//! The SQL control plane: people define consumers with functions of the schema `pipeline_kafka`, and
//! workers (`copycat pg run`) carry them out.
//!
//! Place in the data path: beside it. Definitions, positions, states and dead letters live in the
//! database that the rows go to; this crate keeps none of them. `sql/` has the schema itself.

pub mod control;
pub mod doctor;
pub mod formats;
pub mod install;
mod mapping;
pub mod outbox;
pub mod replay;
pub mod schema;
pub mod worker;
