//! A client of Schema Registries that speak Confluent's interface: schemas by id, ids by schema.
//!
//! Place in the data path: beside it. Converters ask here before they decode a batch, and when they
//! write a schema that they have not written before; the record loop only looks into
//! [`Registry::cached`], which does no I/O.
//!
//! Invariants:
//! - one client per distinct settings in the process, so an id is fetched once, not once a task;
//! - nothing about a record is decided while the registry is away: that is a `Retriable` error;
//! - what the registry says about a schema (unknown, refused) is an answer, not an error;
//! - no secret is in a message, a log line or `Debug`.

mod bounds;
mod cache;
pub mod framing;
mod http;
mod references;
mod registry;
mod rest;
pub mod schema;
pub mod settings;
pub mod subject;

pub use registry::Registry;
pub use schema::{Draft, Kind, Missing, Reference, Refused, Registered, Rule, SchemaId, Stored};
pub use settings::Settings;
