//! Runs one task well: from Kafka through converters and transforms into a sink.
//!
//! A sink task is two threads. The fetch thread drives the consumer; the deliver thread decodes and
//! writes. They share a mailbox of batches with a byte budget. Positions live in the destination;
//! what the group keeps is a mirror.
//!
//! Invariants:
//! - infrastructure failures never end a task;
//! - the group's offsets never run ahead of what is durable;
//! - every record ends as stored, reported or still to be read.

mod chain;
mod chain_config;
mod compacted;
mod errors;
pub mod metrics;
mod plugins;
mod sink;
pub mod source;
mod status;
mod worker;

pub use api::Check;
pub use chain::{Chain, Condition, Step};
pub use chain_config::ChainFindings;
pub use compacted::{CompactedTopic, read_to_end};
pub use errors::{Backoff, Breaker, ErrorLog, WINDOW_RECORDS, explain};
pub use metrics::Budget;
pub use plugins::Plugins;
pub use sink::{
    Again, Closing, DeadLetterSettings, Lane, LaneSettings, Limits, MIRROR, Mirror, Renewal,
    SinkTaskHandle, SinkTaskSettings, Starts, StopMode, TaskMaker, Topics, kafka_error,
    spawn_sink_task,
};
pub use source::Confirm;
pub use status::{ActiveTopics, Counters, Retrying, State, StatusCell, TaskStatus};
pub use worker::{
    Change, Committed, ConfigInfo, ConfigInfos, Direction, OffsetsChange, PluginInfo, PluginKind,
    SELF_ASSIGN, SinkStanding, TaskHandle, TaskHooks, UnknownPlugin, VALIDATE_CONNECT, Validated,
    Worker,
};
