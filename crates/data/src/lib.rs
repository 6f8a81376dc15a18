//! The records that travel through Copycat: batches of rows, their schemas and single cells.
//!
//! Everything downstream of the Kafka client and upstream of a destination speaks the types of this
//! crate. A [`RawBatch`] holds bytes as they were fetched; a [`Batch`] holds the same records
//! decoded into [`Rows`] of 16-byte [`Cell`]s over a shared heap.
//!
//! Invariants:
//! - no I/O, no clock, no async runtime;
//! - a batch belongs to exactly one topic-partition and its offsets ascend;
//! - a [`Span`] is only meaningful together with the heap it was made for, and looking one up never
//!   panics: a span out of bounds reads as empty.

mod alike;
mod arena;
mod avro_types;
mod batch;
mod builder;
mod calendar;
mod cell;
mod cell_room;
mod debezium;
mod decimal;
mod error;
mod headers;
mod heads;
pub mod java_json;
pub mod java_text;
mod json;
mod json_cells;
mod kept;
mod owned;
mod partition;
mod project;
mod protobuf_types;
mod raw;
mod room;
mod roots;
mod routes;
mod rows;
mod schema;
mod shared;
mod structs;
mod unions;
mod validate;
mod value;
mod value_eq;
pub mod values;

pub use alike::{Alike, AlikeInTurn};
pub use arena::{Arena, ArenaPool};
pub use avro_types::AVRO_LOGICAL_TYPE;
pub use batch::{Batch, Mask, Origin, Reject, SchemaNames, Stage};
pub use builder::SchemaBuilder;
pub use calendar::{DAY_MS, civil_date, java_date, java_day};
pub use cell::{Cell, Span, Width};
pub use debezium::{Semantic, TimeUnit};
pub use decimal::{decimal_from_text, decimal_to_text};
pub use error::SchemaError;
pub use headers::{Header, HeaderKind, HeaderList, HeaderRef, Headers};
pub use json::{write_json, write_json_string, write_plain_json};
pub use kept::Kept;
pub use partition::TopicPartition;
pub use project::project;
pub use protobuf_types::PROTOBUF_TYPE;
pub use raw::{RawBatch, RawBatchBuilder, RawHeader, RawRecord, TimestampType, ValueParts};
pub use room::RoomAsked;
pub use roots::Roots;
pub use rows::{Heap, Rows, Run};
pub use schema::{DATE, DECIMAL, Field, Logical, Schema, TIME, TIMESTAMP, Type};
pub use validate::infer_schema;
pub use value::{Struct, Value};
