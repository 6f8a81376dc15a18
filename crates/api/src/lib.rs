//! The contract between Copycat and its plugins: connectors, tasks, converters, transforms.
//!
//! A connector author needs this crate, `data` and `config`, nothing else. It knows no Kafka client,
//! no async runtime and no HTTP.

mod check;
mod connector;
mod converter;
mod error;
mod lookups;
mod sink;
mod source;
mod transform;

pub use check::{Check, Checking, Outcome};
pub use connector::{
    Connector, ConnectorPlugin, ConverterPlugin, SinkConnector, StoredPositions, TaskContext,
    Tolerance,
};
pub use converter::{Converter, EncodeError, Encoded, IdHeader, Side, Topics};
pub use error::{Error, ErrorKind, Result};
pub use lookups::{LookupCounts, Lookups, SCHEMA_LOOKUPS};
pub use sink::{Cancel, DeadLetter, ResolvedStart, Seat, SinkContext, SinkTask, StartResolver};
pub use source::{
    Boundary, ExactlyOnce, PollLimits, Polled, SourceBatch, SourceConnector, SourceMap,
    SourceOffsets, SourceTask, StoredOffsets,
};
pub use transform::{Predicate, PredicatePlugin, Transform, TransformPlugin};
