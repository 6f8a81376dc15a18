//! Source tasks: records of a connector into Kafka, and where it stood into a store.
//!
//! Place in the data path: a source task's batches go through transforms and converters to a
//! producer. At least once, offsets are stored behind what Kafka has acknowledged; exactly once, they
//! are part of the transactions that hold the records.

mod acknowledged;
mod confirm;
mod encode;
mod letters;
pub mod offsets;
mod output;
mod refusals;
mod settings;
mod singly;
mod storing;
mod task;
mod topics;
mod work;

pub use output::Delivered;
pub(crate) use output::not_allowed;
pub use settings::{Confirm, SourceTaskSettings};
pub use task::{SourceChain, SourceTaskHandle, spawn_source_task};
