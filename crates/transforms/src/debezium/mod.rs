//! The transforms that Debezium ships, under the class names that existing configurations carry.
//!
//! Source: Debezium's public documentation, and what the classes of 3.6 do with records of our own
//! (`debezium-*.jsonl` in the testdata of crate `golden`). Debezium's `Filter` and
//! `ContentBasedRouter` run scripts and are not built: their entries say what to use instead.

pub(crate) mod by_logical_table_router;
pub(crate) mod envelope;
pub(crate) mod event_router;
pub(crate) mod extract_new_record_state;
pub(crate) mod header_to_value;
pub(crate) mod scripted;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod timezone_converter;
