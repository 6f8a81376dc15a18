//! The transforms that Confluent ships beside Apache's, under the class names that existing
//! configurations carry.
//!
//! Source: Confluent's public documentation. Their classes could not be run here: what the
//! documentation leaves open is decided by what loses nothing, and said in each transform's text.

pub(crate) mod drop;
pub(crate) mod extract_topic;
pub(crate) mod message_timestamp_router;
pub(crate) mod tombstone_handler;
