//! The transforms of Aiven's collection that configurations name most, under their class names.
//!
//! Source: the collection's public documentation. Their classes could not be run here.

pub(crate) mod extract_timestamp;
pub(crate) mod extract_topic;
