//! Everything a sink task needs to know, already checked and resolved.

use crate::errors::ErrorLog;
use kafka::settings::Reset;
use std::time::Duration;

/// What a sink task reads.
#[derive(Clone, Debug)]
pub enum Topics {
    List(Vec<String>),
    /// Topics whose whole name matches, new ones included.
    Regex(regex::Regex),
}

/// The dead-letter topic.
#[derive(Clone, Debug)]
pub struct DeadLetterSettings {
    pub topic: String,
    /// `None`: the broker's default.
    pub replication_factor: Option<i32>,
    pub context_headers: bool,
    pub producer: kafka::ClientSettings,
}

/// The settings of one sink task.
#[derive(Clone, Debug)]
pub struct SinkTaskSettings {
    pub connector: String,
    pub task: u32,
    pub group: String,
    pub topics: Topics,
    /// librdkafka's names.
    pub consumer: kafka::ClientSettings,
    pub admin: kafka::ClientSettings,
    pub reset: Reset,
    /// The task assigns all partitions to itself instead of joining the group.
    pub self_assign: bool,
    /// Topic ids are asked for, to notice topics that were created anew. The in-process broker
    /// never answers that question.
    pub topic_ids: bool,
    pub batch_rows_max: usize,
    pub batch_bytes_max: usize,
    pub queue_bytes_max: usize,
    /// How often positions are mirrored to the group.
    pub commit_interval: Duration,
    /// How often new topics are looked for where `topics.regex` is used.
    pub topics_refresh: Duration,
    /// How long a stop waits for what is in flight.
    pub shutdown_timeout: Duration,
    pub retry_backoff_max: Duration,
    pub tolerance_ratio_max: f64,
    pub error_log: ErrorLog,
    pub dead_letters: Option<DeadLetterSettings>,
}
