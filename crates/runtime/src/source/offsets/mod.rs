//! Where source connectors stood: offsets by connector and source partition.
//!
//! The records are Kafka Connect's: a key `["connector",{partition}]` and a value `{offset}`, both
//! JSON. Standalone workers keep them in a file of our own, or in a topic, as a worker of a cluster does.
//!
//! Invariants: two ways to write one partition (member order, `1` and `1.0`) are one partition; its key
//! is written again with the bytes it was first seen with, so that compaction sees one key.

mod entries;
mod file;
mod java;
mod key;
mod layered;
mod topic;

pub use entries::OffsetEntries;
pub use file::OffsetFile;
pub use key::OffsetKey;
pub use layered::Layered;
pub use topic::{OffsetTopic, OffsetTopicSettings};

use api::{Result, SourceMap};
use std::sync::Arc;

/// A change of one partition's offset; `None` forgets it.
pub type OffsetChange = (Arc<SourceMap>, Option<SourceMap>);

/// A store of source offsets. Shared by the tasks of a worker.
pub trait OffsetStore: Send + Sync {
    /// Learns what others have stored. `stopped` ends a wait.
    ///
    /// # Errors
    /// Retriable where the store does not answer.
    fn refresh(&self, _stopped: &dyn Fn() -> bool) -> Result<()> {
        Ok(())
    }

    /// The offset of a partition; `None` if there is none.
    ///
    /// # Errors
    /// Retriable where the store does not answer.
    fn get(&self, connector: &str, partition: &SourceMap) -> Result<Option<SourceMap>>;

    /// Whether a partition's offset was forgotten here, so that an older store is not to be asked.
    fn forgot(&self, _connector: &str, _partition: &SourceMap) -> bool {
        false
    }

    /// Every partition of a connector that has an offset.
    ///
    /// # Errors
    /// As in [`OffsetStore::get`].
    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>>;

    /// Stores changes, all or none; they are durable when this returns.
    ///
    /// # Errors
    /// Retriable where the store does not take them: ask again with the same or later offsets.
    fn put(&self, connector: &str, changes: &[OffsetChange]) -> Result<()>;
}
