//! Everything that speaks to Kafka: consumer, producer, admin, and an in-process broker.
//!
//! librdkafka is the only client, and this crate the only one that sees it. Upwards go typed errors,
//! raw batches and numbers; settings come in under librdkafka's names (`settings` translates Kafka's
//! own). All unsafe code of the project is in `ffi`.
//!
//! Invariants: librdkafka never commits, stores or resets an offset by itself, and never decides
//! where a partition starts.

mod admin;
mod consumer;
mod error;
mod ffi;
mod lists;
mod looks;
mod metadata;
mod mock;
mod options;
mod producer;
mod report;
pub mod settings;
mod wake;

pub use admin::{Admin, NewTopic, TopicId, TopicInfo};
pub use consumer::{
    ClientHandle, CommitOutcome, GroupMetadata, NoRebalance, PollLimits, Polled, Rebalance,
    SinkConsumer, Trouble, Watermarks,
};
pub use error::{Error, ErrorKind, Result};
pub use lists::Position;
pub use looks::{GroupInfo, GroupMember, GroupMembers, TopicRights};
pub use metadata::Topic;
pub use mock::{MockBroker, MockFailure, MockRequest};
pub use options::ClientSettings;
pub use producer::{Delivery, Producer, ProducerRecord, TransactionalProducer};
pub use wake::Waker;
