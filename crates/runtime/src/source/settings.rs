//! Everything a source task needs to know, already checked and resolved.

use super::offsets::OffsetStore;
use super::output::Delivered;
use crate::errors::ErrorLog;
use crate::sink::DeadLetterSettings;
use api::Tolerance;
use config::source::TopicGroup;
use std::sync::Arc;
use std::time::Duration;

/// Asked by a task that has taken its transactional id over, before it reads offsets or writes; waits
/// until everybody's word is known, or it is told that the task was stopped. False: the task is another's
/// by now, and ends without a record.
pub type Confirm = Arc<dyn Fn(&dyn Fn() -> bool) -> api::Result<bool> + Send + Sync>;

/// The settings of one source task.
#[derive(Clone)]
pub struct SourceTaskSettings {
    pub connector: String,
    pub task: u32,
    /// librdkafka's names.
    pub producer: kafka::ClientSettings,
    pub admin: kafka::ClientSettings,
    pub delivered: Delivered,
    /// Under exactly-once in a cluster; where there is none, whoever is fenced stops for good.
    pub confirm: Option<Confirm>,
    /// Where the task asks where it stood; under exactly-once the topic of [`Delivered`].
    pub store: Arc<dyn OffsetStore>,
    /// `None`: topics that are missing are left to the broker.
    pub topic_groups: Option<Vec<TopicGroup>>,
    /// Limits of one poll.
    pub batch_rows_max: usize,
    pub batch_bytes_max: usize,
    /// How often offsets are stored where they are not part of transactions.
    pub flush_interval: Duration,
    /// How long a stop waits for what is in flight.
    pub shutdown_timeout: Duration,
    pub retry_backoff_max: Duration,
    pub tolerance: Tolerance,
    pub tolerance_ratio_max: f64,
    pub error_log: ErrorLog,
    pub dead_letters: Option<DeadLetterSettings>,
}

impl SourceTaskSettings {
    pub(crate) fn is_transactional(&self) -> bool {
        matches!(self.delivered, Delivered::ExactlyOnce { .. })
    }
}
